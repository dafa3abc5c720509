// SPDX-License-Identifier: Apache-2.0
// Grammar traps of ptx.md section 4, PG1 to PG14: scopes, labels, names and literals.
#include <bit>
#include <limits>

#include "tests/model/ptx_support.h"

namespace turnstile::ptx {

TEST_CASE("PG1: inner registers shadow outer ones and die with their block") {
  const Entry e = entry_of(R"(
    .reg .b32 x;
    mov.b32 x, 1;
    {
      .reg .pred x;
      setp.eq.b32 x, %r1, 0;
      { .reg .b64 x; mov.b64 x, 2; }
      mov.pred x, x;
    }
    mov.b32 x, 3;
  )");
  const auto bits = [&](std::size_t i) {
    return unsigned{e.registers[e.instructions[i].operands[0].reg.v].bits};
  };
  CHECK(bits(0) == 32);
  CHECK(bits(1) == 1);
  CHECK(bits(2) == 64);
  CHECK(bits(3) == 1);
  CHECK(bits(4) == 32);
  CHECK(e.instructions[0].operands[0].reg == e.instructions[4].operands[0].reg);
}

TEST_CASE("PG1: a register of a closed block is not declared outside of it") {
  CHECK(contains(error_of(kernel("{ .reg .b32 tmp; mov.b32 tmp, 1; }\nmov.b32 %r1, tmp;")),
                 "t.ptx:7:14: the name 'tmp' is not declared"));
}

TEST_CASE("PG1: an inner range hides only the numbers it has") {
  const Entry e = entry_of("{ .reg .b64 %r<2>; mov.b64 %r1, 0; mov.b32 %r5, 0; }");
  CHECK(e.registers[e.instructions[0].operands[0].reg.v].bits == 64);
  CHECK(e.registers[e.instructions[1].operands[0].reg.v].bits == 32);
}

TEST_CASE("PG2: the same label in two scopes is two labels") {
  const Entry e = entry_of(R"(
    { LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2; @%p1 bra.uni DONE; bra.uni LAB_WAIT; DONE: }
    { LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], %r2; @%p1 bra.uni DONE; bra.uni LAB_WAIT; DONE: }
    ret;
  )");
  REQUIRE(e.instructions.size() == 7);
  CHECK(e.instructions[1].operands[0].label == 3);
  CHECK(e.instructions[2].operands[0].label == 0);
  CHECK(e.instructions[4].operands[0].label == 6);
  CHECK(e.instructions[5].operands[0].label == 3);
}

TEST_CASE("PG2: a branch means the innermost label, also if that one comes later") {
  const Entry e = entry_of(R"(
    DONE: mov.b32 %r1, 0;
    { bra DONE; mov.b32 %r2, 0; DONE: mov.b32 %r3, 0; }
    { bra DONE; }
    { { bra OUT; } OUT: }
    ret;
  )");
  CHECK(e.instructions[1].operands[0].label == 3);
  CHECK(e.instructions[4].operands[0].label == 0);
  CHECK(e.instructions[5].operands[0].label == 6);
}

TEST_CASE("PG2: a label of a block that does not enclose the branch is an error that says so") {
  CHECK(error_of(kernel("{ INNER: }\nbra INNER;")) ==
        "t.ptx:7:5: label 'INNER' is not defined in this block or one around it; the label of that name at "
        "line 6 is in a "
        "block that does not enclose this place");
}

TEST_CASE("PG3: a label at the end of a block is the point after the block") {
  const Entry e = entry_of("{ bra DONE; DONE: }\nmov.b32 %r1, 1;\nbra END;\nEND:");
  REQUIRE(e.instructions.size() == 3);
  CHECK(e.instructions[0].operands[0].label == 1);
  CHECK(e.instructions[2].operands[0].label == 3);  // the end of the entry: behind the last instruction
}

TEST_CASE("PG4: declarations may follow statements") {
  const Entry e = entry_of(R"({
    @!%p1 bra.uni skipWait;
    .reg .pred complete;
    waitLoop:
    mbarrier.try_wait.parity.shared.b64 complete, [%r1], %r2;
    @!complete bra.uni waitLoop;
    skipWait:
  })");
  REQUIRE(e.instructions.size() == 3);
  CHECK(e.instructions[0].guard->negated);
  CHECK(e.instructions[0].operands[0].label == 3);
  CHECK(e.instructions[2].operands[0].label == 1);
  CHECK(e.registers[e.instructions[2].guard->predicate.v].name == "complete");
}

