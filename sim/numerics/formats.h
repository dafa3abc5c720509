// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/launch/generate.h"

namespace turnstile {

// The numeric layer reads and writes words of the floating-point ElementTypes. A word is always held
// right-aligned in an unsigned integer; tf32 is a 32-bit word laid out as f32 whose low 13 bits are ignored
// on reading and zero on writing (numerics.md T1).

/// Rounding of an exact value to a format: PTX .rn, .rna, .rz, .rp, .rm in this order.
enum class Rounding : std::uint8_t { nearest_even, nearest_away, toward_zero, up, down };

/// What a rounded magnitude above the largest finite number becomes.
enum class Overflow : std::uint8_t {
  ieee,      ///< infinity or the largest finite number, as the rounding direction says (IEEE 754)
  infinity,  ///< always infinity: tensor cores, even under RZ (numerics.md T7)
  saturate,  ///< always the largest finite number: PTX .satfinite
};

enum class NumberClass : std::uint8_t { zero, finite, infinite, nan };

/// Layout of a binary format, most significant bit first: sign, exponent, fraction, padding (always zero).
struct FormatShape {
  int exponent_bits = 0;
  int fraction_bits = 0;
  int padding_bits = 0;
  /// e4m3: the top exponent holds finite numbers up to 448, all ones is the only NaN, no infinity (OCP FP8).
  bool finite_top_exponent = false;
  /// e2m3, e3m2, e2m1: every word is a finite number (OCP MX). Goes with finite_top_exponent.
  bool only_finite = false;
  /// ue8m0, ue4m3: no sign; the bit above the exponent is ignored (numerics.md X5).
  bool is_unsigned = false;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int minimum_exponent() const { return 1 - bias(); }
  constexpr int exponent_ones() const { return (1 << exponent_bits) - 1; }
  constexpr int maximum_exponent() const { return exponent_ones() - bias() - (finite_top_exponent ? 0 : 1); }
  constexpr int width() const { return 1 + exponent_bits + fraction_bits + padding_bits; }

  bool operator==(const FormatShape&) const = default;
};

// Operands and scales of block-scaled products, which no buffer of a launch has elements of.
inline constexpr FormatShape e2m3_shape{2, 3, 0, true, true};
inline constexpr FormatShape e3m2_shape{3, 2, 0, true, true};
inline constexpr FormatShape e2m1_shape{2, 1, 0, true, true};
inline constexpr FormatShape ue4m3_shape{4, 3, 0, true, false, true};
/// A power of two, 2^(code - 127); code 255 is NaN. Not a binary format like the others: decode_scale reads
/// it.
inline constexpr FormatShape ue8m0_shape{8, 0, 0, false, false, true};

constexpr FormatShape shape_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return {11, 52};
    case ElementType::f32:
      return {8, 23};
    case ElementType::tf32:
      return {8, 10, 13};
    case ElementType::f16:
      return {5, 10};
    case ElementType::bf16:
      return {8, 7};
    case ElementType::e4m3:
      return {4, 3, 0, true};
    case ElementType::e5m2:
      return {5, 2};
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
  return {};
}

/// A word taken apart (numerics.md T1). A zero or finite number is
/// (-1)^negative * significand * 2^(exponent - fraction_bits of its format); subnormals keep the minimum
/// exponent of the format and a significand without the leading one. Other classes leave both numbers 0.
struct Decoded {
  std::uint64_t significand = 0;
  std::int32_t exponent = 0;
  NumberClass kind = NumberClass::zero;
  bool negative = false;
};

Decoded decode(const FormatShape& shape, std::uint64_t word);
inline Decoded decode(ElementType type, std::uint64_t word) { return decode(shape_of(type), word); }

/// The NaN that GPU instructions deliver: sign 0 and all other bits one (0x7fffffff, 0x7fff, 0x7f;
/// numerics.md T2, O1, O11). tf32 words get the f32 one. For f64 the sources are silent; the value is the
/// IEEE default 0x7ff8000000000000.
std::uint64_t canonical_nan(ElementType type);

/// Word of an infinity. e4m3 has none and gives its NaN, formats without either the largest number.
std::uint64_t infinity_word(const FormatShape& shape, bool negative);

/// An exact binary number (-1)^negative * magnitude * 2^exponent. Operations that must drop bits below the
/// width of `magnitude` set its lowest bit instead ("sticky"), far below any rounding position.
struct Exact {
  bool negative = false;
  unsigned __int128 magnitude = 0;
  int exponent = 0;
};

/// The value of a zero or finite decoded word.
Exact exact_value(const FormatShape& shape, const Decoded& number);

/// x + y. A zero sum has magnitude 0 and no meaningful sign: the sign of zero is the caller's rule.
Exact exact_sum(Exact x, Exact y);

/// One rounding of `value` to a word of `shape`; subnormal results are produced, zero keeps the sign.
std::uint64_t round_to_format(const Exact& value, const FormatShape& shape, Rounding rounding,
                              Overflow overflow = Overflow::ieee);

}  // namespace turnstile
