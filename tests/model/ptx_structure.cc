// SPDX-License-Identifier: Apache-2.0
// Structure of a PTX file (ptx.md section 3) and the statements of both dialects (section 5).
#include <bit>
#include <cstring>

#include "tests/model/ptx_support.h"

namespace turnstile::ptx {
namespace {

template <typename T>
T value_at(const Symbol& s, std::size_t index) {
  T out;
  REQUIRE((index + 1) * sizeof out <= s.initial.size());
  std::memcpy(&out, s.initial.data() + index * sizeof out, sizeof out);
  return out;
}

}  // namespace

TEST_CASE("PS1: header") {
  const Module m = parsed(".version 8.7\n.target sm_100a, debug\n.address_size 64\n");
  CHECK(m.version == "8.7");
  CHECK(m.target == "sm_100a");
  CHECK(m.path == "t.ptx");
  CHECK(m.entries.empty());
  CHECK(contains(error_of(""), "t.ptx:1:1: expected '.version'"));
  CHECK(contains(error_of("int main() {}"), "is this a PTX file?"));
  CHECK(contains(error_of(".version 12.0\n.target sm_90a\n.address_size 64\n"), "'12.0' is not supported"));
  CHECK(contains(error_of(".version 9.0\n.target compute_90\n.address_size 64\n"),
                 "'compute_90' is not a target"));
  CHECK(contains(error_of(".version 9.0\n.target sm_90a\n.address_size 32\n"), "an address size of 32"));
}

TEST_CASE("PS2: variables of the module, with initial values") {
  const Module m = parsed(kHeader + R"(
.global .align 4 .u32 scalar = 7;
.global .f32 bias[] = {-1.0, 0f3F800000, 2};
.const .align 8 .b8 padded[72] = {1, 0xff, -1};
.global .s32 grid[2][3] = {{1, 2, 3}, {4}};
.global .u64 big[2] = {0xffffffffffffffff, -1};
.global .f64 d = 0d4000000000000000;
.visible .global .attribute(.managed) .align 8 .b8 managed[16];
.shared .align 16 .u64 bars[4];
.weak .global .v4 .f32 quad = {1.0, 2.0, 3.0, 4.0};
.entry k { ret; }
)");
  const Entry& e = m.entries[0];
  CHECK(value_at<uint32_t>(symbol_named(e, "scalar"), 0) == 7);
  CHECK(symbol_named(e, "bias").bytes == 12);
  CHECK(value_at<float>(symbol_named(e, "bias"), 0) == -1.0f);
  CHECK(value_at<float>(symbol_named(e, "bias"), 1) == 1.0f);
  CHECK(value_at<float>(symbol_named(e, "bias"), 2) == 2.0f);
  CHECK(symbol_named(e, "padded").initial.size() == 72);
  CHECK(value_at<uint8_t>(symbol_named(e, "padded"), 2) == 255);
  CHECK(value_at<uint8_t>(symbol_named(e, "padded"), 71) == 0);
  CHECK(symbol_named(e, "padded").space == StateSpace::constant);
  CHECK(value_at<int32_t>(symbol_named(e, "grid"), 3) == 4);
  CHECK(value_at<int32_t>(symbol_named(e, "grid"), 5) == 0);
  CHECK(value_at<uint64_t>(symbol_named(e, "big"), 1) == ~uint64_t{0});
  CHECK(value_at<double>(symbol_named(e, "d"), 0) == 2.0);
  CHECK(symbol_named(e, "managed").initial.empty());
  CHECK(symbol_named(e, "bars").bytes == 32);
  CHECK(symbol_named(e, "bars").alignment == 16);
  CHECK(value_at<float>(symbol_named(e, "quad"), 3) == 4.0f);
  CHECK(symbol_named(e, "quad").alignment == 16);
}

TEST_CASE("PS2: initial values that cannot be meant are errors") {
  for (const char* bad :
       {".global .u8 x = 256;", ".global .s8 x = -129;", ".global .b8 x[2] = {1, 2, 3};",
        ".global .b8 x[2][2] = {1, 2};", ".global .b8 x[];", ".global .u64 p = generic(y);",
        ".shared .b8 x[1] = {1};", ".extern .global .b8 x[1] = {1};", ".global .b8 x[2] = {1,};",
        ".global .b8 x[0];", ".global .align 3 .b8 x;", ".global .u32 x = 1.5;", ".global x;",
        ".global .foo x;", ".global .b8 .b8 x;", ".global .b8 x[2][];", ".global .pred x;"}) {
    CAPTURE(bad);
    CHECK(error_of(kHeader + bad) != "");
  }
  CHECK(contains(error_of(kHeader + ".global .u64 p = generic(y);"),
                 "the initial value of 'p' is an address, which is not supported"));
}

TEST_CASE("PS2: dynamic shared memory may be announced for each kernel again") {
  const std::string dynamic = ".extern .shared .align 16 .b8 smem[];\n";
  const Module m = parsed(kHeader + dynamic + ".entry k { ret; }\n" + dynamic + ".entry l { ret; }");
  CHECK(m.entries[0].symbols.size() == 1);
  CHECK(m.entries[1].symbols.size() == 1);
  CHECK(error_of(kHeader + dynamic + ".global .b8 smem;") ==
        "t.ptx:5:13: 'smem' is declared twice in the same scope, first at line 4");
}

TEST_CASE("PS3: entries with and without linkage and parameters; find by name") {
  const Module m = parsed(kHeader +
                          ".visible .entry a() { ret; } .entry b { ret; } .weak .entry c(.param .u8 x) { "
                          "ret; } .visible .entry a();");
  REQUIRE(m.entries.size() == 3);
  CHECK(m.find("b")->parameter_count == 0);
  CHECK(m.find("c")->parameter_count == 1);
  CHECK(m.find("d") == nullptr);
  CHECK(contains(error_of(kHeader + ".entry a { ret; } .entry a { ret; }"), "entry 'a' is defined twice"));
}

TEST_CASE("PS4: parameters get the offsets of the C ABI") {
  const Module m = parsed(kHeader + R"(.visible .entry k(
    .param .u8 small,
    .param .u64 .ptr .align 1 pointer,
    .param .u64 .ptr .global .align 16 global_pointer,
    .param .f32 x,
    .param .align 64 .b8 map[128],
    .param .u32 last
  ) { ret; })");
  const Entry& e = m.entries[0];
  REQUIRE(e.parameter_count == 6);
  const uint64_t offsets[] = {0, 8, 16, 24, 64, 192};
  for (std::size_t i = 0; i < 6; ++i) CHECK(e.symbols[i].offset == offsets[i]);
  CHECK(e.symbols[1].alignment == 8);  // .ptr's alignment is that of the memory pointed to
  CHECK(e.symbols[4].bytes == 128);
  CHECK(e.symbols[4].alignment == 64);
  CHECK(error_of(kHeader + ".entry k(.param .u32 a .param .u32 b) { ret; }") ==
        "t.ptx:4:24: expected ',' or ')' after a parameter, found '.param'");
}