TEST_CASE("PG5: several statements, labels and comments on one line") {
  const Entry e = entry_of(
      "{.reg .f32 r0; .reg .pred p; shfl.sync.down.b32 r0|p, %f1, 1, 31, -1; @p add.f32 r0,r0,%f1;mov.f32 "
      "%f1,r0;}"
      " A: B: /* c */ C: bra A; // bra B;");
  REQUIRE(e.instructions.size() == 4);
  CHECK(e.instructions[1].mnemonic == "add.f32");
  CHECK(e.instructions[3].operands[0].label == 3);
}

TEST_CASE("PG6: blank lines and both kinds of comments inside a block mean nothing") {
  const Entry e = entry_of(
      "// begin inline asm\n{\n\n  // only a comment; with a brace }\n /* and\n } */\n fence.proxy.async; "
      "}\n// end");
  REQUIRE(e.instructions.size() == 1);
  CHECK(e.instructions[0].position.line == 12);
  CHECK(e.instructions[0].position.column == 2);
}

TEST_CASE("PG7: a comment that names registers in front of a wait is only a comment") {
  const Entry e = entry_of("// wait for regs: %r99,%r98\nwgmma.wait_group.sync.aligned 0;");
  CHECK(e.instructions.size() == 1);
}

TEST_CASE("PG8: registers without % are told from symbols, parameters and labels by lookup") {
  const Entry e = entry_of(R"(
    .shared .align 8 .b64 bar;
    .reg .b32 low; .reg .pred P1;
    mov.b32 low, bar;
    mov.b64 %rd1, a;
    @P1 bra low;
    low: ret;
  )");
  CHECK(e.instructions[0].operands[0].kind == OperandKind::reg);
  CHECK(e.instructions[0].operands[1].kind == OperandKind::symbol);
  CHECK(e.symbols[e.instructions[0].operands[1].symbol].name == "bar");
  CHECK(e.symbols[e.instructions[1].operands[1].symbol].space == StateSpace::param);
  CHECK(e.instructions[2].operands[0].kind == OperandKind::label);
}

TEST_CASE("PG9: register ranges with and without %, lists, all types") {
  const Entry e = entry_of(R"({
    .reg .b32 accum<128>, one, two;
    .reg .u64 u; .reg .s32 s; .reg .b8 b; .reg .f64 d; .reg .b128 q;
    mov.b32 accum127, accum0;
    add.s32 one, two, s;
  })");
  CHECK(name_of(e, e.instructions[0].operands[0]) == "accum127");
  CHECK(name_of(e, e.instructions[0].operands[1]) == "accum0");
  CHECK(e.registers.back().bits == 128);
  CHECK(e.registers[e.registers.size() - 2].type == "f64");
  CHECK(contains(error_of(kernel("mov.b32 %r64, 0;")),
                 "register '%r64' is not declared; declared at line 5 are %r0 to %r63"));
  CHECK(error_of(kernel("mov.b32 %r01, 0;")) != "");  // not the name of %r1
}

TEST_CASE("PG9: a range whose prefix ends in a digit") {
  const Entry e = entry_of(".reg .b32 t1<3>; .reg .b64 t<3>; mov.b32 t12, 0; mov.b64 t1, 0; mov.b32 t10, 0;");
  CHECK(name_of(e, e.instructions[0].operands[0]) == "t12");
  CHECK(e.registers[e.instructions[0].operands[0].reg.v].bits == 32);
  CHECK(e.registers[e.instructions[1].operands[0].reg.v].bits == 64);
  CHECK(e.registers[e.instructions[2].operands[0].reg.v].bits == 32);
}

TEST_CASE("PG10: arrays of several dimensions") {
  const Entry e = entry_of(".shared .b16 tile_a[64][16]; .shared .align 128 .b8 buf[2][3][4];");
  CHECK(symbol_named(e, "tile_a").bytes == 64 * 16 * 2);
  CHECK(symbol_named(e, "tile_a").alignment == 2);
  CHECK(symbol_named(e, "buf").bytes == 24);
  CHECK(symbol_named(e, "buf").alignment == 128);
}

TEST_CASE("PG11: literals") {
  const auto value = [](const std::string& literal) {
    const Entry e = entry_of("mov.b64 %rd1, " + literal + ";");
    REQUIRE(e.instructions[0].operands[1].kind == OperandKind::immediate);
    return e.instructions[0].operands[1];
  };
  CHECK(value("42").immediate == 42);
  CHECK(value("-1").immediate == ~uint64_t{0});
  CHECK(value("0x10").immediate == 16);
  CHECK(value("0XfFU").immediate == 255);
  CHECK(value("0b101").immediate == 5);
  CHECK(value("017").immediate == 15);
  CHECK(value("18446744073709551615").immediate == ~uint64_t{0});
  CHECK(value("0f3F800000").immediate == std::bit_cast<uint32_t>(1.0f));
  CHECK_FALSE(value("0f3F800000").is_float64);
  CHECK(value("-0f3F800000").immediate == std::bit_cast<uint32_t>(-1.0f));
  CHECK(value("0dBFF0000000000000").immediate == std::bit_cast<uint64_t>(-1.0));
  CHECK(value("0dBFF0000000000000").is_float64);
  CHECK(value("0.0").immediate == 0);
  CHECK(value("0.0").is_float64);
  CHECK(value("-2.5e-1").immediate == std::bit_cast<uint64_t>(-0.25));
  CHECK(value("1.").immediate == std::bit_cast<uint64_t>(1.0));
}

