// SPDX-License-Identifier: Apache-2.0
// The probe vectors of numerics.md section 12 with their predictions, in several orders of the products. P9
// is disputed, P7 is about summation trees, P20 and P21 are random or unknown; they are not here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/numerics/fp8_emulation.h"
#include "sim/numerics/tensor_core.h"

using namespace turnstile;

namespace {

using Words = std::vector<std::uint32_t>;
using Products = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct Layout {
  int bias;
  int fraction_bits;
  int width;
};

/// Written down here once more, so that a wrong constant in formats.h does not hide.
Layout layout_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return {15, 10, 16};
    case ElementType::bf16:
      return {127, 7, 16};
    case ElementType::e4m3:
      return {7, 3, 8};
    case ElementType::e5m2:
      return {15, 2, 8};
    default:
      return {127, 23, 32};
  }
}

/// 2^exponent, a normal number of the type.
std::uint32_t power(ElementType type, int exponent) {
  const Layout layout = layout_of(type);
  REQUIRE(exponent + layout.bias > 0);
  return static_cast<std::uint32_t>(exponent + layout.bias) << layout.fraction_bits;
}

/// 1.5 * 2^exponent.
std::uint32_t power_and_half(ElementType type, int exponent) {
  return power(type, exponent) | (1u << (layout_of(type).fraction_bits - 1));
}

std::uint32_t minus(ElementType type, std::uint32_t word) {
  return word | (1u << (layout_of(type).width - 1));
}

std::uint32_t f32_power(int exponent) { return power(ElementType::f32, exponent); }
constexpr std::uint32_t f32_sign = 0x80000000u;

const TensorCoreRow& wgmma(ElementType type, ElementType accumulator = ElementType::f32) {
  const TensorCoreRow* row = find_tensor_core_row(TensorCoreUnit::hopper_wgmma, type, type, accumulator);
  REQUIRE(row != nullptr);
  return *row;
}

/// The products in one full group, the rest +0. The order inside a group must not matter: several are tried.
std::uint32_t dot(const TensorCoreRow& row, Products products, std::uint32_t c) {
  REQUIRE(products.size() <= row.group);
  products.resize(row.group);
  std::uint32_t first = 0;
  for (std::size_t turn = 0; turn < row.group; ++turn) {
    Words a;
    Words b;
    for (const auto& [x, y] : products) {
      a.push_back(x);
      b.push_back(y);
    }
    const std::uint32_t d = fused_dot_add(row, a, b, c);
    if (turn == 0) first = d;
    CHECK(d == first);
    std::rotate(products.begin(), products.begin() + 1, products.end());
    std::swap(products[turn], products[(turn * 5 + 3) % row.group]);
  }
  return first;
}

/// 2^7*2^7 - 2^7*2^7: aligns everything at 2^14 and cancels.
Products swamp(ElementType type) {
  const std::uint32_t large = power(type, 7);
  return {{large, large}, {minus(type, large), large}};
}

const std::vector<ElementType> wide_types = {ElementType::f16, ElementType::bf16, ElementType::tf32};
const std::vector<ElementType> narrow_types = {ElementType::e4m3, ElementType::e5m2};

}  // namespace

TEST_CASE("P1: the accumulator keeps 25 bits below the largest term, 13 for FP8") {
  for (const ElementType type : wide_types)
    for (int f = 0; f <= 26; ++f)
      CHECK(dot(wgmma(type), swamp(type), f32_power(14 - f)) == (f <= 25 ? f32_power(14 - f) : 0));
  for (const ElementType type : narrow_types)
    for (int f = 0; f <= 14; ++f)
      CHECK(dot(wgmma(type), swamp(type), f32_power(14 - f)) == (f <= 13 ? f32_power(14 - f) : 0));
}

TEST_CASE("P2: a product keeps as many bits as the accumulator") {
  const auto check = [](ElementType type, int f, int kept) {
    Products products = swamp(type);
    const int exponent = 14 - f;
    products.push_back({power(type, exponent / 2), power(type, exponent - exponent / 2)});
    CHECK(dot(wgmma(type), products, 0) == (f <= kept ? f32_power(exponent) : 0));
  };
  for (const ElementType type : wide_types)
    for (int f = 0; f <= 26; ++f) check(type, f, 25);
  for (const ElementType type : narrow_types)
    for (int f = 0; f <= 14; ++f) check(type, f, 13);
}

