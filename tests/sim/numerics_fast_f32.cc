// SPDX-License-Identifier: Apache-2.0
// The fast f32 operations against the general ones, on random words, on their neighbours and on all special
// values.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "sim/numerics/conversions.h"
#include "sim/numerics/fast_f32.h"
#include "sim/numerics/scalar.h"

using namespace turnstile;

namespace {

constexpr std::uint32_t kSpecial[] = {0,          1,          0x007fffff, 0x00800000, 0x00800001, 0x3f800000,
                                      0x3f7fffff, 0x3f808000, 0x3f818000, 0x7f7fffff, 0x7f7f8000, 0x7f800000,
                                      0x7f800001, 0x7fc00000, 0x7fffffff, 0x33800000, 0x00400000, 0x3f000000};

/// Specials of both signs, random words, and words close to 1 and to the smallest normal number.
std::vector<std::uint32_t> sample() {
  std::vector<std::uint32_t> words;
  for (const std::uint32_t word : kSpecial)
    for (const std::uint32_t sign : {0u, 0x80000000u}) words.push_back(word | sign);
  std::mt19937 random(11);
  for (int i = 0; i < 40; ++i) {
    words.push_back(static_cast<std::uint32_t>(random()));
    words.push_back(0x3f800000u + static_cast<std::uint32_t>(random() % 0x10000));
    words.push_back(0x80700000u + static_cast<std::uint32_t>(random() % 0x200000));
  }
  return words;
}

}  // namespace

TEST_CASE("fast f32 add, sub, mul, fma, min, max equal the general ones, flushed or not") {
  const std::vector<std::uint32_t> words = sample();
  bool same = true;
  for (const bool ftz : {false, true}) {
    const FloatMode mode{Rounding::nearest_even, ftz, false};
    for (const std::uint32_t a : words) {
      for (const std::uint32_t b : words) {
        same = same && fast::add(a, b, ftz) == f32_add(a, b, mode);
        same = same && fast::sub(a, b, ftz) == f32_sub(a, b, mode);
        same = same && fast::mul(a, b, ftz) == f32_mul(a, b, mode);
        same = same && fast::extreme(a, b, ftz, false) == f32_min(a, b, ftz);
        same = same && fast::extreme(a, b, ftz, true) == f32_max(a, b, ftz);
        const std::uint32_t c = a * 2654435761u ^ b;
        same = same && fast::fma(a, b, c, ftz) == f32_fma(a, b, c, mode);
      }
    }
    CHECK(same);
  }
}

TEST_CASE("fast rounding to bf16 equals the general one around every bf16 number and its midpoints") {
  bool same = true;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      same = same && fast::bf16_from_f32(high << 16 | low) == bf16_from_f32(high << 16 | low);
  CHECK(same);
}
