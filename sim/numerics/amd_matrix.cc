// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/amd_matrix.h"

#include <algorithm>
#include <array>

#include "model/must.h"
#include "sim/numerics/scalar.h"

namespace turnstile {

namespace {

using enum AmdGeneration;
using enum AmdModel;

constexpr std::array cdna_rows = {
    AmdRow{cdna1, "f32", AmdOperand::f32, fma_chain, 1},
    AmdRow{cdna1, "bf16", AmdOperand::bf16, exact_sums, 2},
    AmdRow{cdna1, "f16", AmdOperand::f16, exact_sums, 4},
    AmdRow{cdna2, "f64", AmdOperand::f64, fma_chain, 1},
    AmdRow{cdna2, "f32", AmdOperand::f32, fma_chain, 1},
    AmdRow{cdna2, "bf16", AmdOperand::bf16, flushed_adds, 2},
    AmdRow{cdna2, "bf16_1k", AmdOperand::bf16, flushed_adds, 4},
    AmdRow{cdna2, "f16", AmdOperand::f16, flushed_adds, 4},
    AmdRow{cdna3, "f64", AmdOperand::f64, fma_chain, 1},
    AmdRow{cdna3, "f32", AmdOperand::f32, fma_chain, 1},
    AmdRow{cdna3, "xf32", AmdOperand::xf32, tr_fdpa, 4},
    AmdRow{cdna3, "bf16", AmdOperand::bf16, tr_fdpa, 8},
    AmdRow{cdna3, "f16", AmdOperand::f16, tr_fdpa, 8},
    AmdRow{cdna3, "fp8_fnuz", AmdOperand::fp8_fnuz, gtr_fdpa, 16},
    AmdRow{cdna3, "bf8_fnuz", AmdOperand::bf8_fnuz, gtr_fdpa, 16},
};

FormatShape shape_of_operand(AmdOperand operand) {
  switch (operand) {
    case AmdOperand::f64:
      return shape_of(ElementType::f64);
    case AmdOperand::f32:
      return shape_of(ElementType::f32);
    case AmdOperand::xf32:
      return shape_of(ElementType::tf32);
    case AmdOperand::f16:
      return shape_of(ElementType::f16);
    case AmdOperand::bf16:
      return shape_of(ElementType::bf16);
    case AmdOperand::fp8_fnuz:
      return {4, 3, 0, true, true};
    case AmdOperand::bf8_fnuz:
      return {5, 2, 0, true, true};
  }
  return {};
}

Decoded decode_operand(AmdOperand operand, std::uint64_t word) {
  Decoded x = decode(shape_of_operand(operand), word);
  if (operand != AmdOperand::fp8_fnuz && operand != AmdOperand::bf8_fnuz) return x;
  if ((word & 0xff) == 0x80) {
    x = Decoded{};
    x.kind = NumberClass::nan;
  } else {
    --x.exponent;  // the bias is one more
  }
  return x;
}

const FormatShape f32_shape = shape_of(ElementType::f32);

/// A sum of any finite terms of these formats, exactly: products go down to 2^-298 and up to 2^257, and 64
/// bits above catch the carries.
class WideSum {
 public:
  void add(bool negative, std::uint64_t magnitude, int exponent) {
    const int position = exponent - lowest;
    must(position >= 0 && position / 32 + 3 < static_cast<int>(digits_.size()), "a term is in range");
    const unsigned __int128 shifted = static_cast<unsigned __int128>(magnitude) << (position % 32);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto part = static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted >> (32 * i)));
      digits_[static_cast<std::size_t>(position / 32) + i] += negative ? -part : part;
    }
  }
  /// The value with at least 64 bits of it, anything below in the last bit.
  Exact value() const {
    std::array<std::int64_t, count> d = digits_;
    const auto carry = [&d] {
      for (std::size_t i = 0; i + 1 < count; ++i) {
        d[i + 1] += d[i] >> 32;
        d[i] &= 0xffffffff;
      }
    };
    carry();
    Exact result;
    result.negative = d[count - 1] < 0;
    if (result.negative) {
      for (std::int64_t& digit : d) digit = -digit;
      carry();
    }
    std::size_t top = count;
    while (top > 0 && d[top - 1] == 0) --top;
    if (top == 0) return {};
    const std::size_t from = top > 3 ? top - 3 : 0;
    for (std::size_t i = top; i-- > from;)
      result.magnitude = result.magnitude << 32 | static_cast<std::uint32_t>(d[i]);
    for (std::size_t i = 0; i < from; ++i)
      if (d[i] != 0) result.magnitude |= 1;
    result.exponent = lowest + 32 * static_cast<int>(from);
    return result;
  }

 private:
  static constexpr int lowest = -320;
  static constexpr std::size_t count = 24;
  std::array<std::int64_t, count> digits_{};
};

