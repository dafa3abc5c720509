// SPDX-License-Identifier: Apache-2.0
// Floating-point forms: modifiers reach the arithmetic, packed elements stay apart, NaN and zero rules
// (numerics.md O1, O12). The arithmetic itself has its own tests (numerics_scalar.cc).
#include <bit>
#include <cmath>

#include "tests/sim/alu_support.h"

using namespace turnstile;
using test::run;

namespace {

constexpr uint64_t kOne = 0x3f800000, kTwo = 0x40000000, kThree = 0x40400000;
constexpr uint64_t kNan = 0x7fffffff, kPayload = 0xffc12345, kInfinity = 0x7f800000, kMinus = 0x80000000;

uint64_t word(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t word(double value) { return std::bit_cast<uint64_t>(value); }
float number(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

}  // namespace

TEST_CASE("f32 and f64 arithmetic is the host's, NaN results are 0x7fffffff") {
  test::Words words(4);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t a = words.next() >> 32, b = words.next() >> 32, c = words.next() >> 32;
    const auto expect = [](float value) { return std::isnan(value) ? kNan : word(value); };
    CHECK(run("add.f32", {a, b}) == expect(number(a) + number(b)));
    CHECK(run("sub.rn.f32", {a, b}) == expect(number(a) - number(b)));
    CHECK(run("mul.f32", {a, b}) == expect(number(a) * number(b)));
    CHECK(run("fma.rn.f32", {a, b, c}) == expect(std::fma(number(a), number(b), number(c))));
    CHECK(run("div.rn.f32", {a, b}) == expect(number(a) / number(b)));
    CHECK(run("rcp.rn.f32", {a}) == expect(1.0f / number(a)));
    CHECK(run("sqrt.rn.f32", {a}) == expect(std::sqrt(number(a))));
  }
  CHECK(run("add.f64", {word(0.1), word(0.2)}) == word(0.1 + 0.2));
  CHECK(run("mul.rn.f64", {word(0.1), word(0.2)}) == word(0.1 * 0.2));
  CHECK(run("fma.rn.f64", {word(0.1), word(0.2), word(0.3)}) == word(std::fma(0.1, 0.2, 0.3)));
  CHECK(run("div.rn.f64", {word(1.0), word(3.0)}) == word(1.0 / 3.0));
  CHECK(run("rcp.rn.f64", {word(3.0)}) == word(1.0 / 3.0));
  CHECK(run("sqrt.rn.f64", {word(2.0)}) == word(std::sqrt(2.0)));
}

TEST_CASE("directed rounding straddles the exact result") {
  CHECK(run("div.rm.f32", {kOne, kThree}) == 0x3eaaaaaa);
  CHECK(run("div.rp.f32", {kOne, kThree}) == 0x3eaaaaab);
  CHECK(run("div.rz.f32", {kOne | kMinus, kThree}) == 0xbeaaaaaa);
  CHECK(run("add.rp.f32", {kOne, 1}) == 0x3f800001);
  CHECK(run("add.rm.f32", {kOne, 1}) == kOne);
  CHECK(run("add.rm.f32", {kOne, kOne | kMinus}) == kMinus);
  CHECK(run("add.rn.f32", {kOne, kOne | kMinus}) == 0);
}

TEST_CASE(".ftz flushes subnormal inputs and results to signed zero, .sat clamps to [0, 1]") {
  CHECK(run("add.f32", {1, 1}) == 2);
  CHECK(run("add.ftz.f32", {1, 1}) == 0);
  CHECK(run("mul.ftz.f32", {0x80000001, kOne}) == kMinus);
  CHECK(run("mul.ftz.f32", {0x00800000, 0xbf000000}) == kMinus);
  CHECK(run("fma.rn.ftz.f32", {kOne, 1, kOne}) == kOne);
  CHECK(run("add.sat.f32", {kOne, kOne}) == kOne);
  CHECK(run("add.sat.f32", {kOne | kMinus, 0}) == 0);
  CHECK(run("add.sat.f32", {kPayload, 0}) == 0);
  CHECK(run("mul.ftz.sat.f32", {kTwo, 0x3e800000}) == 0x3f000000);
}

TEST_CASE("16-bit floats, alone and in pairs; a pair's elements do not touch") {
  CHECK(run("add.f16", {0x3c00, 0x3c00}) == 0x4000);
  CHECK(run("sub.f16", {0x3c00, 0x3c00}) == 0);
  CHECK(run("mul.bf16", {0x4000, 0xbf80}) == 0xc000);
  CHECK(run("add.f16x2", {0x7bff3c00, 0x7bff3c00}) == 0x7c004000);
  CHECK(run("sub.bf16x2", {0x40003f80, 0x3f803f80}) == 0x3f800000);
  CHECK(run("mul.bf16x2", {0x7fc03f80, 0x3f80bf80}) == 0x7fffbf80);
  CHECK(run("fma.rn.bf16x2", {0x3f804000, 0x40004000, 0x3f803f80}) == 0x404040a0);
  CHECK(run("fma.rn.relu.f16", {0x3c00, 0xbc00, 0}) == 0);
  CHECK(run("fma.rn.relu.f16", {0x7e01, 0xbc00, 0}) == 0x7fff);
  CHECK(run("fma.rn.relu.bf16", {0x8000, 0x3f80, 0x8000}) == 0);
  CHECK(run("add.ftz.f16", {1, 1}) == 0);
  CHECK(run("add.sat.f16", {0x4000, 0x4000}) == 0x3c00);
  // One bf16 rounding: 1 + 2^-8 is a tie and goes to the even 1.
  CHECK(run("add.bf16", {0x3f80, 0x3b80}) == 0x3f80);
}

TEST_CASE("f32x2: two f32 operations in one 64-bit register") {
  const uint64_t a = kOne << 32 | kTwo, b = kTwo << 32 | kThree;
  CHECK(run("add.f32x2", {a, b}) == (word(3.0f) << 32 | word(5.0f)));
  CHECK(run("sub.f32x2", {a, b}) == (word(-1.0f) << 32 | word(-1.0f)));
  CHECK(run("mul.rn.f32x2", {a, b}) == (word(2.0f) << 32 | word(6.0f)));
  CHECK(run("fma.rn.f32x2", {a, b, a}) == (word(3.0f) << 32 | word(8.0f)));
  CHECK(run("add.ftz.f32x2", {1, 1}) == 0);
}

TEST_CASE("mixed precision: 16-bit factors, f32 sum, one rounding") {
  CHECK(run("fma.rn.f32.f16", {0x3c01, 0x3c01, 0}) == word(1.0009765625f * 1.0009765625f));
  CHECK(run("fma.rn.f32.bf16", {0x4000, 0x4040, kOne}) == word(7.0f));
  CHECK(run("add.f32.f16", {0x3c00, kTwo}) == kThree);
  CHECK(run("sub.f32.bf16", {0x3f80, kTwo}) == word(-1.0f));
  CHECK(test::lookup("fma.rn.f32.f16", 3).input_bits[0] == 16);
  CHECK(test::lookup("fma.rn.f32.f16", 3).input_bits[2] == 32);
}

TEST_CASE("min and max: NaN loses, -0 is below +0, .NaN lets NaN win") {
  CHECK(run("max.f32", {kPayload, kOne}) == kOne);
  CHECK(run("max.f32", {kOne, kPayload}) == kOne);
  CHECK(run("max.f32", {kPayload, kPayload}) == kNan);
  CHECK(run("max.NaN.f32", {kPayload, kOne}) == kNan);
  CHECK(run("min.f32", {0, kMinus}) == kMinus);
  CHECK(run("min.f32", {kMinus, 0}) == kMinus);
  CHECK(run("max.f32", {kMinus, 0}) == 0);
  CHECK(run("max.ftz.f32", {1, kMinus}) == 0);
  CHECK(run("max.bf16x2", {0x7fc03f80, 0xc000bf80}) == 0xc0003f80);
  CHECK(run("max.NaN.bf16", {0x7fc0, 0x3f80}) == 0x7fff);
  CHECK(run("min.f64", {word(1.0), word(-1.0)}) == word(-1.0));
  CHECK(run("min.f16", {0x8000, 0}) == 0x8000);
}

TEST_CASE("min and max .xorsign.abs: smaller or larger magnitude, product of the signs") {
  CHECK(run("min.xorsign.abs.f32", {kTwo | kMinus, kThree}) == (kTwo | kMinus));
  CHECK(run("max.xorsign.abs.f32", {kTwo | kMinus, kThree | kMinus}) == kThree);
  CHECK(run("max.NaN.xorsign.abs.f32", {kPayload, kThree | kMinus}) == kNan);
  CHECK(run("max.xorsign.abs.bf16x2", {0xc0003f80, 0x3f804000}) == 0xc0004000);
  // Three sources (PTX 8.8).
  CHECK(run("max.f32", {kOne, kThree, kTwo}) == kThree);
  CHECK(run("min.abs.f32", {kThree | kMinus, kTwo, kOne | kMinus}) == kOne);
}

TEST_CASE("abs, neg and copysign work on the sign; the adder of the GPU makes a NaN canonical") {
  CHECK(run("abs.f32", {kOne | kMinus}) == kOne);
  CHECK(run("neg.f32", {0}) == kMinus);
  CHECK(run("neg.f32", {kMinus}) == 0);
  CHECK(run("abs.f32", {kPayload}) == kNan);
  CHECK(run("neg.f32", {kPayload}) == kNan);
  CHECK(run("abs.ftz.f32", {0x80000001}) == 0);
  CHECK(run("neg.bf16x2", {0x3f80bf80}) == 0xbf803f80);
  CHECK(run("abs.bf16x2", {0xbf80ff81}) == 0x3f807fff);
  CHECK(run("abs.f64", {0xfff8000000000001}) ==
        0xfff8000000000001);  // H200: the f64 unit leaves a NaN's sign
  CHECK(run("copysign.f32", {kOne | kMinus, kTwo}) == (kTwo | kMinus));
  CHECK(run("copysign.f64", {word(1.0), word(-2.0)}) == word(2.0));
}

TEST_CASE("infinities") {
  CHECK(run("add.f32", {kInfinity, kInfinity | kMinus}) == kNan);
  CHECK(run("mul.f32", {kInfinity, 0}) == kNan);
  CHECK(run("div.rn.f32", {kOne, 0}) == kInfinity);
  CHECK(run("fma.rn.f32", {kInfinity, kOne | kMinus, kInfinity}) == kNan);
}
