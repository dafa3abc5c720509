// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/scalar.h"

#include <bit>
#include <cmath>
#include <initializer_list>

namespace turnstile {

namespace {

using Wide = unsigned __int128;

constexpr std::uint64_t kQuietF64 = std::uint64_t{1} << 51;

std::uint64_t sign_mask(const FormatShape& shape) { return std::uint64_t{1} << (shape.width() - 1); }

/// Zero with the sign of `word` where it is subnormal.
std::uint64_t flushed(const FormatShape& shape, std::uint64_t word) {
  const std::uint64_t magnitude = word & (sign_mask(shape) - 1);
  const bool subnormal = (magnitude >> (shape.fraction_bits + shape.padding_bits)) == 0;
  return subnormal ? word & sign_mask(shape) : word;
}

std::uint64_t input(const FormatShape& shape, std::uint64_t word, const FloatMode& mode) {
  return mode.flush_subnormals ? flushed(shape, word) : word;
}

/// .ftz and .sat on a result that is not yet canonical.
std::uint64_t delivered(ElementType type, std::uint64_t word, const FloatMode& mode) {
  const FormatShape shape = shape_of(type);
  const Decoded number = decode(shape, word);
  if (number.kind == NumberClass::nan)
    return mode.saturate ? 0 : type == ElementType::f64 ? word : canonical_nan(type);
  if (mode.flush_subnormals) word = flushed(shape, word);
  if (mode.saturate) {
    const std::uint64_t one = static_cast<std::uint64_t>(shape.bias()) << shape.fraction_bits;
    if (number.negative) return 0;
    if (word > one) return one;
  }
  return word;
}

bool is_special(const Decoded& number) {
  return number.kind == NumberClass::infinite || number.kind == NumberClass::nan;
}

Exact product(const Exact& x, const Exact& y) {
  return {x.negative != y.negative, x.magnitude * y.magnitude, x.exponent + y.exponent};
}

/// Sum of two finite terms with the sign rule for an exact zero: the common sign, else +0 (-0 rounding down).
std::uint64_t rounded_sum(const FormatShape& shape, const Exact& x, const Exact& y, Rounding rounding) {
  Exact sum = exact_sum(x, y);
  if (sum.magnitude == 0) sum.negative = x.negative == y.negative ? x.negative : rounding == Rounding::down;
  return round_to_format(sum, shape, rounding);
}

/// The result where an operand is NaN: f64 units hand on the first such operand, made quiet; all others give
/// one NaN. Where no operand is NaN they give canonical_nan (docs/numerics.md).
std::uint64_t nan_result(ElementType type, std::initializer_list<std::uint64_t> operands) {
  if (type == ElementType::f64)
    for (const std::uint64_t word : operands)
      if (decode(type, word).kind == NumberClass::nan) return word | kQuietF64;
  return canonical_nan(type);
}

/// .ftz flushes a result that is below the smallest normal number when it is rounded to the format's
/// precision with no end of the exponents (D13); rounding to the format itself may have taken it up to that
/// number. `wide` is the same operation rounded to such a format.
template <typename Operation>
std::uint64_t flushed_if_tiny(const FormatShape& shape, std::uint64_t result, const FloatMode& mode,
                              Operation wide) {
  const std::uint64_t smallest_normal = std::uint64_t{1} << (shape.fraction_bits + shape.padding_bits);
  const std::uint64_t sign = result & sign_mask(shape);
  if (!mode.flush_subnormals || result - sign != smallest_normal) return result;
  const FormatShape range{shape.exponent_bits + 2, shape.fraction_bits};
  const auto exponent = static_cast<int>((wide(range) & (sign_mask(range) - 1)) >> range.fraction_bits);
  return exponent - range.bias() < shape.minimum_exponent() ? sign : result;
}

/// `target`: what the result is rounded to where it is finite; its words are of that shape then.
std::uint64_t integer_fma(ElementType type, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                          Rounding rounding, const FormatShape& target) {
  const FormatShape shape = shape_of(type);
  const Decoded x = decode(shape, a);
  const Decoded y = decode(shape, b);
  const Decoded z = decode(shape, c);
  const bool any_nan = x.kind == NumberClass::nan || y.kind == NumberClass::nan || z.kind == NumberClass::nan;
  if (any_nan) return nan_result(type, {b, c, a});
  const bool negative = x.negative != y.negative;
  if (is_special(x) || is_special(y)) {
    const bool times_zero = x.kind == NumberClass::zero || y.kind == NumberClass::zero;
    if (times_zero || (is_special(z) && z.negative != negative)) return canonical_nan(type);
    return infinity_word(shape, negative);
  }
  if (is_special(z)) return infinity_word(shape, z.negative);
  return rounded_sum(target, product(exact_value(shape, x), exact_value(shape, y)), exact_value(shape, z),
                     rounding);
}

std::uint64_t integer_add(ElementType type, std::uint64_t a, std::uint64_t b, Rounding rounding) {
  const FormatShape shape = shape_of(type);
  const Decoded x = decode(shape, a);
  const Decoded y = decode(shape, b);
  if (x.kind == NumberClass::nan || y.kind == NumberClass::nan) return nan_result(type, {b, a});
  if (is_special(x) && is_special(y) && x.negative != y.negative) return canonical_nan(type);
  if (is_special(x)) return infinity_word(shape, x.negative);
  if (is_special(y)) return infinity_word(shape, y.negative);
  return rounded_sum(shape, exact_value(shape, x), exact_value(shape, y), rounding);
}

std::uint64_t integer_mul(ElementType type, std::uint64_t a, std::uint64_t b, Rounding rounding,
                          const FormatShape& target) {
  const FormatShape shape = shape_of(type);
  const Decoded x = decode(shape, a);
  const Decoded y = decode(shape, b);
  if (x.kind == NumberClass::nan || y.kind == NumberClass::nan) return nan_result(type, {b, a});
  if (is_special(x) || is_special(y)) {
    if (x.kind == NumberClass::zero || y.kind == NumberClass::zero) return canonical_nan(type);
    return infinity_word(shape, x.negative != y.negative);
  }
  return round_to_format(product(exact_value(shape, x), exact_value(shape, y)), target, rounding);
}

/// Moves the highest bit of a non-zero magnitude of at most 64 bits up to position 125 or, with `even`, 124
/// or 125 so that the exponent is even.
Exact lifted(Exact value, bool even) {
  int lift = 62 + std::countl_zero(static_cast<std::uint64_t>(value.magnitude));
  if (even && ((value.exponent - lift) & 1) != 0) --lift;
  return {value.negative, value.magnitude << lift, value.exponent - lift};
}

std::uint64_t integer_div(ElementType type, std::uint64_t a, std::uint64_t b, Rounding rounding,
                          const FormatShape& target) {
  const FormatShape shape = shape_of(type);
  const Decoded x = decode(shape, a);
  const Decoded y = decode(shape, b);
  if (x.kind == NumberClass::nan || y.kind == NumberClass::nan) return nan_result(type, {a, b});
  const bool negative = x.negative != y.negative;
  if (x.kind == y.kind && x.kind != NumberClass::finite) return canonical_nan(type);
  if (x.kind == NumberClass::infinite || y.kind == NumberClass::zero) return infinity_word(shape, negative);
  if (x.kind == NumberClass::zero || y.kind == NumberClass::infinite)
    return round_to_format({negative, 0, 0}, shape, rounding);
  // The lifted numerator gives a quotient of at least 73 bits; the remainder is sticky.
  const Exact numerator = lifted(exact_value(shape, x), false);
  const Exact denominator = exact_value(shape, y);
  Wide quotient = numerator.magnitude / denominator.magnitude;
  if (quotient * denominator.magnitude != numerator.magnitude) quotient |= 1;
  return round_to_format({negative, quotient, numerator.exponent - denominator.exponent}, target, rounding);
}

std::uint64_t integer_sqrt(ElementType type, std::uint64_t a, Rounding rounding) {
  const FormatShape shape = shape_of(type);
  const Decoded x = decode(shape, a);
  if (x.kind == NumberClass::zero) return a;
  if (x.kind == NumberClass::nan) return nan_result(type, {a});
  if (x.negative) return canonical_nan(type);
  if (x.kind == NumberClass::infinite) return a;
  // Bit by bit; the root of the lifted radicand has 63 bits, more than any format needs, the rest is sticky.
  const Exact radicand = lifted(exact_value(shape, x), true);
  Wide root = 0;
  for (int bit = 62; bit >= 0; --bit) {
    const Wide candidate = root | (Wide{1} << bit);
    if (candidate * candidate <= radicand.magnitude) root = candidate;
  }
  if (root * root != radicand.magnitude) root |= 1;
  return round_to_format({false, root, radicand.exponent / 2}, shape, rounding);
}

float as_float(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); }

bool on_host(ElementType type, const FloatMode& mode) {
  return type == ElementType::f32 && mode.rounding == Rounding::nearest_even;
}

/// Order of two numbers as integers: sign-magnitude words turned into two's complement, -0 just below +0.
std::int64_t order_key(const FormatShape& shape, std::uint64_t word) {
  const auto magnitude = static_cast<std::int64_t>(word & (sign_mask(shape) - 1));
  return (word & sign_mask(shape)) != 0 ? -magnitude - 1 : magnitude;
}

std::uint64_t select(ElementType type, std::uint64_t a, std::uint64_t b, bool flush, bool nan_wins,
                     bool larger) {
  const FormatShape shape = shape_of(type);
  if (flush) {
    a = flushed(shape, a);
    b = flushed(shape, b);
  }
  const bool a_nan = decode(shape, a).kind == NumberClass::nan;
  const bool b_nan = decode(shape, b).kind == NumberClass::nan;
  if (a_nan && b_nan && type == ElementType::f64) return b | kQuietF64;
  if ((a_nan && b_nan) || (nan_wins && (a_nan || b_nan))) return canonical_nan(type);
  if (a_nan) return b;
  if (b_nan) return a;
  return (order_key(shape, a) < order_key(shape, b)) == larger ? b : a;
}

}  // namespace