TEST_CASE("P3: bits below the grid are cut as sign and magnitude") {
  for (const ElementType type : wide_types) {
    const int unit = 14 - 25;
    for (const std::uint32_t sign : {0u, f32_sign}) {
      CHECK(dot(wgmma(type), swamp(type), f32_power(unit - 2) | sign) == 0);
      CHECK(dot(wgmma(type), swamp(type), f32_power(unit - 1) | sign) == 0);
      CHECK(dot(wgmma(type), swamp(type), power_and_half(ElementType::f32, unit - 1) | sign) == 0);
      CHECK(dot(wgmma(type), swamp(type), power_and_half(ElementType::f32, unit) | sign) ==
            (f32_power(unit) | sign));
    }
  }
}

TEST_CASE("P4: a product of significand 2.25 does not raise the alignment exponent") {
  for (const ElementType type : wide_types) {
    const std::uint32_t large = power_and_half(type, 7);
    const Products products = {
        {large, large}, {minus(type, large), large}, {power(type, -5), power(type, -6)}};
    CHECK(dot(wgmma(type), products, 0) == 0x3a000000u);
  }
}

TEST_CASE("P5: the sum is truncated to f32, not rounded") {
  for (const ElementType type : wide_types) {
    CHECK(dot(wgmma(type), {{power_and_half(type, -12), power(type, -12)}}, f32_power(0)) == 0x3f800000u);
    // 1.75 * 2^-24
    const std::uint32_t word = power_and_half(type, -12) | (1u << (layout_of(type).fraction_bits - 2));
    CHECK(dot(wgmma(type), {{minus(type, word), power(type, -12)}}, f32_power(0) | f32_sign) == 0xbf800000u);
  }
}

TEST_CASE("P6: terms below the last place carry into it together") {
  for (const ElementType type : wide_types) {
    const Products products = {{power(type, -12), power(type, -12)},
                               {power(type, -12), power(type, -13)},
                               {power(type, -13), power(type, -12)}};
    CHECK(dot(wgmma(type), products, f32_power(0)) == 0x3f800001u);
  }
}

TEST_CASE("P8: the alignment exponent has a floor of -133") {
  const ElementType type = ElementType::bf16;
  for (int n = 150; n <= 165; ++n) {
    const Products products = {{power(type, -100), power(type, -49)},
                               {minus(type, power(type, -100)), power(type, 100 - n)}};
    CHECK(dot(wgmma(type), products, 0) == (n <= 158 ? 0 : 1));
  }
}

TEST_CASE("P10: products beyond the range of f32 are not infinite before the sum") {
  const ElementType type = ElementType::bf16;
  const std::uint32_t large = power(type, 100);
  CHECK(dot(wgmma(type), {{large, large}, {minus(type, large), large}}, f32_power(0)) == 0);
  CHECK(dot(wgmma(type),
            {{power(type, 64), power(type, 64)}, {minus(type, power(type, 64)), power(type, 63)}},
            0) == 0x7f000000u);
  const std::uint32_t half = power(type, 64);
  CHECK(dot(wgmma(type), {{half, power(type, 63)}, {half, power(type, 63)}}, 0) == 0x7f800000u);
}

TEST_CASE("P11: zero is negative only if every term is, as an H200 has it (D6)") {
  for (const ElementType type : wide_types) {
    // Of tf32 some place of the unit always holds +0.
    const std::uint32_t negative = type == ElementType::tf32 ? 0 : f32_sign;
    const Products all_negative(wgmma(type).group, {minus(type, 0), 0});
    CHECK(dot(wgmma(type), all_negative, f32_sign) == negative);
    CHECK(dot(wgmma(type), all_negative, 0) == 0);
    const std::uint32_t one = power(type, 0);
    CHECK(dot(wgmma(type), {{one, one}, {minus(type, one), one}}, f32_sign) == 0);
    // Places without a product hold +0 too.
    const Words few(wgmma(type).group / 2, minus(type, 0)), zeros(wgmma(type).group / 2, 0);
    CHECK(fused_dot_add(wgmma(type), few, zeros, f32_sign) == 0);
  }
  // A sum below zero that is cut to zero: -2^-200 in every product, then in one beside +0.
  const ElementType type = ElementType::bf16;
  const std::pair<std::uint32_t, std::uint32_t> tiny = {minus(type, power(type, -100)), power(type, -100)};
  CHECK(dot(wgmma(type), Products(16, tiny), f32_sign) == f32_sign);
  CHECK(dot(wgmma(type), {tiny}, f32_sign) == 0);
  // And one that is rounded to zero: -2^-26 as f16.
  const ElementType half = ElementType::f16;
  const TensorCoreRow& to_half = wgmma(half, half);
  CHECK(dot(to_half, {{minus(half, power(half, -13)), power(half, -13)}}, 0x8000) == 0);
  CHECK(dot(to_half, Products(16, {minus(half, 1), power(half, -14)}), 0x8000) == 0x8000);
}

