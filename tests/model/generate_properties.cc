// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "model/launch/generate.h"

namespace turnstile {
namespace {

template <typename T>
std::vector<T> made(Family family, ElementType type, size_t rows, size_t columns, uint64_t seed = 1,
                    uint64_t stream = 0, size_t pitch = 0) {
  if (pitch == 0) pitch = columns;
  std::vector<T> values(rows * pitch);
  REQUIRE(sizeof(T) == element_bytes(type));
  generate(family, type, seed, stream, rows, columns, pitch, std::as_writable_bytes(std::span(values)));
  return values;
}

double bf16_value(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

struct Moments {
  double mean = 0, variance = 0, kurtosis = 0;
};
template <typename T, typename Value>
Moments moments(const std::vector<T>& values, Value value) {
  Moments m;
  const double n = static_cast<double>(values.size());
  for (const T v : values) m.mean += value(v) / n;
  double fourth = 0;
  for (const T v : values) {
    const double square = std::pow(value(v) - m.mean, 2);
    m.variance += square / n;
    fourth += square * square / n;
  }
  m.kurtosis = fourth / (m.variance * m.variance);
  return m;
}

constexpr ElementType kAllTypes[] = {
    ElementType::b8,  ElementType::u8,  ElementType::s8,  ElementType::e4m3, ElementType::e5m2,
    ElementType::b16, ElementType::u16, ElementType::s16, ElementType::f16,  ElementType::bf16,
    ElementType::b32, ElementType::u32, ElementType::s32, ElementType::f32,  ElementType::tf32,
    ElementType::b64, ElementType::u64, ElementType::s64, ElementType::f64};
constexpr Family kAllFamilies[] = {Family::zeros,  Family::ones, Family::iota,
                                   Family::normal, Family::wide, Family::special};

}  // namespace

TEST_CASE("names of types and families lead back to them") {
  for (const ElementType type : kAllTypes) CHECK(element_from_name(element_name(type)) == type);
  for (const Family family : kAllFamilies) CHECK(family_from_name(family_name(family)) == family);
  CHECK(element_bytes(ElementType::e4m3) == 1);
  CHECK(element_bytes(ElementType::bf16) == 2);
  CHECK(element_bytes(ElementType::tf32) == 4);
  CHECK(element_bytes(ElementType::f64) == 8);
  CHECK_FALSE(element_from_name("bfloat16"));
  CHECK_FALSE(family_from_name(""));
}

TEST_CASE("normal values have mean 0, variance 1 and nearly the tails of a Gaussian") {
  const auto f32 = made<float>(Family::normal, ElementType::f32, 256, 1024);
  const auto bf16 = made<uint16_t>(Family::normal, ElementType::bf16, 256, 1024, 5);
  for (const Moments& m : {moments(f32, [](float v) { return double{v}; }), moments(bf16, bf16_value)}) {
    CHECK(std::fabs(m.mean) < 0.01);  // five standard errors
    CHECK(std::fabs(m.variance - 1) < 0.015);
    CHECK(std::fabs(m.kurtosis - 2.9) < 0.06);  // a sum of twelve uniform numbers: 3 - 1.2 / 12
  }
}

TEST_CASE("neighbours, rows, streams and seeds are not correlated") {
  const size_t n = 512;
  const auto a = made<float>(Family::normal, ElementType::f32, n, n, 1, 0);
  const auto stream = made<float>(Family::normal, ElementType::f32, n, n, 1, 1);
  const auto seed = made<float>(Family::normal, ElementType::f32, n, n, 2, 0);
  double right = 0, below = 0, other_stream = 0, other_seed = 0, transposed = 0;
  for (size_t i = 0; i + 1 < n; ++i) {
    for (size_t j = 0; j + 1 < n; ++j) {
      const double v = a[i * n + j];
      right += v * a[i * n + j + 1];
      below += v * a[(i + 1) * n + j];
      other_stream += v * stream[i * n + j];
      other_seed += v * seed[i * n + j];
      if (i != j) transposed += v * a[j * n + i];
    }
  }
  for (const double sum : {right, below, other_stream, other_seed, transposed / 2})
    CHECK(std::fabs(sum / (n * n)) < 0.01);
}

TEST_CASE("a row's values do not depend on the batch, the width or the row pitch") {
  for (const Family family : {Family::normal, Family::wide, Family::special}) {
    const auto large = made<uint16_t>(family, ElementType::bf16, 64, 100);
    const auto small = made<uint16_t>(family, ElementType::bf16, 3, 100);
    const auto narrow = made<uint16_t>(family, ElementType::bf16, 64, 7);
    const auto pitched = made<uint16_t>(family, ElementType::bf16, 64, 100, 1, 0, 128);
    for (size_t row = 0; row < 64; ++row) {
      for (size_t column = 0; column < 100; ++column) {
        const uint16_t value = large[row * 100 + column];
        if (row < 3) CHECK(small[row * 100 + column] == value);
        if (column < 7) CHECK(narrow[row * 7 + column] == value);
        CHECK(pitched[row * 128 + column] == value);
      }
      // Padding is NaN: it cannot be mistaken for zero fill, and it shows in any sum.
      for (size_t column = 100; column < 128; ++column)
        CHECK(std::isnan(bf16_value(pitched[row * 128 + column])));
    }
  }
}

TEST_CASE("padding is never zero, in any type") {
  for (const ElementType type : kAllTypes) {
    std::vector<std::byte> bytes(2 * 4 * element_bytes(type));
    generate(Family::zeros, type, 1, 0, 2, 3, 4, bytes);
    const size_t width = element_bytes(type);
    for (size_t row = 0; row < 2; ++row) {
      CHECK(bytes[row * 4 * width] == std::byte{0});
      bool any = false;
      for (size_t i = 0; i < width; ++i) any = any || bytes[(row * 4 + 3) * width + i] != std::byte{0};
      CHECK(any);
    }
  }
}

TEST_CASE("wide bf16 values spread over 49 exponents and both signs, finite") {
  const auto values = made<uint16_t>(Family::wide, ElementType::bf16, 64, 1024);
  std::set<int> exponents;
  std::vector<size_t> count(64);
  size_t negative = 0;
  for (const uint16_t bits : values) {
    const int exponent = (bits >> 7 & 0xFF) - 127;
    exponents.insert(exponent);
    REQUIRE(std::abs(exponent) <= 24);
    ++count[static_cast<size_t>(exponent + 24)];
    negative += bits >> 15;
  }
  CHECK(exponents.size() == 49);
  for (size_t i = 0; i < 49; ++i)
    CHECK(std::fabs(static_cast<double>(count[i]) - 65536.0 / 49) < 6 * std::sqrt(65536.0 / 49));
  CHECK(std::fabs(static_cast<double>(negative) - 32768) < 6 * 128);
}

TEST_CASE("special bf16 inputs hold every kind of value, and leave most rows finite") {
  constexpr size_t rows = 1024, columns = 1024;
  const auto values = made<uint16_t>(Family::special, ElementType::bf16, rows, columns);
  size_t positive_infinity = 0, negative_infinity = 0, quiet = 0, signalling = 0, subnormal = 0, largest = 0,
         plus_zero = 0, minus_zero = 0;
  std::set<uint16_t> payloads;
  size_t rows_not_finite = 0, elements_not_finite = 0;
  for (size_t row = 0; row < rows; ++row) {
    size_t in_row = 0;
    for (size_t column = 0; column < columns; ++column) {
      const uint16_t bits = values[row * columns + column];
      const uint16_t magnitude = bits & 0x7FFF;
      in_row += magnitude >= 0x7F80;
      positive_infinity += bits == 0x7F80;
      negative_infinity += bits == 0xFF80;
      largest += magnitude == 0x7F7F;
      subnormal += magnitude > 0 && magnitude < 0x80;
      plus_zero += bits == 0;
      minus_zero += bits == 0x8000;
      if (magnitude > 0x7F80) {
        ++((magnitude & 0x40) != 0 ? quiet : signalling);
        payloads.insert(bits);
      }
    }
    rows_not_finite += in_row != 0;
    elements_not_finite += in_row;
  }
  CHECK(positive_infinity > 0);
  CHECK(negative_infinity > 0);
  CHECK(quiet > 0);
  CHECK(signalling > 0);
  CHECK(payloads.size() > 100);
  CHECK(largest > 0);
  CHECK(subnormal > rows * columns / 100);
  CHECK(plus_zero > rows * columns / 100);
  CHECK(minus_zero > rows * columns / 100);
  // NaN, Inf or the largest value are allowed in a quarter of the rows, NaN and Inf in three of four of
  // these.
  CHECK(rows_not_finite > rows / 10);
  CHECK(rows_not_finite < rows / 4);
  CHECK(elements_not_finite < rows * columns / 128);
}

TEST_CASE("e4m3 has no infinity: special values are its NaN and 448") {
  const auto values = made<uint8_t>(Family::special, ElementType::e4m3, 256, 1024);
  size_t nan = 0, largest = 0;
  for (const uint8_t bits : values) {
    nan += (bits & 0x7F) == 0x7F;
    largest += (bits & 0x7F) == 0x7E;
  }
  CHECK(nan > 0);
  CHECK(largest > 0);
  for (const uint8_t bits : made<uint8_t>(Family::wide, ElementType::e4m3, 16, 1024))
    REQUIRE((bits & 0x7F) != 0x7F);
}

TEST_CASE("special integers hold the edges of their type") {
  const auto values = made<int32_t>(Family::special, ElementType::s32, 16, 1024);
  const std::set<int32_t> all(values.begin(), values.end());
  for (const int32_t edge : {0, 1, -1, INT32_MAX, INT32_MIN}) CHECK(all.contains(edge));
}

TEST_CASE("tf32 values leave the 13 bits clear that the type does not have") {
  for (const Family family : kAllFamilies)
    for (const uint32_t bits : made<uint32_t>(family, ElementType::tf32, 8, 256))
      REQUIRE((bits & 0x1FFF) == 0);
}

TEST_CASE("iota counts elements, and saturates where floats cannot follow") {
  const auto f32 = made<float>(Family::iota, ElementType::f32, 3, 5);
  const auto s8 = made<int8_t>(Family::iota, ElementType::s8, 2, 200);
  for (size_t i = 0; i < 15; ++i) CHECK(f32[i] == static_cast<float>(i));
  CHECK(s8[127] == 127);
  CHECK(s8[128] == -128);  // integers wrap
  const auto bf16 = made<uint16_t>(Family::iota, ElementType::bf16, 1, 300);
  CHECK(bf16[256] == 0x4380);
  CHECK(bf16[257] == 0x4380);  // 257 lies between 256 and 258: to even
  CHECK(bf16[259] == 0x4382);
  CHECK(made<uint8_t>(Family::iota, ElementType::e4m3, 1, 600)[599] == 0x7E);
}

TEST_CASE("ones are one") {
  CHECK(made<float>(Family::ones, ElementType::f32, 1, 1)[0] == 1.0F);
  CHECK(made<double>(Family::ones, ElementType::f64, 1, 1)[0] == 1.0);
  CHECK(made<uint16_t>(Family::ones, ElementType::bf16, 1, 1)[0] == 0x3F80);
  CHECK(made<uint16_t>(Family::ones, ElementType::f16, 1, 1)[0] == 0x3C00);
  CHECK(made<uint8_t>(Family::ones, ElementType::e5m2, 1, 1)[0] == 0x3C);
  CHECK(made<uint8_t>(Family::ones, ElementType::e4m3, 1, 1)[0] == 0x38);
  CHECK(made<uint64_t>(Family::ones, ElementType::u64, 1, 1)[0] == 1);
}

TEST_CASE("what does not fit into the output is not written") {
  std::vector<std::byte> bytes(10, std::byte{0x11});
  generate(Family::ones, ElementType::u32, 1, 0, 1000, 2, 2, bytes);
  CHECK(bytes[0] == std::byte{1});
  CHECK(bytes[8] == std::byte{0x11});  // the second row would need 16 bytes
  generate(Family::ones, ElementType::u32, 1, 0, 1, 4, 2, bytes);
  CHECK(bytes[4] == std::byte{1});
}

}  // namespace turnstile
