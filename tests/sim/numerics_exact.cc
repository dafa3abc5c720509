// SPDX-License-Identifier: Apache-2.0
// The matrix models once more, in rational numbers and straight from the rules (numerics.md T1 to T8, X1 to
// X5, A1 to A6): no word of a sum is cut, shifted or normalised here but where a rule says so.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <random>
#include <vector>

#include "sim/numerics/amd_matrix.h"
#include "sim/numerics/block_scaled.h"
#include "sim/numerics/tensor_core.h"

using namespace turnstile;

namespace {

using Rational = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;
using Random = std::mt19937_64;
using Words = std::vector<std::uint32_t>;

Rational two_to(int e) {
  const Integer power = Integer(1) << std::abs(e);
  return e >= 0 ? Rational(power) : Rational(Integer(1), power);
}
Integer floor_of(const Rational& r) {
  Integer q, rest;
  boost::multiprecision::divide_qr(numerator(r), denominator(r), q, rest);
  return rest < 0 ? Integer(q - 1) : q;
}
Integer truncated(const Rational& r) { return r < 0 ? Integer(-floor_of(-r)) : floor_of(r); }

/// A word by the definition of its format.
struct Number {
  enum class Kind { finite, infinite, nan } kind = Kind::finite;
  bool minus = false;
  Rational value;    ///< finite
  int exponent = 0;  ///< T1
};

struct Format {
  int exponent_bits, fraction_bits, unused_bits, bias;
  enum class Top { ieee, one_nan, finite, minus_zero_is_nan } top;
};
constexpr Format e5m10{5, 10, 0, 15, Format::Top::ieee}, e8m7{8, 7, 0, 127, Format::Top::ieee},
    e8m10{8, 10, 13, 127, Format::Top::ieee}, e8m23{8, 23, 0, 127, Format::Top::ieee},
    e4m3{4, 3, 0, 7, Format::Top::one_nan}, e5m2{5, 2, 0, 15, Format::Top::ieee},
    e2m3{2, 3, 0, 1, Format::Top::finite}, e3m2{3, 2, 0, 3, Format::Top::finite},
    e2m1{2, 1, 0, 1, Format::Top::finite}, e4m3_fnuz{4, 3, 0, 8, Format::Top::minus_zero_is_nan},
    e5m2_fnuz{5, 2, 0, 16, Format::Top::minus_zero_is_nan};

Number number(const Format& f, std::uint32_t word) {
  Number n;
  const int all = f.exponent_bits + f.fraction_bits + f.unused_bits;
  n.minus = (word >> all & 1) != 0;
  const std::uint32_t fields = word >> f.unused_bits;
  const std::uint32_t fraction = fields & ((1u << f.fraction_bits) - 1);
  const std::uint32_t field = fields >> f.fraction_bits & ((1u << f.exponent_bits) - 1);
  const bool ones = field == (1u << f.exponent_bits) - 1;
  const bool full = fraction == (1u << f.fraction_bits) - 1;
  if (f.top == Format::Top::ieee && ones) n.kind = fraction == 0 ? Number::Kind::infinite : Number::Kind::nan;
  if (f.top == Format::Top::one_nan && ones && full) n.kind = Number::Kind::nan;
  if (f.top == Format::Top::minus_zero_is_nan && fields == 1u << (f.exponent_bits + f.fraction_bits))
    n.kind = Number::Kind::nan;
  n.exponent = static_cast<int>(std::max(field, 1u)) - f.bias;
  const Rational significand = Rational(fraction, 1u << f.fraction_bits) + (field == 0 ? 0 : 1);
  n.value = significand * two_to(n.exponent) * (n.minus ? -1 : 1);
  return n;
}

Format format_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return e5m10;
    case ElementType::bf16:
      return e8m7;
    case ElementType::tf32:
      return e8m10;
    case ElementType::e4m3:
      return e4m3;
    case ElementType::e5m2:
      return e5m2;
    default:
      return e8m23;
  }
}

