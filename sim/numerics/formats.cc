// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/formats.h"

#include <bit>
#include <utility>

namespace turnstile {

namespace {

using Wide = unsigned __int128;

/// Position of the highest set bit; `value` is not zero.
int highest_bit(Wide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  if (high != 0) return 127 - std::countl_zero(high);
  return 63 - std::countl_zero(static_cast<std::uint64_t>(value));
}

/// value / 2^count with every lost bit folded into the lowest one.
Wide shift_right_sticky(Wide value, int count) {
  if (count >= 128) return value != 0 ? 1 : 0;
  const Wide kept = value >> count;
  return (kept << count) == value ? kept : (kept | 1);
}

/// Whether a magnitude truncated to an integer that is `odd` goes up by one unit; `rest` is compared with
/// half a unit.
bool rounds_away(Rounding rounding, bool negative, bool odd, Wide rest, Wide half) {
  switch (rounding) {
    case Rounding::nearest_even:
      return rest > half || (rest == half && odd);
    case Rounding::nearest_away:
      return rest >= half;
    case Rounding::toward_zero:
      return false;
    case Rounding::up:
      return !negative && rest != 0;
    case Rounding::down:
      return negative && rest != 0;
  }
  return false;
}

bool overflow_is_infinite(Rounding rounding, bool negative, Overflow overflow) {
  if (overflow != Overflow::ieee) return overflow == Overflow::infinity;
  switch (rounding) {
    case Rounding::nearest_even:
    case Rounding::nearest_away:
      return true;
    case Rounding::toward_zero:
      return false;
    case Rounding::up:
      return !negative;
    case Rounding::down:
      return negative;
  }
  return true;
}

std::uint64_t sign_bit(const FormatShape& shape, bool negative) {
  return static_cast<std::uint64_t>(negative) << (shape.width() - 1);
}

/// Sign and the exponent and fraction fields as one integer, so that a carry out of the fraction just works.
std::uint64_t assemble(const FormatShape& shape, bool negative, std::uint64_t fields) {
  return sign_bit(shape, negative) | (fields << shape.padding_bits);
}

std::uint64_t largest_finite_fields(const FormatShape& shape) {
  const auto ones = static_cast<std::uint64_t>(shape.exponent_ones());
  const std::uint64_t infinity = ones << shape.fraction_bits;
  if (!shape.finite_top_exponent) return infinity - 1;
  const std::uint64_t fraction_ones = (std::uint64_t{1} << shape.fraction_bits) - 1;
  return infinity | (shape.only_finite ? fraction_ones : fraction_ones - 1);
}

}  // namespace

Decoded decode(const FormatShape& shape, std::uint64_t word) {
  const std::uint64_t fields = word >> shape.padding_bits;
  const std::uint64_t fraction_mask = (std::uint64_t{1} << shape.fraction_bits) - 1;
  const std::uint64_t fraction = fields & fraction_mask;
  const auto exponent = static_cast<int>(fields >> shape.fraction_bits) & shape.exponent_ones();
  Decoded number;
  number.negative = !shape.is_unsigned && ((word >> (shape.width() - 1)) & 1) != 0;
  if (exponent == shape.exponent_ones() && !shape.only_finite) {
    if (!shape.finite_top_exponent) {
      number.kind = fraction == 0 ? NumberClass::infinite : NumberClass::nan;
      return number;
    }
    if (fraction == fraction_mask) {
      number.kind = NumberClass::nan;
      return number;
    }
  }
  if (exponent == 0) {
    number.kind = fraction == 0 ? NumberClass::zero : NumberClass::finite;
    number.significand = fraction;
    number.exponent = shape.minimum_exponent();
    return number;
  }
  number.kind = NumberClass::finite;
  number.significand = fraction | (fraction_mask + 1);
  number.exponent = exponent - shape.bias();
  return number;
}

std::uint64_t canonical_nan(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0xfff8000000000000u;
    case ElementType::f32:
      return 0x7fffffffu;
    case ElementType::tf32:  // its low 13 bits are zero: cvt.rn and cvt.rz of an H200, all 2^32 words
      return 0x7fffe000u;
    case ElementType::f16:
    case ElementType::bf16:
      return 0x7fffu;
    case ElementType::e4m3:
    case ElementType::e5m2:
      return 0x7fu;
    case ElementType::b8:
    case ElementType::u8:
    case ElementType::s8:
    case ElementType::b16:
    case ElementType::u16:
    case ElementType::s16:
    case ElementType::b32:
    case ElementType::u32:
    case ElementType::s32:
    case ElementType::b64:
    case ElementType::u64:
    case ElementType::s64:
      break;  // no floating-point format
  }
  return 0;
}

