// SPDX-License-Identifier: Apache-2.0
// cvt: integers, floats, packed and narrow formats. Rounding itself is tested in numerics_conversions.cc.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/sim/alu_support.h"

using namespace turnstile;
using test::run;

namespace {

uint64_t word(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t word(double value) { return std::bit_cast<uint64_t>(value); }

/// All magnitudes of a format without infinity and NaN, by word, from its definition in the OCP MX
/// specification.
std::vector<double> minifloat_values(int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  std::vector<double> values;
  for (int e = 0; e < 1 << exponent_bits; ++e)
    for (int f = 0; f < 1 << fraction_bits; ++f) {
      const double fraction = std::ldexp(f, -fraction_bits);
      values.push_back(e == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, e - bias));
    }
  return values;
}

/// Nearest word, ties to the even one, by search.
uint64_t nearest(const std::vector<double>& values, double x) {
  const bool negative = std::signbit(x);
  const double magnitude = std::abs(x);
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    const double here = std::abs(values[i] - magnitude), there = std::abs(values[best] - magnitude);
    if (here < there || (here == there && i % 2 == 0)) best = i;
  }
  if (std::isinf(x)) best = values.size() - 1;
  return best | (negative ? values.size() : 0);
}

}  // namespace

TEST_CASE("integers: sign by the source type, width by the destination") {
  CHECK(run("cvt.s64.s32", {0xffffffff}) == 0xffffffffffffffff);
  CHECK(run("cvt.u64.u32", {0xffffffff}) == 0xffffffff);
  CHECK(run("cvt.u64.s32", {0xffffffff}) == 0xffffffffffffffff);
  CHECK(run("cvt.u32.u64", {0x123456789}) == 0x23456789);
  CHECK(run("cvt.s32.s8", {0x80}) == 0xffffff80);
  CHECK(run("cvt.s16.s8", {0x80}) == 0xff80);
  CHECK(run("cvt.u32.u16", {0x8000}) == 0x8000);
  CHECK(run("cvt.u16.u32", {0x12345}) == 0x2345);
  CHECK(run("cvt.s8.s32", {0x1ff}) == 0xff);
  CHECK(run("cvt.u16.u64", {0xfffff}) == 0xffff);
}

TEST_CASE(".sat between integers clamps to the destination") {
  CHECK(run("cvt.sat.u8.s32", {0xffffffff}) == 0);
  CHECK(run("cvt.sat.u8.s32", {300}) == 255);
  CHECK(run("cvt.sat.s8.s32", {0xffffff00}) == 0x80);
  CHECK(run("cvt.sat.s32.u32", {0xffffffff}) == 0x7fffffff);
  CHECK(run("cvt.sat.s64.u64", {0xffffffffffffffff}) == 0x7fffffffffffffff);
  CHECK(run("cvt.sat.u64.s64", {0xffffffffffffffff}) == 0);
  CHECK(run("cvt.sat.s16.s64", {5}) == 5);
}

