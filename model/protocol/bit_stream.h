// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace turnstile {

/// Numbers as a string of bits, least significant first: states of a search have to be small. Equal sequences
/// of calls with equal values make equal bytes.
class BitWriter {
 public:
  explicit BitWriter(std::vector<uint8_t>& bytes) : bytes_(bytes) { bytes_.clear(); }

  void put(uint64_t value, unsigned bits) {  // bits <= 32
    hold_ |= value << held_;
    held_ += bits;
    while (held_ >= 8) {
      bytes_.push_back(static_cast<uint8_t>(hold_));
      hold_ >>= 8;
      held_ -= 8;
    }
  }
  /// A number that is mostly small: its width, then its digits. 0 takes one bit, 1 three.
  void put_small(uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    for (unsigned i = 0; i < width; ++i) put(1, 1);
    put(0, 1);
    if (width > 33) {
      put(value & 0xffffffff, 32);
      put((value >> 32) & ((uint64_t{1} << (width - 33)) - 1), width - 33);
    } else if (width > 1) {
      put(value & ((uint64_t{1} << (width - 1)) - 1), width - 1);  // the leading 1 is known
    }
  }
  void put_signed(int64_t value) {
    put_small((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void finish() {
    if (held_ > 0) bytes_.push_back(static_cast<uint8_t>(hold_));
    hold_ = held_ = 0;
  }

 private:
  std::vector<uint8_t>& bytes_;
  uint64_t hold_ = 0;
  unsigned held_ = 0;
};

/// Reads what a BitWriter wrote, with the same sequence of calls. Beyond the end it reads zeros.
class BitReader {
 public:
  explicit BitReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint64_t get(unsigned bits) {  // bits <= 32
    while (held_ < bits) {
      if (next_ < bytes_.size()) hold_ |= uint64_t{bytes_[next_]} << held_;
      ++next_;
      held_ += 8;
    }
    const uint64_t value = hold_ & ((uint64_t{1} << bits) - 1);
    hold_ >>= bits;
    held_ -= bits;
    return value;
  }
  uint64_t get_small() {
    unsigned width = 0;
    while (width < 64 && get(1) != 0) ++width;
    if (width <= 1) return width;
    if (width > 33) {
      const uint64_t low = get(32);
      return uint64_t{1} << (width - 1) | get(width - 33) << 32 | low;
    }
    return uint64_t{1} << (width - 1) | get(width - 1);
  }
  int64_t get_signed() {
    const uint64_t value = get_small();
    return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
  uint64_t hold_ = 0;
  unsigned held_ = 0;
};

}  // namespace turnstile
