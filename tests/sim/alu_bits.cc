// SPDX-License-Identifier: Apache-2.0
// Logic, shifts and bit fields against bit-by-bit implementations.
#include "tests/sim/alu_support.h"

using namespace turnstile;
using test::run;

namespace {

bool bit(uint64_t word, int64_t i) { return i >= 0 && i < 64 && ((word >> i) & 1) != 0; }

/// bfe one bit at a time (PTX ISA 9.7.1.19).
uint64_t naive_extract(uint64_t a, int position, int length, int bits, bool is_signed) {
  const int sign = std::min(position + length - 1, bits - 1);
  const bool fill = is_signed && length != 0 && bit(a, sign);
  uint64_t result = 0;
  for (int i = 0; i < bits; ++i) {
    const bool inside = i < length && position + i < bits;
    if (inside ? bit(a, position + i) : fill) result |= uint64_t{1} << i;
  }
  return result;
}

uint64_t naive_insert(uint64_t a, uint64_t b, int position, int length, int bits) {
  for (int i = 0; i < length && position + i < bits; ++i) {
    b &= ~(uint64_t{1} << (position + i));
    if (bit(a, i)) b |= uint64_t{1} << (position + i);
  }
  return b;
}

}  // namespace

TEST_CASE("logic at all widths, predicates included") {
  CHECK(run("and.pred", {1, 1}) == 1);
  CHECK(run("or.pred", {0, 1}) == 1);
  CHECK(run("xor.pred", {1, 1}) == 0);
  CHECK(run("not.pred", {1}) == 0);
  CHECK(run("not.b16", {0x00ff}) == 0xff00);
  CHECK(run("not.b32", {0}) == 0xffffffff);
  CHECK(run("xor.b64", {0xff, 0x0f}) == 0xf0);
  CHECK(run("cnot.b32", {0}) == 1);
  CHECK(run("cnot.b32", {7}) == 0);
}

TEST_CASE("lop3: the table is the function applied to 0xf0, 0xcc, 0xaa") {
  test::Words words(2);
  for (int i = 0; i < 200; ++i) {
    const uint64_t a = words.next() >> 32, b = words.next() >> 32, c = words.next() >> 32;
    CHECK(run("lop3.b32", {a, b, c, 0x80}) == (a & b & c));
    CHECK(run("lop3.b32", {a, b, c, 0xfe}) == (a | b | c));
    CHECK(run("lop3.b32", {a, b, c, 0x40}) == (a & b & ~c));
    CHECK(run("lop3.b32", {a, b, c, 0x1a}) == (((a & b) | c) ^ a));
    CHECK(run("lop3.b32", {a, b, c, 0x96}) == (a ^ b ^ c));
  }
  CHECK(test::run_second("lop3.or.b32", {0, 0, 0, 0xff, 0}) == 1);
  CHECK(test::run_second("lop3.and.b32", {0, 0, 0, 0xff, 0}) == 0);
  CHECK(test::run_second("lop3.or.b32", {1, 0, 0, 0x80, 1}) == 1);
  CHECK(test::run_second("lop3.or.b32", {1, 0, 0, 0x80, 0}) == 0);
}

TEST_CASE("shifts by the width or more give zeros, or copies of the sign") {
  CHECK(run("shl.b32", {1, 31}) == 0x80000000);
  CHECK(run("shl.b32", {1, 32}) == 0);
  CHECK(run("shl.b32", {1, 0xffffffff}) == 0);
  CHECK(run("shl.b16", {1, 15}) == 0x8000);
  CHECK(run("shl.b16", {1, 16}) == 0);
  CHECK(run("shl.b64", {1, 63}) == 0x8000000000000000);
  CHECK(run("shl.b64", {1, 64}) == 0);
  CHECK(run("shr.u32", {0x80000000, 32}) == 0);
  CHECK(run("shr.b32", {0x80000000, 31}) == 1);
  CHECK(run("shr.s32", {0x80000000, 31}) == 0xffffffff);
  CHECK(run("shr.s32", {0x80000000, 32}) == 0xffffffff);
  CHECK(run("shr.s32", {0x7fffffff, 4000000000}) == 0);
  CHECK(run("shr.s16", {0x8000, 1}) == 0xc000);
  CHECK(run("shr.s64", {0x8000000000000000, 100}) == 0xffffffffffffffff);
  CHECK(run("shr.u64", {0x8000000000000000, 64}) == 0);
}

