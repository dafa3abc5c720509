// SPDX-License-Identifier: Apache-2.0
// Grammar traps of ptx.md section 4, PG15 to PG29: operands, modifiers, lines.
#include "tests/model/ptx_support.h"

namespace turnstile::ptx {

TEST_CASE("PG15: _ is a sink, alone, in pairs and in vectors") {
  const Entry e = entry_of(R"(
    mbarrier.arrive.shared::cta.b64 _, [%r1];
    elect.sync _|%p1, -1;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r0, %r1, %r2, _}, %rq0;
  )");
  CHECK(e.instructions[0].operands[0].kind == OperandKind::sink);
  CHECK(e.instructions[1].operands[0].elements[0].kind == OperandKind::sink);
  CHECK(e.instructions[2].operands[0].elements[3].kind == OperandKind::sink);
  CHECK(error_of(kernel(".reg .b32 _;")) != "");
}

TEST_CASE("PG16: paired destinations") {
  const Entry e = entry_of("elect.sync %r1|%p1, -1; shfl.sync.idx.b32 %r2 | %p2, %r3, 0, 31, -1;");
  REQUIRE(e.instructions[0].operands.size() == 2);
  CHECK(e.instructions[0].operands[0].kind == OperandKind::paired);
  CHECK(name_of(e, e.instructions[0].operands[0].elements[1]) == "%p1");
  CHECK(e.instructions[1].operands.size() == 5);
  CHECK(error_of(kernel("elect.sync %r1|5, -1;")) != "");
}

TEST_CASE("PG17: vectors of 1 to 128 elements keep their order and may hold immediates") {
  std::string accumulators;
  for (int i = 127; i >= 0; --i) accumulators += (i < 127 ? ", acc" : "acc") + std::to_string(i);
  const Entry e = entry_of(
      ".reg .f32 acc<128>; .reg .pred p;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" +
      accumulators +
      "}, %rd1, %rd2, p, 1, 1, 0, 0;\n"
      "st.global.b16 [ %rd1 + 0 ], { %rs5 };\n"
      "st.shared.v2.b32 [a], {50529027, -1};");
  const Operand& d = e.instructions[0].operands[0];
  REQUIRE(d.elements.size() == 128);
  CHECK(name_of(e, d.elements.front()) == "acc127");
  CHECK(name_of(e, d.elements.back()) == "acc0");
  CHECK(e.instructions[0].operands.size() == 8);
  CHECK(e.instructions[1].operands[1].kind == OperandKind::vector);
  CHECK(e.instructions[1].operands[1].elements.size() == 1);
  CHECK(e.instructions[2].operands[1].elements[0].immediate == 50529027);
  CHECK(e.instructions[2].operands[1].elements[1].immediate == ~uint64_t{0});
}

TEST_CASE("PG18: mov packs and unpacks") {
  const Entry e = entry_of(
      "mov.b64 %rd1, {%r1, %r2}; mov.b64 {%r1, %r2}, %rd1; mov.b128 %rq1, {%rd1, %rd2}; mov.b64 {_, %r2}, "
      "%rd1;");
  CHECK(e.instructions[0].operands[1].kind == OperandKind::vector);
  CHECK(e.instructions[1].operands[0].kind == OperandKind::vector);
  CHECK(e.instructions[2].operands[1].elements.size() == 2);
  CHECK(e.instructions[3].operands[0].elements[0].kind == OperandKind::sink);
}

TEST_CASE("PG19: every form of address") {
  const auto address = [](const std::string& text) {
    Operand o = entry_of(".shared .b8 sym[64]; .reg .b32 remAddr32; ld.u32 %r1, " + text + ";")
                    .instructions[0]
                    .operands[1];
    REQUIRE(o.kind == OperandKind::address);
    return o;
  };
  CHECK(address("[%rd1]").offset == 0);
  CHECK(address("[%rd1+16]").offset == 16);
  CHECK(address("[%rd1+-636]").offset == -636);
  CHECK(address("[%rd1-4]").offset == -4);
  CHECK(address("[%rd1-4+8]").offset == 4);
  CHECK(address("[%rd1+2*4]").offset == 8);
  CHECK(address("[%rd1+(4<<2)]").offset == 16);
  CHECK(address("[ %rd2 + 0 ]").elements[0].kind == OperandKind::reg);
  CHECK(address("[remAddr32]").elements[0].kind == OperandKind::reg);
  CHECK(address("[sym]").elements[0].kind == OperandKind::symbol);
  CHECK(address("[sym+8]").offset == 8);
  CHECK(address("[sym+-8]").offset == -8);
  CHECK(address("[0x100]").elements[0].immediate == 256);
  const Operand tensor = address("[%rd1, {%r1, 0, %r3}]");
  REQUIRE(tensor.elements.size() == 2);
  CHECK(tensor.elements[1].kind == OperandKind::vector);
  CHECK(tensor.elements[1].elements[1].kind == OperandKind::immediate);
  for (const char* bad :
       {"[%rd1", "[]", "[%rd1+]", "[%rd1+%rd2]", "[%tid.x]", "[_]", "[%rd1, %r1]", "[%rd1+1.5]", "[-%rd1]"}) {
    CAPTURE(bad);
    CHECK(error_of(kernel(std::string("ld.u32 %r1, ") + bad + ";")) != "");
  }
}

