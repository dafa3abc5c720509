// SPDX-License-Identifier: Apache-2.0
// setp, set, selp, slct, testp.
#include "tests/sim/alu_support.h"

using namespace turnstile;
using test::run;
using test::run_second;

namespace {

constexpr uint64_t kOne = 0x3f800000, kTwo = 0x40000000, kNan = 0x7fc00001, kMinusZero = 0x80000000;

}  // namespace

TEST_CASE("integer compares respect the sign") {
  CHECK(run("setp.lt.s32", {0xffffffff, 0}) == 1);
  CHECK(run("setp.lt.u32", {0xffffffff, 0}) == 0);
  CHECK(run("setp.lo.u32", {0, 1}) == 1);
  CHECK(run("setp.hs.u64", {1, 1}) == 1);
  CHECK(run("setp.hi.u16", {2, 1}) == 1);
  CHECK(run("setp.ls.u32", {2, 1}) == 0);
  CHECK(run("setp.ge.s64", {0x8000000000000000, 0}) == 0);
  CHECK(run("setp.gt.s16", {0x8000, 0}) == 0);
  CHECK(run("setp.eq.b16", {0x8000, 0x8000}) == 1);
  CHECK(run("setp.ne.b64", {1, 1}) == 0);
  CHECK(run("setp.le.s32", {7, 7}) == 1);
}

TEST_CASE("the third source is combined with the comparison; the second result takes the complement first") {
  for (uint64_t c = 0; c < 2; ++c) {
    for (uint64_t equal = 0; equal < 2; ++equal) {
      const uint64_t b = equal != 0 ? 5 : 6;
      CHECK(run("setp.eq.and.s32", {5, b, c}) == (equal & c));
      CHECK(run("setp.eq.or.s32", {5, b, c}) == (equal | c));
      CHECK(run("setp.eq.xor.s32", {5, b, c}) == (equal ^ c));
      CHECK(run_second("setp.eq.and.s32", {5, b, c}) == ((equal ^ 1) & c));
      CHECK(run_second("setp.eq.or.s32", {5, b, c}) == ((equal ^ 1) | c));
    }
  }
  CHECK(run_second("setp.lt.s32", {1, 2}) == 0);
  CHECK(run_second("setp.lt.f32", {kNan, kOne}) == 1);
}

TEST_CASE("float compares: ordered ones are false on NaN, unordered ones true") {
  for (const char* ordered : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    CHECK(run(std::string("setp.") + ordered + ".f32", {kNan, kOne}) == 0);
    CHECK(run(std::string("setp.") + ordered + ".f32", {kOne, kNan}) == 0);
    CHECK(run(std::string("setp.") + ordered + "u.f32", {kNan, kOne}) == 1);
  }
  CHECK(run("setp.num.f32", {kOne, kTwo}) == 1);
  CHECK(run("setp.num.f32", {kOne, kNan}) == 0);
  CHECK(run("setp.nan.f32", {kOne, kTwo}) == 0);
  CHECK(run("setp.nan.f32", {kNan, kTwo}) == 1);
  CHECK(run("setp.eq.f32", {0, kMinusZero}) == 1);
  CHECK(run("setp.lt.f32", {kMinusZero, 0}) == 0);
  CHECK(run("setp.lt.f32", {kOne | kMinusZero, kOne}) == 1);
  CHECK(run("setp.leu.f32", {kTwo, kOne}) == 0);
  CHECK(run("setp.gt.f64", {0x4000000000000000, 0x3ff0000000000000}) == 1);
  CHECK(run("setp.eq.f16", {0x3c00, 0x3c00}) == 1);
  CHECK(run("setp.lt.bf16", {0xbf80, 0x3f80}) == 1);
}

TEST_CASE("setp.ftz sees subnormals as zero") {
  CHECK(run("setp.eq.f32", {1, 0}) == 0);
  CHECK(run("setp.eq.ftz.f32", {1, 0}) == 1);
  CHECK(run("setp.ltu.ftz.f32", {0x80000001, 0}) == 0);
}

TEST_CASE("setp on pairs: first result from the low elements, second from the high ones") {
  CHECK(run("setp.lt.f16x2", {0x40003c00, 0x3c004000}) == 1);
  CHECK(run_second("setp.lt.f16x2", {0x40003c00, 0x3c004000}) == 0);
  CHECK(run_second("setp.gt.bf16x2", {0x40003f80, 0x3f804000}) == 1);
}

TEST_CASE("set writes all ones, or 1.0") {
  CHECK(run("set.lt.u32.s32", {0xffffffff, 0}) == 0xffffffff);
  CHECK(run("set.gt.u32.s32", {0xffffffff, 0}) == 0);
  CHECK(run("set.eq.f32.u64", {1ull << 40, 1ull << 40}) == kOne);
  CHECK(run("set.lt.s32.f32", {kOne, kTwo}) == 0xffffffff);
  CHECK(run("set.lt.f16.f16", {0x3c00, 0x4000}) == 0x3c00);
  CHECK(run("set.lt.bf16.bf16", {0x3f80, 0x4000}) == 0x3f80);
  CHECK(run("set.equ.u16.f16", {0x7e00, 0}) == 0xffff);
  CHECK(run("set.eq.and.u32.s32", {1, 1, 0}) == 0);
}

TEST_CASE("selp and slct choose; slct on a NaN takes the second") {
  CHECK(run("selp.b32", {10, 20, 1}) == 10);
  CHECK(run("selp.b32", {10, 20, 0}) == 20);
  CHECK(run("selp.f64", {1, 2, 0}) == 2);
  CHECK(run("slct.b32.s32", {10, 20, 0}) == 10);
  CHECK(run("slct.b64.s32", {10, 20, 0x80000000}) == 20);
  CHECK(run("slct.f32.f32", {10, 20, kMinusZero}) == 10);
  CHECK(run("slct.f32.f32", {10, 20, kNan}) == 20);
  CHECK(run("slct.f32.f32", {10, 20, 0x80000001}) == 20);
  CHECK(run("slct.ftz.f32.f32", {10, 20, 0x80000001}) == 10);
}

TEST_CASE("testp: zeros count as normal") {
  CHECK(run("testp.normal.f32", {0}) == 1);
  CHECK(run("testp.subnormal.f32", {0}) == 0);
  CHECK(run("testp.subnormal.f32", {1}) == 1);
  CHECK(run("testp.normal.f32", {1}) == 0);
  CHECK(run("testp.finite.f32", {0x7f800000}) == 0);
  CHECK(run("testp.infinite.f32", {0xff800000}) == 1);
  CHECK(run("testp.number.f32", {0xff800000}) == 1);
  CHECK(run("testp.notanumber.f32", {kNan}) == 1);
  CHECK(run("testp.notanumber.f64", {0x7ff0000000000000}) == 0);
  CHECK(run("testp.subnormal.f64", {0x000fffffffffffff}) == 1);
}