/// Exponent of the leading bit of |r|, which is not zero.
int leading(const Rational& r) {
  const Rational m = abs(r);
  int e = static_cast<int>(msb(numerator(m))) - static_cast<int>(msb(denominator(m)));
  if (two_to(e) > m) --e;
  if (two_to(e + 1) <= m) ++e;
  return e;
}

/// Rounded to a word with this many fraction bits; subnormals are produced, overflow is infinite.
std::uint32_t to_word(const Rational& r, bool minus, int exponent_bits, int fraction_bits, bool nearest,
                      int padding = 0) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t sign = minus ? 1u << (exponent_bits + fraction_bits + padding) : 0;
  const std::uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  if (r == 0) return sign;
  const int e = std::max(leading(r), 1 - bias);
  const Rational units = abs(r) / two_to(e - fraction_bits);
  Integer n = floor_of(units);
  const Rational rest = units - n;
  if (nearest && (rest > Rational(1, 2) || (rest == Rational(1, 2) && n % 2 == 1))) ++n;
  Integer fields = (Integer(e + bias - 1) << fraction_bits) + n;
  if (fields >= infinity) fields = infinity;
  return sign | fields.convert_to<std::uint32_t>() << padding;
}

/// T2: what is decided without a sum.
std::optional<std::uint32_t> special(const std::vector<Number>& a, const std::vector<Number>& b,
                                     const Number& c, bool half) {
  bool nan = c.kind == Number::Kind::nan, plus = false, minus = false;
  const auto infinite = [&](bool negative) { (negative ? minus : plus) = true; };
  if (c.kind == Number::Kind::infinite) infinite(c.minus);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool a_inf = a[i].kind == Number::Kind::infinite, b_inf = b[i].kind == Number::Kind::infinite;
    const bool a_zero = a[i].kind == Number::Kind::finite && a[i].value == 0;
    const bool b_zero = b[i].kind == Number::Kind::finite && b[i].value == 0;
    nan = nan || a[i].kind == Number::Kind::nan || b[i].kind == Number::Kind::nan || (a_inf && b_zero) ||
          (b_inf && a_zero);
    if (a_inf || b_inf) infinite(a[i].minus != b[i].minus);
  }
  if (nan || (plus && minus)) return half ? 0x7fffu : 0x7fffffffu;
  if (plus) return half ? 0x7c00u : 0x7f800000u;
  if (minus) return half ? 0xfc00u : 0xff800000u;
  return std::nullopt;
}

/// T8: a word that is zero has a minus sign if all terms have one.
std::uint32_t zero_sign(std::uint32_t word, bool all_minus, std::uint32_t sign) {
  if ((word & ~sign) != 0) return word;
  return all_minus ? sign : 0;
}

/// T3 to T8 of one group; `scale`: the sum of two scale exponents (X1).
std::uint32_t group_sum(const TensorCoreRow& row, const std::vector<Number>& a, const std::vector<Number>& b,
                        std::uint32_t c_word, int scale) {
  const bool half = row.accumulator == ElementType::f16;
  const Number c = number(half ? e5m10 : e8m23, c_word);
  if (const auto decided = special(a, b, c, half)) return *decided;
  int e = row.e_zero;
  if (c.value != 0) e = std::max(e, c.exponent);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].value != 0 && b[i].value != 0) e = std::max(e, a[i].exponent + b[i].exponent + scale);
  const Rational unit = two_to(e - row.fraction_bits);
  Integer sum = truncated(c.value / unit);
  // D6: of tf32, and in a group that is not full, a place of the unit without a product holds +0.
  bool all_minus = c.minus && a.size() == row.group && row.a != ElementType::tf32;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += truncated(a[i].value * b[i].value * two_to(scale) / unit);
    all_minus = all_minus && a[i].minus != b[i].minus;
  }
  const Rational exact = Rational(sum) * unit;
  if (half) return zero_sign(to_word(exact, sum < 0, 5, 10, true), all_minus, 0x8000);
  return zero_sign(row.rho == TensorCoreRounding::rz_e8m13 ? to_word(exact, sum < 0, 8, 13, false, 10)
                                                           : to_word(exact, sum < 0, 8, 23, false),
                   all_minus, 0x80000000);
}