TEST_CASE("P12: every NaN is the canonical one") {
  const auto check = [](const TensorCoreRow& row, std::uint32_t infinity, std::uint32_t nan_result) {
    const std::uint32_t one = power(row.a, 0);
    const std::uint32_t quiet_bit = 1u << (layout_of(row.a).fraction_bits - 1);
    // The lowest payload bit that tf32 reads is bit 13.
    const std::uint32_t payload = row.a == ElementType::tf32 ? 1u << 13 : 1u;
    const std::uint32_t signalling = infinity | payload;
    const std::uint32_t quiet = infinity | quiet_bit | payload;
    for (const std::uint32_t nan : {signalling, quiet, minus(row.a, signalling), minus(row.a, quiet)}) {
      CHECK(dot(row, {{nan, one}}, 0) == nan_result);
      CHECK(dot(row, {{one, nan}}, 0) == nan_result);
    }
    CHECK(dot(row, {{infinity, 0}}, 0) == nan_result);
    CHECK(dot(row, {{infinity, one}, {minus(row.a, infinity), one}}, 0) == nan_result);
    const std::uint32_t c_infinity = row.accumulator == ElementType::f32 ? 0x7f800000u : 0x7c00u;
    CHECK(dot(row, {{minus(row.a, infinity), one}}, c_infinity) == nan_result);
    CHECK(dot(row, {{infinity, one}}, c_infinity) == c_infinity);
    CHECK(dot(row, {{infinity, minus(row.a, one)}}, 0) == minus(row.accumulator, c_infinity));
    CHECK(dot(row, {{one, one}}, c_infinity + 1) == nan_result);
  };
  check(wgmma(ElementType::f16), 0x7c00, 0x7fffffffu);
  check(wgmma(ElementType::bf16), 0x7f80, 0x7fffffffu);
  check(wgmma(ElementType::tf32), 0x7f800000u, 0x7fffffffu);
  check(wgmma(ElementType::f16, ElementType::f16), 0x7c00, 0x7fffu);
}

TEST_CASE("P13: tf32 operands are truncated before anything else") {
  const TensorCoreRow& row = wgmma(ElementType::tf32);
  CHECK(dot(row, {{0x3f801000u, 0x3f800000u}}, 0) == 0x3f800000u);
  CHECK(dot(row, {{0x7f800001u, 0x3f800000u}}, 0) == 0x7f800000u);
  // The subnormal 2^-127 times 2^20.
  CHECK(dot(row, {{0x00400000u, f32_power(20)}}, 0) == f32_power(-107));
}

TEST_CASE("P14: FP8 truncates the accumulator to 13 bits even when A and B are zero") {
  for (const ElementType type : narrow_types) {
    CHECK(dot(wgmma(type), {}, 0x3f800000u + (1u << 9)) == 0x3f800000u);
    CHECK(dot(wgmma(type), {}, 0x3f800000u + (1u << 10)) == 0x3f800400u);
    CHECK(dot(wgmma(type), {}, f32_power(-20) + (1u << 10)) == 0x35800400u);
  }
}

TEST_CASE("P15: FP8 adds 32 products in one step") {
  for (const ElementType type : narrow_types) {
    // e4m3 reaches 2^-13 as 2^-6 * 2^-7; 2^-7 and 2^-8 are its subnormals 4 and 2.
    const bool e4m3 = type == ElementType::e4m3;
    for (const int exponent : {-13, -14}) {
      const std::uint32_t small = e4m3 ? (exponent == -13 ? 4u : 2u) : power(type, exponent + 6);
      Products products(31, {power(type, -6), small});
      products.push_back({power(type, 0), power(type, 0)});
      CHECK(dot(wgmma(type), products, 0) == (exponent == -13 ? 0x3f807c00u : 0x3f800000u));
    }
  }
}