std::uint64_t float_add(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  const FormatShape shape = shape_of(type);
  a = input(shape, a, mode);
  b = input(shape, b, mode);
  const std::uint64_t sum = on_host(type, mode) ? std::bit_cast<std::uint32_t>(as_float(a) + as_float(b))
                                                : integer_add(type, a, b, mode.rounding);
  return delivered(type, sum, mode);
}

std::uint64_t float_sub(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  // The f64 unit subtracts numbers only: a NaN keeps its sign.
  if (type == ElementType::f64 && decode(type, b).kind == NumberClass::nan) return b | kQuietF64;
  return float_add(type, a, b ^ sign_mask(shape_of(type)), mode);
}

std::uint64_t float_mul(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  const FormatShape shape = shape_of(type);
  a = input(shape, a, mode);
  b = input(shape, b, mode);
  const std::uint64_t result = on_host(type, mode) ? std::bit_cast<std::uint32_t>(as_float(a) * as_float(b))
                                                   : integer_mul(type, a, b, mode.rounding, shape);
  return delivered(type,
                   flushed_if_tiny(shape, result, mode,
                                   [&](const FormatShape& range) {
                                     return integer_mul(type, a, b, mode.rounding, range);
                                   }),
                   mode);
}

std::uint64_t float_fma(ElementType type, std::uint64_t a, std::uint64_t b, std::uint64_t c, FloatMode mode) {
  const FormatShape shape = shape_of(type);
  a = input(shape, a, mode);
  b = input(shape, b, mode);
  c = input(shape, c, mode);
  const std::uint64_t result =
      on_host(type, mode) ? std::bit_cast<std::uint32_t>(std::fma(as_float(a), as_float(b), as_float(c)))
                          : integer_fma(type, a, b, c, mode.rounding, shape);
  return delivered(type,
                   flushed_if_tiny(shape, result, mode,
                                   [&](const FormatShape& range) {
                                     return integer_fma(type, a, b, c, mode.rounding, range);
                                   }),
                   mode);
}