std::uint64_t infinity_word(const FormatShape& shape, bool negative) {
  if (shape.only_finite) return assemble(shape, negative, largest_finite_fields(shape));
  if (shape.finite_top_exponent) return (std::uint64_t{1} << (shape.width() - 1)) - 1;
  return assemble(shape, negative, static_cast<std::uint64_t>(shape.exponent_ones()) << shape.fraction_bits);
}

Exact exact_value(const FormatShape& shape, const Decoded& number) {
  return {number.negative, number.significand, number.exponent - shape.fraction_bits};
}

Exact exact_sum(Exact x, Exact y) {
  if (x.magnitude == 0) return y;
  if (y.magnitude == 0) return x;
  if (highest_bit(x.magnitude) + x.exponent < highest_bit(y.magnitude) + y.exponent) std::swap(x, y);
  // x leads. Its highest bit goes to position 125, which leaves room for the carry; operands have at most 106
  // bits, so bits of y can only be lost where y is far below x and cancellation cannot bring them up.
  const int lift = 125 - highest_bit(x.magnitude);
  x.magnitude <<= lift;
  x.exponent -= lift;
  const int distance = x.exponent - y.exponent;
  y.magnitude = distance <= 0 ? y.magnitude << -distance : shift_right_sticky(y.magnitude, distance);
  if (x.negative == y.negative) {
    x.magnitude += y.magnitude;
  } else if (x.magnitude >= y.magnitude) {
    x.magnitude -= y.magnitude;
  } else {
    x.magnitude = y.magnitude - x.magnitude;
    x.negative = y.negative;
  }
  return x;
}

std::uint64_t round_to_format(const Exact& value, const FormatShape& shape, Rounding rounding,
                              Overflow overflow) {
  if (value.magnitude == 0) return sign_bit(shape, value.negative);
  const int leading = highest_bit(value.magnitude) + value.exponent;
  const int exponent = leading < shape.minimum_exponent() ? shape.minimum_exponent() : leading;
  const int drop = exponent - shape.fraction_bits - value.exponent;
  std::uint64_t significand = 0;
  if (drop <= 0) {
    significand = static_cast<std::uint64_t>(value.magnitude << -drop);
  } else {
    // More than 126 dropped bits leave less than a quarter of a unit; shrinking to that keeps `half` in
    // range.
    const Wide magnitude = drop > 126 ? shift_right_sticky(value.magnitude, drop - 126) : value.magnitude;
    const int count = drop > 126 ? 126 : drop;
    const Wide kept = magnitude >> count;
    const Wide rest = magnitude - (kept << count);
    significand = static_cast<std::uint64_t>(kept);
    if (rounds_away(rounding, value.negative, (significand & 1) != 0, rest, Wide{1} << (count - 1)))
      ++significand;
  }
  // Adding the significand with its leading one to (biased exponent - 1) covers normal, subnormal and carry
  // alike.
  const std::uint64_t below =
      leading < shape.minimum_exponent() ? 0 : static_cast<std::uint64_t>(exponent + shape.bias() - 1);
  const bool beyond = exponent > shape.maximum_exponent();
  const std::uint64_t fields = beyond ? 0 : (below << shape.fraction_bits) + significand;
  if (!beyond && fields <= largest_finite_fields(shape)) return assemble(shape, value.negative, fields);
  if (overflow_is_infinite(rounding, value.negative, overflow)) return infinity_word(shape, value.negative);
  return assemble(shape, value.negative, largest_finite_fields(shape));
}

}  // namespace turnstile