/// Infinities and NaN of products and c, as IEEE sums have them.
struct AmdSpecials {
  bool nan = false, positive = false, negative = false;

  void infinity(bool minus) { (minus ? negative : positive) = true; }
  bool any() const { return nan || positive || negative; }
  std::uint64_t word() const {
    if (nan || (positive && negative)) return canonical_nan(ElementType::f32);
    return infinity_word(f32_shape, negative);
  }
};

/// A product; a finite one may still be more than CDNA3 holds (A3).
struct AmdProduct {
  bool negative = false, zero = false;
  std::uint64_t magnitude = 0;
  int exponent = 0;  ///< e_a + e_b
  int unit = 0;      ///< of the magnitude
};

struct AmdGroup {
  std::array<AmdProduct, 16> products;
  std::size_t count = 0;
  AmdSpecials specials;
  int largest = INT32_MIN / 2;  ///< exponent of a product, with -1 for a factor that is no number (A6)
};

AmdGroup products_of(const AmdRow& row, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  AmdGroup g;
  const int fraction = shape_of_operand(row.operand).fraction_bits;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Decoded x = decode_operand(row.operand, a[i]), y = decode_operand(row.operand, b[i]);
    const bool x_infinite = x.kind == NumberClass::infinite, y_infinite = y.kind == NumberClass::infinite;
    const bool zero = x.kind == NumberClass::zero || y.kind == NumberClass::zero;
    AmdProduct p;
    p.negative = x.negative != y.negative;
    if (x.kind == NumberClass::nan || y.kind == NumberClass::nan || ((x_infinite || y_infinite) && zero))
      g.specials.nan = true;
    else if (x_infinite || y_infinite)
      g.specials.infinity(p.negative);
    p.zero = zero;
    p.magnitude = x.significand * y.significand;
    const auto exponent_of = [](const Decoded& d) { return d.kind == NumberClass::finite ? d.exponent : -1; };
    p.exponent = exponent_of(x) + exponent_of(y);
    p.unit = p.exponent - 2 * fraction;
    if (!p.zero) g.largest = std::max(g.largest, p.exponent);
    g.products[g.count++] = p;
  }
  return g;
}

/// The value in units of 2^unit, toward minus infinity.
__int128 floor_in_units(bool negative, unsigned __int128 magnitude, int exponent, int unit) {
  const int shift = exponent - unit;
  if (shift >= 0) {
    const auto exact = static_cast<__int128>(magnitude << shift);
    return negative ? -exact : exact;
  }
  const unsigned __int128 cut = shift > -128 ? magnitude >> -shift : 0;
  const bool lost = shift > -128 ? (cut << -shift) != magnitude : magnitude != 0;
  return negative ? -static_cast<__int128>(cut) - (lost ? 1 : 0) : static_cast<__int128>(cut);
}

constexpr int kept_bits = 24, combined_bits = 31;  // F and F2

/// Some of the products, each truncated toward zero, in units of 2^(largest - F) (A3).
struct TruncatedSum {
  __int128 sum = 0;
  int largest = INT32_MIN / 2;  ///< no product: nothing
  bool empty() const { return largest == INT32_MIN / 2; }
  int unit() const { return largest - kept_bits; }
};

TruncatedSum truncated_sum(const AmdGroup& g, std::size_t first, std::size_t step) {
  TruncatedSum t;
  for (std::size_t i = first; i < g.count; i += step)
    if (!g.products[i].zero) t.largest = std::max(t.largest, g.products[i].exponent);
  for (std::size_t i = first; i < g.count; i += step) {
    const AmdProduct& p = g.products[i];
    if (p.zero) continue;
    const __int128 cut = floor_in_units(false, p.magnitude, p.unit, t.unit());
    t.sum += p.negative ? -cut : cut;
  }
  return t;
}