TEST_CASE("PS5: performance directives") {
  const Module m = parsed(kHeader + R"(
.entry a .maxntid 384 .minnctapersm 1 { ret; }
.entry b() .maxntid 128, 2, 1
  .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
.entry c() .reqntid 256
  .maxnreg 168 .maxclusterrank 8 .pragma "x"; { ret; }
)");
  using Three = std::array<uint32_t, 3>;
  CHECK(m.entries[0].directives.max_threads == Three{384, 1, 1});
  CHECK(m.entries[0].directives.min_ctas_per_sm == 1u);
  CHECK_FALSE(m.entries[0].directives.required_threads);
  CHECK(m.entries[1].directives.max_threads == Three{128, 2, 1});
  CHECK(m.entries[1].directives.explicit_cluster);
  CHECK(m.entries[1].directives.required_cluster == Three{2, 1, 1});
  CHECK(m.entries[2].directives.required_threads == Three{256, 1, 1});
  CHECK(m.entries[2].directives.max_registers == 168u);
  CHECK(m.entries[2].directives.max_cluster_rank == 8u);
  CHECK(error_of(kHeader + ".entry k() .blocksareclusters { ret; }") ==
        "t.ptx:4:12: the directive '.blocksareclusters' of entry 'k' is not supported");
  CHECK(contains(error_of(kHeader + ".entry k() .maxntid 0 { ret; }"),
                 "an extent of '.maxntid' must be a whole number between 1"));
}

TEST_CASE("PS6, PS7, PS8: declarations and pragmas in the body") {
  const Entry e = entry_of(R"(
    .local .align 16 .b8 __local_depot0[32];
    .shared .align 8 .b8 _ZZ4kern4prod[16];
    .pragma "nounroll";
    .pragma "used_bytes_mask 4095";
    .reg .b64 %SP; .reg .b64 %SPL;
    mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL;
  )");
  CHECK(symbol_named(e, "__local_depot0").space == StateSpace::local);
  CHECK(symbol_named(e, "_ZZ4kern4prod").space == StateSpace::shared);
  CHECK(symbol_named(e, "_ZZ4kern4prod").alignment == 8);
  CHECK(e.parameter_count == 2);
}

