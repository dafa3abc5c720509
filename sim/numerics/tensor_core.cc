// SPDX-License-Identifier: Apache-2.0
// T-FDPA as written in numerics.md section 3, one output element at a time. This is the reference that the
// vector path is compared with; its only trick is that a 64-bit integer holds every sum (T6: at most 33
// bits).
#include "sim/numerics/tensor_core.h"

#include <algorithm>
#include <array>

#include "model/must.h"
#include "sim/numerics/scalar.h"

namespace turnstile {

namespace {

struct Conversion {
  FormatShape shape;
  Rounding rounding;
};

/// T7 as a format and a direction.
Conversion conversion_of(TensorCoreRounding rho) {
  switch (rho) {
    case TensorCoreRounding::rz_f32:
      return {shape_of(ElementType::f32), Rounding::toward_zero};
    case TensorCoreRounding::rz_e8m13:
      return {{8, 13, 10}, Rounding::toward_zero};
    case TensorCoreRounding::rne_f16:
      return {shape_of(ElementType::f16), Rounding::nearest_even};
  }
  return {};
}

/// T5: the term in units of 2^(E-F), truncated as sign and magnitude. `fraction_bits` is the f of the
/// formula.
std::int64_t aligned_term(bool negative, std::uint64_t significand, int exponent, int fraction_bits,
                          int unit) {
  if (significand == 0) return 0;
  const int shift = exponent - fraction_bits - unit;
  std::uint64_t magnitude = 0;
  if (shift >= 0)
    magnitude = significand << shift;
  else if (shift > -64)
    magnitude = significand >> -shift;
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

/// T8: a result that is zero is +0 unless every term carries a minus sign, also where a sum below zero is cut
/// or rounded to it (D6, as an H200 has it).
std::uint64_t signed_zero(const FormatShape& shape, std::uint64_t result, bool all_negative) {
  const std::uint64_t sign = std::uint64_t{1} << (shape.width() - 1);
  if ((result & (sign - 1)) != 0) return result;
  return all_negative ? sign : 0;
}

/// T2 for one group: whether the result is decided without arithmetic.
struct Specials {
  bool nan = false;
  bool positive_infinity = false;
  bool negative_infinity = false;

  void add_infinity(bool negative) { (negative ? negative_infinity : positive_infinity) = true; }
  bool any() const { return nan || positive_infinity || negative_infinity; }
};

Specials find_specials(std::span<const Decoded> a, std::span<const Decoded> b, const Decoded& c) {
  Specials found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool infinite = a[i].kind == NumberClass::infinite || b[i].kind == NumberClass::infinite;
    const bool zero = a[i].kind == NumberClass::zero || b[i].kind == NumberClass::zero;
    if (a[i].kind == NumberClass::nan || b[i].kind == NumberClass::nan || (infinite && zero))
      found.nan = true;
    else if (infinite)
      found.add_infinity(a[i].negative != b[i].negative);
  }
  if (c.kind == NumberClass::nan) found.nan = true;
  if (c.kind == NumberClass::infinite) found.add_infinity(c.negative);
  if (found.positive_infinity && found.negative_infinity) found.nan = true;
  return found;
}

/// One group, at most L products.
struct ProductGroup {
  std::span<const Decoded> a, b;
  int fraction_bits;   ///< of a product
  int scale_exponent;  ///< joins the exponent of each product (X1)
};

std::uint32_t fused_group(const TensorCoreRow& row, const Conversion& conversion, const ProductGroup& group,
                          std::uint32_t c_word) {
  const std::span<const Decoded> a = group.a, b = group.b;
  const FormatShape accumulator = shape_of(row.accumulator);
  const Decoded c = decode(accumulator, c_word);
  const Specials specials = find_specials(a, b, c);
  if (specials.nan) return static_cast<std::uint32_t>(canonical_nan(row.accumulator));
  if (specials.any())
    return static_cast<std::uint32_t>(infinity_word(accumulator, specials.negative_infinity));

  // T3, T4: products are not renormalised, zero terms do not count.
  int alignment = row.e_zero;
  if (c.kind != NumberClass::zero) alignment = std::max(alignment, c.exponent);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].kind != NumberClass::zero && b[i].kind != NumberClass::zero)
      alignment = std::max(alignment, a[i].exponent + b[i].exponent + group.scale_exponent);