TEST_CASE("P16: small products beside a cancelling accumulator (equation 10 of the paper)") {
  const auto products = [](ElementType type) {
    return Products{{minus(type, power(type, 13)), power(type, 10)},
                    {minus(type, power(type, -1)), power(type, 0)},
                    {minus(type, power(type, -2)), power(type, 0)},
                    {minus(type, power(type, -3)), power(type, 0)}};
  };
  CHECK(dot(wgmma(ElementType::f16), products(ElementType::f16), f32_power(23)) == 0xbf400000u);
  CHECK(dot(wgmma(ElementType::e5m2), products(ElementType::e5m2), f32_power(23)) == 0);
}

TEST_CASE("P17: FP8 mma.sync is f16 arithmetic on Hopper and native on Ada") {
  const ElementType type = ElementType::e5m2;
  const std::uint32_t one = power(type, 0);
  const std::uint32_t large = power(type, 14);
  Words a(32, 0);
  const Words b(32, one);
  a[0] = large;
  a[1] = one;
  a[2] = minus(type, large);
  const TensorCoreRow* ada = find_tensor_core_row(TensorCoreUnit::ada_mma, type, type, ElementType::f32);
  REQUIRE(ada != nullptr);
  CHECK(fp8_as_f16_dot_add(type, type, ElementType::f32, a, b, 0) == 0x3f800000u);
  CHECK(fused_dot_add(*ada, a, b, 0) == 0);
  Words single(32, 0);
  single[0] = power_and_half(type, 0);
  CHECK(fp8_as_f16_dot_add(type, type, ElementType::f32, single, b, f32_power(24)) == 0x4b800001u);
  CHECK(fused_dot_add(*ada, single, b, f32_power(24)) == 0x4b800000u);
}

TEST_CASE("P18: an f16 accumulator is rounded once, from the aligned sum") {
  const ElementType type = ElementType::f16;
  const TensorCoreRow& row = wgmma(type, ElementType::f16);
  // Half an ulp of 2^14 is 2^3; F = 25 below 2^14 is 2^-11.
  for (const int exponent : {-11, -12}) {
    const Products products = {{power(type, 7), power(type, 7)},
                               {power(type, 3), power(type, 0)},
                               {power(type, exponent), power(type, 0)}};
    CHECK(dot(row, products, 0) == (exponent == -11 ? 0x7401u : 0x7400u));
  }
}

TEST_CASE("f64 products are a chain of fused multiply-adds, integer products are exact") {
  // 1 + 2^-53 is a tie for a single addition, twice in a row it stays at 1; the exact sum would be 1 + 2^-52.
  const std::uint64_t one = 0x3ff0000000000000u;
  const std::uint64_t small = 0x3ca0000000000000u;
  const std::vector<std::uint64_t> a = {small, small};
  const std::vector<std::uint64_t> b = {one, one};
  CHECK(f64_dot_add(a, b, one) == one);
  const std::vector<std::int32_t> x = {127, 127, -128};
  const std::vector<std::int32_t> y = {127, -128, -128};
  CHECK(integer_dot_add(x, y, 5, false) == 16129 - 16256 + 16384 + 5);
  CHECK(integer_dot_add(x, y, INT32_MAX, true) == INT32_MAX);
  CHECK(integer_dot_add(x, y, INT32_MAX, false) == INT32_MIN + 16256);
}

TEST_CASE("every tensor core row has a group, a rounding and a source that fit together") {
  for (const TensorCoreRow& row : tensor_core_rows()) {
    CAPTURE(row.id);
    CHECK((row.group == 64 ? row.id == "I23" : 32 % row.group == 0));  // of FP4, all of k is one step
    CHECK((row.rho == TensorCoreRounding::rne_f16) == (row.accumulator == ElementType::f16));
    CHECK(!row.source.empty());
    CHECK(find_tensor_core_row(row.unit, row.a, row.b, row.accumulator) == &row);
  }
  // FP8 mma.sync is not a matrix operation on Hopper (I18).
  CHECK(find_tensor_core_row(TensorCoreUnit::hopper_mma, ElementType::e4m3, ElementType::e4m3,
                             ElementType::f32) == nullptr);
}