std::uint64_t float_div(ElementType type, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  const FormatShape shape = shape_of(type);
  a = input(shape, a, mode);
  b = input(shape, b, mode);
  const std::uint64_t result = on_host(type, mode) ? std::bit_cast<std::uint32_t>(as_float(a) / as_float(b))
                                                   : integer_div(type, a, b, mode.rounding, shape);
  return delivered(type,
                   flushed_if_tiny(shape, result, mode,
                                   [&](const FormatShape& range) {
                                     return integer_div(type, a, b, mode.rounding, range);
                                   }),
                   mode);
}

std::uint64_t float_sqrt(ElementType type, std::uint64_t a, FloatMode mode) {
  a = input(shape_of(type), a, mode);
  const std::uint64_t result = on_host(type, mode) ? std::bit_cast<std::uint32_t>(std::sqrt(as_float(a)))
                                                   : integer_sqrt(type, a, mode.rounding);
  return delivered(type, result, mode);
}

std::uint32_t f32_add(std::uint32_t a, std::uint32_t b, FloatMode mode) {
  return static_cast<std::uint32_t>(float_add(ElementType::f32, a, b, mode));
}

std::uint32_t f32_sub(std::uint32_t a, std::uint32_t b, FloatMode mode) {
  return static_cast<std::uint32_t>(float_sub(ElementType::f32, a, b, mode));
}

