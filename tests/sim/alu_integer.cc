// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: values from the PTX ISA text or from plain C++ on wider types.
#include <bit>

#include "tests/sim/alu_support.h"

using namespace turnstile;
using test::run;

namespace {

constexpr uint64_t kMin32 = 0x80000000;
constexpr uint64_t kMinusOne32 = 0xffffffff;
constexpr uint64_t kMin64 = 0x8000000000000000;
constexpr uint64_t kMinusOne64 = 0xffffffffffffffff;

}  // namespace

TEST_CASE("add and sub wrap at the width of the type") {
  CHECK(run("add.s32", {0x7fffffff, 1}) == kMin32);
  CHECK(run("add.u16", {0xffff, 2}) == 1);
  CHECK(run("add.s64", {kMinusOne64, 1}) == 0);
  CHECK(run("sub.s32", {0, 1}) == kMinusOne32);
  CHECK(run("sub.u64", {0, 1}) == kMinusOne64);
  CHECK(run("add.u16x2", {0xffff0001, 0x0001ffff}) == 0);
}

TEST_CASE("add.sat and sub.sat stop at the ends of s32") {
  CHECK(run("add.sat.s32", {0x7fffffff, 1}) == 0x7fffffff);
  CHECK(run("add.sat.s32", {kMin32, kMinusOne32}) == kMin32);
  CHECK(run("add.sat.s32", {5, kMinusOne32}) == 4);
  CHECK(run("sub.sat.s32", {kMin32, 1}) == kMin32);
  CHECK(run("sub.sat.s32", {0x7fffffff, kMinusOne32}) == 0x7fffffff);
}

TEST_CASE("mul and mad: low, high and wide halves against 128-bit products") {
  test::Words words(1);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t a = words.next(), b = words.next(), c = words.next();
    const auto u128 = static_cast<unsigned __int128>(a) * b;
    const auto s128 = static_cast<__int128>(static_cast<int64_t>(a)) * static_cast<int64_t>(b);
    CHECK(run("mul.lo.s64", {a, b}) == static_cast<uint64_t>(u128));
    CHECK(run("mul.hi.u64", {a, b}) == static_cast<uint64_t>(u128 >> 64));
    CHECK(run("mul.hi.s64", {a, b}) == static_cast<uint64_t>(s128 >> 64));
    CHECK(run("mad.hi.s64", {a, b, c}) == static_cast<uint64_t>(s128 >> 64) + c);
    const auto a32 = static_cast<uint32_t>(a), b32 = static_cast<uint32_t>(b), c32 = static_cast<uint32_t>(c);
    const int64_t s64 = int64_t{static_cast<int32_t>(a32)} * static_cast<int32_t>(b32);
    const uint64_t u64 = uint64_t{a32} * b32;
    CHECK(run("mul.lo.s32", {a32, b32}) == a32 * b32);
    CHECK(run("mul.hi.s32", {a32, b32}) == static_cast<uint32_t>(s64 >> 32));
    CHECK(run("mul.hi.u32", {a32, b32}) == u64 >> 32);
    CHECK(run("mul.wide.s32", {a32, b32}) == static_cast<uint64_t>(s64));
    CHECK(run("mul.wide.u32", {a32, b32}) == u64);
    CHECK(run("mad.wide.s32", {a32, b32, c}) == static_cast<uint64_t>(s64) + c);
    CHECK(run("mad.lo.s32", {a32, b32, c32}) == a32 * b32 + c32);
    CHECK(run("mad.hi.u32", {a32, b32, c32}) == static_cast<uint32_t>((u64 >> 32) + c32));
  }
  CHECK(run("mul.wide.s16", {0xffff, 2}) == 0xfffffffe);
  CHECK(run("mul.wide.u16", {0xffff, 0xffff}) == 0xfffe0001);
  CHECK(run("mul.hi.u16", {0xffff, 0xffff}) == 0xfffe);
  CHECK(run("mul.lo.s16", {0x0100, 0x0100}) == 0);
  CHECK(run("mad.hi.sat.s32", {0x7fffffff, 0x7fffffff, 0x7fffffff}) == 0x7fffffff);
}

