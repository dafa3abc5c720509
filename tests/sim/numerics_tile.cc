// SPDX-License-Identifier: Apache-2.0
// The tile form of the tensor core: vectors and reference against each other (numerics_lanes.cc has all
// types and widths), and both against a naive
// second model that works on doubles.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sim/numerics/tensor_core.h"

using namespace turnstile;

namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

/// What kind of operands and accumulators a tile is filled with.
enum class Filling { uniform, moderate, wide_cancelling, tiny_results, signed_zeros, few_specials };
constexpr Filling fillings[] = {Filling::uniform,      Filling::moderate,     Filling::wide_cancelling,
                                Filling::tiny_results, Filling::signed_zeros, Filling::few_specials};

struct Layout {
  int bias;
  int fraction_bits;
};

Layout layout_of(ElementType type) { return type == ElementType::bf16 ? Layout{127, 7} : Layout{15, 10}; }

std::uint16_t with_exponent(Random& random, const Layout& layout, int low, int high) {
  const int exponent = low + static_cast<int>(below(random, static_cast<std::uint32_t>(high - low + 1)));
  const auto field = static_cast<std::uint32_t>(std::max(0, exponent + layout.bias));
  const std::uint32_t sign = below(random, 2) << 15;
  const std::uint32_t fraction = below(random, 1u << layout.fraction_bits);
  return static_cast<std::uint16_t>(sign | (field << layout.fraction_bits) | fraction);
}

std::uint16_t operand(Random& random, ElementType type, Filling filling) {
  const Layout layout = layout_of(type);
  const auto sign = static_cast<std::uint16_t>(below(random, 2) << 15);
  const bool bf16 = type == ElementType::bf16;
  switch (filling) {
    case Filling::uniform:
      return static_cast<std::uint16_t>(random());
    case Filling::moderate:
      return with_exponent(random, layout, -4, 4);
    case Filling::wide_cancelling:
      // Few significands, so that exact cancellation happens.
      return static_cast<std::uint16_t>(with_exponent(random, layout, bf16 ? -24 : -14, bf16 ? 24 : 12) &
                                        0xffc0);
    case Filling::tiny_results:
      return with_exponent(random, layout, bf16 ? -80 : -16, bf16 ? -60 : -10);
    case Filling::signed_zeros:
      return below(random, 16) == 0 ? with_exponent(random, layout, -2, 2) : sign;
    case Filling::few_specials: {
      const std::uint32_t infinity = bf16 ? 0x7f80 : 0x7c00;
      const std::uint32_t pick = below(random, 64);
      if (pick == 0) return static_cast<std::uint16_t>(infinity | sign);
      if (pick == 1 && below(random, 4) == 0) return static_cast<std::uint16_t>(infinity | sign | 1);
      if (pick == 2) return sign;
      return with_exponent(random, layout, -20, 12);
    }
  }
  return 0;
}

std::uint32_t accumulator(Random& random, Filling filling) {
  const std::uint32_t sign = below(random, 2) << 31;
  switch (below(random, 8)) {
    case 0:
      return sign;
    case 1:
      return filling == Filling::uniform || filling == Filling::few_specials
                 ? sign | 0x7f800000u | below(random, 2)
                 : sign;
    case 2:
      return sign | below(random, 0x800000);  // subnormal
    case 3:
      return static_cast<std::uint32_t>(random());
    case 4:
      return sign | 0x00800000u;  // smallest normal
    default:
      return sign | ((107 + below(random, 41)) << 23) | below(random, 0x800000);
  }
}

/// multiply_accumulate with words of 16 bits; lda and ldb count them.
void multiply(const TensorCoreRow& row, std::size_t m, std::size_t n, std::size_t k, const std::uint16_t* a,
              std::size_t lda, const std::uint16_t* b, std::size_t ldb, std::uint32_t* d, std::size_t ldd,
              TilePath path) {
  multiply_accumulate(row, m, n, k, reinterpret_cast<const std::uint8_t*>(a), 2 * lda,
                      reinterpret_cast<const std::uint8_t*>(b), 2 * ldb, d, ldd, path);
}

struct Tile {
  std::size_t m, n, k, lda, ldb, ldd;
  std::vector<std::uint16_t> a, b;
  std::vector<std::uint32_t> d;

