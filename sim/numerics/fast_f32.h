// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "sim/numerics/scalar.h"

namespace turnstile::fast {

/// The f32 operations that kernels spend their time in, round to nearest even, on the host's FPU. Same
/// results as the general functions of scalar.h and conversions.h, which are the reference;
/// tests/sim/numerics_fast_f32.cc holds the two against each other.

constexpr std::uint32_t kNan = 0x7fffffffu;

constexpr bool is_nan(std::uint32_t x) { return (x & 0x7fffffffu) > 0x7f800000u; }
constexpr std::uint32_t flushed(std::uint32_t x) { return (x & 0x7f800000u) == 0 ? x & 0x80000000u : x; }
constexpr std::uint32_t input(std::uint32_t x, bool ftz) { return ftz ? flushed(x) : x; }

inline std::uint32_t delivered(float value, bool ftz) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  return is_nan(word) ? kNan : input(word, ftz);
}

inline float number(std::uint32_t x, bool ftz) { return std::bit_cast<float>(input(x, ftz)); }

inline std::uint32_t add(std::uint32_t a, std::uint32_t b, bool ftz) {
  return delivered(number(a, ftz) + number(b, ftz), ftz);
}

inline std::uint32_t sub(std::uint32_t a, std::uint32_t b, bool ftz) {
  return delivered(number(a, ftz) - number(b, ftz), ftz);
}

/// Whether .ftz may have to flush a result that rounding took up to the smallest normal number (D13).
constexpr bool smallest_normal(std::uint32_t x) { return (x & 0x7fffffffu) == 0x00800000u; }

inline std::uint32_t mul(std::uint32_t a, std::uint32_t b, bool ftz) {
  const std::uint32_t result = delivered(number(a, ftz) * number(b, ftz), ftz);
  return ftz && smallest_normal(result) ? f32_mul(a, b, {.flush_subnormals = true}) : result;
}

inline std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool ftz) {
  const std::uint32_t result = delivered(std::fma(number(a, ftz), number(b, ftz), number(c, ftz)), ftz);
  return ftz && smallest_normal(result) ? f32_fma(a, b, c, {.flush_subnormals = true}) : result;
}

/// Increases with the number; -0 lies just below +0.
constexpr std::int32_t order_key(std::uint32_t x) {
  return static_cast<std::int32_t>((x & 0x80000000u) != 0 ? x ^ 0x7fffffffu : x);
}

/// A NaN loses against a number (numerics.md O12).
constexpr std::uint32_t extreme(std::uint32_t a, std::uint32_t b, bool ftz, bool larger) {
  a = input(a, ftz);
  b = input(b, ftz);
  if (is_nan(a)) return is_nan(b) ? kNan : b;
  if (is_nan(b)) return a;
  return (order_key(a) < order_key(b)) == larger ? b : a;
}

/// cvt.rn.bf16.f32.
constexpr std::uint16_t bf16_from_f32(std::uint32_t x) {
  if (is_nan(x)) return 0x7fff;
  return static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

}  // namespace turnstile::fast