TEST_CASE("mul24 multiplies the low 24 bits; .hi is bits 16 to 47 of the product") {
  CHECK(run("mul24.lo.u32", {0xff000003, 5}) == 15);
  CHECK(run("mul24.lo.s32", {0x00ffffff, 5}) == 0xfffffffb);
  CHECK(run("mul24.hi.u32", {0x00ffffff, 0x00ffffff}) == 0xfffffe00);
  CHECK(run("mul24.hi.s32", {0x00ffffff, 1}) == kMinusOne32);
  CHECK(run("mad24.lo.s32", {3, 4, 5}) == 17);
  CHECK(run("mad24.hi.sat.s32", {0x007fffff, 0x007fffff, 0x7fffffff}) == 0x7fffffff);
}

TEST_CASE("sad adds the distance") {
  CHECK(run("sad.u32", {3, 10, 100}) == 107);
  CHECK(run("sad.s32", {kMinusOne32, 1, 100}) == 102);
  CHECK(run("sad.u32", {kMinusOne32, 1, 0}) == 0xfffffffe);
}

TEST_CASE("division truncates toward zero; the remainder has the sign of the dividend") {
  CHECK(run("div.s32", {0xfffffff9, 2}) == 0xfffffffd);
  CHECK(run("rem.s32", {0xfffffff9, 2}) == kMinusOne32);
  CHECK(run("div.u32", {0xfffffff9, 2}) == 0x7ffffffc);
  CHECK(run("div.s64", {kMinusOne64, 1}) == kMinusOne64);
  CHECK(run("div.u16", {0xffff, 16}) == 0x0fff);
  CHECK(run("rem.u32", {17, 5}) == 2);
}

TEST_CASE("the smallest integer divided by -1 wraps, its remainder is 0") {
  CHECK(run("div.s32", {kMin32, kMinusOne32}) == kMin32);
  CHECK(run("rem.s32", {kMin32, kMinusOne32}) == 0);
  CHECK(run("div.s64", {kMin64, kMinusOne64}) == kMin64);
  CHECK(run("rem.s64", {kMin64, kMinusOne64}) == 0);
  CHECK(run("div.s16", {0x8000, 0xffff}) == 0x8000);
}

TEST_CASE("division by zero, unspecified in PTX, gives the all ones of ptxas's code for sm_90a") {
  CHECK(run("div.u32", {5, 0}) == kMinusOne32);
  CHECK(run("div.s32", {5, 0}) == kMinusOne32);
  CHECK(run("rem.s32", {5, 0}) == kMinusOne32);
  CHECK(run("rem.u64", {5, 0}) == kMinusOne64);
  CHECK(run("div.u16", {5, 0}) == 0xffff);
}

TEST_CASE("abs and neg of the smallest integer stay there; min and max know the sign") {
  CHECK(run("abs.s32", {kMin32}) == kMin32);
  CHECK(run("abs.s16", {0xffff}) == 1);
  CHECK(run("neg.s64", {1}) == kMinusOne64);
  CHECK(run("neg.s32", {kMin32}) == kMin32);
  CHECK(run("min.s32", {kMinusOne32, 1}) == kMinusOne32);
  CHECK(run("min.u32", {kMinusOne32, 1}) == 1);
  CHECK(run("max.s64", {kMinusOne64, 1}) == 1);
  CHECK(run("max.u64", {kMinusOne64, 1}) == kMinusOne64);
  CHECK(run("min.s16x2", {0xffff0003, 0x00010002}) == 0xffff0002);
  CHECK(run("max.u16x2", {0xffff0003, 0x00010002}) == 0xffff0003);
  CHECK(run("max.relu.s32", {0xfffffff0, kMinusOne32}) == 0);
  CHECK(run("min.relu.s16x2", {0xffff0003, 0x00010002}) == 0x00000002);
}

TEST_CASE("dp4a and dp2a: byte dot products with either sign") {
  CHECK(run("dp4a.u32.u32", {0x01020304, 0x01010101, 5}) == 15);
  CHECK(run("dp4a.s32.s32", {0xffffffff, 0x01010101, 0}) == 0xfffffffc);
  CHECK(run("dp4a.u32.s32", {0xff000000, 0xff000000, 0}) == 0xffffff01);
  CHECK(run("dp2a.lo.s32.s32", {0xffff0002, 0x04030201, 0}) == 0);
  CHECK(run("dp2a.hi.s32.s32", {0xffff0002, 0x04030201, 0}) == 2);
}