TEST_CASE("funnel shifts: .wrap takes the amount modulo 32, .clamp stops at 32") {
  CHECK(run("shf.l.wrap.b32", {0x11223344, 0xaabbccdd, 8}) == 0xbbccdd11);
  CHECK(run("shf.l.wrap.b32", {0x11223344, 0xaabbccdd, 40}) == 0xbbccdd11);
  CHECK(run("shf.l.wrap.b32", {0x11223344, 0xaabbccdd, 32}) == 0xaabbccdd);
  CHECK(run("shf.l.clamp.b32", {0x11223344, 0xaabbccdd, 40}) == 0x11223344);
  CHECK(run("shf.l.clamp.b32", {0x11223344, 0xaabbccdd, 0}) == 0xaabbccdd);
  CHECK(run("shf.r.wrap.b32", {0x11223344, 0xaabbccdd, 8}) == 0xdd112233);
  CHECK(run("shf.r.wrap.b32", {0x11223344, 0xaabbccdd, 32}) == 0x11223344);
  CHECK(run("shf.r.clamp.b32", {0x11223344, 0xaabbccdd, 33}) == 0xaabbccdd);
}

TEST_CASE("bfe and bfi at all positions and lengths, also beyond the register") {
  test::Words words(3);
  for (int position = 0; position <= 80; ++position) {
    for (int length = 0; length <= 80; ++length) {
      const uint64_t a = words.next(), b = words.next();
      const uint64_t a32 = a >> 32, b32 = b >> 32;
      const auto p = static_cast<uint64_t>(position), n = static_cast<uint64_t>(length);
      CHECK(run("bfe.u32", {a32, p, n}) == naive_extract(a32, position, length, 32, false));
      CHECK(run("bfe.s32", {a32, p, n}) == naive_extract(a32, position, length, 32, true));
      CHECK(run("bfe.u64", {a, p, n}) == naive_extract(a, position, length, 64, false));
      CHECK(run("bfe.s64", {a, p, n}) == naive_extract(a, position, length, 64, true));
      CHECK(run("bfi.b32", {a32, b32, p, n}) == naive_insert(a32, b32, position, length, 32));
      CHECK(run("bfi.b64", {a, b, p, n}) == naive_insert(a, b, position, length, 64));
    }
  }
  // Only the low byte of position and length counts.
  CHECK(run("bfe.u32", {0xabcd, 0x104, 0xffffff04}) == 0xc);
  CHECK(run("bfi.b32", {0xf, 0, 0x108, 0x204}) == 0xf00);
}

TEST_CASE("bfind, clz, popc, brev, fns") {
  CHECK(run("bfind.u32", {0}) == 0xffffffff);
  CHECK(run("bfind.u32", {0x00010000}) == 16);
  CHECK(run("bfind.s32", {0xffffffff}) == 0xffffffff);
  CHECK(run("bfind.s32", {0xfffffffe}) == 0);
  CHECK(run("bfind.s64", {0xfffffffeffffffff}) == 32);
  CHECK(run("bfind.shiftamt.u32", {0x00010000}) == 15);
  CHECK(run("bfind.shiftamt.u64", {1}) == 63);
  CHECK(run("bfind.shiftamt.u64", {0}) == 0xffffffff);
  CHECK(run("clz.b32", {0}) == 32);
  CHECK(run("clz.b32", {1}) == 31);
  CHECK(run("clz.b64", {0}) == 64);
  CHECK(run("clz.b64", {0x00000000ffffffff}) == 32);
  CHECK(run("popc.b32", {0xffffffff}) == 32);
  CHECK(run("popc.b64", {0x8000000000000001}) == 2);
  CHECK(run("brev.b32", {0x00000003}) == 0xc0000000);
  CHECK(run("brev.b64", {1}) == 0x8000000000000000);
  CHECK(run("fns.b32", {0b101100, 0, 1}) == 2);
  CHECK(run("fns.b32", {0b101100, 3, 2}) == 5);
  CHECK(run("fns.b32", {0b101100, 3, 0}) == 3);
  CHECK(run("fns.b32", {0b101100, 4, 0}) == 0xffffffff);
  CHECK(run("fns.b32", {0b101100, 4, 0xfffffffe}) == 2);
  CHECK(run("fns.b32", {0b101100, 31, 4}) == 0xffffffff);
  CHECK(run("fns.b32", {1, 0, 0x80000000}) == 0xffffffff);
}

