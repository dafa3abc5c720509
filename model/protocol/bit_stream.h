// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace turnstile {

/// Numbers as a string of bits, least significant first: states of a search have to be small. Equal sequences
/// of calls with equal values make equal bytes. `bytes` holds them after finish().
class BitWriter {
 public:
  explicit BitWriter(std::vector<uint8_t>& bytes) : bytes_(bytes) {
    if (bytes_.size() < piece) bytes_.resize(piece);
  }

  void put(uint64_t value, unsigned bits) {  // bits <= 32
    hold_ |= value << held_;
    held_ += bits;
    if (held_ < 32) return;
    if (used_ + 8 > bytes_.size()) bytes_.resize(bytes_.size() + piece);
    store(static_cast<uint32_t>(hold_));
    used_ += 4;
    hold_ >>= 32;
    held_ -= 32;
  }
  /// A number that is mostly small: its width, then its digits. 0 takes one bit, 1 two.
  void put_small(uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= 16) {
      const uint64_t ones = (uint64_t{1} << width) - 1;
      const uint64_t digits = width > 1 ? value ^ (uint64_t{1} << (width - 1)) : 0;  // the leading 1 is known
      put(ones | digits << (width + 1), width + 1 + (width > 1 ? width - 1 : 0));
      return;
    }
    for (unsigned i = 0; i < width; ++i) put(1, 1);
    put(0, 1);
    if (width > 33) {
      put(value & 0xffffffff, 32);
      put((value >> 32) & ((uint64_t{1} << (width - 33)) - 1), width - 33);
    } else {
      put(value & ((uint64_t{1} << (width - 1)) - 1), width - 1);
    }
  }
  void put_signed(int64_t value) {
    put_small((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void finish() {
    store(static_cast<uint32_t>(hold_));
    bytes_.resize(used_ + (held_ + 7) / 8);
  }

 private:
  static constexpr size_t piece = 64;

  void store(uint32_t word) {
    for (unsigned i = 0; i < 4; ++i) bytes_[used_ + i] = static_cast<uint8_t>(word >> (8 * i));
  }

  std::vector<uint8_t>& bytes_;
  size_t used_ = 0;
  uint64_t hold_ = 0;
  unsigned held_ = 0;
};

/// Reads what a BitWriter wrote, with the same sequence of calls. Beyond the end it reads zeros.
class BitReader {
 public:
  explicit BitReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint64_t get(unsigned bits) {  // bits <= 32
    if (held_ < bits) fill();
    const uint64_t value = hold_ & ((uint64_t{1} << bits) - 1);
    hold_ >>= bits;
    held_ -= bits;
    return value;
  }
  uint64_t get_small() {
    if (held_ < 32) fill();
    unsigned width = static_cast<unsigned>(std::countr_one(hold_));
    if (width <= 16) {
      get(width + 1);
      return width <= 1 ? width : uint64_t{1} << (width - 1) | get(width - 1);
    }
    width = 0;
    while (width < 64 && get(1) != 0) ++width;
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
  void fill() {  // at least 32 bits
    if (next_ + 4 <= bytes_.size()) {
      const uint8_t* at = bytes_.data() + next_;
      hold_ |= uint64_t{at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24}
               << held_;
    } else {
      for (size_t i = 0; i < 4 && next_ + i < bytes_.size(); ++i)
        hold_ |= uint64_t{bytes_[next_ + i]} << (held_ + 8 * i);
    }
    next_ += 4;
    held_ += 32;
  }

  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
  uint64_t hold_ = 0;
  unsigned held_ = 0;
};

}  // namespace turnstile