  std::vector<std::uint32_t> run(const TensorCoreRow& row, TilePath path) const {
    std::vector<std::uint32_t> result = d;
    multiply(row, m, n, k, a.data(), lda, b.data(), ldb, result.data(), ldd, path);
    return result;
  }
};

Tile random_tile(Random& random, ElementType type, Filling filling, std::size_t largest_k) {
  Tile tile{};
  tile.m = 1 + below(random, 20);
  tile.n = 1 + below(random, 40);
  tile.k = 1 + below(random, static_cast<std::uint32_t>(largest_k));
  tile.lda = tile.k + below(random, 3);
  tile.ldb = tile.k + below(random, 3);
  tile.ldd = tile.n + below(random, 3);
  for (std::size_t i = 0; i < tile.m * tile.lda; ++i) tile.a.push_back(operand(random, type, filling));
  for (std::size_t i = 0; i < tile.n * tile.ldb; ++i) tile.b.push_back(operand(random, type, filling));
  for (std::size_t i = 0; i < tile.m * tile.ldd; ++i) tile.d.push_back(accumulator(random, filling));
  return tile;
}

double value_of(ElementType type, std::uint16_t word) {
  const Layout layout = layout_of(type);
  const int field = (word & 0x7fff) >> layout.fraction_bits;
  const int fraction = word & ((1 << layout.fraction_bits) - 1);
  const double magnitude = field == 0 ? std::ldexp(fraction, 1 - layout.bias - layout.fraction_bits)
                                      : std::ldexp(fraction + (1 << layout.fraction_bits),
                                                   field - layout.bias - layout.fraction_bits);
  return (word >> 15) != 0 ? -magnitude : magnitude;
}

/// T3 to T7 for normal operands and results, in doubles: every intermediate here is exact.
float naive_group(const TensorCoreRow& row, const std::vector<double>& a, const std::vector<double>& b,
                  float c) {
  int alignment = row.e_zero;
  if (c != 0) alignment = std::max(alignment, std::ilogb(c));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != 0 && b[i] != 0) alignment = std::max(alignment, std::ilogb(a[i]) + std::ilogb(b[i]));
  const auto cut = [&](double term) { return std::trunc(std::ldexp(term, row.fraction_bits - alignment)); };
  double sum = cut(c);
  for (std::size_t i = 0; i < a.size(); ++i) sum += cut(a[i] * b[i]);
  sum = std::ldexp(sum, alignment - row.fraction_bits);
  const auto nearest = static_cast<float>(sum);
  const bool too_far = std::fabs(static_cast<double>(nearest)) > std::fabs(sum);
  return too_far ? std::nextafterf(nearest, 0.0f) : nearest;
}

std::vector<const TensorCoreRow*> tile_rows() {
  std::vector<const TensorCoreRow*> rows;
  for (const TensorCoreRow& row : tensor_core_rows())
    if ((row.a == ElementType::f16 || row.a == ElementType::bf16) && row.accumulator == ElementType::f32)
      rows.push_back(&row);
  return rows;
}

}  // namespace

