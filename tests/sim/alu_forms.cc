// SPDX-License-Identifier: Apache-2.0
// Looking a mnemonic up: every form of real kernels is there, order of modifiers does not matter, nothing is
// guessed.
#include <fstream>

#include "tests/sim/alu_support.h"

using namespace turnstile;
using test::instruction;
using test::lookup;

namespace {

sim::PureLookup find_with_any_count(const std::string& mnemonic, std::string& why) {
  sim::PureOp op;
  for (size_t sources = 1; sources <= 5; ++sources)
    if (find_pure(instruction(mnemonic, sources), op, why) == sim::PureLookup::found)
      return sim::PureLookup::found;
  return find_pure(instruction(mnemonic, 1), op, why);
}

std::string refusal(const std::string& mnemonic, size_t sources, bool paired = false) {
  sim::PureOp op;
  std::string why;
  REQUIRE(find_pure(instruction(mnemonic, sources, paired), op, why) == sim::PureLookup::unsupported);
  CHECK(why.find("`" + mnemonic + "`") != std::string::npos);
  return why;
}

}  // namespace

TEST_CASE("every register-to-register form of the surveyed kernels is executed") {
  std::ifstream list(TURNSTILE_SOURCE_DIR "/tests/sim/data/alu_forms.txt");
  REQUIRE(list.is_open());
  size_t forms = 0;
  for (std::string mnemonic; std::getline(list, mnemonic);) {
    if (mnemonic.empty() || mnemonic.front() == '#') continue;
    ++forms;
    std::string why;
    INFO(mnemonic);
    CHECK(find_with_any_count(mnemonic, why) == sim::PureLookup::found);
    CHECK(why.empty());
  }
  CHECK(forms == 196);
}

TEST_CASE("modifiers are a set: setp.u32.eq is setp.eq.u32, cvt.f64.bf16.rp has its rounding at the end") {
  CHECK(test::run("setp.u32.eq", {7, 7}) == 1);
  CHECK(test::run("setp.eq.u32", {7, 7}) == 1);
  CHECK(test::run("prmt.b32.f4e", {0x33221100, 0x77665544, 1}) == 0x44332211);
  CHECK(test::run("prmt.f4e.b32", {0x33221100, 0x77665544, 1}) == 0x44332211);
  CHECK(test::run("cvt.f64.bf16.rp", {0x3f80}) == 0x3ff0000000000000);
}

TEST_CASE("order of types is the one thing that counts: destination first") {
  CHECK(lookup("cvt.u64.u32", 1).result_bits == 64);
  CHECK(lookup("cvt.u64.u32", 1).input_bits[0] == 32);
  CHECK(lookup("cvt.u32.u64", 1).result_bits == 32);
  CHECK(lookup("cvt.s32.s8", 1).input_bits[0] == 8);
}

TEST_CASE("operand widths and roles are described for the machine") {
  const sim::PureOp selp = lookup("selp.b64", 3);
  CHECK(selp.input_bits[0] == 64);
  CHECK(selp.input_bits[2] == 1);
  CHECK(!selp.is_float);
  const sim::PureOp wide = lookup("mad.wide.u32", 3);
  CHECK(wide.result_bits == 64);
  CHECK(wide.input_bits[1] == 32);
  CHECK(wide.input_bits[2] == 64);
  const sim::PureOp fma = lookup("fma.rn.ftz.f32", 3);
  CHECK(fma.is_float);
  CHECK(fma.commutative);
  CHECK(!fma.may_contract);
  CHECK(fma.input_is_float[2]);
  CHECK(lookup("mul.f32", 2).may_contract);
  CHECK(!lookup("mul.rn.f32", 2).may_contract);
  CHECK(!lookup("sub.f32", 2).commutative);
  CHECK(lookup("cvt.s8.s32", 1).result_is_signed);
  CHECK(lookup("cvt.rn.bf16x2.f32", 2).inputs == 2);
  CHECK(lookup("add.f32x2", 2).config.lanes == 2);
  CHECK(lookup("setp.lt.and.f32", 3).input_bits[2] == 1);
  CHECK(lookup("shl.b64", 2).input_bits[1] == 32);
  CHECK(lookup("cvt.rn.f16x2.e2m1x2", 1).input_bits[0] == 8);
}

TEST_CASE("a form that PTX does not have is refused, not guessed") {
  refusal("add.sat.u32", 2);
  refusal("add.ftz.s32", 2);
  refusal("mul.s32", 2);
  refusal("mul.lo.hi.s32", 2);
  refusal("setp.f32", 2);
  refusal("setp.eq.lt.s32", 2);
  refusal("setp.lo.s32", 2);
  refusal("setp.ltu.s32", 2);
  refusal("selp", 3);
  refusal("cvt.f32", 1);
  refusal("cvt.f32.s32", 1);
  refusal("cvt.rn.rz.f32.s32", 1);
  refusal("cvt.u32.u32.u32", 1);
  refusal("fma.f32", 3);
  refusal("shf.l.b32", 3);
  refusal("add.bogus.f32", 2);
  refusal("div.f32", 2);
  refusal("add.cc.u16", 2);
  refusal("add.cc.sat.s32", 2);
  refusal("mul.lo.cc.u32", 2);
  refusal("madc.u32", 3);
  refusal("mad.wide.cc.u32", 3);
}

TEST_CASE("a wrong number of operands, or a pair where there is one result, is refused") {
  CHECK(refusal("add.s32", 3).find("takes 2 source operands, not 3") != std::string::npos);
  CHECK(refusal("setp.eq.s32", 3).find("takes 2") != std::string::npos);
  CHECK(refusal("setp.eq.and.s32", 2).find("takes 3") != std::string::npos);
  refusal("add.s32", 2, true);
  refusal("add.cc.u32", 2, true);
  refusal("addc.u32", 2, true);
  CHECK(refusal("addc.u32", 3).find("takes 2 source operands, not 3") != std::string::npos);
}

TEST_CASE("forms without an exact model are executed, and what they give is not predicted") {
  CHECK_FALSE(static_cast<bool>(lookup("rsqrt.approx.f64", 1).run));
  CHECK(static_cast<bool>(lookup("sqrt.rn.f32", 1).run));
}

TEST_CASE("forms that are not executed say why") {
  CHECK(refusal("cvt.rs.f16x2.f32", 3).find("stochastic") != std::string::npos);
}

TEST_CASE("other people's instructions are not pure") {
  for (const char* mnemonic : {"mov.u32", "cvta.to.global.u64", "bar.sync", "mapa.shared::cluster.u32",
                               "isspacep.shared", "ld.param.u64", ""}) {
    sim::PureOp op;
    std::string why;
    INFO(mnemonic);
    CHECK(find_pure(instruction(mnemonic, 1), op, why) == sim::PureLookup::not_pure);
  }
  sim::PureOp op;
  std::string why;
  CHECK(find_pure(ptx::Instruction{}, op, why) == sim::PureLookup::not_pure);
}
