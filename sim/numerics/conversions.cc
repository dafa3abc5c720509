// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/conversions.h"

#include "model/must.h"

namespace turnstile {

namespace {

/// The value rounded to an integer, as if to a format whose unit is 1; exponents here reach 1023.
Exact round_to_integer(const Exact& value, Rounding rounding) {
  if (value.magnitude == 0 || value.exponent >= 0) return value;
  // Words of f64 and smaller have at most 53 bits, so from 2^64 units down everything below is sticky.
  const int drop = -value.exponent > 100 ? 100 : -value.exponent;
  const unsigned __int128 kept = value.magnitude >> drop;
  const unsigned __int128 rest = value.magnitude - (kept << drop);
  const unsigned __int128 half = static_cast<unsigned __int128>(1) << (drop - 1);
  // With drop clamped the true half is larger still, and rest stays below it: magnitude < 2^53.
  bool away = false;
  switch (rounding) {
    case Rounding::nearest_even:
      away = rest > half || (rest == half && (kept & 1) != 0);
      break;
    case Rounding::nearest_away:
      away = rest >= half;
      break;
    case Rounding::toward_zero:
      break;
    case Rounding::up:
      away = !value.negative && rest != 0;
      break;
    case Rounding::down:
      away = value.negative && rest != 0;
      break;
  }
  return {value.negative, kept + (away ? 1 : 0), 0};
}

/// The f64 unit keeps the sign of a NaN and the bits of its payload that fit, and makes it quiet
/// (docs/numerics.md).
std::uint64_t converted_nan(std::uint64_t word, const FormatShape& source, const FormatShape& target) {
  const bool negative = ((word >> (source.width() - 1)) & 1) != 0;
  const std::uint64_t fraction = word & ((std::uint64_t{1} << source.fraction_bits) - 1);
  const int wider = target.fraction_bits - source.fraction_bits;
  const std::uint64_t payload = wider >= 0 ? fraction << wider : fraction >> -wider;
  return infinity_word(target, negative) | std::uint64_t{1} << (target.fraction_bits - 1) | payload;
}

}  // namespace

std::uint64_t convert_float(std::uint64_t word, ElementType from, ElementType to, Rounding rounding,
                            Overflow overflow) {
  const FormatShape source = shape_of(from);
  const FormatShape target = shape_of(to);
  const Decoded number = decode(source, word);
  if (number.kind == NumberClass::nan)
    return from == ElementType::f64 || to == ElementType::f64 ? converted_nan(word, source, target)
                                                              : canonical_nan(to);
  if (number.kind == NumberClass::infinite) {
    if (overflow != Overflow::saturate) return infinity_word(target, number.negative);
    // A power of two that no format reaches takes the overflow path of the rounding.
    return round_to_format({number.negative, 1, 1 << 14}, target, rounding, overflow);
  }
  return round_to_format(exact_value(source, number), target, rounding, overflow);
}

std::uint16_t bf16_from_f32(std::uint32_t word, Rounding rounding) {
  return static_cast<std::uint16_t>(convert_float(word, ElementType::f32, ElementType::bf16, rounding));
}

std::uint16_t f16_from_f32(std::uint32_t word, Rounding rounding) {
  return static_cast<std::uint16_t>(convert_float(word, ElementType::f32, ElementType::f16, rounding));
}

std::uint8_t e4m3_from_f32(std::uint32_t word) {
  return static_cast<std::uint8_t>(
      convert_float(word, ElementType::f32, ElementType::e4m3, Rounding::nearest_even, Overflow::saturate));
}

std::uint8_t e5m2_from_f32(std::uint32_t word) {
  return static_cast<std::uint8_t>(
      convert_float(word, ElementType::f32, ElementType::e5m2, Rounding::nearest_even, Overflow::saturate));
}

std::uint32_t f32_from_f16(std::uint16_t word) {
  return static_cast<std::uint32_t>(convert_float(word, ElementType::f16, ElementType::f32));
}

std::uint64_t float_from_integer(bool negative, std::uint64_t magnitude, ElementType to, Rounding rounding) {
  if (magnitude == 0) return 0;
  return round_to_format({negative, magnitude, 0}, shape_of(to), rounding);
}

std::uint64_t integer_from_float(std::uint64_t word, ElementType from, Rounding rounding, int bits,
                                 bool is_signed) {
  must(bits >= 1 && bits <= 64, "integer_from_float needs a width of 1 to 64 bits");
  const FormatShape source = shape_of(from);
  const Decoded number = decode(source, word);
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  const std::uint64_t smallest_signed = ~top + 1;
  if (number.kind == NumberClass::nan) {
    if (from != ElementType::f64 && bits != 64) return 0;
    return is_signed ? smallest_signed : top;
  }
  const std::uint64_t positive_limit = is_signed ? top - 1 : (top - 1) | top;
  const std::uint64_t negative_limit = is_signed ? top : 0;
  const std::uint64_t limit = number.negative ? negative_limit : positive_limit;
  std::uint64_t magnitude = limit;
  if (number.kind != NumberClass::infinite) {
    const Exact rounded = round_to_integer(exact_value(source, number), rounding);
    const bool fits = rounded.magnitude == 0 || rounded.exponent < 64;
    if (fits && (rounded.magnitude << rounded.exponent) <= limit)
      magnitude = static_cast<std::uint64_t>(rounded.magnitude << rounded.exponent);
  }
  return number.negative ? ~magnitude + 1 : magnitude;
}

}  // namespace turnstile
