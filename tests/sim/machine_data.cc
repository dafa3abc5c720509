// SPDX-License-Identifier: Apache-2.0

// Moves, packing, state spaces and addresses; faults of single accesses.

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("mov packs registers low part first and unpacks them again") {
  CHECK(lane_words("mov.b16 %rs1, 0x1234; mov.b16 %rs2, 0xabcd; mov.b32 %r1, {%rs1, %rs2};")[0] ==
        0xabcd1234);
  CHECK(lane_words("mov.b32 %r2, 0xdeadbeef; mov.b32 {%rs1, %rs2}, %r2; cvt.u32.u16 %r1, %rs2;")[0] ==
        0xdead);
  CHECK(lane_words("mov.b64 %rd2, {7, 9}; mov.b64 {%r3, %r1}, %rd2;")[0] == 9);
  CHECK(lane_words("mov.b64 %rd2, {7, 9}; mov.b64 {%r1, _}, %rd2;")[0] == 7);
}

TEST_CASE("mov unpacks a register into itself") {
  CHECK(lane_words("mov.b32 %r2, 5; mov.b32 %r3, 6; mov.b64 %rd2, {%r2, %r3}; mov.b64 {%r3, %r1}, %rd2;"
                   "add.u32 %r1, %r1, %r3;")[0] == 11);
}

TEST_CASE("loads of narrow types extend by their sign") {
  Setup s;
  s.variables = ".shared .align 16 .b8 buf[64];";
  s.body = R"(
    mov.u32 %r2, buf;
    st.shared.u32 [%r2], 0x80ff7f01;
    ld.shared.s8 %r3, [%r2+2];
    ld.shared.u8 %r4, [%r2+2];
    ld.shared.s16 %r5, [%r2+2];
    ld.shared.s8 %rd5, [%r2+3];
    ld.shared.b8 %rs1, [%r2+1];
    cvt.u32.u16 %r6, %rs1;
    mov.b64 {%r7, %r8}, %rd5;
    st.global.v4.u32 [%rd0], {%r3, %r4, %r5, %r6};
    st.global.v2.u32 [%rd0+16], {%r7, %r8};
    ret;)";
  s.threads = 1;
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.words(6) == std::vector<uint32_t>{0xffffffff, 0xff, 0xffff80ff, 0x7f, 0xffffff80, 0xffffffff});
}

TEST_CASE("stores of narrow types write their bytes only") {
  Setup s;
  s.threads = 1;
  s.body = R"(
    st.global.u32 [%rd0], 0x11111111;
    mov.u32 %r1, 0xabcdef;
    st.global.u8 [%rd0+1], %r1;
    mov.b16 %rs1, 0x2233;
    st.global.b16 [%rd0+2], %rs1;
    ret;)";
  CHECK(run(s).words(1)[0] == 0x2233ef11);
}

TEST_CASE("parameters are read by name, by offset and through a register") {
  Setup s;
  s.threads = 1;
  s.parameters = ", .param .u32 n, .param .u64 big";
  s.launch_text = "[[params]]\nu32 = 77\n[[params]]\nu64 = 0x123456789\n";
  s.body = R"(
    ld.param.u32 %r1, [n];
    mov.b64 %rd2, n;
    ld.param.u32 %r2, [%rd2+8];
    ld.param.u32 %r3, [big+4];
    ld.param.u16 %rs1, [%rd2];
    cvt.u32.u16 %r4, %rs1;
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};
    ret;)";
  const Ran r = run(s);
  REQUIRE(r.finished());
  CHECK(r.words(4) == std::vector<uint32_t>{77, 0x23456789, 1, 77});
}

TEST_CASE("a parameter address far outside the block is a fault, not a crash") {
  for (const char* offset : {"0x7ffffff0", "-8", "-16"}) {
    const std::string body = std::string("mov.b64 %rd2, out; ld.param.u64 %rd3, [%rd2+") + offset + "]; ret;";
    CHECK(contains(run(body).problem(), "outside the parameter block"));
  }
}

TEST_CASE("generic addresses reach shared memory, and cvta goes there and back") {
  Setup s;
  s.variables = ".shared .align 4 .u32 box[32];";
  s.body = R"(
    mov.u64 %rd2, box;
    cvta.shared.u64 %rd3, %rd2;
    mul.wide.u32 %rd4, %r0, 4;
    add.s64 %rd3, %rd3, %rd4;
    st.u32 [%rd3], %r0;
    cvta.to.shared.u64 %rd5, %rd3;
    cvt.u32.u64 %r2, %rd5;
    ld.shared.u32 %r1, [%r2];
    st.global.u32 [%rd1], %r1;
    ret;)";
  const Ran r = run(s);
  REQUIRE(r.finished());
  for (uint32_t i = 0; i < 32; ++i) CHECK(r.words(32)[i] == i);
  // The store went through the generic address, and its footprint is shared memory.
  bool shared_write = false;
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::access && e.has(Event::write))
      shared_write |= r.trace().footprints[e.footprint].space == Space::shared;
  CHECK(shared_write);
}

TEST_CASE("local memory belongs to each thread") {
  Setup s;
  s.variables = ".local .align 8 .b8 depot[16];";
  s.body = R"(
    mov.u64 %rd2, depot;
    cvta.local.u64 %rd3, %rd2;
    st.local.u32 [depot+4], %r0;
    add.u32 %r2, %r0, 100;
    st.u32 [%rd3+8], %r2;
    ld.u32 %r3, [%rd3+4];
    ld.local.u32 %r4, [%rd2+8];
    add.u32 %r1, %r3, %r4;
    st.global.u32 [%rd1], %r1;
    ret;)";
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  for (uint32_t i = 0; i < 32; ++i) CHECK(r.words(32)[i] == 2 * i + 100);
  s.body = "ld.local.u32 %r1, [depot+16]; ret;";
  CHECK(contains(run(s).problem(), "outside the thread's local memory"));
}

