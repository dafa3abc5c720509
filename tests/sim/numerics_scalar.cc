// SPDX-License-Identifier: Apache-2.0
// Scalar operations against the floating-point unit of the host, switched to each rounding direction.
#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>
#include <vector>

#include "sim/numerics/conversions.h"
#include "sim/numerics/scalar.h"

using namespace turnstile;

namespace {

constexpr std::uint32_t nan32 = 0x7fffffffu;

struct Direction {
  Rounding rounding;
  int host;
};
constexpr Direction directions[] = {{Rounding::nearest_even, FE_TONEAREST},
                                    {Rounding::toward_zero, FE_TOWARDZERO},
                                    {Rounding::up, FE_UPWARD},
                                    {Rounding::down, FE_DOWNWARD}};

enum class Operation { add, sub, mul, fma, div, sqrt };
constexpr Operation operations[] = {Operation::add, Operation::sub, Operation::mul,
                                    Operation::fma, Operation::div, Operation::sqrt};

template <typename Float>
struct Words;
template <>
struct Words<float> {
  using Word = std::uint32_t;
  static constexpr ElementType type = ElementType::f32;
  static constexpr Word nan = nan32;
};
template <>
struct Words<double> {
  using Word = std::uint64_t;
  static constexpr ElementType type = ElementType::f64;
  static constexpr Word nan = 0x7ff8000000000000u;
};

/// The host in one rounding direction. Volatile keeps the compiler from moving the operation out of it.
template <typename Float>
typename Words<Float>::Word on_host(Operation operation, typename Words<Float>::Word a,
                                    typename Words<Float>::Word b, typename Words<Float>::Word c,
                                    int direction) {
  volatile Float x = std::bit_cast<Float>(a);
  volatile Float y = std::bit_cast<Float>(b);
  volatile Float z = std::bit_cast<Float>(c);
  volatile Float result = 0;
  std::fesetround(direction);
  switch (operation) {
    case Operation::add:
      result = x + y;
      break;
    case Operation::sub:
      result = x - y;
      break;
    case Operation::mul:
      result = x * y;
      break;
    case Operation::fma:
      result = std::fma(x, y, z);
      break;
    case Operation::div:
      result = x / y;
      break;
    case Operation::sqrt:
      result = std::sqrt(x);
      break;
  }
  std::fesetround(FE_TONEAREST);
  const Float value = result;
  return std::isnan(value) ? Words<Float>::nan : std::bit_cast<typename Words<Float>::Word>(value);
}

std::uint64_t ours_with_its_nan(ElementType type, Operation operation, std::uint64_t a, std::uint64_t b,
                                std::uint64_t c, FloatMode mode) {
  switch (operation) {
    case Operation::add:
      return float_add(type, a, b, mode);
    case Operation::sub:
      return float_sub(type, a, b, mode);
    case Operation::mul:
      return float_mul(type, a, b, mode);
    case Operation::fma:
      return float_fma(type, a, b, c, mode);
    case Operation::div:
      return float_div(type, a, b, mode);
    case Operation::sqrt:
      return float_sqrt(type, a, mode);
  }
  return 0;
}

/// Which NaN an f64 operation gives is not the host's affair: golden/records/numerics says.
std::uint64_t ours(ElementType type, Operation operation, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                   FloatMode mode) {
  const std::uint64_t word = ours_with_its_nan(type, operation, a, b, c, mode);
  if (type == ElementType::f64 && decode(type, word).kind == NumberClass::nan) return Words<double>::nan;
  return word;
}

template <typename Float>
std::vector<typename Words<Float>::Word> edges() {
  using Limits = std::numeric_limits<Float>;
  std::vector<typename Words<Float>::Word> words;
  for (const Float value : {Float{0},
                            Limits::denorm_min(),
                            Limits::denorm_min() * 3,
                            Limits::min() - Limits::denorm_min(),
                            Limits::min(),
                            Limits::min() * (1 + Limits::epsilon()),
                            Limits::epsilon(),
                            Limits::epsilon() / 2,
                            Float{0.5},
                            1 - Limits::epsilon() / 2,
                            Float{1},
                            1 + Limits::epsilon(),
                            Float{1.5},
                            Float{2},
                            Float{3},
                            2 / Limits::epsilon(),
                            std::sqrt(Limits::max()),
                            Limits::max() / 2,
                            Limits::max(),
                            Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::signaling_NaN()}) {
    words.push_back(std::bit_cast<typename Words<Float>::Word>(value));
    words.push_back(std::bit_cast<typename Words<Float>::Word>(-value));
  }
  return words;
}

template <typename Float>
std::size_t mismatches_with_host(int random_rounds) {
  using Word = typename Words<Float>::Word;
  std::size_t mismatches = 0;
  const auto check = [&](Word a, Word b, Word c) {
    for (const Direction& direction : directions) {
      for (const Operation operation : operations) {
        const Word expected = on_host<Float>(operation, a, b, c, direction.host);
        if (ours(Words<Float>::type, operation, a, b, c, {direction.rounding}) != expected) ++mismatches;
      }
    }
  };
  const std::vector<Word> edge_words = edges<Float>();
  for (const Word a : edge_words)
    for (const Word b : edge_words)
      for (std::size_t c = 0; c < edge_words.size(); c += 5) check(a, b, edge_words[c]);
  std::mt19937_64 random(12);
  constexpr int fraction_bits = std::numeric_limits<Float>::digits - 1;
  constexpr Word exponent_field = (~Word{0} >> 1) >> fraction_bits << fraction_bits;
  for (int i = 0; i < random_rounds; ++i) {
    const auto a = static_cast<Word>(random());
    auto b = static_cast<Word>(random());
    auto c = static_cast<Word>(random());
    // Every other time close exponents, so that sums cancel: b near 1, and c near a or the exact negative of
    // a.
    if (i % 2 == 0) {
      b = (b & ~exponent_field) | std::bit_cast<Word>(Float{1});
      c = (c & ~exponent_field) | (a & exponent_field);
      if (i % 8 == 0) c = a ^ (static_cast<Word>(1) << (sizeof(Word) * 8 - 1));
    }
    check(a, b, c);
    check(a, c, b);
  }
  return mismatches;
}

}  // namespace

