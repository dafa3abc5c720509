// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/numerics/formats.h"

namespace turnstile {

/// Qualifiers of a PTX floating-point instruction.
struct FloatMode {
  Rounding rounding = Rounding::nearest_even;
  /// .ftz: subnormal inputs and results become zero with their sign (numerics.md O1). So does a result that
  /// only the wider steps among subnormals take up to the smallest normal number (D13, docs/numerics.md).
  bool flush_subnormals = false;
  /// .sat: clamp the result to [+0, 1]; NaN becomes +0.
  bool saturate = false;
};

/// IEEE operations on words of f64, f32, f16 or bf16: one rounding, subnormals kept unless flushed, canonical
/// NaN result (O1), but for f64, which hands on a NaN operand (of b, c, a the first), made quiet
/// (docs/numerics.md). f32 round-to-nearest uses the host FPU; all else is integer arithmetic.
std::uint64_t float_add(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode = {});
std::uint64_t float_sub(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode = {});
std::uint64_t float_mul(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode = {});
/// a * b + c with one rounding.
std::uint64_t float_fma(ElementType type, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                        FloatMode mode = {});
/// a / b (div.rn and the directed modes; not div.full or div.approx).
std::uint64_t float_div(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode = {});
/// Square root; sqrt(-0) is -0, other negative inputs give NaN.
std::uint64_t float_sqrt(ElementType type, std::uint64_t a, FloatMode mode = {});

std::uint32_t f32_add(std::uint32_t a, std::uint32_t b, FloatMode mode = {});
std::uint32_t f32_sub(std::uint32_t a, std::uint32_t b, FloatMode mode = {});
std::uint32_t f32_mul(std::uint32_t a, std::uint32_t b, FloatMode mode = {});
std::uint32_t f32_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c, FloatMode mode = {});
std::uint32_t f32_div(std::uint32_t a, std::uint32_t b, FloatMode mode = {});
/// 1 / a, correctly rounded (rcp.rn and the directed modes; rcp.approx is a different unit, numerics.md 9).
std::uint32_t f32_rcp(std::uint32_t a, FloatMode mode = {});
std::uint32_t f32_sqrt(std::uint32_t a, FloatMode mode = {});

/// min and max (O12): -0 < +0; a NaN loses against a number, two NaNs give the canonical one (f64: the
/// second, made quiet). With `nan_wins` (PTX .NaN) any NaN gives the canonical one.
std::uint64_t float_min(ElementType type, std::uint64_t a, std::uint64_t b, bool flush_subnormals = false,
                        bool nan_wins = false);
std::uint64_t float_max(ElementType type, std::uint64_t a, std::uint64_t b, bool flush_subnormals = false,
                        bool nan_wins = false);
inline std::uint32_t f32_min(std::uint32_t a, std::uint32_t b, bool flush = false, bool nan_wins = false) {
  return static_cast<std::uint32_t>(float_min(ElementType::f32, a, b, flush, nan_wins));
}
inline std::uint32_t f32_max(std::uint32_t a, std::uint32_t b, bool flush = false, bool nan_wins = false) {
  return static_cast<std::uint32_t>(float_max(ElementType::f32, a, b, flush, nan_wins));
}

/// Sign flip and sign clear on the word, on NaN too; a NaN of f64 keeps its sign and becomes quiet, since the
/// f64 unit adds -0 (docs/numerics.md).
std::uint64_t float_neg(ElementType type, std::uint64_t a, bool flush_subnormals = false);
std::uint64_t float_abs(ElementType type, std::uint64_t a, bool flush_subnormals = false);

/// Comparison operators of PTX setp. The first six are false, the ...u forms true, when an operand is NaN;
/// num and nan ask whether both are numbers, or one is not.
enum class Comparison : std::uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan,
};

bool float_compare(ElementType type, Comparison comparison, std::uint64_t a, std::uint64_t b,
                   bool flush_subnormals = false);

}  // namespace turnstile