TEST_CASE("constants and global variables start with their initialisers") {
  Setup s;
  s.module_text = ".const .align 4 .u32 table[4] = {5, 6, 7};\n.global .align 4 .u32 counter = 40;\n";
  s.threads = 4;
  s.body = R"(
    mul.wide.u32 %rd2, %r0, 4;
    mov.u64 %rd3, table;
    add.s64 %rd3, %rd3, %rd2;
    ld.const.u32 %r1, [%rd3];
    ld.global.u32 %r2, [counter];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%rd1], %r1;
    ret;)";
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.words(4) == std::vector<uint32_t>{45, 46, 47, 40});
}

TEST_CASE("a store past the end names the thread, the buffer and its size") {
  const std::string text = run("st.global.u32 [%rd1+16324], %r0; ret;").problem();  // thread 15 is the first
  CHECK(contains(text, "memory: thread 15 (warp 0, lane 15) stores 4 bytes at a bad address"));
  CHECK(contains(text, "byte 16384 of buffer 'out' is beyond its 16384 bytes"));
}

TEST_CASE("a load before the start names the buffer") {
  CHECK(contains(run("ld.global.u32 %r1, [%rd0+-8]; ret;").problem(), "8 bytes before buffer 'out'"));
}

TEST_CASE("a misaligned access is a fault") {
  CHECK(contains(run("ld.global.u32 %r1, [%rd0+2]; ret;").problem(), "not aligned to the 4 bytes"));
  CHECK(contains(run("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+8]; ret;").problem(),
                 "not aligned to the 16 bytes"));
}

TEST_CASE("an address in no buffer is a fault") {
  CHECK(contains(run("mov.u64 %rd2, 64; ld.global.u32 %r1, [%rd2]; ret;").problem(), "is in no buffer"));
}

TEST_CASE("global instructions do not reach shared memory through a generic address") {
  Setup s;
  s.variables = ".shared .align 4 .u32 box[32];";
  s.body = "mov.u64 %rd2, box; cvta.shared.u64 %rd3, %rd2; ld.global.u32 %r1, [%rd3]; ret;";
  CHECK(contains(run(s).problem(), "is in no buffer"));
}

TEST_CASE("shared memory ends where the launch says") {
  Setup s;
  s.module_text = ".extern .shared .align 16 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = 128";
  s.body = "mov.u32 %r2, dyn; mad.lo.s32 %r2, %r0, 4, %r2; st.shared.u32 [%r2], %r0; ret;";
  CHECK(run(s).finished());
  s.body = "mov.u32 %r2, dyn; mad.lo.s32 %r2, %r0, 4, %r2; st.shared.u32 [%r2+4], %r0; ret;";
  CHECK(contains(run(s).problem(), "thread 31 (warp 0, lane 31)"));
  s.launch_lines = "dynamic_shared_memory = 232448";
  s.variables = ".shared .align 16 .b8 more[1024];";
  CHECK(contains(refusal(s), "lower dynamic_shared_memory"));
}

TEST_CASE("a value that nobody wrote is not predicted when it reaches an output") {
  const Ran r = run("st.global.u32 [%rd1], %r50; ret;");
  REQUIRE(r.result.not_predicted.size() == 1);
  CHECK(contains(r.result.not_predicted[0], "'st.global.u32'"));
  CHECK(run("st.global.u32 [%rd1], %r0; ret;").result.not_predicted.empty());
}

TEST_CASE("stores of a warp are one access with the bytes of all lanes") {
  const Ran r = run("st.global.u32 [%rd1], %r0; ret;");
  const Trace& t = r.trace();
  for (const Event& e : t.events) {
    if (e.kind != EventKind::access) continue;
    const Footprint& f = t.footprints[e.footprint];
    CHECK(f.range_count == 1);
    CHECK(t.ranges[f.first_range].begin == 0);
    CHECK(t.ranges[f.first_range].end == 128);
  }
}

TEST_CASE("a table of pointers leads to the places that the launch file names") {
  Setup s;
  s.threads = 1;
  s.parameters = ", .param .u64 table, .param .u64 other";
  s.launch_text =
      "[[buffers]]\nname = \"table\"\ndtype = \"s64\"\nshape = [2]\nrole = \"in\"\nfill = \"zeros\"\n"
      "control_data = true\naddresses = [{ element = 1, buffer = \"other\", offset = 8 }]\n"
      "[[buffers]]\nname = \"other\"\ndtype = \"u32\"\nshape = [4]\nrole = \"in\"\nfill = \"iota\"\n"
      "[[params]]\nbuffer = \"table\"\n[[params]]\nbuffer = \"other\"\n";
  s.body = R"(
    ld.param.u64 %rd2, [table];
    ld.param.u64 %rd3, [other];
    ld.global.u64 %rd4, [%rd2+8];
    ld.global.u64 %rd5, [%rd2];
    sub.s64 %rd6, %rd4, %rd3;
    cvt.u32.u64 %r1, %rd6;
    ld.global.u32 %r2, [%rd4];
    cvt.u32.u64 %r3, %rd5;
    st.global.u32 [%rd0], %r1;
    st.global.u32 [%rd0+4], %r2;
    st.global.u32 [%rd0+8], %r3;
    ret;)";
  const Ran bits = run(s);
  INFO(bits.problem());
  REQUIRE(bits.finished());
  CHECK(bits.words(3) == std::vector<uint32_t>{8, 2, 0});
  s.domain = sim::Domain::control;  // the checker follows the address too
  const Ran control = run(s);
  INFO(control.problem());
  CHECK(control.finished());
}