TEST_CASE("float to integer: four roundings, clamped, NaN by the rule of PTX") {
  const float values[] = {2.5f, -2.5f, 3.5f, 0.5f, -0.25f};
  const int32_t to_nearest[] = {2, -2, 4, 0, 0}, to_zero[] = {2, -2, 3, 0, 0}, down[] = {2, -3, 3, 0, -1},
                up[] = {3, -2, 4, 1, 0};
  for (int i = 0; i < 5; ++i) {
    CHECK(run("cvt.rni.s32.f32", {word(values[i])}) == static_cast<uint32_t>(to_nearest[i]));
    CHECK(run("cvt.rzi.s32.f32", {word(values[i])}) == static_cast<uint32_t>(to_zero[i]));
    CHECK(run("cvt.rmi.s32.f32", {word(values[i])}) == static_cast<uint32_t>(down[i]));
    CHECK(run("cvt.rpi.s32.f32", {word(values[i])}) == static_cast<uint32_t>(up[i]));
  }
  CHECK(run("cvt.rzi.s32.f32", {word(3e9f)}) == 0x7fffffff);
  CHECK(run("cvt.rzi.s32.f32", {word(-3e9f)}) == 0x80000000);
  CHECK(run("cvt.rzi.u32.f32", {word(-1.0f)}) == 0);
  CHECK(run("cvt.rzi.u8.f32", {word(1000.0f)}) == 255);
  CHECK(run("cvt.rzi.s64.f64", {word(-1.5)}) == 0xffffffffffffffff);
  CHECK(run("cvt.rzi.u64.f32", {0x7f800000}) == 0xffffffffffffffff);
  CHECK(run("cvt.rzi.s32.f32", {0x80000000}) == 0);
  CHECK(run("cvt.rpi.s32.f32", {1}) == 1);
  CHECK(run("cvt.rpi.ftz.s32.f32", {1}) == 0);
  CHECK(run("cvt.rzi.ftz.u32.f32", {word(7.9f)}) == 7);
  CHECK(run("cvt.rni.s32.f16", {0x4100}) == 2);
  CHECK(run("cvt.rzi.s32.bf16", {0xc020}) == 0xfffffffe);
  CHECK(run("cvt.rzi.s32.f32", {0x7fffffff}) == 0);
  CHECK(run("cvt.rzi.s64.f32", {0x7fffffff}) == 0x8000000000000000);
  CHECK(run("cvt.rzi.u32.f64", {0x7ff8000000000000}) == 0x80000000);
}

TEST_CASE("integer to float rounds once, in the named direction") {
  test::Words words(7);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t x = words.next() >> (words.next() % 64);
    CHECK(run("cvt.rn.f32.u64", {x}) == word(static_cast<float>(x)));
    CHECK(run("cvt.rn.f32.s64", {x}) == word(static_cast<float>(static_cast<int64_t>(x))));
    CHECK(run("cvt.rn.f64.s64", {x}) == word(static_cast<double>(static_cast<int64_t>(x))));
    const auto x32 = static_cast<uint32_t>(x);
    CHECK(run("cvt.rn.f32.s32", {x32}) == word(static_cast<float>(static_cast<int32_t>(x32))));
    CHECK(run("cvt.rn.f32.u32", {x32}) == word(static_cast<float>(x32)));
  }
  CHECK(run("cvt.rz.f32.u32", {0x01000001}) == word(16777216.0f));
  CHECK(run("cvt.rp.f32.u32", {0x01000001}) == word(16777218.0f));
  CHECK(run("cvt.rm.f32.s32", {0xfeffffff}) == word(-16777218.0f));
  CHECK(run("cvt.rn.f16.s32", {0xffffffff}) == 0xbc00);
  CHECK(run("cvt.rn.f16.u32", {70000}) == 0x7c00);
  CHECK(run("cvt.rn.bf16.s32", {0x80000000}) == 0xcf00);
  CHECK(run("cvt.rn.f32.s32", {0}) == 0);
  CHECK(run("cvt.rn.f32.s8", {0x80}) == word(-128.0f));
  CHECK(run("cvt.rn.sat.f32.s32", {5}) == word(1.0f));
  CHECK(run("cvt.rn.sat.f32.s32", {0xfffffff0}) == 0);
}

