// SPDX-License-Identifier: Apache-2.0
// Conversions against a naive rounding: look the neighbours up in the list of all values of the target
// format.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sim/numerics/conversions.h"

using namespace turnstile;

namespace {

float as_float(std::uint32_t word) { return std::bit_cast<float>(word); }
std::uint32_t as_word(float value) { return std::bit_cast<std::uint32_t>(value); }

/// All finite magnitudes of a small format in ascending order; the index is the word without sign.
struct ValueTable {
  std::vector<double> values;
  double beyond;  ///< where the next value would be: overflow starts half-way to it
  std::uint32_t infinity;
  std::uint32_t nan;
  int width;
};

ValueTable table_of(ElementType type) {
  int bias = 0;
  int fraction_bits = 0;
  std::uint32_t finite_words = 0;
  ValueTable table{};
  switch (type) {
    case ElementType::bf16:
      bias = 127, fraction_bits = 7, finite_words = 0x7f80, table = {{}, 0, 0x7f80, 0x7fff, 16};
      break;
    case ElementType::f16:
      bias = 15, fraction_bits = 10, finite_words = 0x7c00, table = {{}, 0, 0x7c00, 0x7fff, 16};
      break;
    case ElementType::e5m2:
      bias = 15, fraction_bits = 2, finite_words = 0x7c, table = {{}, 0, 0x7c, 0x7f, 8};
      break;
    case ElementType::e4m3:
      bias = 7, fraction_bits = 3, finite_words = 0x7f, table = {{}, 0, 0x7f, 0x7f, 8};
      break;
    default:
      FAIL("not a small format");
  }
  for (std::uint32_t word = 0; word <= finite_words; ++word) {
    const int field = static_cast<int>(word >> fraction_bits);
    const int fraction = static_cast<int>(word) & ((1 << fraction_bits) - 1);
    const int significand = field == 0 ? fraction : fraction + (1 << fraction_bits);
    table.values.push_back(std::ldexp(significand, std::max(field, 1) - bias - fraction_bits));
  }
  table.beyond = table.values.back();
  table.values.pop_back();
  return table;
}

/// The rounding by search; `saturate` is .satfinite.
std::uint32_t rounded(const ValueTable& table, float value, Rounding rounding, bool saturate) {
  if (std::isnan(value)) return table.nan;
  const std::uint32_t sign = std::signbit(value) ? 1u << (table.width - 1) : 0;
  const auto largest = static_cast<std::uint32_t>(table.values.size() - 1);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isinf(value)) return sign | (saturate ? largest : table.infinity);
  const auto above = std::upper_bound(table.values.begin(), table.values.end(), magnitude);
  const auto low = static_cast<std::uint32_t>(above - table.values.begin()) - 1;
  if (table.values[low] == magnitude || rounding == Rounding::toward_zero) return sign | low;
  const double high_value = low == largest ? table.beyond : table.values[low + 1];
  const double to_low = magnitude - table.values[low];
  const double to_high = high_value - magnitude;
  const bool up = to_high < to_low || (to_high == to_low && (low & 1) != 0);
  if (!up) return sign | low;
  if (low == largest) return sign | (saturate ? largest : table.infinity);
  return sign | (low + 1);
}

/// f32 words around all values and midpoints of a table, specials and random words.
std::vector<std::uint32_t> interesting_words(const ValueTable& table, std::uint64_t seed) {
  std::vector<std::uint32_t> words = {0,           0x80000000u, 1,           0x80000001u, 0x007fffffu,
                                      0x00800000u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u,
                                      0x7f800001u, 0xffc00000u, 0x7fffffffu, 0x43e80000u, 0x43e80001u};
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    const double next = i + 1 < table.values.size() ? table.values[i + 1] : table.beyond;
    for (const double value : {table.values[i], (table.values[i] + next) / 2}) {
      const std::uint32_t word = as_word(static_cast<float>(value));
      for (std::uint32_t step = 0; step < 3; ++step) {
        words.push_back(word + step - (word > 0 ? 1 : 0));
        words.push_back(words.back() | 0x80000000u);
      }
    }
  }
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300'000; ++i) words.push_back(static_cast<std::uint32_t>(random()));
  return words;
}

bool is_nan16(std::uint32_t word, std::uint32_t infinity) { return (word & 0x7fffu) > infinity; }

}  // namespace

TEST_CASE("f32 to bf16, f16, e4m3 and e5m2 rounds like a search in the list of all values") {
  for (const ElementType type : {ElementType::bf16, ElementType::f16, ElementType::e4m3, ElementType::e5m2}) {
    CAPTURE(static_cast<int>(type));
    const ValueTable table = table_of(type);
    std::size_t mismatches = 0;
    for (const std::uint32_t word : interesting_words(table, 3)) {
      for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
        const auto saturated = convert_float(word, ElementType::f32, type, rounding, Overflow::saturate);
        if (saturated != rounded(table, as_float(word), rounding, true)) ++mismatches;
        // Infinity into e4m3 exists only with .satfinite.
        if (type == ElementType::e4m3) continue;
        const auto plain = convert_float(word, ElementType::f32, type, rounding);
        if (plain != rounded(table, as_float(word), rounding, false)) ++mismatches;
      }
    }
    CHECK(mismatches == 0);
  }
}

