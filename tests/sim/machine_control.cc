// SPDX-License-Identifier: Apache-2.0

// Divergence, reconvergence and exits: what each lane stores is worked out by hand.

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("if and else: each lane takes its own side and both meet again") {
  const auto w = lane_words(R"(
    setp.lt.u32 %p1, %r0, 10;
    @%p1 bra LOW;
    mov.u32 %r1, 200;
    bra JOIN;
  LOW:
    mov.u32 %r1, 100;
  JOIN:
    add.u32 %r1, %r1, %r0;)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i < 10 ? 100 : 200) + i);
}

TEST_CASE("nested branches split a warp in four") {
  const auto w = lane_words(R"(
    and.b32 %r2, %r0, 1;
    and.b32 %r3, %r0, 2;
    setp.eq.u32 %p1, %r2, 0;
    setp.eq.u32 %p2, %r3, 0;
    @%p1 bra EVEN;
    @%p2 bra ODD_LOW;
    mov.u32 %r1, 3;
    bra DONE;
  ODD_LOW:
    mov.u32 %r1, 1;
    bra DONE;
  EVEN:
    @%p2 bra EVEN_LOW;
    mov.u32 %r1, 2;
    bra DONE;
  EVEN_LOW:
    mov.u32 %r1, 0;
  DONE:)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == i % 4);
}

TEST_CASE("a loop runs as often as each lane says") {
  const auto w = lane_words(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
  LOOP:
    setp.ge.u32 %p1, %r2, %r0;
    @%p1 bra DONE;
    add.u32 %r1, %r1, %r2;
    add.u32 %r2, %r2, 1;
    bra LOOP;
  DONE:)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == i * (i - 1) / 2);
}

TEST_CASE("lanes that return early store nothing, the others go on") {
  const Ran r = run(R"(
    setp.gt.u32 %p1, %r0, 19;
    @%p1 ret;
    st.global.u32 [%rd1], 7;
    ret;)");
  REQUIRE(r.finished());
  const auto w = r.words(32);
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i < 20 ? 7 : 0));
  CHECK(r.count(EventKind::exit) == 2);
}

TEST_CASE("predicated instructions act in the lanes of their predicate only") {
  const auto w = lane_words(R"(
    mov.u32 %r1, 1;
    setp.eq.u32 %p1, %r0, 5;
    @%p1 mov.u32 %r1, 50;
    @!%p1 add.u32 %r1, %r1, 1;)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i == 5 ? 50 : 2));
}

TEST_CASE("a guard inside a split warp concerns the lanes that are there") {
  const auto w = lane_words(R"(
    mov.u32 %r1, 0;
    and.b32 %r2, %r0, 1;
    setp.eq.u32 %p2, %r2, 0;
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra LOW;
    @%p2 add.u32 %r1, %r1, 10;
    bra JOIN;
  LOW:
    @%p2 add.u32 %r1, %r1, 100;
  JOIN:
    @!%p2 add.u32 %r1, %r1, 1;)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == (i % 2 ? 1 : i < 16 ? 100 : 10));
}

TEST_CASE("brx.idx sends each lane to the label of its index") {
  const auto w = lane_words(R"(
    rem.u32 %r2, %r0, 3;
    TARGETS: .branchtargets ZERO, ONE, TWO;
    brx.idx %r2, TARGETS;
  ZERO:
    mov.u32 %r1, 10;
    bra DONE;
  ONE:
    mov.u32 %r1, 11;
    bra DONE;
  TWO:
    mov.u32 %r1, 12;
  DONE:)");
  for (uint32_t i = 0; i < 32; ++i) CHECK(w[i] == 10 + i % 3);
}

TEST_CASE("brx.idx beyond its list is a fault of the lane") {
  const Ran r = run(R"(
    TARGETS: .branchtargets ZERO, ONE;
    brx.idx %r0, TARGETS;
  ZERO:
  ONE:
    ret;)");
  CHECK(r.problem() == "memory: branch number 2 of a list of 2");
}

TEST_CASE("a partial last warp runs only the threads that exist") {
  const Ran r = run("st.global.u32 [%rd1], 1; ret;", 40);
  REQUIRE(r.finished());
  const auto w = r.words(64);
  for (uint32_t i = 0; i < 64; ++i) CHECK(w[i] == (i < 40 ? 1 : 0));
}

TEST_CASE("a kernel that falls off its end has ended") {
  const Ran r = run("st.global.u32 [%rd1], 3;");
  CHECK(r.finished());
  CHECK(r.count(EventKind::exit) == 1);
}

TEST_CASE("an endless loop ends at the step limit, as unknown") {
  Setup s;
  s.body = "LOOP: add.u32 %r1, %r1, 1; bra LOOP;";
  s.step_limit = 1000;
  const Ran r = run(s);
  CHECK(contains(r.problem(), "?: the step limit was reached"));
  CHECK(r.trace().live_pollers.size() == 1);
}