__int128 floor_shift(__int128 value, int from_unit, int to_unit) {
  const bool negative = value < 0;
  return floor_in_units(negative, static_cast<unsigned __int128>(negative ? -value : value), from_unit,
                        to_unit);
}

/// A4: the sum of products (in units of 2^unit, its exponent e_dot) and c.
std::uint64_t combine_with_c(__int128 products, int unit, int e_dot, bool no_products, const Decoded& c,
                             bool drop_c) {
  const int e_c = c.kind == NumberClass::zero ? f32_shape.minimum_exponent() : c.exponent;
  const int e = no_products ? e_c : std::max(e_dot, e_c);
  const int grid = e - combined_bits - 1;
  const __int128 part = no_products ? 0 : floor_shift(products, unit, grid);
  const __int128 c_part =
      drop_c ? 0
             : floor_in_units(c.negative, c.significand, c.exponent - f32_shape.fraction_bits, e - kept_bits);
  const __int128 sum = part + c_part * (__int128{1} << (combined_bits + 1 - kept_bits));
  const bool negative = sum < 0;
  const auto magnitude = static_cast<unsigned __int128>(negative ? -sum : sum);
  if (magnitude == 0) return 0;
  int leading = grid;
  for (unsigned __int128 rest = magnitude >> 1; rest != 0; rest >>= 1) ++leading;
  leading = std::max(leading, f32_shape.minimum_exponent());
  const __int128 floored = floor_shift(sum, grid, leading - combined_bits);
  const auto kept = static_cast<unsigned __int128>(floored < 0 ? -floored : floored);
  return round_to_format({floored < 0, kept, leading - combined_bits}, f32_shape, Rounding::nearest_even);
}

std::uint64_t tr_group(const AmdRow& row, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                       std::uint64_t c_word) {
  AmdGroup g = products_of(row, a, b);
  const Decoded c = decode(f32_shape, c_word);
  // A3: a product that f32 has no finite number for is an infinity.
  for (std::size_t i = 0; i < g.count; ++i) {
    const AmdProduct& p = g.products[i];
    if (!p.zero && p.magnitude != 0 && p.unit < 128 &&
        (p.unit >= 128 - 24 && (static_cast<unsigned __int128>(p.magnitude) >> (128 - p.unit)) != 0))
      g.specials.infinity(p.negative);
    else if (p.magnitude != 0 && p.unit >= 128)
      g.specials.infinity(p.negative);
  }
  if (c.kind == NumberClass::nan) g.specials.nan = true;
  if (c.kind == NumberClass::infinite) g.specials.infinity(c.negative);
  if (g.specials.any()) return g.specials.word();
  const TruncatedSum t = truncated_sum(g, 0, 1);
  return combine_with_c(t.sum, t.unit(), t.largest, t.empty(), c, false);
}

std::uint64_t gtr_group(const AmdRow& row, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::uint64_t c_word) {
  AmdGroup g = products_of(row, a, b);
  Decoded c = decode(f32_shape, c_word);
  // What is no number reads exponent -1, so that the rule for a far smaller c meets it too (FPy, MMA-Sim).
  const bool special_c = c.kind == NumberClass::nan || c.kind == NumberClass::infinite;
  if (special_c && g.largest > kept_bits)
    c = Decoded{};
  else if (c.kind == NumberClass::nan)
    g.specials.nan = true;
  else if (c.kind == NumberClass::infinite)
    g.specials.infinity(c.negative);
  if (g.specials.any()) return g.specials.word();
  const TruncatedSum even = truncated_sum(g, 0, 2), odd = truncated_sum(g, 1, 2);
  const int e_dot = std::max(even.largest, odd.largest);
  const bool nothing = even.empty() && odd.empty();
  const int unit = e_dot - kept_bits;
  __int128 sum = 0;
  if (!even.empty()) sum += floor_shift(even.sum, even.unit(), unit);
  if (!odd.empty()) sum += floor_shift(odd.sum, odd.unit(), unit);
  const int e_c = c.kind == NumberClass::zero ? f32_shape.minimum_exponent() : c.exponent;
  const bool drop_c = !nothing && e_c < std::max(e_dot, e_c) - kept_bits - 1;
  return combine_with_c(sum, unit, e_dot, nothing, c, drop_c);
}