TEST_CASE("bmsk and szext, clamped and wrapped") {
  CHECK(run("bmsk.clamp.b32", {4, 8}) == 0xff0);
  CHECK(run("bmsk.clamp.b32", {0, 32}) == 0xffffffff);
  CHECK(run("bmsk.clamp.b32", {28, 8}) == 0xf0000000);
  CHECK(run("bmsk.clamp.b32", {32, 8}) == 0);
  CHECK(run("bmsk.clamp.b32", {4, 0}) == 0);
  CHECK(run("bmsk.wrap.b32", {36, 8}) == 0xff0);
  CHECK(run("bmsk.wrap.b32", {0, 32}) == 0);
  CHECK(run("szext.clamp.s32", {0x0f, 4}) == 0xffffffff);
  CHECK(run("szext.clamp.s32", {0x17, 4}) == 7);
  CHECK(run("szext.clamp.u32", {0xff, 4}) == 0xf);
  CHECK(run("szext.clamp.s32", {0x12345678, 32}) == 0x12345678);
  CHECK(run("szext.wrap.s32", {0x12345678, 32}) == 0);
  CHECK(run("szext.clamp.u32", {0xff, 0}) == 0);
}

TEST_CASE("prmt picks bytes; the high bit of a selector replicates the sign") {
  const uint64_t a = 0x83828180, b = 0x07060504;  // bytes 0 to 7; the low four are negative
  CHECK(run("prmt.b32", {a, b, 0x3210}) == a);
  CHECK(run("prmt.b32", {a, b, 0x7654}) == b);
  CHECK(run("prmt.b32", {a, b, 0x0246}) == 0x80820406);
  CHECK(run("prmt.b32", {a, b, 0x8888}) == 0xffffffff);
  CHECK(run("prmt.b32", {a, b, 0xc8f0}) == 0x00ff0080);
  CHECK(run("prmt.b32", {a, b, 0xabc3210f & 0xffff}) == 0x82818000);
  CHECK(run("prmt.b32", {a, b, 0xffff3210}) == a);
}

TEST_CASE("prmt modes, row by row of the PTX table") {
  const uint64_t a = 0x33221100, b = 0x77665544;
  const struct {
    const char* mnemonic;
    uint32_t rows[4];
  } modes[] = {
      {"prmt.b32.f4e", {0x33221100, 0x44332211, 0x55443322, 0x66554433}},
      {"prmt.b32.b4e", {0x55667700, 0x66770011, 0x77001122, 0x00112233}},
      {"prmt.b32.rc8", {0x00000000, 0x11111111, 0x22222222, 0x33333333}},
      {"prmt.b32.ecl", {0x33221100, 0x33221111, 0x33222222, 0x33333333}},
      {"prmt.b32.ecr", {0x00000000, 0x11111100, 0x22221100, 0x33221100}},
      {"prmt.b32.rc16", {0x11001100, 0x33223322, 0x11001100, 0x33223322}},
  };
  for (const auto& mode : modes) {
    for (uint64_t selector = 0; selector < 4; ++selector) {
      CHECK(run(mode.mnemonic, {a, b, selector}) == mode.rows[selector]);
      CHECK(run(mode.mnemonic, {a, b, selector | 0xfffffffc}) == mode.rows[selector]);
    }
  }
}