TEST_CASE("a branch on data that the launch does not give is unknown, at its instruction") {
  Setup s;
  s.domain = sim::Domain::control;
  s.body = R"(
    ld.global.u32 %r2, [%rd1];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra DONE;
    st.global.u32 [%rd1], 1;
  DONE: ret;)";
  const Ran r = run(s);
  REQUIRE(r.trace().unknowns.size() == 1);
  CHECK(contains(r.problem(), "the guard of 'bra'"));
  CHECK(r.mnemonic(r.trace().unknowns[0].place) == "bra");
}

TEST_CASE("a branch around arithmetic alone is harmless: what it leaves is unknown, the rest goes on") {
  const auto around = [](const std::string& between, const std::string& after) {
    Setup s;
    s.domain = sim::Domain::control;
    s.body = "ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 1; mov.u32 %r4, 2;\n" +
             between + "\nst.global.u32 [%rd1], %r3;\n" + after + "\nDONE: ret;";
    return run(s);
  };
  const std::string diamond =
      "@%p1 bra ELSE; add.u32 %r3, %r3, 1; bra.uni MEET;\nELSE: mov.u32 %r3, 7;\nMEET:";
  CHECK(around(diamond, "").problem().empty());
  CHECK(around("@%p1 mov.u32 %r3, 5;", "").problem().empty());
  const std::string backwards =
      "bra.uni OVER;\nMEET: mov.u32 %r4, 2; bra.uni ON;\nOVER: @%p1 bra MEET; mov.u32 %r3, 7;\n"
      "setp.eq.u32 %p3, %r3, 9; @%p3 bra MEET; add.u32 %r3, %r3, 1; bra.uni MEET;\nON:";
  CHECK(around(backwards, "setp.eq.u32 %p2, %r4, 2; @%p2 bra DONE; trap;").problem().empty());
  CHECK(around(diamond, "setp.eq.u32 %p2, %r4, 2; @%p2 bra DONE; trap;").problem().empty());  // r4 is known
  CHECK(contains(around(diamond, "setp.eq.u32 %p2, %r3, 2; @%p2 bra DONE; trap;").problem(),
                 "the guard of 'bra'"));
  CHECK(
      contains(around("@%p1 bra ELSE; st.global.u32 [%rd1], 9;\nELSE:", "").problem(), "the guard of 'bra'"));
  CHECK(contains(around("AGAIN: add.u32 %r3, %r3, 1; @%p1 bra AGAIN;", "").problem(), "the guard of 'bra'"));
}

TEST_CASE("a trap is a fault of the kernel") {
  CHECK(run("setp.eq.u32 %p1, %r0, 3; @%p1 trap; ret;").problem() == "PE14: the kernel reaches a trap");
}

TEST_CASE("a register that was never written does not decide a branch") {
  CHECK(contains(run("setp.eq.u32 %p1, %r50, 0; @%p1 ret; ret;").problem(), "?: the guard of 'ret'"));
}

TEST_CASE("special registers of a thread") {
  const auto value = [](const std::string& name, uint32_t thread) {
    Setup s;
    s.threads = 64;
    s.ctas = 3;
    s.launch_lines = "dynamic_shared_memory = 640";
    s.body = "mov.u32 %r1, " + name + "; st.global.u32 [%rd1], %r1; ret;";
    const Ran r = run(s);
    REQUIRE(r.finished());
    return r.words(192)[thread];
  };
  // Thread 101 is thread 37 of CTA 1: warp 1, lane 5.
  CHECK(value("%tid.x", 101) == 37);
  CHECK(value("%tid.y", 101) == 0);
  CHECK(value("%ntid.x", 101) == 64);
  CHECK(value("%ntid.z", 101) == 1);
  CHECK(value("%ctaid.x", 101) == 1);
  CHECK(value("%nctaid.x", 101) == 3);
  CHECK(value("%laneid", 101) == 5);
  CHECK(value("%warpid", 101) == 1);
  CHECK(value("WARP_SZ", 101) == 32);
  CHECK(value("%lanemask_eq", 101) == 0x20);
  CHECK(value("%lanemask_lt", 101) == 0x1f);
  CHECK(value("%lanemask_le", 101) == 0x3f);
  CHECK(value("%lanemask_gt", 101) == 0xffffffc0);
  CHECK(value("%lanemask_ge", 101) == 0xffffffe0);
  CHECK(value("%lanemask_le", 95) == 0xffffffff);
  CHECK(value("%lanemask_gt", 95) == 0);
  CHECK(value("%cluster_ctarank", 101) == 0);
  CHECK(value("%cluster_nctarank", 101) == 1);
  CHECK(value("%clusterid.x", 101) == 1);
  CHECK(value("%dynamic_smem_size", 101) == 640);
}

TEST_CASE("a clock is not known before the launch runs") {
  CHECK(contains(run("mov.u32 %r1, %clock; setp.eq.u32 %p1, %r1, 0; @%p1 ret; ret;").problem(),
                 "?: the guard"));
}