TEST_CASE("the named conversions are the instructions they say") {
  CHECK(bf16_from_f32(0x3f808000u) == 0x3f80);  // tie to even
  CHECK(bf16_from_f32(0x3f818000u) == 0x3f82);
  CHECK(bf16_from_f32(0x3f818000u, Rounding::toward_zero) == 0x3f81);
  CHECK(bf16_from_f32(0x7f7fffffu) == 0x7f80);
  CHECK(bf16_from_f32(0x7f7fffffu, Rounding::toward_zero) == 0x7f7f);
  CHECK(bf16_from_f32(0xff800001u) == 0x7fff);
  CHECK(bf16_from_f32(0x80000001u) == 0x8000);
  CHECK(bf16_from_f32(0x00010000u) == 0x0001);  // subnormals are kept
  CHECK(f16_from_f32(0x477ff000u) == 0x7c00);   // 65520, half-way above the largest
  CHECK(f16_from_f32(0x477fefffu) == 0x7bff);
  CHECK(f16_from_f32(0x33000001u) == 0x0001);  // just above 2^-25
  CHECK(f16_from_f32(0x33000000u) == 0x0000);
  CHECK(f16_from_f32(0xffc12345u) == 0x7fff);
  CHECK(e4m3_from_f32(0x7f800000u) == 0x7e);
  CHECK(e4m3_from_f32(0xc4000000u) == 0xfe);  // -512
  CHECK(e4m3_from_f32(0x7fc00000u) == 0x7f);
  CHECK(e5m2_from_f32(0xff800000u) == 0xfb);
}

TEST_CASE("f32 to bf16 equals the add-and-shift that everybody uses") {
  std::mt19937_64 random(4);
  std::size_t mismatches = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const auto word = static_cast<std::uint32_t>(random());
    std::uint32_t expected = (word + 0x7fffu + ((word >> 16) & 1)) >> 16;
    if ((word & 0x7fffffffu) > 0x7f800000u) expected = 0x7fff;
    if (bf16_from_f32(word) != expected) ++mismatches;
  }
  CHECK(mismatches == 0);
}

TEST_CASE("every 16-bit number survives the way to f32 and back") {
  const ValueTable f16 = table_of(ElementType::f16);
  std::size_t mismatches = 0;
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const auto half = static_cast<std::uint16_t>(word);
    const std::uint32_t sign = (word & 0x8000u) << 16;
    const std::uint32_t magnitude = word & 0x7fffu;
    std::uint32_t expected = sign | 0x7f800000u;
    if (is_nan16(word, 0x7c00)) expected = 0x7fffffffu;
    if (magnitude < 0x7c00) expected = sign | as_word(static_cast<float>(f16.values[magnitude]));
    if (f32_from_f16(half) != expected) ++mismatches;
    if (f16_from_f32(f32_from_f16(half)) != (is_nan16(word, 0x7c00) ? 0x7fff : word)) ++mismatches;
    if (f32_from_bf16(half) != word << 16) ++mismatches;
    if (bf16_from_f32(f32_from_bf16(half)) != (is_nan16(word, 0x7f80) ? 0x7fff : word)) ++mismatches;
  }
  CHECK(mismatches == 0);
}

TEST_CASE("every FP8 number survives the way to f16 and back") {
  for (const ElementType type : {ElementType::e4m3, ElementType::e5m2}) {
    const ValueTable table = table_of(type);
    for (std::uint32_t word = 0; word < 0x100; ++word) {
      const std::uint64_t half = convert_float(word, type, ElementType::f16);
      const std::uint32_t magnitude = word & 0x7fu;
      if (magnitude < table.values.size()) {
        const double value =
            std::fabs(static_cast<double>(as_float(f32_from_f16(static_cast<std::uint16_t>(half)))));
        CHECK(value == table.values[magnitude]);
        CHECK(convert_float(half, ElementType::f16, type) == word);
      } else if (magnitude == table.infinity && type == ElementType::e5m2) {
        CHECK((half & 0x7fffu) == 0x7c00);
      } else {
        CHECK(half == 0x7fff);
      }
    }
  }
}