std::uint32_t rational_dot(const TensorCoreRow& row, const Format& a_format, const Format& b_format,
                           const Words& a, const Words& b, std::uint32_t c, int scale = 0) {
  for (std::size_t first = 0; first < a.size(); first += row.group) {
    std::vector<Number> x, y;
    for (std::size_t i = first; i < std::min<std::size_t>(a.size(), first + row.group); ++i) {
      x.push_back(number(a_format, a[i]));
      y.push_back(number(b_format, b[i]));
    }
    c = group_sum(row, x, y, c, scale);
  }
  return c;
}

std::uint32_t any_word(Random& random, const Format& f, int kind) {
  const int low = f.fraction_bits + f.unused_bits;
  const auto word = static_cast<std::uint32_t>(random());
  const int width = 1 + f.exponent_bits + low;
  const std::uint32_t all = width == 32 ? ~0u : (1u << width) - 1;
  if (kind == 0) return word & all;
  if (word % 16 == 0) return word & 1 ? 1u << (width - 1) : 0u;  // zeros
  const int around[] = {0, 0, -f.bias, f.bias}, spread[] = {0, 5, 3, 3};
  const int e =
      around[kind] + static_cast<int>(random() % static_cast<unsigned>(2 * spread[kind] + 1)) - spread[kind];
  const auto field = static_cast<std::uint32_t>(std::clamp(e + f.bias, 0, (1 << f.exponent_bits) - 2));
  return (word & (1u << (width - 1))) | field << low | (word & ((1u << low) - 1));
}

Words any_words(Random& random, const Format& f, int kind, std::size_t count) {
  Words out(count);
  for (std::uint32_t& w : out) w = any_word(random, f, kind);
  return out;
}

}  // namespace

TEST_CASE("every row of the matrix unit equals the rules in rational numbers") {
  Random random(5);
  for (const TensorCoreRow& row : tensor_core_rows()) {
    if (row.id == "I22" || row.id == "I23") continue;  // scaled, below
    CAPTURE(row.id);
    const Format a_format = format_of(row.a), b_format = format_of(row.b);
    const Format c_format = row.accumulator == ElementType::f16 ? e5m10 : e8m23;
    for (int i = 0; i < 40; ++i) {
      const std::size_t k = 1 + random() % (2 * row.group);
      const Words a = any_words(random, a_format, i % 4, k), b = any_words(random, b_format, i % 4, k);
      const std::uint32_t c = any_word(random, c_format, static_cast<int>(random() % 4));
      REQUIRE(fused_dot_add(row, a, b, c) == rational_dot(row, a_format, b_format, a, b, c));
    }
  }
}

TEST_CASE("FP6 and FP4 operands, and all mixtures with FP8 (I21), with and without scales (I22)") {
  struct Both {
    Format test;
    FormatShape shape;
  };
  const Both formats[] = {{e4m3, shape_of(ElementType::e4m3)},
                          {e5m2, shape_of(ElementType::e5m2)},
                          {e2m3, e2m3_shape},
                          {e3m2, e3m2_shape},
                          {e2m1, e2m1_shape}};
  const TensorCoreRow* plain = find_tensor_core_row(TensorCoreUnit::blackwell_tcgen05, ElementType::e4m3,
                                                    ElementType::e4m3, ElementType::f32);
  const TensorCoreRow* scaled = find_tensor_core_row(TensorCoreUnit::blackwell_scaled, ElementType::e4m3,
                                                     ElementType::e4m3, ElementType::f32);
  REQUIRE(plain != nullptr);
  REQUIRE(scaled != nullptr);
  Random random(6);
  for (const Both& x : formats)
    for (const Both& y : formats)
      for (int i = 0; i < 20; ++i) {
        const Words a = any_words(random, x.test, i % 2, 32), b = any_words(random, y.test, i % 2, 32);
        const std::uint32_t c = any_word(random, e8m23, i % 4);
        REQUIRE(fused_dot_add(*plain, x.shape, y.shape, a, b, c) ==
                rational_dot(*plain, x.test, y.test, a, b, c));
        // Codes near 127, at the ends, and NaN (X2).
        const auto code = [&] {
          const std::uint32_t ends[] = {0, 1, 254, 255};
          return random() % 8 == 0 ? ends[random() % 4] : 110 + static_cast<std::uint32_t>(random() % 35);
        };
        const Words s = {code()}, t = {code()};
        const std::uint32_t want =
            s[0] == 255 || t[0] == 255
                ? 0x7fffffffu
                : rational_dot(*scaled, x.test, y.test, a, b, c, static_cast<int>(s[0] + t[0]) - 254);
        REQUIRE(block_scaled_dot_add(*scaled, x.shape, y.shape, ue8m0_shape, a, b, s, t, c) == want);
      }
}

