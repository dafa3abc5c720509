// SPDX-License-Identifier: Apache-2.0
// Every width of vectors gives the bits of the reference, for every type of operands and accumulators.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/numerics/tensor_core.h"

using namespace turnstile;

namespace {

using Random = std::mt19937_64;

/// What the words of a tile are like. `far_apart` and `near_the_end`: exponents for which products of floats
/// would overflow or vanish.
enum class Words { uniform, near_one, cancelling, far_apart, near_the_end, zeros_and_specials };
constexpr Words kinds[] = {Words::uniform,   Words::near_one,     Words::cancelling,
                           Words::far_apart, Words::near_the_end, Words::zeros_and_specials};

std::uint32_t random_word(Random& random, ElementType type, Words kind) {
  const FormatShape shape = shape_of(type);
  const int low = shape.fraction_bits + shape.padding_bits, top = shape.exponent_ones();
  const auto any = static_cast<std::uint32_t>(random());
  const std::uint32_t sign = (any & 1) << (shape.width() - 1);
  const auto in = [&](int around, int spread) {
    const int exponent = around + static_cast<int>(random() % static_cast<unsigned>(2 * spread + 1)) - spread;
    const auto field = static_cast<std::uint32_t>(std::clamp(exponent + shape.bias(), 0, top - 1));
    return sign | field << low | (any >> 1 & ((1u << low) - 1));
  };
  const std::uint32_t all = shape.width() == 32 ? ~0u : (1u << shape.width()) - 1;
  switch (kind) {
    case Words::uniform:
      return any & all;
    case Words::near_one:
      return in(0, 4);
    case Words::cancelling:  // two bits of significand, and the same few exponents
      return in(0, 12) & ~((1u << (low - 1)) - 1);
    case Words::far_apart:
      return in(random() % 2 == 0 ? -60 : 60, 12);
    case Words::near_the_end:
      return in(random() % 2 == 0 ? -shape.bias() : shape.bias(), 3);
    case Words::zeros_and_specials:
      if (any % 64 == 0) return sign | static_cast<std::uint32_t>(top) << low;
      if (any % 64 == 1) return sign | static_cast<std::uint32_t>(top) << low | 1u << (low - 1);
      if (any % 3 == 0) return sign;
      return in(-10, 20);
  }
  return 0;
}

std::vector<std::uint8_t> random_operand(Random& random, ElementType type, Words kind, std::size_t count) {
  const std::size_t bytes = operand_bytes(type);
  std::vector<std::uint8_t> out(count * bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word = random_word(random, type, kind);
    for (std::size_t b = 0; b < bytes; ++b) out[i * bytes + b] = static_cast<std::uint8_t>(word >> (8 * b));
  }
  return out;
}

}  // namespace

TEST_CASE("vectors of every width give the bits of the reference, for all types") {
  Random random(11302126);
  std::size_t outputs = 0, rows = 0;
  for (const TensorCoreRow& row : tensor_core_rows()) {
    if (!tile_path_available(row, TilePath::portable)) continue;
    ++rows;
    for (int repeat = 0; repeat < 8; ++repeat)
      for (const Words kind : kinds) {
        const std::size_t m = 1 + random() % 12, n = 1 + random() % 70, k = 1 + random() % 80;
        const auto a = random_operand(random, row.a, kind, m * k),
                   b = random_operand(random, row.b, kind, n * k);
        std::vector<std::uint32_t> d(m * n);
        for (std::uint32_t& word : d) word = random_word(random, row.accumulator, kinds[random() % 6]);
        const auto result = [&](TilePath path) {
          std::vector<std::uint32_t> out = d;
          multiply_accumulate(row, m, n, k, a.data(), k * operand_bytes(row.a), b.data(),
                              k * operand_bytes(row.b), out.data(), n, path);
          return out;
        };
        const std::vector<std::uint32_t> reference = result(TilePath::reference);
        CAPTURE(row.id);
        CAPTURE(static_cast<int>(kind));
        for (const TilePath path : {TilePath::portable, TilePath::avx2, TilePath::avx512}) {
          CAPTURE(static_cast<int>(path));
          REQUIRE(result(path) == reference);
        }
        outputs += m * n;
      }
  }
  CHECK(rows >= 40);
  CHECK(outputs > 300'000);
}

TEST_CASE("the largest sums of a group, which leave no bit of a word unused") {
  for (const TensorCoreRow& row : tensor_core_rows()) {
    if (!tile_path_available(row, TilePath::portable)) continue;
    CAPTURE(row.id);
    const FormatShape shape = shape_of(row.a);
    // All significands at their largest, all of one sign or two; c beside them.
    const std::uint32_t fraction = ((1u << shape.fraction_bits) - (shape.finite_top_exponent ? 2 : 1))
                                   << shape.padding_bits;
    const std::uint32_t largest =
        static_cast<std::uint32_t>(shape.bias()) << (shape.fraction_bits + shape.padding_bits) | fraction;
    const std::size_t k = row.group, bytes = operand_bytes(row.a);
    for (std::size_t negative = 0; negative <= k; negative += k / 4) {
      std::vector<std::uint8_t> a(k * bytes), b(k * bytes);
      for (std::size_t i = 0; i < k; ++i)
        for (std::size_t x = 0; x < bytes; ++x) {
          b[i * bytes + x] = static_cast<std::uint8_t>(largest >> (8 * x));
          a[i * bytes + x] = b[i * bytes + x];
          if (i < negative && x + 1 == bytes) a[i * bytes + x] ^= 0x80;
        }
      for (const std::uint32_t sign : {0u, 1u}) {
        const bool half = row.accumulator == ElementType::f16;
        const std::uint32_t c = half ? sign << 15 | 0x43ff : sign << 31 | 0x407fffff;
        std::uint32_t results[4] = {c, c, c, c};
        constexpr TilePath paths[] = {TilePath::reference, TilePath::portable, TilePath::avx2,
                                      TilePath::avx512};
        for (std::size_t p = 0; p < 4; ++p)
          multiply_accumulate(row, 1, 1, k, a.data(), k * bytes, b.data(), k * bytes, &results[p], 1,
                              paths[p]);
        for (const std::uint32_t r : results) CHECK(r == results[0]);
      }
    }
  }
}