TEST_CASE("PG11: literals that PTX cannot hold are errors") {
  for (const char* bad :
       {"18446744073709551616", "0f3F80000", "0f3F8000000", "0d0", "08", "0x", "0b2", "1.5q", "12abc"}) {
    CAPTURE(bad);
    CHECK(error_of(kernel(std::string("mov.b64 %rd1, ") + bad + ";")) != "");
  }
}

TEST_CASE("PG11: WARP_SZ is an operand of its own and 32 in an expression") {
  const Entry e = entry_of(
      "mov.u32 %r1, WARP_SZ; mov.u32 %r1, WARP_SZ*2; mov.u32 %r1, -WARP_SZ; mov.u32 %r1, (WARP_SZ-1);");
  CHECK(e.instructions[0].operands[1].kind == OperandKind::special);
  CHECK(e.instructions[0].operands[1].name == "WARP_SZ");
  CHECK(e.instructions[1].operands[1].immediate == 64);
  CHECK(e.instructions[2].operands[1].immediate == static_cast<uint64_t>(-32));
  CHECK(e.instructions[3].operands[1].immediate == 31);
}

TEST_CASE("PG12: constant expressions follow C") {
  const auto value = [](const std::string& expression) {
    return static_cast<int64_t>(
        entry_of("mov.b64 %rd1, " + expression + ";").instructions[0].operands[1].immediate);
  };
  CHECK(value("((128 >> 4) << 16)") == 524288);
  CHECK(value("1+2*3") == 7);
  CHECK(value("(1+2)*3") == 9);
  CHECK(value("10-4-3") == 3);
  CHECK(value("-7/2") == -3);
  CHECK(value("-7 % 2") == -1);
  CHECK(value("-8>>1") == -4);
  CHECK(value("0x8000000000000000>>63") == 1);
  CHECK(value("~0") == -1);
  CHECK(value("!5") == 0);
  CHECK(value("1<2 && 3>=3 || 0") == 1);
  CHECK(value("6&3|8^1") == 11);
  CHECK(value("1 ? 2 : 3") == 2);
  CHECK(value("0 ? 2 : 0 ? 3 : 4") == 4);
  CHECK(value("(.u64)-1 > 0") == 1);
  CHECK(value("(-9223372036854775807-1)/-1") == std::numeric_limits<int64_t>::min());
  CHECK(contains(error_of(kernel("mov.b64 %rd1, 1/0;")), "division by zero"));
  CHECK(contains(error_of(kernel("mov.b64 %rd1, 1<<64;")), "shift count"));
  CHECK(contains(error_of(kernel("mov.b64 %rd1, 1.0+2.0;")), "floating-point"));
}

TEST_CASE("PG13: symbols as immediates") {
  const Module m = parsed(
      kHeader +
      ".extern .shared .align 1024 .b8 global_smem[];\n.global .align 1 .b8 $str$1[4] = {104, 105, 10, 0};\n"
      ".visible .entry k(.param .align 64 .b8 k_param_0[128]) { .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
      "mov.b32 %r1, global_smem; mov.b64 %rd1, k_param_0; mov.u64 %rd2, $str$1; mov.u64 %rd3, $str$1+2; }");
  const Entry& e = m.entries[0];
  CHECK(e.parameter_count == 1);
  const auto symbol = [&](std::size_t i) { return e.symbols.at(e.instructions[i].operands[1].symbol); };
  CHECK(symbol(0).name == "global_smem");
  CHECK(symbol(0).is_extern);
  CHECK(symbol(0).bytes == 0);
  CHECK(symbol(0).alignment == 1024);
  CHECK(symbol(1).name == "k_param_0");
  CHECK(symbol(1).space == StateSpace::param);
  CHECK(symbol(2).name == "$str$1");
  CHECK(symbol(2).initial ==
        std::vector<std::byte>{std::byte{104}, std::byte{105}, std::byte{10}, std::byte{0}});
  CHECK(e.instructions[3].operands[1].offset == 2);
}

TEST_CASE("PG14: names contain $") {
  const Entry e = entry_of("$L__BB0_1: bra $L__BB0_1;");
  CHECK(e.instructions[0].operands[0].label == 0);
  CHECK(e.instructions[0].operands[0].name == "$L__BB0_1");
}

}  // namespace turnstile::ptx
