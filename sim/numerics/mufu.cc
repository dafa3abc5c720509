// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/mufu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include "sim/numerics/mufu_tables.h"
#include "sim/numerics/scalar.h"

namespace turnstile {

namespace {

// One table lookup and a quadratic S = c0 + c1 r + c2 r^2 in integers (U4), with a truncated squarer (U3) and
// a rounding constant per function; then packing with flush to zero (U5).

constexpr std::uint32_t kNan = 0x7fffffffu;
constexpr std::uint32_t kInfinity = 0x7f800000u;

struct Input {
  bool negative;
  int exponent;                                ///< biased field
  std::uint32_t fraction;                      ///< 23 bits
  bool zero() const { return exponent == 0; }  ///< subnormals read as zero
  bool nan() const { return exponent == 255 && fraction != 0; }
  bool infinite() const { return exponent == 255 && fraction == 0; }
};

Input split(std::uint32_t x) { return {(x >> 31) != 0, static_cast<int>((x >> 23) & 0xff), x & 0x7fffffu}; }

std::uint32_t signed_word(bool negative, std::uint32_t magnitude) {
  return (negative ? 0x80000000u : 0u) | magnitude;
}

/// U3: rows of the partial products of y*y, each cut below weight 2^18.
constexpr std::uint32_t squared_by_rows(std::uint32_t y) {
  std::uint32_t sum = 0;
  for (unsigned i = 0; i <= 16; ++i) sum += (y >> (18 - i)) & (0u - ((y >> i) & 1u));
  return sum >> 1;
}

/// All squares: 17 steps each are most of what a function costs.
const std::uint16_t* squares() {
  static const std::vector<std::uint16_t> table = [] {
    std::vector<std::uint16_t> all(std::size_t{1} << 17);
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(squared_by_rows(i));
    return all;
  }();
  return table.data();
}
std::int64_t squared(std::uint32_t y) { return squares()[y]; }

std::int64_t quadratic(const MufuCoefficients& c, std::uint32_t r, std::uint32_t q, int a, int b) {
  return std::int64_t{c.c0} * (std::int64_t{1} << a) + std::int64_t{c.c1} * r +
         std::int64_t{c.c2} * squared(q) * (std::int64_t{1} << b);
}

std::uint32_t packed(bool negative, int exponent, std::int64_t significand) {
  if (significand == (std::int64_t{1} << 24)) {
    significand >>= 1;
    ++exponent;
  }
  if (exponent <= 0) return signed_word(negative, 0);
  if (exponent >= 255) return signed_word(negative, kInfinity);
  const auto fraction = static_cast<std::uint32_t>(significand - (std::int64_t{1} << 23));
  return signed_word(negative, (static_cast<std::uint32_t>(exponent) << 23) | fraction);
}

/// Toward zero, from a positive sum whose unit is 2^-unit: lg2, sin and tanh normalise what they have.
std::uint32_t normalised(bool negative, std::int64_t sum, int unit) {
  if (sum == 0) return signed_word(negative, 0);
  const int top = 63 - std::countl_zero(static_cast<std::uint64_t>(sum));
  const std::int64_t significand = top >= 23 ? sum >> (top - 23) : sum << (23 - top);
  return packed(negative, 127 + top - unit, significand);
}

/// The unit's sine of a number of turns: the core of U10, whose table an H200 has too.
std::uint32_t sine_of_turns(std::uint32_t turns, bool cosine) {
  const Input in = split(turns);
  if (in.exponent == 255) return kNan;
  // 2 bits of quadrant and 23 of fraction: whole turns are lost, and what is below 2^-25 of one.
  const int shift = in.exponent - 127 + 2;
  std::uint32_t fixed = 0;
  if (!in.zero() && shift > -24 && shift < 32) {
    const std::uint32_t significand = 0x800000u + in.fraction;
    fixed = shift >= 0 ? significand << shift : significand >> -shift;
  }
  const std::uint32_t quadrant = (fixed >> 23) + (cosine ? 1 : 0);
  std::uint32_t fraction = fixed & 0x7fffffu;
  if ((quadrant & 1) != 0) fraction = 0x7fffffu - fraction;
  const bool negative = (in.negative && !cosine) != ((quadrant & 2) != 0);
  const std::uint32_t r = fraction & 0x1ffffu;
  return normalised(negative, quadratic(kMufuSin[fraction >> 17], r, r, 11, 0), 37);
}

/// tanh: binades from 2^-8 up to 2^2 in 2^slices slices each; `first` is the first of the table.
struct TanhBinade {
  std::uint8_t slices, first;
};
constexpr int kFirstTanhBinade = 119, kLastTanhBinade = 129;
constexpr TanhBinade kTanhBinades[] = {{0, 0},  {0, 1},  {0, 2},  {1, 3},  {1, 5}, {2, 7},
                                       {2, 11}, {2, 15}, {3, 19}, {4, 27}, {3, 43}};

constexpr std::uint32_t kSmallestNormal = 0x00800000u;
constexpr std::uint32_t kTwoTo126 = 0x7e800000u;
constexpr std::uint32_t kTwoTo24 = 0x4b800000u;
constexpr std::uint32_t kQuarter = 0x3e800000u;
constexpr std::uint32_t kOneOverTwoPi = 0x3e22f983u;

std::uint32_t magnitude(std::uint32_t x) { return x & 0x7fffffffu; }
/// |x| < 2^-126; false for NaN.
bool below_normal(std::uint32_t x) { return magnitude(x) < kSmallestNormal; }
/// |x| > 2^126; false for NaN.
bool above_126(std::uint32_t x) { return magnitude(x) > kTwoTo126 && magnitude(x) <= kInfinity; }

}  // namespace

namespace {

/// Significands of U6 and U7, 2^23 to 2^24.
std::int64_t rcp_significand(std::uint32_t fraction) {
  const std::uint32_t r = fraction & 0xffffu;
  return (quadratic(kMufuRcp[fraction >> 16], r, 2 * r, 13, 0) + 0x47e7) >> 15;
}
/// `v`: parity of the exponent and fraction; not 0.
std::int64_t rsqrt_significand(std::uint32_t v) {
  const std::uint32_t r = v & 0x1ffffu;
  return (quadratic(kMufuRsqrt[v >> 17], r, r, 14, 2) + 0x7fff) >> 16;
}

struct HighHalf {
  bool negative;
  int exponent;            ///< biased field of 11 bits
  std::uint32_t fraction;  ///< 20 bits
  bool nan() const { return exponent == 2047 && fraction != 0; }
};
HighHalf high_half(std::uint64_t x) {
  return {(x >> 63) != 0, static_cast<int>((x >> 52) & 0x7ff),
          static_cast<std::uint32_t>(x >> 32) & 0xfffffu};
}

constexpr std::uint64_t kNan64 = 0x7fffffff00000000u;
constexpr std::uint64_t kInfinity64 = 0x7ff0000000000000u;
std::uint64_t signed_word64(bool negative, std::uint64_t magnitude) {
  return (negative ? std::uint64_t{1} << 63 : 0) | magnitude;
}
/// 20 of the significand's 23 bits below the leading one.
std::uint64_t packed64(bool negative, int exponent, std::int64_t significand) {
  if (significand == (std::int64_t{1} << 24)) {
    significand >>= 1;
    ++exponent;
  }
  if (exponent <= 0) return signed_word64(negative, 0);
  const auto fraction = static_cast<std::uint64_t>(significand - (std::int64_t{1} << 23)) >> 3;
  return signed_word64(negative, static_cast<std::uint64_t>(exponent) << 52 | fraction << 32);
}

}  // namespace

std::uint64_t mufu_rcp64(std::uint64_t x) {
  const HighHalf in = high_half(x);
  if (in.nan()) return kNan64;
  if (in.exponent == 2047) return signed_word64(in.negative, 0);
  if (in.exponent == 0) return signed_word64(in.negative, kInfinity64);
  return packed64(in.negative, 2045 - in.exponent, rcp_significand(in.fraction << 3));
}

std::uint64_t mufu_rsqrt64(std::uint64_t x) {
  const HighHalf in = high_half(x);
  if (in.nan()) return kNan64;
  if (in.exponent == 0) return signed_word64(in.negative, kInfinity64);
  if (in.negative) return kNan64;
  if (in.exponent == 2047) return 0;
  const int exponent = in.exponent - 1023;
  const int parity = exponent & 1;
  const int half = (exponent - parity) / 2;
  const std::uint32_t v = (static_cast<std::uint32_t>(parity) << 23) + (in.fraction << 3);
  if (v == 0) return packed64(false, 1023 - half, std::int64_t{1} << 23);
  return packed64(false, 1022 - half, rsqrt_significand(v));
}

std::uint32_t mufu_rcp(std::uint32_t x) {  // U6
  const Input in = split(x);
  if (in.nan()) return kNan;
  if (in.infinite()) return signed_word(in.negative, 0);
  if (in.zero()) return signed_word(in.negative, kInfinity);
  return packed(in.negative, 253 - in.exponent, rcp_significand(in.fraction));
}

std::uint32_t mufu_rsqrt(std::uint32_t x) {  // U7
  const Input in = split(x);
  if (in.nan()) return kNan;
  if (in.zero()) return signed_word(in.negative, kInfinity);
  if (in.negative) return kNan;
  if (in.infinite()) return 0;
  const int exponent = in.exponent - 127;
  const int parity = exponent & 1;
  const int half = (exponent - parity) / 2;
  const std::uint32_t v = (static_cast<std::uint32_t>(parity) << 23) + in.fraction;
  if (v == 0) return packed(false, 127 - half, std::int64_t{1} << 23);
  return packed(false, 126 - half, rsqrt_significand(v));
}

namespace {

inline std::uint32_t ex2_word(std::uint32_t x, const std::uint16_t* square_of) {  // U8
  const Input in = split(x);
  if (in.nan()) return kNan;
  const int exponent = in.exponent - 127;
  if (exponent >= 7) return in.negative ? 0 : kInfinity;
  // |x| in units of 2^-23, truncated; then x, as the one's complement where it has a fraction. No branches:
  // signs and exponents of a softmax cannot be foretold.
  std::uint32_t w = 0;
  if (!in.zero() && exponent > -24)
    w = static_cast<std::uint32_t>((std::uint64_t{0x800000u + in.fraction} << (exponent + 24)) >> 24);
  const std::uint32_t negative = in.negative ? 1 : 0, whole = (w & 0x7fffffu) == 0 ? 1 : 0;
  w = (w ^ (0u - negative)) + (negative & whole);
  const int n = static_cast<std::int32_t>(w) >> 23;
  const std::uint32_t f = w & 0x7fffffu;
  const std::uint32_t r = f & 0x1ffffu;
  const MufuCoefficients& c = kMufuEx2[f >> 17];
  const std::int64_t s =
      std::int64_t{c.c0} * (1 << 13) + std::int64_t{c.c1} * r + std::int64_t{c.c2} * square_of[r];
  return packed(false, 127 + n, (s + 0x77e2) >> 15);
}

}  // namespace

std::uint32_t mufu_ex2(std::uint32_t x) { return ex2_word(x, squares()); }

namespace {

constexpr std::size_t kEx2Block = 256;  // what the pieces hand on stays in the first cache

/// Where the result is not the table's: |x| < 2^-23, 125 and more (results near the ends of the exponents).
bool decided_by_range(std::uint32_t x) {
  const std::uint32_t size = x & 0x7fffffffu;
  return size - 0x34000000u >= 0x42fa0000u - 0x34000000u;
}

/// kEx2Block results. In pieces, because compilers make vectors of the first one (a constant number of trips,
/// no tables, no branches, no shifts by a variable), and the second one has nothing left but to look up.
void ex2_block(const std::uint32_t* x, const std::uint16_t* square_of, std::uint32_t* results) {
  std::array<std::uint32_t, kEx2Block> fraction;  // 23 bits: slice and remainder
  std::array<std::uint32_t, kEx2Block> exponent;  // of the result, in its place, less 1
  std::uint32_t others = 0;
  for (std::size_t i = 0; i < kEx2Block; ++i) {
    const std::uint32_t outside = 0u - static_cast<std::uint32_t>(decided_by_range(x[i]));
    others |= outside;
    // Times 2^23 is exact, and so is the truncation. Negative numbers with a fraction: one's complement (U8).
    const auto toward_zero = static_cast<std::int32_t>(std::bit_cast<float>(x[i] & ~outside) * 0x1p23f);
    const std::int32_t cut = static_cast<std::int32_t>((toward_zero & 0x7fffff) != 0);
    const auto w = static_cast<std::uint32_t>(toward_zero - ((toward_zero >> 31) & cut));
    fraction[i] = w & 0x7fffffu;
    exponent[i] = (w & 0xff800000u) + (126u << 23);
  }
  for (std::size_t i = 0; i < kEx2Block; ++i) {
    const std::uint32_t r = fraction[i] & 0x1ffffu;
    const MufuCoefficients& c = kMufuEx2[fraction[i] >> 17];
    const std::int64_t s =
        std::int64_t{c.c0} * (1 << 13) + std::int64_t{c.c1} * r + std::int64_t{c.c2} * square_of[r];
    // The leading one of the significand adds the 1 that the exponent lacks.
    results[i] = exponent[i] + static_cast<std::uint32_t>((s + 0x77e2) >> 15);
  }
  if (others == 0) return;
  for (std::size_t i = 0; i < kEx2Block; ++i)
    if (decided_by_range(x[i])) results[i] = ex2_word(x[i], square_of);
}

}  // namespace

void mufu_ex2_many(std::span<const std::uint32_t> x, std::uint32_t* results) {
  const std::uint16_t* square_of = squares();
  std::size_t i = 0;
  for (; i + kEx2Block <= x.size(); i += kEx2Block) ex2_block(x.data() + i, square_of, results + i);
  for (; i < x.size(); ++i) results[i] = ex2_word(x[i], square_of);
}

std::uint32_t mufu_lg2(std::uint32_t x) {  // U9
  const Input in = split(x);
  if (in.nan()) return kNan;
  if (in.zero()) return signed_word(true, kInfinity);
  if (in.negative) return kNan;
  if (in.infinite()) return kInfinity;
  if (x == 0x3f800000u) return 0;
  const std::uint32_t r = in.fraction & 0x1ffffu;
  const std::int64_t s = quadratic(kMufuLg2[in.fraction >> 17], r, r, 12, 1);
  std::int64_t v = ((s + 0x3345) >> 2) + std::int64_t{in.exponent - 127} * (std::int64_t{1} << 36);
  const bool negative = v < 0;
  if (negative) v = -v - 1;
  return normalised(negative, v, 36);
}

std::uint32_t mufu_sqrt(std::uint32_t x) {
  const Input in = split(x);
  if (in.nan()) return kNan;
  if (in.zero()) return signed_word(in.negative, 0);
  if (in.negative) return kNan;
  if (in.infinite()) return kInfinity;
  const int exponent = in.exponent - 127;
  const int parity = exponent & 1;
  const std::uint32_t v = (static_cast<std::uint32_t>(parity) << 23) + in.fraction;
  const std::uint32_t r = v & 0x1ffffu;
  const std::int64_t s = quadratic(kMufuSqrt[v >> 17], r, r, 14, 1);
  return packed(false, 127 + (exponent - parity) / 2, (s + 0x7fff) >> 17);
}

std::uint32_t mufu_tanh(std::uint32_t x) {
  const Input in = split(x);
  if (in.nan()) return kNan;
  if (in.exponent < kFirstTanhBinade) return x;
  if (in.exponent > kLastTanhBinade) return signed_word(in.negative, 0x3f800000u);
  const TanhBinade binade = kTanhBinades[in.exponent - kFirstTanhBinade];
  const std::uint32_t slice = in.fraction >> (23 - binade.slices);
  const std::uint32_t r = (in.fraction >> (6 - binade.slices)) & 0x1ffffu;
  const std::int64_t s = quadratic(kMufuTanh[binade.first + slice], r, r, 15, 0);
  const int binade_of_units = in.exponent < 127 ? in.exponent - 127 : 0;
  return normalised(in.negative, s, 39 - binade_of_units);
}

std::uint32_t sin_approx(std::uint32_t x) {
  return sine_of_turns(f32_mul(x, kOneOverTwoPi, {.rounding = Rounding::toward_zero}), false);
}

std::uint32_t cos_approx(std::uint32_t x) {
  return sine_of_turns(f32_mul(x, kOneOverTwoPi, {.rounding = Rounding::toward_zero}), true);
}

std::uint32_t rcp_approx(std::uint32_t x) {
  const std::uint32_t scale = above_126(x) ? kQuarter : below_normal(x) ? kTwoTo24 : 0x3f800000u;
  return f32_mul(scale, mufu_rcp(f32_mul(x, scale)));
}

std::uint32_t rsqrt_approx(std::uint32_t x) {
  if (!below_normal(x)) return mufu_rsqrt(x);
  return f32_mul(mufu_rsqrt(f32_mul(x, kTwoTo24)), 0x45800000u);  // 2^12
}

std::uint32_t ex2_approx(std::uint32_t x) {
  const bool small = float_compare(ElementType::f32, Comparison::lt, x, 0xc2fc0000u);  // -126
  if (!small) return mufu_ex2(x);
  const std::uint32_t root = mufu_ex2(f32_mul(x, 0x3f000000u));
  return f32_mul(root, root);
}

std::uint32_t lg2_approx(std::uint32_t x) {
  if (!below_normal(x)) return mufu_lg2(x);
  return f32_add(mufu_lg2(f32_mul(x, kTwoTo24)), 0xc1c00000u);  // -24
}

std::uint32_t sqrt_approx(std::uint32_t x) {
  if (!below_normal(x)) return mufu_sqrt(x);
  return f32_mul(mufu_sqrt(f32_mul(x, kTwoTo24)), 0x39800000u);  // 2^-12
}

std::uint32_t div_approx(std::uint32_t a, std::uint32_t b, bool flush_subnormals) {
  const FloatMode mode{.flush_subnormals = flush_subnormals};
  if (!flush_subnormals && below_normal(b)) {
    a = f32_mul(a, kTwoTo24);
    b = f32_mul(b, kTwoTo24);
  }
  return f32_mul(a, mufu_rcp(b), mode);
}

std::uint32_t div_full(std::uint32_t a, std::uint32_t b, bool flush_subnormals) {
  const FloatMode mode{.flush_subnormals = flush_subnormals};
  if (above_126(b)) {
    a = f32_mul(a, kQuarter, mode);
    b = f32_mul(b, kQuarter, mode);
  } else if (!flush_subnormals && below_normal(b)) {
    a = f32_mul(a, kTwoTo24);
    b = f32_mul(b, kTwoTo24);
  }
  return f32_mul(mufu_rcp(b), a, mode);
}

}  // namespace turnstile