TEST_CASE("the vector path gives the bits of the reference on two million edge-heavy outputs") {
  Random random(20261130);
  std::size_t outputs = 0;
  std::size_t nans = 0;
  std::size_t infinities = 0;
  std::size_t subnormals = 0;
  std::size_t negative_zeros = 0;
  const std::vector<const TensorCoreRow*> rows = tile_rows();
  CHECK(rows.size() == 16);
  while (outputs < 2'000'000) {
    for (const TensorCoreRow* row : rows) {
      for (const Filling filling : fillings) {
        const Tile tile = random_tile(random, row->a, filling, 40);
        const std::vector<std::uint32_t> reference = tile.run(*row, TilePath::reference);
        const std::vector<std::uint32_t> vector = tile.run(*row, TilePath::automatic);
        CAPTURE(row->id);
        CAPTURE(static_cast<int>(filling));
        CAPTURE(outputs);
        REQUIRE(reference == vector);  // the gaps between rows too
        outputs += tile.m * tile.n;
        for (const std::uint32_t word : vector) {
          const std::uint32_t magnitude = word & 0x7fffffffu;
          if (magnitude > 0x7f800000u) ++nans;
          if (magnitude == 0x7f800000u) ++infinities;
          if (magnitude != 0 && magnitude < 0x00800000u) ++subnormals;
          if (word == 0x80000000u) ++negative_zeros;
        }
      }
    }
  }
  // The edges were really met.
  CHECK(nans > 10'000);
  CHECK(infinities > 10'000);
  CHECK(subnormals > 10'000);
  CHECK(negative_zeros > 100);
}

TEST_CASE("both paths equal a naive model in double precision where that is exact") {
  Random random(7);
  for (const TensorCoreRow* row : tile_rows()) {
    CAPTURE(row->id);
    std::size_t mismatches = 0;
    for (int repeat = 0; repeat < 60; ++repeat) {
      const Filling filling = repeat % 2 == 0 ? Filling::moderate : Filling::wide_cancelling;
      Tile tile = random_tile(random, row->a, filling, 3 * row->group);
      for (std::uint32_t& word : tile.d)
        word = (below(random, 2) << 31) | ((107 + below(random, 41)) << 23) | below(random, 0x800000);
      const std::vector<std::uint32_t> reference = tile.run(*row, TilePath::reference);
      const std::vector<std::uint32_t> automatic = tile.run(*row, TilePath::automatic);
      for (std::size_t i = 0; i < tile.m; ++i) {
        for (std::size_t j = 0; j < tile.n; ++j) {
          const std::size_t at = i * tile.ldd + j;
          auto c = std::bit_cast<float>(tile.d[at]);
          for (std::size_t first = 0; first < tile.k; first += row->group) {
            std::vector<double> a;
            std::vector<double> b;
            for (std::size_t k = first; k < std::min(tile.k, first + row->group); ++k) {
              a.push_back(value_of(row->a, tile.a[i * tile.lda + k]));
              b.push_back(value_of(row->b, tile.b[j * tile.ldb + k]));
            }
            c = naive_group(*row, a, b, c);
          }
          const auto expected = std::bit_cast<std::uint32_t>(c);
          if (reference[at] != expected || automatic[at] != expected) ++mismatches;
        }
      }
    }
    CHECK(mismatches == 0);
  }
}

TEST_CASE("P19: one long k is the same as a chain of instructions") {
  Random random(11);
  const TensorCoreRow* row = find_tensor_core_row(TensorCoreUnit::hopper_wgmma, ElementType::bf16,
                                                  ElementType::bf16, ElementType::f32);
  REQUIRE(row != nullptr);
  for (const TilePath path : {TilePath::reference, TilePath::portable, TilePath::automatic}) {
    Tile tile = random_tile(random, row->a, Filling::wide_cancelling, 1);
    tile.k = tile.lda = tile.ldb = 64;
    tile.a.clear();
    tile.b.clear();
    for (std::size_t i = 0; i < tile.m * tile.k; ++i)
      tile.a.push_back(operand(random, row->a, Filling::wide_cancelling));
    for (std::size_t i = 0; i < tile.n * tile.k; ++i)
      tile.b.push_back(operand(random, row->b, Filling::wide_cancelling));
    std::vector<std::uint32_t> chained = tile.d;
    for (std::size_t k = 0; k < 64; k += 16)
      multiply(*row, tile.m, tile.n, 16, tile.a.data() + k, 64, tile.b.data() + k, 64, chained.data(),
               tile.ldd, path);
    CHECK(tile.run(*row, path) == chained);
  }
}

TEST_CASE("an empty tile changes nothing") {
  const TensorCoreRow* row = find_tensor_core_row(TensorCoreUnit::hopper_wgmma, ElementType::f16,
                                                  ElementType::f16, ElementType::f32);
  REQUIRE(row != nullptr);
  std::vector<std::uint32_t> d = {0x12345678u, 0xffc00001u};
  const std::vector<std::uint32_t> before = d;
  for (const TilePath path : {TilePath::reference, TilePath::portable, TilePath::automatic}) {
    multiply(*row, 1, 2, 0, nullptr, 0, nullptr, 0, d.data(), 2, path);
    multiply(*row, 0, 2, 0, nullptr, 0, nullptr, 0, d.data(), 2, path);
    multiply(*row, 1, 0, 0, nullptr, 0, nullptr, 0, d.data(), 2, path);
    CHECK(d == before);
  }
}