TEST_CASE("f32 to tf32 rounds ties to even or truncates, clears the low 13 bits, and has one NaN") {
  std::mt19937_64 random(5);
  std::size_t mismatches = 0;
  const auto converted = [](std::uint32_t word, Rounding rounding) {
    return static_cast<std::uint32_t>(convert_float(word, ElementType::f32, ElementType::tf32, rounding));
  };
  constexpr std::uint32_t one_nan = 0x7fffe000u;  // an H200's
  for (int i = 0; i < 1'000'000; ++i) {
    auto word = static_cast<std::uint32_t>(random());
    if (i % 4 == 0) word = (word & ~0x1fffu) | 0x1000u;  // ties
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t nearest = (word + 0xfffu + (word >> 13 & 1)) & ~0x1fffu;
    if (converted(word, Rounding::nearest_even) != (nan ? one_nan : nearest)) ++mismatches;
    if (converted(word, Rounding::toward_zero) != (nan ? one_nan : word & ~0x1fffu)) ++mismatches;
  }
  CHECK(mismatches == 0);
  CHECK(converted(0x7f7fffffu, Rounding::nearest_even) == 0x7f800000u);
}

TEST_CASE("f64 and f32 convert as the host does") {
  std::mt19937_64 random(6);
  std::size_t mismatches = 0;
  for (int i = 0; i < 500'000; ++i) {
    std::uint64_t word = random();
    if (i % 2 == 0) word = (word & 0x800fffffffffffffu) | ((random() % 330 + 860) << 52);  // the range of f32
    const auto value = std::bit_cast<double>(word);
    if (std::isnan(value)) continue;
    if (convert_float(word, ElementType::f64, ElementType::f32) != as_word(static_cast<float>(value)))
      ++mismatches;
    const auto single = static_cast<std::uint32_t>(random());
    if (std::isnan(as_float(single))) continue;
    if (convert_float(single, ElementType::f32, ElementType::f64) !=
        std::bit_cast<std::uint64_t>(static_cast<double>(as_float(single))))
      ++mismatches;
  }
  CHECK(mismatches == 0);
}

TEST_CASE("integers convert to f32 with one rounding") {
  std::mt19937_64 random(8);
  std::size_t mismatches = 0;
  for (int i = 0; i < 300'000; ++i) {
    const auto integer = static_cast<std::int64_t>(random()) >> (random() % 64);
    const bool negative = integer < 0;
    const std::uint64_t magnitude =
        negative ? ~static_cast<std::uint64_t>(integer) + 1 : static_cast<std::uint64_t>(integer);
    if (float_from_integer(negative, magnitude, ElementType::f32, Rounding::nearest_even) !=
        as_word(static_cast<float>(integer)))
      ++mismatches;
  }
  CHECK(mismatches == 0);
  CHECK(float_from_integer(false, 0, ElementType::f32, Rounding::down) == 0);
}

TEST_CASE("f32 converts to integers with rounding, clamping and NaN to zero") {
  const auto s32 = [](float value, Rounding rounding) {
    return static_cast<std::int64_t>(
        integer_from_float(as_word(value), ElementType::f32, rounding, 32, true));
  };
  std::mt19937_64 random(9);
  std::size_t mismatches = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::uint32_t word = (static_cast<std::uint32_t>(random()) & 0x807fffffu) |
                               static_cast<std::uint32_t>(118 + random() % 50) << 23;
    const float value = as_float(word);
    const auto clamped = [](float integer) {
      if (integer >= 2147483648.0f) return std::int64_t{INT32_MAX};
      return integer < -2147483648.0f ? std::int64_t{INT32_MIN} : static_cast<std::int64_t>(integer);
    };
    if (s32(value, Rounding::toward_zero) != clamped(std::trunc(value))) ++mismatches;
    if (s32(value, Rounding::up) != clamped(std::ceil(value))) ++mismatches;
    if (s32(value, Rounding::down) != clamped(std::floor(value))) ++mismatches;
    if (s32(value, Rounding::nearest_even) != clamped(std::nearbyint(value))) ++mismatches;
  }
  CHECK(mismatches == 0);
  CHECK(s32(std::numeric_limits<float>::quiet_NaN(), Rounding::toward_zero) == 0);
  CHECK(s32(-std::numeric_limits<float>::infinity(), Rounding::toward_zero) == INT32_MIN);
  CHECK(integer_from_float(as_word(-3.5f), ElementType::f32, Rounding::toward_zero, 32, false) == 0);
  CHECK(integer_from_float(as_word(300.0f), ElementType::f32, Rounding::toward_zero, 8, false) == 255);
  CHECK(integer_from_float(as_word(1e30f), ElementType::f32, Rounding::toward_zero, 64, false) == UINT64_MAX);
  CHECK(integer_from_float(0x7fffffffu, ElementType::f32, Rounding::toward_zero, 64, true) == 1ull << 63);
  CHECK(integer_from_float(1, ElementType::f32, Rounding::up, 32, true) == 1);
  CHECK(integer_from_float(1, ElementType::f64, Rounding::nearest_even, 32, true) == 0);
}
