// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace turnstile {

/// Numbers as a string of bits, least significant first: states of a search have to be small. Equal sequences
/// of calls with equal values make equal bytes. `bytes` holds them after finish().
///
/// A copy goes on where the original stands, for loops that write much: it can live in registers.
class BitWriter {
 public:
  explicit BitWriter(std::vector<uint8_t>& bytes) : bytes_(&bytes) {
    if (bytes.size() < piece) bytes.resize(piece);
  }

  [[gnu::always_inline]] void put(uint64_t value, unsigned bits) {  // bits <= 32
    hold_ |= value << held_;
    held_ += bits;
    if (held_ < 32) return;
    if (used_ + 8 > bytes_->size()) bytes_->resize(bytes_->size() + piece);
    store(bytes_->data() + used_, static_cast<uint32_t>(hold_));
    used_ += 4;
    hold_ >>= 32;
    held_ -= 32;
  }
  /// A number that is mostly small: its width in ones and a zero, then the digits after the leading 1; 17
  /// ones and the width in 7 bits if it is longer than 16. 0 takes one bit, 1 two, 2 and 3 four.
  [[gnu::always_inline]] void put_small(uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= long_width) {
      const unsigned digits = width > 1 ? width - 1 : 0;
      const uint64_t ones = (uint64_t{1} << width) - 1;
      return put(ones | (value & ((uint64_t{1} << digits) - 1)) << (width + 1), width + 1 + digits);
    }
    put(((uint64_t{1} << (long_width + 1)) - 1) | uint64_t{width} << (long_width + 1), long_width + 1 + 7);
    put(value & 0xffffffff, 32);
    put(value >> 32, width > 32 ? width - 32 : 0);
  }
  [[gnu::always_inline]] void put_signed(int64_t value) {
    put_small((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void finish() {
    store(bytes_->data() + used_, static_cast<uint32_t>(hold_));
    bytes_->resize(used_ + (held_ + 7) / 8);
  }

  static constexpr unsigned long_width = 15;

 private:
  static constexpr size_t piece = 64;

  static void store(uint8_t* at, uint32_t word) {
    for (unsigned i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(word >> (8 * i));
  }

  std::vector<uint8_t>* bytes_;
  size_t used_ = 0;
  uint64_t hold_ = 0;
  unsigned held_ = 0;
};

/// Reads what a BitWriter wrote, with the same sequence of calls. Beyond the end it reads zeros. Copies as
/// those of a BitWriter.
class BitReader {
 public:
  explicit BitReader(std::span<const uint8_t> bytes) : next_(bytes.data()), end_(next_ + bytes.size()) {}

  [[gnu::always_inline]] uint64_t get(unsigned bits) {  // bits <= 32
    if (held_ < bits) fill();
    const uint64_t value = hold_ & ((uint64_t{1} << bits) - 1);
    hold_ >>= bits;
    held_ -= bits;
    return value;
  }
  [[gnu::always_inline]] uint64_t get_small() {
    if (held_ < 32) fill();
    const auto ones = static_cast<unsigned>(std::countr_one(hold_));
    if (ones <= BitWriter::long_width) {
      get(ones + 1);
      return ones <= 1 ? ones : uint64_t{1} << (ones - 1) | get(ones - 1);
    }
    get(BitWriter::long_width + 1);
    const auto width = static_cast<unsigned>(get(7));
    const uint64_t low = get(32);
    return width > 32 ? low | get(width - 32) << 32 : low;
  }
  [[gnu::always_inline]] int64_t get_signed() {
    const uint64_t value = get_small();
    return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }

 private:
  [[gnu::always_inline]] void fill() {  // 32 bits more
    if (end_ - next_ >= 4) {
      hold_ |=
          uint64_t{next_[0] | uint32_t{next_[1]} << 8 | uint32_t{next_[2]} << 16 | uint32_t{next_[3]} << 24}
          << held_;
      next_ += 4;
    } else {
      for (unsigned shift = held_; next_ != end_; shift += 8) hold_ |= uint64_t{*next_++} << shift;
    }
    held_ += 32;
  }

  const uint8_t* next_;
  const uint8_t* end_;
  uint64_t hold_ = 0;
  unsigned held_ = 0;
};

}  // namespace turnstile
