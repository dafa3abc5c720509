// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/block_scaled.h"

#include <algorithm>
#include <array>

#include "model/must.h"
#include "sim/numerics/tensor_core.h"

namespace turnstile {

namespace {

bool any_nan(const FormatShape& shape, std::span<const std::uint32_t> codes) {
  return std::any_of(codes.begin(), codes.end(),
                     [&](std::uint32_t code) { return decode_scale(shape, code).kind == NumberClass::nan; });
}

/// 16 products of e2m1 as one term: (-1)^negative * magnitude * 2^exponent, read at `alignment` (X3).
struct GroupTerm {
  bool negative = false, zero = true;
  std::uint64_t magnitude = 0;
  int exponent = 0, alignment = 0;
};

GroupTerm group_term(const FormatShape& scale_shape, std::span<const std::uint32_t> a,
                     std::span<const std::uint32_t> b, std::uint32_t a_code, std::uint32_t b_code) {
  const Decoded a_scale = decode_scale(scale_shape, a_code), b_scale = decode_scale(scale_shape, b_code);
  GroupTerm term;
  std::int64_t sum = 0;  // in units of 2^-2, the product of two last places
  bool all_negative = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Decoded x = decode(e2m1_shape, a[i]), y = decode(e2m1_shape, b[i]);
    const bool negative = x.negative != y.negative;
    const auto product =
        static_cast<std::int64_t>(x.significand * y.significand << (x.exponent + y.exponent));
    all_negative = all_negative && negative;
    sum += negative ? -product : product;
    term.zero = term.zero && product == 0;
  }
  // X4: a group that cancels to zero keeps its exponent, one without a product does not count.
  term.zero = term.zero || a_scale.kind == NumberClass::zero || b_scale.kind == NumberClass::zero;
  term.negative = sum == 0 ? all_negative : sum < 0;
  term.magnitude =
      static_cast<std::uint64_t>(sum < 0 ? -sum : sum) * a_scale.significand * b_scale.significand;
  term.alignment = a_scale.exponent + b_scale.exponent;
  term.exponent = term.alignment - 2 - 2 * scale_shape.fraction_bits;
  return term;
}

/// Truncated toward zero to a multiple of 2^unit (T5).
std::int64_t in_units(bool negative, std::uint64_t magnitude, int exponent, int unit) {
  const int shift = exponent - unit;
  std::uint64_t cut = 0;
  if (shift >= 0)
    cut = magnitude << shift;
  else if (shift > -64)
    cut = magnitude >> -shift;
  return negative ? -static_cast<std::int64_t>(cut) : static_cast<std::int64_t>(cut);
}

}  // namespace

Decoded decode_scale(const FormatShape& shape, std::uint32_t code) {
  if (shape != ue8m0_shape) return decode(shape, code);
  Decoded scale;
  if ((code & 0xff) == 0xff) {
    scale.kind = NumberClass::nan;
    return scale;
  }
  scale.kind = NumberClass::finite;
  scale.significand = 1;
  scale.exponent = static_cast<int>(code & 0xff) - 127;
  return scale;
}

std::uint32_t block_scaled_dot_add(const TensorCoreRow& row, const FormatShape& a_shape,
                                   const FormatShape& b_shape, const FormatShape& scale_shape,
                                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                   std::span<const std::uint32_t> a_scales,
                                   std::span<const std::uint32_t> b_scales, std::uint32_t c) {
  must(scale_shape == ue8m0_shape, "scales of mxf8f6f4 are powers of two");
  must(a.size() == b.size() && a_scales.size() == b_scales.size() && !a_scales.empty() &&
           a.size() == a_scales.size() * row.group,
       "one scale for each group of products");
  if (any_nan(scale_shape, a_scales) || any_nan(scale_shape, b_scales))
    return static_cast<std::uint32_t>(canonical_nan(row.accumulator));
  for (std::size_t g = 0; g < a_scales.size(); ++g)
    c = fused_dot_add(
        row, a_shape, b_shape, a.subspan(g * row.group, row.group), b.subspan(g * row.group, row.group), c,
        decode_scale(scale_shape, a_scales[g]).exponent + decode_scale(scale_shape, b_scales[g]).exponent);
  return c;
}

std::uint32_t group_scaled_dot_add(const TensorCoreRow& row, const FormatShape& scale_shape,
                                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                   std::span<const std::uint32_t> a_scales,
                                   std::span<const std::uint32_t> b_scales, std::uint32_t c_word) {
  constexpr std::size_t of_group = 16, groups = 4;
  must(a.size() == of_group * groups && b.size() == a.size(), "FP4 products come in 64");
  must(a_scales.size() == b_scales.size() && !a_scales.empty() && groups % a_scales.size() == 0,
       "a scale of FP4 is one of whole groups");
  if (any_nan(scale_shape, a_scales) || any_nan(scale_shape, b_scales))
    return static_cast<std::uint32_t>(canonical_nan(row.accumulator));
  const FormatShape accumulator = shape_of(row.accumulator);
  const Decoded c = decode(accumulator, c_word);
  if (c.kind == NumberClass::nan) return static_cast<std::uint32_t>(canonical_nan(row.accumulator));
  if (c.kind == NumberClass::infinite) return c_word;

  std::array<GroupTerm, groups> terms;
  int alignment = row.e_zero;
  if (c.kind != NumberClass::zero) alignment = std::max(alignment, c.exponent);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t scale = g * a_scales.size() / groups;
    terms[g] = group_term(scale_shape, a.subspan(g * of_group, of_group), b.subspan(g * of_group, of_group),
                          a_scales[scale], b_scales[scale]);
    if (!terms[g].zero) alignment = std::max(alignment, terms[g].alignment);
  }
  const int unit = alignment - row.fraction_bits;
  std::int64_t sum = in_units(c.negative, c.significand, c.exponent - accumulator.fraction_bits, unit);
  bool all_negative = c.negative;
  for (const GroupTerm& t : terms) {
    if (t.magnitude != 0) sum += in_units(t.negative, t.magnitude, t.exponent, unit);
    all_negative = all_negative && t.negative;
  }
  const std::uint64_t result =
      round_to_format({sum < 0, static_cast<std::uint64_t>(sum < 0 ? -sum : sum), unit}, accumulator,
                      Rounding::toward_zero, Overflow::infinity);
  const bool zero = (result & 0x7fffffffu) == 0;  // T8
  return static_cast<std::uint32_t>(zero ? (all_negative ? 0x80000000u : 0) : result);
}

}  // namespace turnstile