TEST_CASE("f32 arithmetic equals IEEE hardware in all four rounding directions") {
  CHECK(mismatches_with_host<float>(60'000) == 0);
}

TEST_CASE("f64 arithmetic equals IEEE hardware in all four rounding directions") {
  CHECK(mismatches_with_host<double>(60'000) == 0);
}

TEST_CASE("f16 and bf16 sums and products are the exact ones rounded once") {
  std::mt19937_64 random(13);
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    std::size_t mismatches = 0;
    for (int i = 0; i < 200'000; ++i) {
      std::uint64_t a = random() & 0xffff;
      std::uint64_t b = random() & 0xffff;
      // Sums of bf16 are exact in double only for exponents within some 40 of each other.
      if (type == ElementType::bf16) {
        a = (a & 0x87ff) | 0x3800;
        b = (b & 0x87ff) | 0x3800;
      }
      const auto value = [&](std::uint64_t word) {
        return std::bit_cast<double>(convert_float(word, type, ElementType::f64));
      };
      const auto round = [&](double exact) {
        if (std::isnan(exact)) return canonical_nan(type);
        return convert_float(std::bit_cast<std::uint64_t>(exact), ElementType::f64, type);
      };
      if (float_add(type, a, b) != round(value(a) + value(b))) ++mismatches;
      if (float_sub(type, a, b) != round(value(a) - value(b))) ++mismatches;
      if (float_mul(type, a, b) != round(value(a) * value(b))) ++mismatches;
    }
    CHECK(mismatches == 0);
  }
}

TEST_CASE("an f32 NaN result is always 0x7fffffff") {
  CHECK(f32_add(0x7f800001u, 0x3f800000u) == nan32);
  CHECK(f32_mul(0xffc12345u, 0x3f800000u) == nan32);
  CHECK(f32_add(0x7f800000u, 0xff800000u) == nan32);
  CHECK(f32_fma(0x7f800000u, 0, 0x3f800000u) == nan32);
  CHECK(f32_sqrt(0xbf800000u) == nan32);
  CHECK(f32_div(0, 0) == nan32);
}

// Expected words: an H200's, from the probes of kernels/probes/numerics (words.bin of 2026-11-30).
TEST_CASE("f64 hands on a NaN operand, made quiet") {
  constexpr std::uint64_t quiet = 0x7ff8000000000000u, other = 0xfff7fffffffffffeu, one = 0x3ff0000000000000u;
  CHECK(float_add(ElementType::f64, 0xfff0000000000001u, one) == 0xfff8000000000001u);
  CHECK(float_add(ElementType::f64, quiet, other) == 0xfffffffffffffffeu);
  CHECK(float_sub(ElementType::f64, 0x8010000000000000u, 0xfffffffffffffffeu) == 0xfffffffffffffffeu);
  CHECK(float_mul(ElementType::f64, quiet, other) == 0xfffffffffffffffeu);
  CHECK(float_div(ElementType::f64, quiet, other) == quiet);
  CHECK(float_fma(ElementType::f64, quiet, other, 0xfff8000000000000u) == 0xfffffffffffffffeu);
  CHECK(float_fma(ElementType::f64, 0xfff8000000000000u, 0x8008000000000000u, 0x7ff8000000000001u) ==
        0x7ff8000000000001u);
  CHECK(float_min(ElementType::f64, quiet, other) == 0xfffffffffffffffeu);
  CHECK(float_neg(ElementType::f64, 0xfff0000000000001u) == 0xfff8000000000001u);
  CHECK(float_sqrt(ElementType::f64, 0xa7fd2a060b6fe1d4u) == 0xfff8000000000000u);
}

TEST_CASE("ftz flushes what only rounding takes up to the smallest normal number (D13)") {
  const FloatMode ftz{.flush_subnormals = true};
  CHECK(f32_mul(0x80800000u, 0xbf7fffffu, ftz) == 0);
  CHECK(f32_mul(0x80800000u, 0x3f7fffffu, ftz) == 0x80000000u);
  CHECK(f32_mul(0x80800000u, 0xbf7fffffu) == 0x00800000u);
  CHECK(f32_div(0x00800000u, 0xbf800001u, {.rounding = Rounding::down, .flush_subnormals = true}) ==
        0x80000000u);
  CHECK(float_mul(ElementType::f16, 0x8400, 0xbbff, ftz) == 0);
  CHECK(f32_mul(0x00800000u, 0x3f800000u, ftz) == 0x00800000u);
  // 1 - 2^-46 is 1 in 24 bits already.
  CHECK(f32_mul(0x00800001u, 0x3f7ffffeu, ftz) == 0x00800000u);
}

TEST_CASE("ftz makes subnormal inputs and results zero with their sign") {
  const FloatMode ftz{Rounding::nearest_even, true, false};
  CHECK(f32_add(0x807fffffu, 0, ftz) == 0);
  CHECK(f32_add(0x807fffffu, 0x80000000u, ftz) == 0x80000000u);
  CHECK(f32_mul(0x80800000u, 0x3f000000u, ftz) == 0x80000000u);  // -2^-127
  CHECK(f32_mul(0x80800000u, 0x3f000000u) == 0x80400000u);
  CHECK(f32_fma(0x00400000u, 0x7f000000u, 0x3f800000u, ftz) == 0x3f800000u);
  CHECK(f32_div(0x3f800000u, 0x80000001u, ftz) == 0xff800000u);
  CHECK(f32_rcp(0x7e800001u, ftz) == 0);
  CHECK(f32_rcp(0x7e800000u, ftz) == 0x00800000u);
  CHECK(f32_sqrt(0x00000001u, ftz) == 0);
  CHECK(f32_max(0x00000001u, 0x80000001u, true) == 0);
  CHECK(float_abs(ElementType::f32, 0x80000001u, true) == 0);
  CHECK(float_neg(ElementType::f32, 0x00000001u, true) == 0x80000000u);
}

TEST_CASE("sat clamps to the unit interval and makes NaN zero") {
  const FloatMode sat{Rounding::nearest_even, false, true};
  CHECK(f32_add(0x3f800000u, 0x3f800000u, sat) == 0x3f800000u);
  CHECK(f32_add(0xbf800000u, 0x3f000000u, sat) == 0);
  CHECK(f32_add(0x3e800000u, 0x3e800000u, sat) == 0x3f000000u);
  CHECK(f32_add(0x7f800000u, 0xff800000u, sat) == 0);
  CHECK(f32_mul(0x80000000u, 0x3f800000u, sat) == 0);
  CHECK(f32_mul(0x7f800000u, 0x3f800000u, sat) == 0x3f800000u);
}

TEST_CASE("min and max: NaN loses, -0 is below +0, two NaNs are canonical") {
  const std::uint32_t one = 0x3f800000u;
  const std::uint32_t minus_two = 0xc0000000u;
  CHECK(f32_min(one, minus_two) == minus_two);
  CHECK(f32_max(one, minus_two) == one);
  CHECK(f32_min(0x80000000u, 0) == 0x80000000u);
  CHECK(f32_min(0, 0x80000000u) == 0x80000000u);
  CHECK(f32_max(0x80000000u, 0) == 0);
  CHECK(f32_max(0, 0x80000000u) == 0);
  CHECK(f32_max(0xffc00001u, minus_two) == minus_two);
  CHECK(f32_min(one, 0x7f800001u) == one);
  CHECK(f32_min(0xffc00001u, 0x7f800001u) == nan32);
  CHECK(f32_max(one, 0x7fc00000u, false, true) == nan32);
  CHECK(f32_max(0xff800000u, minus_two) == minus_two);
  std::mt19937_64 random(14);
  for (int i = 0; i < 20'000; ++i) {
    const auto a = static_cast<std::uint32_t>(random());
    const auto b = static_cast<std::uint32_t>(random());
    const auto x = std::bit_cast<float>(a);
    const auto y = std::bit_cast<float>(b);
    if (std::isnan(x) || std::isnan(y)) continue;
    REQUIRE(f32_min(a, b) == (x < y ? a : b));
    REQUIRE(f32_max(a, b) == (x > y ? a : b));
  }
}

TEST_CASE("comparisons answer as the host operators, and NaN makes them unordered") {
  const std::vector<std::uint32_t> words = edges<float>();
  for (const std::uint32_t a : words) {
    for (const std::uint32_t b : words) {
      const auto x = std::bit_cast<float>(a);
      const auto y = std::bit_cast<float>(b);
      const bool unordered = std::isunordered(x, y);
      const auto compare = [&](Comparison comparison) {
        return float_compare(ElementType::f32, comparison, a, b);
      };
      REQUIRE(compare(Comparison::eq) == (x == y));
      REQUIRE(compare(Comparison::ne) == (!unordered && x != y));
      REQUIRE(compare(Comparison::lt) == (x < y));
      REQUIRE(compare(Comparison::le) == (x <= y));
      REQUIRE(compare(Comparison::gt) == (x > y));
      REQUIRE(compare(Comparison::ge) == (x >= y));
      REQUIRE(compare(Comparison::equ) == (unordered || x == y));
      REQUIRE(compare(Comparison::neu) == (x != y));
      REQUIRE(compare(Comparison::ltu) == !(x >= y));
      REQUIRE(compare(Comparison::leu) == !(x > y));
      REQUIRE(compare(Comparison::gtu) == !(x <= y));
      REQUIRE(compare(Comparison::geu) == !(x < y));
      REQUIRE(compare(Comparison::num) == !unordered);
      REQUIRE(compare(Comparison::nan) == unordered);
    }
  }
  CHECK(float_compare(ElementType::f32, Comparison::eq, 0x00000001u, 0x80000002u, true));
  CHECK(!float_compare(ElementType::f32, Comparison::eq, 0x00000001u, 0x80000002u));
}