TEST_CASE(
    "between floats: widening is exact, narrowing rounds, NaN is canonical but for the shift from bf16") {
  CHECK(run("cvt.f32.f16", {0x3c00}) == word(1.0f));
  CHECK(run("cvt.f32.f16", {0x0001}) == word(std::ldexp(1.0f, -24)));
  CHECK(run("cvt.f32.f16", {0x7d01}) == 0x7fffffff);
  CHECK(run("cvt.f32.bf16", {0xbf80}) == word(-1.0f));
  CHECK(run("cvt.f32.bf16", {0xff81}) == 0xff810000);
  CHECK(run("cvt.ftz.f32.bf16", {0x8001}) == 0x80000000);
  CHECK(run("cvt.f64.f32", {word(0.1f)}) == word(static_cast<double>(0.1f)));
  CHECK(run("cvt.rn.f32.f64", {word(0.1)}) == word(0.1f));
  CHECK(run("cvt.rn.ftz.f32.f64", {word(1e-40)}) == 0);
  CHECK(run("cvt.rn.f16.f32", {word(65520.0f)}) == 0x7c00);
  CHECK(run("cvt.rz.f16.f32", {word(65520.0f)}) == 0x7bff);
  CHECK(run("cvt.rn.satfinite.f16.f32", {0xff800000}) == 0xfbff);
  CHECK(run("cvt.rn.relu.f16.f32", {word(-2.0f)}) == 0);
  CHECK(run("cvt.rn.relu.f16.f32", {0xffc00000}) == 0x7fff);
  CHECK(run("cvt.rn.sat.f16.f32", {word(2.0f)}) == 0x3c00);
  CHECK(run("cvt.rn.bf16.f32", {0x3f808000}) == 0x3f80);
  CHECK(run("cvt.rn.bf16.f32", {0x3f818000}) == 0x3f82);
  CHECK(run("cvt.rn.bf16.f32", {0x7f800001}) == 0x7fff);
  CHECK(run("cvt.rz.bf16.f32", {0x3f81ffff}) == 0x3f81);
  CHECK(run("cvt.rn.bf16.f64", {word(-2.0)}) == 0xc000);
  CHECK(run("cvt.rn.bf16.f16", {0x3c00}) == 0x3f80);
  CHECK(run("cvt.sat.f32.f32", {word(-3.0f)}) == 0);
  CHECK(run("cvt.sat.f32.f32", {0x7fffffff}) == 0);
  CHECK(run("cvt.ftz.f32.f32", {0x80000001}) == 0x80000000);
  CHECK(run("cvt.f32.f32", {0x80000001}) == 0x80000001);
}

TEST_CASE("rounding to an integral float keeps the sign of zero") {
  const float values[] = {2.5f, -0.3f, 0.7f, -2.7f, 1e20f, 8388609.0f};
  for (float value : values) {
    CHECK(run("cvt.rni.f32.f32", {word(value)}) == word(std::nearbyint(value)));
    CHECK(run("cvt.rzi.f32.f32", {word(value)}) == word(std::trunc(value)));
    CHECK(run("cvt.rmi.f32.f32", {word(value)}) == word(std::floor(value)));
    CHECK(run("cvt.rpi.f32.f32", {word(value)}) == word(std::ceil(value)));
  }
  CHECK(run("cvt.rpi.f64.f64", {word(4503599627370495.5)}) == word(4503599627370496.0));
  CHECK(run("cvt.rni.f16.f16", {0x3e00}) == 0x4000);
  CHECK(run("cvt.rzi.f32.f32", {0xff800000}) == 0xff800000);
  CHECK(run("cvt.rzi.f32.f32", {0xff800001}) == 0x7fffffff);
}

TEST_CASE("two sources to a pair: the first becomes the high element") {
  CHECK(run("cvt.rn.bf16x2.f32", {word(1.0f), word(-2.0f)}) == 0x3f80c000);
  CHECK(run("cvt.rn.f16x2.f32", {word(1.0f), word(-2.0f)}) == 0x3c00c000);
  CHECK(run("cvt.rz.relu.f16x2.f32", {word(-1.0f), word(2.0f)}) == 0x00004000);
  CHECK(run("cvt.rn.satfinite.e4m3x2.f32", {word(1.0f), word(1000.0f)}) == 0x387e);
  CHECK(run("cvt.rn.satfinite.e4m3x2.f32", {word(-std::numeric_limits<float>::infinity()), 0x7fffffff}) ==
        0xfe7f);
  CHECK(run("cvt.rn.satfinite.e5m2x2.f32", {word(-1.0f), word(1e9f)}) == 0xbc7b);
  CHECK(run("cvt.rn.satfinite.relu.e5m2x2.f32", {word(-1.0f), word(2.0f)}) == 0x0040);
}

TEST_CASE("pairs of 8-bit floats: element by element") {
  CHECK(run("cvt.rn.f16x2.e4m3x2", {0x38c0}) == 0x3c00c000);
  CHECK(run("cvt.rn.f16x2.e4m3x2", {0x7f01}) == 0x7fff1800);
  CHECK(run("cvt.rn.f16x2.e5m2x2", {0x3cc0}) == 0x3c00c000);
  CHECK(run("cvt.rn.satfinite.e4m3x2.f16x2", {0x3c007bff}) == 0x387e);
  CHECK(run("cvt.rn.satfinite.e5m2x2.bf16x2", {0x3f80c000}) == 0x3cc0);
}