TEST_CASE("groups of FP4 with scales of both kinds (I23)") {
  const TensorCoreRow* row = find_tensor_core_row(TensorCoreUnit::blackwell_fp4, ElementType::e4m3,
                                                  ElementType::e4m3, ElementType::f32);
  REQUIRE(row != nullptr);
  Random random(7);
  for (int i = 0; i < 800; ++i) {
    const bool powers = i % 2 == 0;
    const std::size_t blocks = powers && i % 4 == 0 ? 2 : 4;
    Words a = any_words(random, e2m1, 0, 64), b = any_words(random, e2m1, 0, 64);
    if (i % 5 == 0)  // a group whose products are all zero, one that cancels
      for (std::size_t x = 0; x < 16; ++x) {
        a[x] &= 8;
        a[16 + x] = x % 2 == 0 ? 2 : 10;
        b[16 + x] = 2;
      }
    Words s(blocks), t(blocks);
    for (Words* w : {&s, &t})
      for (std::uint32_t& code : *w) {
        code = powers ? 100 + static_cast<std::uint32_t>(random() % 50)
                      : static_cast<std::uint32_t>(random() % 256);
        if (powers && random() % 64 == 0) code = 255;
      }
    const std::uint32_t c = any_word(random, e8m23, i % 4);
    // X2 to X5.
    const Number accumulator = number(e8m23, c);
    bool nan = accumulator.kind == Number::Kind::nan;
    std::vector<Number> a_scales, b_scales;
    for (std::size_t x = 0; x < blocks; ++x)
      for (const bool of_a : {true, false}) {
        const std::uint32_t code = of_a ? s[x] : t[x];
        Number n;
        if (powers) {
          n.kind = code == 255 ? Number::Kind::nan : Number::Kind::finite;
          n.exponent = static_cast<int>(code) - 127;
          n.value = two_to(n.exponent);
        } else {
          n = number(e4m3, code & 0x7f);
        }
        nan = nan || n.kind == Number::Kind::nan;
        (of_a ? a_scales : b_scales).push_back(n);
      }
    std::uint32_t want = 0;
    if (nan) {
      want = 0x7fffffff;
    } else if (accumulator.kind == Number::Kind::infinite) {
      want = c;
    } else {
      int e = accumulator.value != 0 ? std::max(-139, accumulator.exponent) : -139;
      std::vector<Rational> terms;
      bool all_minus = accumulator.minus;
      for (std::size_t g = 0; g < 4; ++g) {
        const Number &x = a_scales[g * blocks / 4], &y = b_scales[g * blocks / 4];
        Rational sum = 0;
        bool any = false, minus = true;
        for (std::size_t k = 16 * g; k < 16 * g + 16; ++k) {
          const Number p = number(e2m1, a[k]), q = number(e2m1, b[k]);
          sum += p.value * q.value;
          any = any || p.value * q.value != 0;
          minus = minus && p.minus != q.minus;
        }
        if (any && x.value != 0 && y.value != 0) e = std::max(e, x.exponent + y.exponent);
        terms.push_back(sum * x.value * y.value);
        all_minus = all_minus && (sum == 0 ? minus : sum < 0);
      }
      const Rational unit = two_to(e - 35);
      Integer sum = truncated(accumulator.value / unit);
      for (const Rational& term : terms) sum += truncated(term / unit);
      want = zero_sign(to_word(Rational(sum) * unit, sum < 0, 8, 23, false), all_minus, 0x80000000);
    }
    CAPTURE(i);
    REQUIRE(group_scaled_dot_add(*row, powers ? ue8m0_shape : ue4m3_shape, a, b, s, t, c) == want);
  }
}

