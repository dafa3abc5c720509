// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace turnstile::sim {

/// The hash of the expression that made a byte or a value (design.md section 5). Equal expressions have equal
/// hashes; different ones differ but for 128-bit collisions. The lowest bit of `lo` is not part of the hash:
/// it says that a leaf of a foreign row of the batch is below.
struct Hash128 {
  uint64_t lo = 0;
  uint64_t hi = 0;

  bool foreign() const { return (lo & 1) != 0; }
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

namespace detail {
/// Finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection with full avalanche.
constexpr uint64_t mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
}  // namespace detail

/// Ordered combination: combine(a, b) and combine(b, a) differ.
constexpr Hash128 combine(Hash128 a, Hash128 b) {
  const uint64_t foreign = (a.lo | b.lo) & 1;
  const uint64_t al = a.lo & ~uint64_t{1}, bl = b.lo & ~uint64_t{1};
  const uint64_t x = detail::mix64(al * 0x9e3779b97f4a7c15u + bl + 0x632be59bd9b4e019u);
  const uint64_t y = detail::mix64(a.hi * 0xd1342543de82ef95u + b.hi + 0x8cb92ba72f3d8dd7u);
  const uint64_t lo = detail::mix64(x + (y << 1) + 0x2545f4914f6cdd1du);
  const uint64_t hi = detail::mix64(y ^ (x * 0xff51afd7ed558ccdu));
  return {(lo & ~uint64_t{1}) | foreign, hi};
}

/// Order-free accumulation: the sum over a group is the same in any order. Terms must be combine() results,
/// never raw small numbers.
constexpr Hash128 add_unordered(Hash128 a, Hash128 b) {
  const uint64_t foreign = (a.lo | b.lo) & 1;
  const uint64_t lo = (a.lo & ~uint64_t{1}) + (b.lo & ~uint64_t{1});
  return {(lo & ~uint64_t{1}) | foreign, a.hi + b.hi};
}

constexpr Hash128 hash_number(uint64_t tag, uint64_t value) {
  return combine({detail::mix64(tag + 1) & ~uint64_t{1}, tag},
                 {detail::mix64(value + 0x51ed2701) & ~uint64_t{1}, value});
}

constexpr Hash128 hash_text(std::string_view text) {
  Hash128 h = hash_number(7, text.size());
  for (char c : text) h = combine(h, hash_number(8, static_cast<unsigned char>(c)));
  return h;
}

namespace detail {
inline constexpr Hash128 constant = hash_number(1, 0);
inline constexpr uint64_t byte_step = 0x9e3779b97f4a7c15u;  ///< the golden ratio: no sum of few hashes
inline constexpr size_t most_lengths = 17;
inline constexpr std::array<Hash128, most_lengths> lengths = [] {
  std::array<Hash128, most_lengths> out{};
  for (size_t n = 0; n < out.size(); ++n) out[n] = hash_number(3, n);
  return out;
}();
}  // namespace detail

/// A byte with a known value is an expression too: a constant. Constants lie side by side, so that value_of()
/// knows them.
constexpr Hash128 hash_constant_byte(uint8_t value) {
  return {detail::constant.lo, detail::constant.hi + value};
}

/// A byte that nobody wrote. It counts as foreign, so that nothing is proved from it.
inline constexpr Hash128 undefined_byte{1, 0x756e64656669ULL};

/// Names for values that no expression describes: of the result of one step, in one lane. Whoever copies the
/// value has the same name; each call gives another one.
class NameSource {
 public:
  Hash128 next() { return combine(hash_number(45, 0), {0, ++count_}); }

 private:
  uint64_t count_ = 0;
};

/// Byte `index` of a value of several bytes. `value` must be a combine() result or a sum of such.
constexpr Hash128 byte_of(Hash128 value, unsigned index) {
  return {value.lo, value.hi + (index + 1) * detail::byte_step};
}

/// The value that consists of these bytes. Nearly always they are all of one value, or all constants: one
/// step instead of one for each byte.
constexpr Hash128 value_of(std::span<const Hash128> bytes) {
  const size_t n = bytes.size();
  if (n != 0 && n < detail::most_lengths) {
    size_t in_order = 1, constants = 0;
    while (in_order < n && bytes[in_order] == byte_of(bytes[0], static_cast<unsigned>(in_order) - 1))
      ++in_order;
    if (in_order == n && n > 1) return combine(bytes[0], detail::lengths[n]);
    uint64_t value = 0;
    while (constants < n && constants < 8 && bytes[constants].lo == detail::constant.lo &&
           bytes[constants].hi - detail::constant.hi < 256)
      value |= (bytes[constants].hi - detail::constant.hi) << (8 * constants++);
    if (constants == n) return combine({detail::constant.lo, value}, detail::lengths[n]);
  }
  Hash128 h = n < detail::most_lengths ? detail::lengths[n] : hash_number(3, n);
  for (const Hash128& b : bytes) h = combine(h, b);
  return h;
}

}  // namespace turnstile::sim