TEST_CASE("PG20: parameters are reached through registers, with offsets into by-value blocks") {
  const Entry e = entry_of(
      "mov.b64 %rd2, a; ld.param.u64 %rd1, [%rd2+8]; ld.param.u64 %rd1, [%rd2+-632]; ld.param.u32 %r1, [n];");
  CHECK(e.instructions[0].operands[1].kind == OperandKind::symbol);
  CHECK(e.instructions[2].operands[1].offset == -632);
  CHECK(e.symbols[e.instructions[3].operands[1].elements[0].symbol].offset == 8);
}

TEST_CASE("PG21: any instruction can be predicated, a block cannot") {
  const Entry e = entry_of("@%p1 mov.b32 %r1, 0; @!%p2 mbarrier.arrive.shared::cta.b64 _, [%r1]; @%p3 ret;");
  CHECK_FALSE(e.instructions[0].guard->negated);
  CHECK(e.instructions[1].guard->negated);
  CHECK(e.registers[e.instructions[2].guard->predicate.v].name == "%p3");
  CHECK(error_of(kernel("@%p1 { ret; }")) ==
        "t.ptx:6:6: expected an instruction after its predicate, found '{'");
  CHECK(contains(error_of(kernel("@%r1 ret;")), "'%r1' is not a predicate register"));
  CHECK(contains(error_of(kernel("@%p9 ret;")), "predicate '%p9' is not declared"));
}

TEST_CASE("PG22: predicates, negated ones too, and their immediates as data operands") {
  const Entry e = entry_of(
      "selp.b32 %r1, 1, 0, %p1; and.pred %p1, %p2, !%p3; tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, "
      "%rd2, %r2, %p1;");
  CHECK(name_of(e, e.instructions[0].operands[3]) == "%p1");
  CHECK_FALSE(e.instructions[1].operands[1].negated);
  CHECK(e.instructions[1].operands[2].negated);
  CHECK(e.instructions[2].operands.size() == 5);
}

TEST_CASE("PG23: optional trailing operands are kept by count") {
  const Entry e = entry_of(R"(
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, 0x989680;
    cp.async.cg.shared.global [%r1], [%rd1], 0x10, 0x10;
    cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1, {%r1, %r2, %r3}], [%r4], %rs1;
  )");
  CHECK(e.instructions[0].operands.size() == 3);
  CHECK(e.instructions[1].operands.size() == 4);
  CHECK(e.instructions[2].operands.size() == 4);
  CHECK(e.instructions[3].operands.size() == 4);
}

TEST_CASE("PG24, PG25: modifiers stay in written order, the full text is kept for reports") {
  const Entry e = entry_of(
      "stmatrix.sync.aligned.x4.m8n8.shared.b16 [%r1], {%r2, %r3, %r4, %r5}; setp.u32.eq %p1, %r1, %r2;");
  CHECK(e.instructions[0].mnemonic == "stmatrix.sync.aligned.x4.m8n8.shared.b16");
  CHECK(e.instructions[0].modifiers ==
        std::vector<std::string>{"stmatrix", "sync", "aligned", "x4", "m8n8", "shared", "b16"});
  CHECK(e.instructions[1].modifiers == std::vector<std::string>{"setp", "u32", "eq"});
}

TEST_CASE("PG26: :: stays inside one modifier and is not a label colon") {
  const Entry e = entry_of(
      "A:mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2;"
      "tcgen05.wait::ld.sync.aligned; fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%rd1], %r2, "
      "[%r3], %rd2;");
  CHECK(e.instructions[0].modifiers[5] == "shared::cta");
  CHECK(e.instructions[1].modifiers[1] == "wait::ld");
  CHECK(e.instructions[3].modifiers[5] == "mbarrier::complete_tx::bytes");
  CHECK(e.instructions[3].modifiers[6] == "L2::cache_hint");
}