namespace {

Format format_of(AmdOperand operand) {
  switch (operand) {
    case AmdOperand::xf32:
      return e8m10;
    case AmdOperand::f16:
      return e5m10;
    case AmdOperand::bf16:
      return e8m7;
    case AmdOperand::fp8_fnuz:
      return e4m3_fnuz;
    case AmdOperand::bf8_fnuz:
      return e5m2_fnuz;
    default:
      return e8m23;
  }
}

Rational floor_to(const Rational& r, int e) { return Rational(floor_of(r / two_to(e))) * two_to(e); }
Rational truncate_to(const Rational& r, int e) { return Rational(truncated(r / two_to(e))) * two_to(e); }

/// RN f32 with subnormal results as signed zeros, of finite operands.
std::uint32_t flushed_word(const Rational& r, bool minus) {
  const std::uint32_t word = to_word(r, minus, 8, 23, true);
  return (word & 0x7f800000u) == 0 ? word & 0x80000000u : word;
}

/// A3, A4, A6 of one group, all finite.
std::uint32_t cdna3_group(const AmdRow& row, const std::vector<Number>& a, const std::vector<Number>& b,
                          const Number& c) {
  const std::size_t parts = row.model == AmdModel::gtr_fdpa ? 2 : 1;
  std::vector<std::optional<int>> largest(parts);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].value * b[i].value != 0) {
      std::optional<int>& e = largest[i % parts];
      e = std::max(e.value_or(-10000), a[i].exponent + b[i].exponent);
    }
  std::optional<int> e_dot;
  for (const auto& e : largest)
    if (e) e_dot = std::max(e_dot.value_or(-10000), *e);
  Rational sum = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    if (!largest[part]) continue;
    Rational of_part = 0;
    for (std::size_t i = part; i < a.size(); i += parts)
      of_part += truncate_to(a[i].value * b[i].value, *largest[part] - 24);
    sum += parts == 2 ? floor_to(of_part, *e_dot - 24) : of_part;
  }
  const int e_c = c.value == 0 ? -126 : c.exponent;
  const int e = e_dot ? std::max(*e_dot, e_c) : e_c;
  Rational total = floor_to(sum, e - 32);
  if (parts == 1 || e_c >= e - 25) total += floor_to(c.value, e - 24);
  if (total == 0) return 0;
  total = floor_to(total, std::max(leading(total), -126) - 31);
  return to_word(total, total < 0, 8, 23, true);
}

}  // namespace