std::uint64_t exact_group(const AmdRow& row, std::span<const std::uint64_t> a,
                          std::span<const std::uint64_t> b, std::uint64_t c_word) {
  AmdGroup g = products_of(row, a, b);
  const Decoded c = decode(f32_shape, c_word);
  if (c.kind == NumberClass::nan) g.specials.nan = true;
  if (c.kind == NumberClass::infinite) g.specials.infinity(c.negative);
  if (g.specials.any()) return g.specials.word();
  WideSum sum;
  for (std::size_t i = 0; i < g.count; ++i)
    if (!g.products[i].zero) sum.add(g.products[i].negative, g.products[i].magnitude, g.products[i].unit);
  if (c.significand != 0) sum.add(c.negative, c.significand, c.exponent - f32_shape.fraction_bits);
  const Exact value = sum.value();
  return value.magnitude == 0 ? 0 : round_to_format(value, f32_shape, Rounding::nearest_even);
}

std::uint64_t flushed(std::uint64_t word) {  // signed zero of a subnormal result
  return (word & 0x7f800000u) == 0 ? word & 0x80000000u : word;
}

/// A2: a subnormal operand is +0; each operation rounds, and flushes.
std::uint64_t flushed_product(AmdOperand operand, std::uint64_t a, std::uint64_t b) {
  const FormatShape shape = shape_of_operand(operand);
  const auto as_f32 = [&](std::uint64_t word) {
    const Decoded x = decode(shape, word);
    if (x.kind == NumberClass::nan) return canonical_nan(ElementType::f32);
    if (x.kind == NumberClass::infinite) return infinity_word(f32_shape, x.negative);
    const bool subnormal = x.kind == NumberClass::finite && x.significand >> shape.fraction_bits == 0;
    if (subnormal) return std::uint64_t{0};
    return round_to_format(exact_value(shape, x), f32_shape, Rounding::nearest_even);
  };
  return flushed(float_mul(ElementType::f32, as_f32(a), as_f32(b)));
}

std::uint64_t flushed_sum(std::uint64_t x, std::uint64_t y) {
  return flushed(float_add(ElementType::f32, x, y));
}

std::uint64_t flushed_group(const AmdRow& row, std::span<const std::uint64_t> a,
                            std::span<const std::uint64_t> b, std::uint64_t c) {
  const auto pair = [&](std::size_t i) {
    return flushed_sum(flushed_product(row.operand, a[i], b[i]),
                       flushed_product(row.operand, a[i + 1], b[i + 1]));
  };
  std::uint64_t sum = pair(0);
  if (a.size() == 4) sum = flushed_sum(sum, pair(2));
  return flushed_sum(c, sum);
}

}  // namespace

std::span<const AmdRow> amd_rows() { return cdna_rows; }

std::uint64_t amd_dot_add(const AmdRow& row, std::span<const std::uint64_t> a,
                          std::span<const std::uint64_t> b, std::uint64_t c) {
  must(a.size() == b.size() && a.size() % row.group == 0, "products of MFMA come in whole groups");
  if (row.model == flushed_adds && (c & 0x7f800000u) == 0) c = 0;  // A2: the sign is lost
  for (std::size_t first = 0; first < a.size(); first += row.group) {
    const auto x = a.subspan(first, row.group), y = b.subspan(first, row.group);
    switch (row.model) {
      case fma_chain:
        c = float_fma(row.operand == AmdOperand::f64 ? ElementType::f64 : ElementType::f32, x[0], y[0], c);
        break;
      case exact_sums:
        c = exact_group(row, x, y, c);
        break;
      case flushed_adds:
        c = flushed_group(row, x, y, c);
        break;
      case tr_fdpa:
        c = tr_group(row, x, y, c);
        break;
      case gtr_fdpa:
        c = gtr_group(row, x, y, c);
        break;
    }
  }
  return c;
}

}  // namespace turnstile