  const int unit = alignment - row.fraction_bits;
  std::int64_t sum = aligned_term(c.negative, c.significand, c.exponent, accumulator.fraction_bits, unit);
  // Places of the unit without a product hold +0; so does some place of every tf32 form (D6, H200).
  bool all_negative = c.negative && a.size() == row.group && row.a != ElementType::tf32;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool negative = a[i].negative != b[i].negative;
    all_negative = all_negative && negative;
    sum += aligned_term(negative, a[i].significand * b[i].significand,
                        a[i].exponent + b[i].exponent + group.scale_exponent, group.fraction_bits, unit);
  }
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const std::uint64_t result =
      round_to_format({sum < 0, magnitude, unit}, conversion.shape, conversion.rounding, Overflow::infinity);
  return static_cast<std::uint32_t>(signed_zero(conversion.shape, result, all_negative));
}

/// Groups of L in order, from i = 0 up.
std::uint32_t chained_groups(const TensorCoreRow& row, const ProductGroup& all, std::uint32_t c) {
  const Conversion conversion = conversion_of(row.rho);
  for (std::size_t first = 0; first < all.a.size(); first += row.group) {
    const std::size_t count = std::min<std::size_t>(row.group, all.a.size() - first);
    c = fused_group(
        row, conversion,
        {all.a.subspan(first, count), all.b.subspan(first, count), all.fraction_bits, all.scale_exponent}, c);
  }
  return c;
}

}  // namespace

std::uint32_t fused_dot_add(const TensorCoreRow& row, std::span<const Decoded> a, std::span<const Decoded> b,
                            std::uint32_t c) {
  must(a.size() == b.size(), "a dot product needs as many a as b");
  return chained_groups(row, {a, b, shape_of(row.a).fraction_bits + shape_of(row.b).fraction_bits, 0}, c);
}

std::uint32_t fused_dot_add(const TensorCoreRow& row, const FormatShape& a_shape, const FormatShape& b_shape,
                            std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                            std::uint32_t c, int scale_exponent) {
  must(a.size() == b.size(), "a dot product needs as many a as b");
  // Decoded piece by piece; the piece is a multiple of every group size of the table (4, 8, 16, 32).
  constexpr std::size_t piece = 32;
  must(piece % row.group == 0, "the group size of a tensor core row divides 32");
  std::array<Decoded, piece> decoded_a;
  std::array<Decoded, piece> decoded_b;
  for (std::size_t first = 0; first < a.size(); first += piece) {
    const std::size_t count = std::min(piece, a.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      decoded_a[i] = decode(a_shape, a[first + i]);
      decoded_b[i] = decode(b_shape, b[first + i]);
    }
    c = chained_groups(
        row,
        {std::span<const Decoded>(decoded_a).first(count), std::span<const Decoded>(decoded_b).first(count),
         a_shape.fraction_bits + b_shape.fraction_bits, scale_exponent},
        c);
  }
  return c;
}

std::uint32_t fused_dot_add(const TensorCoreRow& row, std::span<const std::uint32_t> a,
                            std::span<const std::uint32_t> b, std::uint32_t c) {
  return fused_dot_add(row, shape_of(row.a), shape_of(row.b), a, b, c);
}

std::uint64_t f64_dot_add(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c) {
  must(a.size() == b.size(), "a dot product needs as many a as b");
  for (std::size_t i = 0; i < a.size(); ++i) c = float_fma(ElementType::f64, a[i], b[i], c);
  return c;
}

std::int32_t integer_dot_add(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::int32_t c,
                             bool saturate) {
  must(a.size() == b.size(), "a dot product needs as many a as b");
  // 128 bits hold any sum of 64-bit products that fits in memory.
  __int128 sum = c;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<std::int64_t>(a[i]) * b[i];
  if (saturate) sum = std::clamp<__int128>(sum, INT32_MIN, INT32_MAX);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
}

}  // namespace turnstile