TEST_CASE("PG26: blanks between modifiers, as pasted inline assembly leaves them, do not matter") {
  const Entry e = entry_of(
      "tcgen05.mma.cta_group::1 .kind::f16 [%r1], %rd1, %rd2, %r2, %p1; ld .global\n .u32 %r1, [%rd1];");
  CHECK(e.instructions[0].mnemonic == "tcgen05.mma.cta_group::1.kind::f16");
  CHECK(e.instructions[1].modifiers == std::vector<std::string>{"ld", "global", "u32"});
}

TEST_CASE("PG27, PG28: operand types need not match the register class") {
  const Entry e = entry_of(
      "ld.shared.b8 %r1, [%r2]; add.f16 %rs3, %rs1, %rs2; ld.param.s8 %r1, [n]; cvt.s32.s8 %r1, %r2;");
  CHECK(e.instructions.size() == 4);
}

TEST_CASE("PG29: .loc with and without inlining, anywhere between statements") {
  const Module m = parsed(kHeader + R"(.visible .entry k() {
.loc 1 10 3
LABEL:
.loc 1 12 5 // k.py:12:5 @[ k.py:10:3 ]
ret;
.loc 2 7 9, function_name $L__info_string0, inlined_at 1 12 5
ret; ret;
.loc 2 8 1, function_name $L__info_string0+12, inlined_at 2 7 9
ret;
.loc 1 12 5
ret;
}
.file 1 "/src/k.cu", 1700000000, 1234
.file 2 "inc" "h.cuh"
)");
  const Entry& e = m.entries[0];
  REQUIRE(e.instructions.size() == 5);
  const auto at = [&](std::size_t i) { return m.locations.at(e.instructions[i].location.value()); };
  CHECK(at(0).line == 12);
  CHECK(m.files.at(at(0).file) == "/src/k.cu");
  CHECK(at(1).line == 7);
  CHECK(m.files.at(at(1).file) == "inc/h.cuh");
  CHECK(m.locations.at(at(1).inlined_at.value()).line == 12);
  CHECK(e.instructions[2].location == e.instructions[1].location);
  const SourceLocation outer = m.locations.at(at(3).inlined_at.value());
  CHECK(outer.line == 7);
  CHECK(m.locations.at(outer.inlined_at.value()).line == 12);
  CHECK(e.instructions[4].location == e.instructions[0].location);
}

TEST_CASE(
    "PG29: inside of inline assembly the statement's own place holds, not the lines that LLVM counts on") {
  const Module m = parsed(kHeader + R"(.visible .entry k() {
.loc 1 32 25
// begin inline asm

{
.reg .pred complete;
.loc 1 35 25
waitLoop:
.loc 1 36 25
@!complete bra.uni waitLoop;
}

// end inline asm
ret;
.loc 1 40 1
ret;
}
.file 1 "k.py"
)");
  const Entry& e = m.entries[0];
  REQUIRE(e.instructions.size() == 3);
  const auto line = [&](std::size_t i) { return m.locations.at(e.instructions[i].location.value()).line; };
  CHECK(line(0) == 32);
  CHECK(line(1) == 32);
  CHECK(line(2) == 40);
}

TEST_CASE("PG29: a .loc of a file that is not declared has an empty file name") {
  const Module m = parsed(kHeader + ".entry k { .loc 9 1 1\n ret; }");
  CHECK(m.files.at(m.locations.at(m.entries[0].instructions[0].location.value()).file).empty());
}

TEST_CASE("PG29: without .loc there is no location, and none leaks from one entry into the next") {
  const Module m = parsed(kHeader + ".entry k { .loc 1 1 1\n ret; }\n.entry l { ret; }");
  CHECK(m.entries[0].instructions[0].location.has_value());
  CHECK_FALSE(m.entries[1].instructions[0].location.has_value());
}

TEST_CASE("special registers are known by name, others are errors") {
  const Entry e = entry_of(
      "mov.u32 %r1, %tid.x; mov.u64 %rd1, %clock64; mov.u32 %r1, %cluster_ctarank; mov.u64 %rd1, "
      "%globaltimer; mov.u32 %r1, %lanemask_ge;");
  CHECK(e.instructions[0].operands[1].kind == OperandKind::special);
  CHECK(e.instructions[0].operands[1].name == "%tid.x");
  for (const char* bad : {"%tidx", "%tid.q", "%laneid.x", "%foo", "%envreg32", "%pm8"}) {
    CAPTURE(bad);
    CHECK(contains(error_of(kernel(std::string("mov.u32 %r1, ") + bad + ";")), "is not declared"));
  }
}

}  // namespace turnstile::ptx