TEST_CASE("MFMA of CDNA1 to CDNA3 equals the rules in rational numbers, for finite operands") {
  Random random(8);
  for (const AmdRow& row : amd_rows()) {
    if (row.model == AmdModel::fma_chain) continue;  // float_fma has tests of its own
    CAPTURE(row.name);
    const Format f = format_of(row.operand);
    std::size_t compared = 0;
    for (int i = 0; i < 300; ++i) {
      std::vector<Number> x, y;
      std::vector<std::uint64_t> a, b;
      for (unsigned k = 0; k < row.group; ++k) {
        a.push_back(any_word(random, f, i % 3));
        b.push_back(any_word(random, f, i % 3));
        x.push_back(number(f, static_cast<std::uint32_t>(a.back())));
        y.push_back(number(f, static_cast<std::uint32_t>(b.back())));
      }
      const std::uint32_t c_word = any_word(random, e8m23, i % 4 == 3 ? 1 : i % 3);
      Number c = number(e8m23, c_word);
      if (special(x, y, c, false)) continue;
      std::uint32_t want = 0;
      bool infinite = false;
      if (row.model == AmdModel::exact_sums) {
        Rational sum = c.value;
        for (unsigned k = 0; k < row.group; ++k) sum += x[k].value * y[k].value;
        want = sum == 0 ? 0 : to_word(sum, sum < 0, 8, 23, true);
      } else if (row.model == AmdModel::flushed_adds) {
        const auto tiny = [&](const Number& n, int lowest) {
          return n.value != 0 && abs(n.value) < two_to(lowest);
        };
        std::vector<std::uint32_t> sums;
        for (unsigned k = 0; k < row.group; ++k) {
          const bool flush_x = tiny(x[k], 1 - f.bias), flush_y = tiny(y[k], 1 - f.bias);
          const bool minus = (x[k].minus && !flush_x) != (y[k].minus && !flush_y);
          sums.push_back(
              flushed_word(flush_x || flush_y ? Rational(0) : Rational(x[k].value * y[k].value), minus));
        }
        if (tiny(c, -126) || c.value == 0)
          sums.push_back(0);
        else
          sums.push_back(c_word);
        const auto add = [&](std::uint32_t p, std::uint32_t q) {
          const Number m = number(e8m23, p), n = number(e8m23, q);
          infinite = infinite || m.kind != Number::Kind::finite || n.kind != Number::Kind::finite;
          const Rational sum = m.value + n.value;
          return flushed_word(sum, sum == 0 ? m.minus && n.minus : sum < 0);
        };
        std::uint32_t s = add(sums[0], sums[1]);
        if (row.group == 4) s = add(s, add(sums[2], sums[3]));
        want = add(sums.back(), s);
      } else {
        for (unsigned k = 0; k < row.group; ++k)
          infinite = infinite || abs(x[k].value * y[k].value) >= two_to(128);
        want = cdna3_group(row, x, y, c);
      }
      if (infinite) continue;
      ++compared;
      REQUIRE(amd_dot_add(row, a, b, c_word) == want);
    }
    CHECK(compared > 50);
  }
}

TEST_CASE("equation 10 of the paper on CDNA (Table 8)") {
  // 2^23 - 2^23 - 0.5 - 0.25 - 0.125
  const auto result = [](AmdGeneration generation, std::string_view name, int fraction_bits, int bias,
                         std::size_t k) {
    const auto word = [&](int exponent, bool minus, int width) {
      return static_cast<std::uint64_t>(exponent + bias) << fraction_bits | std::uint64_t{minus}
                                                                                << (width - 1);
    };
    const int width = name == "bf8_fnuz" ? 8 : 16;
    std::vector<std::uint64_t> a(k, 0), b(k, 0);
    const int exponents[] = {13, -1, -2, -3};
    for (std::size_t i = 0; i < 4; ++i) {
      a[i] = word(exponents[i], true, width);
      b[i] = word(i == 0 ? 10 : 0, false, width);
    }
    for (const AmdRow& row : amd_rows())
      if (row.generation == generation && row.name == name) return amd_dot_add(row, a, b, 0x4b000000);
    return std::uint64_t{0xdead};
  };
  using enum AmdGeneration;
  CHECK(result(cdna1, "bf16", 7, 127, 4) == 0xbf600000);  // -0.875
  CHECK(result(cdna1, "f16", 10, 15, 4) == 0xbf600000);
  CHECK(result(cdna2, "bf16", 7, 127, 4) == 0xbec00000);  // -0.375
  CHECK(result(cdna2, "bf16_1k", 7, 127, 4) == 0);
  CHECK(result(cdna2, "f16", 10, 15, 4) == 0);
  CHECK(result(cdna3, "f16", 10, 15, 8) == 0xbf000000);  // -0.5
  CHECK(result(cdna3, "bf16", 7, 127, 8) == 0xbf000000);
  CHECK(result(cdna3, "bf8_fnuz", 2, 16, 16) == 0xbf800000);  // -1
}