TEST_CASE("tf32: nearest-away adds half a unit and cuts, as the GPU's integer sequence does") {
  CHECK(run("cvt.rna.tf32.f32", {0x3f801000}) == 0x3f802000);
  CHECK(run("cvt.rna.tf32.f32", {0x3f800fff}) == 0x3f800000);
  CHECK(run("cvt.rna.tf32.f32", {0x7f7fffff}) == 0x7f800000);
  CHECK(run("cvt.rna.tf32.f32", {0x7f800000}) == 0x7f800000);
  CHECK(run("cvt.rn.tf32.f32", {0x3f801000}) == 0x3f800000);
  CHECK(run("cvt.rz.relu.tf32.f32", {word(-1.0f)}) == 0);
}

TEST_CASE("minifloats e2m1, e2m3, e3m2 against a search over all their values") {
  const struct {
    const char* to;
    const char* from;
    int exponent_bits, fraction_bits;
    unsigned stride;
  } formats[] = {{"cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.f16x2.e2m1x2", 2, 1, 4},
                 {"cvt.rn.satfinite.e2m3x2.f32", "cvt.rn.f16x2.e2m3x2", 2, 3, 8},
                 {"cvt.rn.satfinite.e3m2x2.f32", "cvt.rn.f16x2.e3m2x2", 3, 2, 8}};
  test::Words words(8);
  for (const auto& format : formats) {
    const std::vector<double> values = minifloat_values(format.exponent_bits, format.fraction_bits);
    for (int i = 0; i < 3000; ++i) {
      // Multiples of a 64th hit many ties.
      const float x = static_cast<float>(static_cast<int64_t>(words.next() % 4096) - 2048) / 64.0f;
      const float y = std::ldexp(x, static_cast<int>(words.next() % 12) - 8);
      const uint64_t expected = nearest(values, double{x}) << format.stride | nearest(values, double{y});
      CHECK(run(format.to, {word(x), word(y)}) == expected);
    }
    for (uint64_t w = 0; w < values.size(); ++w) {
      const uint64_t half = run("cvt.rn.f16.f32", {word(static_cast<float>(values[w]))});
      CHECK(run(format.from, {w << format.stride | w | values.size()}) == (half << 16 | half | 0x8000));
    }
    const uint64_t largest = values.size() - 1;
    CHECK(run(format.to, {0x7fffffff, 0xff800000}) == (largest << format.stride | largest | values.size()));
  }
  CHECK(run("cvt.rn.satfinite.relu.e2m1x2.f32", {word(-1.0f), word(1.0f)}) == 0x02);
  CHECK(run("cvt.rn.satfinite.e2m1x2.f16x2", {0x3c00c000}) == 0x2c);
  CHECK(run("cvt.rn.relu.f16x2.e2m1x2", {0xc2}) == 0x00003c00);
}

TEST_CASE("ue8m0 scales are exponents: rounded up or down, NaN 0xff") {
  CHECK(run("cvt.rz.satfinite.ue8m0x2.f32", {word(1.0f), word(3.0f)}) == 0x7f80);
  CHECK(run("cvt.rp.satfinite.ue8m0x2.f32", {word(1.0f), word(3.0f)}) == 0x7f81);
  CHECK(run("cvt.rp.satfinite.ue8m0x2.f32", {0x7f7fffff, 0x7fffffff}) == 0xfeff);
  CHECK(run("cvt.rz.satfinite.ue8m0x2.f32", {0x7f800000, 0}) == 0xfe00);
  CHECK(run("cvt.rz.ue8m0x2.f32", {0x7f800000, 0}) == 0xff00);
  CHECK(run("cvt.rp.satfinite.ue8m0x2.f32", {0x00400000, 0x00400001}) == 0x0001);
  CHECK(run("cvt.rp.ue8m0x2.bf16x2", {0x3f803f81}) == 0x7f80);
  CHECK(run("cvt.rn.bf16x2.ue8m0x2", {0x7f80}) == 0x3f804000);
  CHECK(run("cvt.rn.bf16x2.ue8m0x2", {0x00ff}) == 0x00407fff);
}