TEST_CASE("symbols stand in the order parameters, module, body, whatever the entry") {
  const Module m = parsed(kHeader + R"(.global .b8 g; .shared .b8 s;
.entry a(.param .u32 p) { .shared .b32 t; .reg .b64 %rd<2>; mov.u64 %rd1, g; mov.u64 %rd1, s; mov.u64 %rd1, t; mov.u64 %rd1, p; }
.entry b() { .reg .b64 %rd<2>; mov.u64 %rd1, s; })");
  const auto names = [](const Entry& e) {
    std::string out;
    for (const Symbol& s : e.symbols) out += s.name;
    return out;
  };
  CHECK(names(m.entries[0]) == "pgst");
  CHECK(names(m.entries[1]) == "gs");
  std::string used;
  for (const Instruction& i : m.entries[0].instructions)
    used += m.entries[0].symbols[i.operands[1].symbol].name;
  CHECK(used == "gstp");
  CHECK(m.entries[1].symbols[m.entries[1].instructions[0].operands[1].symbol].name == "s");
}

TEST_CASE("PS9: debug sections are skipped, braces in strings and comments included") {
  const Module m = parsed(kHeader + R"(.entry k { ret; }
.section .debug_abbrev
{
.b8 1 // } not the end
/* } */
$L__info_string0: .b8 95
}
.section .debug_loc { }
.section .debug_str { .ascii "}" }
.entry l { ret; })");
  CHECK(m.entries.size() == 2);
}

TEST_CASE("PT7: brx.idx jumps through its list, wherever list and labels stand") {
  const Entry e = entry_of(R"(
    brx.idx %r1, $L_brx_0;
    $L_brx_0: .branchtargets
      L5,
      L6, L5;
    L5: mov.b32 %r2, 0;
    L6: ret;
  )");
  REQUIRE(e.instructions.size() == 3);
  CHECK(e.instructions[0].branch_targets == std::vector<uint32_t>{1, 2, 1});
  CHECK(e.instructions[0].operands[1].kind == OperandKind::label);
  CHECK(e.instructions[1].branch_targets.empty());
  CHECK(contains(error_of(kernel("L: brx.idx %r1, L;")), "label 'L' names no .branchtargets list"));
  CHECK(contains(error_of(kernel("ret; .branchtargets L;")), "needs a label of its own"));
  CHECK(contains(error_of(kernel("T: .branchtargets NOWHERE; brx.idx %r1, T;")),
                 "label 'NOWHERE' is not defined"));
}

TEST_CASE("call sequences: results, callee, arguments") {
  const Module m = parsed(kHeader + R"(
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1)
;
.extern .func __assertfail (.param .b64 a) .noreturn;
.entry k {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  { // callseq 0, 0
  .param .b64 param0;
  st.param.b64 [param0], %rd1;
  .param .b32 retval0;
  call.uni (retval0), vprintf, (param0, param0);
  ld.param.b32 %r1, [retval0];
  } // callseq 0
  { .param .b64 param0; call.uni __assertfail, (param0); }
  call __assertfail;
})");
  const Entry& e = m.entries[0];
  const Instruction& call = e.instructions[1];
  REQUIRE(call.operands.size() == 3);
  CHECK(e.symbols[call.operands[0].elements.at(0).symbol].name == "retval0");
  CHECK(call.operands[1].name == "vprintf");
  CHECK(call.operands[2].elements.size() == 2);
  CHECK(e.instructions[3].operands[0].elements.empty());
  CHECK(e.instructions[3].operands[2].elements.size() == 1);
  CHECK(e.instructions[4].operands[2].elements.empty());
  // The two `param0` are different variables.
  CHECK(call.operands[2].elements[0].symbol != e.instructions[3].operands[2].elements[0].symbol);
  CHECK(contains(error_of(kernel("call nowhere;")), "'nowhere' is not declared"));
  CHECK(contains(error_of(kernel("call %rd1, ();")), "calls through a pointer are not supported"));
}

TEST_CASE(
    "a device function with a body is known by name only; the call stays visible to whoever executes it") {
  const Module m = parsed(kHeader +
                          ".func (.reg .b32 r) f (.reg .b32 x) { bar.sync 0; { \"}\" } }\n.entry k { .reg "
                          ".b32 %r<2>; call (%r1), f, (%r0); }");
  REQUIRE(m.entries.size() == 1);
  CHECK(m.entries[0].instructions[0].operands[1].name == "f");
}

TEST_CASE("in a deep pile of scopes each use finds the register of its own scope") {
  // Independent model: scope i declares x as a register of its own; each use must be the i-th.
  std::string body;
  for (int i = 0; i < 60; ++i) body += "{ .reg .b32 x; mov.b32 x, " + std::to_string(i) + "; ";
  for (int i = 60; i-- > 0;) body += "mov.b32 x, " + std::to_string(i) + "; } ";
  const Entry e = entry_of(body);
  REQUIRE(e.instructions.size() == 120);
  for (std::size_t i = 0; i < 60; ++i)
    CHECK(e.instructions[i].operands[0].reg == e.instructions[119 - i].operands[0].reg);
}

}  // namespace turnstile::ptx