std::uint32_t f32_mul(std::uint32_t a, std::uint32_t b, FloatMode mode) {
  return static_cast<std::uint32_t>(float_mul(ElementType::f32, a, b, mode));
}

std::uint32_t f32_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c, FloatMode mode) {
  return static_cast<std::uint32_t>(float_fma(ElementType::f32, a, b, c, mode));
}

std::uint32_t f32_div(std::uint32_t a, std::uint32_t b, FloatMode mode) {
  return static_cast<std::uint32_t>(float_div(ElementType::f32, a, b, mode));
}

std::uint32_t f32_rcp(std::uint32_t a, FloatMode mode) { return f32_div(0x3f800000u, a, mode); }

std::uint32_t f32_sqrt(std::uint32_t a, FloatMode mode) {
  return static_cast<std::uint32_t>(float_sqrt(ElementType::f32, a, mode));
}

std::uint64_t float_min(ElementType type, std::uint64_t a, std::uint64_t b, bool flush_subnormals,
                        bool nan_wins) {
  return select(type, a, b, flush_subnormals, nan_wins, false);
}

std::uint64_t float_max(ElementType type, std::uint64_t a, std::uint64_t b, bool flush_subnormals,
                        bool nan_wins) {
  return select(type, a, b, flush_subnormals, nan_wins, true);
}

std::uint64_t float_neg(ElementType type, std::uint64_t a, bool flush_subnormals) {
  const FormatShape shape = shape_of(type);
  if (type == ElementType::f64 && decode(shape, a).kind == NumberClass::nan) return a | kQuietF64;
  return (flush_subnormals ? flushed(shape, a) : a) ^ sign_mask(shape);
}

std::uint64_t float_abs(ElementType type, std::uint64_t a, bool flush_subnormals) {
  const FormatShape shape = shape_of(type);
  if (type == ElementType::f64 && decode(shape, a).kind == NumberClass::nan) return a | kQuietF64;
  return (flush_subnormals ? flushed(shape, a) : a) & (sign_mask(shape) - 1);
}

bool float_compare(ElementType type, Comparison comparison, std::uint64_t a, std::uint64_t b,
                   bool flush_subnormals) {
  const FormatShape shape = shape_of(type);
  if (flush_subnormals) {
    a = flushed(shape, a);
    b = flushed(shape, b);
  }
  const bool unordered =
      decode(shape, a).kind == NumberClass::nan || decode(shape, b).kind == NumberClass::nan;
  const bool both_zero = ((a | b) & (sign_mask(shape) - 1)) == 0;
  const bool equal = !unordered && (both_zero || a == b);
  const bool less = !unordered && !equal && order_key(shape, a) < order_key(shape, b);
  switch (comparison) {
    case Comparison::eq:
      return equal;
    case Comparison::ne:
      return !unordered && !equal;
    case Comparison::lt:
      return less;
    case Comparison::le:
      return less || equal;
    case Comparison::gt:
      return !unordered && !less && !equal;
    case Comparison::ge:
      return !unordered && !less;
    case Comparison::equ:
      return unordered || equal;
    case Comparison::neu:
      return !equal;
    case Comparison::ltu:
      return unordered || less;
    case Comparison::leu:
      return unordered || less || equal;
    case Comparison::gtu:
      return !less && !equal;
    case Comparison::geu:
      return !less;
    case Comparison::num:
      return !unordered;
    case Comparison::nan:
      return unordered;
  }
  return false;
}

}  // namespace turnstile
