// SPDX-License-Identifier: Apache-2.0
// Which lanes gave the same value (match.sync) and which run together (activemask), and carry chains in the
// machine: guards, what is not determined, expressions.
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("match.any gives each lane the lanes of its value, of those in its member mask") {
  const auto w = lane_words(R"(
    rem.u32 %r2, %r0, 5;
    setp.lt.u32 %p1, %r0, 16;
    selp.b32 %r3, 0xffff, 0xffff0000, %p1;
    match.any.sync.b32 %r1, %r2, %r3;)");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t want = 0;
    for (uint32_t other = 0; other < 32; ++other)
      if (other % 5 == lane % 5 && other / 16 == lane / 16) want |= 1u << other;
    CHECK(w[lane] == want);
  }
}

TEST_CASE("match.all gives all or nothing; b64 compares both halves; the destination may be the source") {
  for (const bool equal : {true, false}) {
    const std::string high = equal ? "7" : "%r0";
    const auto w = lane_words("mov.u32 %r2, " + high + R"(;
      mov.b64 %rd4, {7, %r2};
      match.all.sync.b64 %r1|%p1, %rd4, -1;
      match.all.sync.b32 %r2, %r2, -1;
      xor.b32 %r1, %r1, %r2;
      @%p1 add.u32 %r1, %r1, 5;)");
    for (const uint32_t word : w) CHECK(word == (equal ? 5u : 0u));
  }
}

TEST_CASE("lanes that have left the kernel are not asked for") {
  const Ran r = run(R"(
    setp.lt.u32 %p1, %r0, 8;
    @%p1 ret;
    match.all.sync.b32 %r1, 3, -1;
    activemask.b32 %r2;
    sub.u32 %r1, %r1, %r2;
    st.global.u32 [%rd1], %r1;
    ret;)");
  REQUIRE(r.finished());
  for (uint32_t lane = 8; lane < 32; ++lane) CHECK(r.words(32)[lane] == 0);
}

TEST_CASE("match waits for lanes of its mask that are on another way, and they go on together") {
  const auto w = lane_words(R"(
    mov.u32 %r2, 1;
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra MEET;
    mov.u32 %r2, 2;
    MEET:
    match.any.sync.b32 %r1, %r2, -1;
    activemask.b32 %r3;
    not.b32 %r3, %r3;
    add.u32 %r1, %r1, %r3;)");
  for (uint32_t lane = 0; lane < 32; ++lane) CHECK(w[lane] == (lane < 16 ? 0xffffu : 0xffff0000u));
}

TEST_CASE("a lane outside the member mask of its match is a fault") {
  const Ran r = run("match.any.sync.b32 %r1, %r0, 0xffff;\nret;");
  CHECK(contains(r.problem(), "M15"));
}

TEST_CASE("match of values that are not known gives none") {
  Setup s;
  s.body = "match.any.sync.b32 %r1, %r2, -1;\nst.global.u32 [%rd1], %r1;\nret;";
  const Ran r = run(s);
  CHECK_FALSE(r.result.not_predicted.empty());
  s.domain = sim::Domain::names;
  CHECK(run(s).finished());
  s.domain = sim::Domain::control;
  CHECK(run(s).finished());
}

TEST_CASE("activemask: known of lanes that nothing has parted, under a guard and behind a branch") {
  const auto w = lane_words(R"(
    setp.lt.u32 %p1, %r0, 10;
    activemask.b32 %r1;
    @%p1 activemask.b32 %r1;
    @!%p1 bra DONE;
    activemask.b32 %r2;
    xor.b32 %r2, %r2, %r1;
    add.u32 %r1, %r1, %r2;
    DONE:)");
  for (uint32_t lane = 0; lane < 32; ++lane) CHECK(w[lane] == (lane < 10 ? 0x3ffu : 0xffffffffu));
}

TEST_CASE("activemask: not determined where parted lanes meet again, until they are synchronised") {
  const std::string parted = R"(
    setp.lt.u32 %p1, %r0, 10;
    @%p1 bra MEET;
    mov.u32 %r2, 2;
    MEET:)";
  const std::string rest = "activemask.b32 %r1;\nst.global.u32 [%rd1], %r1;\nret;";
  CHECK_FALSE(run(parted + rest).result.not_predicted.empty());
  const Ran met = run(parted + "bar.warp.sync -1;\n" + rest);
  CHECK(met.result.not_predicted.empty());
  CHECK(met.words(1)[0] == 0xffffffff);
  // As a member mask it decides who waits for whom.
  const Ran used = run(parted + "activemask.b32 %r1;\nshfl.sync.idx.b32 %r2, %r0, 0, 31, %r1;\nret;");
  CHECK(contains(used.problem(), "?: the member mask"));
}

TEST_CASE("activemask: lanes that poll may leave the loop at different times") {
  Setup s;
  s.variables = ".shared .align 8 .b64 bar[1];\n.reg .b32 %bar; mov.u32 %bar, bar;\n";
  s.body = R"(
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%bar], 32;
    bar.warp.sync -1;
    mbarrier.arrive.shared::cta.b64 _, [%bar];
    W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%bar], 0;
    @!%p2 bra W;
    activemask.b32 %r1;
    st.global.u32 [%rd1], %r1;
    ret;)";
  const Ran r = run(s);
  REQUIRE(r.finished());
  CHECK_FALSE(r.result.not_predicted.empty());
}

TEST_CASE("the carry flag is a register of each lane, written under the guard") {
  const auto w = lane_words(R"(
    setp.lt.u32 %p1, %r0, 4;
    add.cc.u32 %r2, 1, 1;
    @%p1 add.cc.u32 %r2, 0xffffffff, 1;
    add.u32 %r3, 0xffffffff, 1;
    addc.u32 %r1, 40, 0;)");
  for (uint32_t lane = 0; lane < 32; ++lane) CHECK(w[lane] == (lane < 4 ? 41u : 40u));
}

TEST_CASE("a carry that nobody has set is not known, and one of an unknown sum is not either") {
  CHECK_FALSE(run("addc.u32 %r1, 1, 1;\nst.global.u32 [%rd1], %r1;\nret;").result.not_predicted.empty());
  Setup s;
  s.body = R"(
    add.cc.u32 %r3, %r2, 5;
    addc.u32 %r1, 1, 1;
    st.global.u32 [%rd1], %r1;
    ret;)";
  CHECK_FALSE(run(s).result.not_predicted.empty());
  for (const sim::Domain domain : {sim::Domain::names, sim::Domain::control, sim::Domain::provenance}) {
    s.domain = domain;
    CHECK(run(s).finished());
  }
}

TEST_CASE("a carry chain decides a branch like any other value") {
  const Ran r = run(R"(
    sub.cc.u32 %r2, %r0, 7;
    subc.u32 %r3, 0, 0;
    setp.ne.u32 %p1, %r3, 0;
    mov.u32 %r1, 0;
    @%p1 bra BELOW;
    mov.u32 %r1, 1;
    BELOW: st.global.u32 [%rd1], %r1;
    ret;)");
  REQUIRE(r.finished());
  for (uint32_t lane = 0; lane < 32; ++lane) CHECK(r.words(32)[lane] == (lane < 7 ? 0u : 1u));
}

TEST_CASE("operands of match, activemask and carry chains are checked") {
  CHECK(contains(refusal("match.any.sync.b32 %r1|%p1, %r2, -1;\nret;"), "has one result"));
  CHECK(contains(refusal("match.any.sync.b64 %r1, %r2, -1;\nret;"), "needs 64"));
  CHECK(contains(refusal("match.all.sync.b32 %rs1, %r2, -1;\nret;"), "needs 32"));
  CHECK(contains(refusal("match.some.sync.b32 %r1, %r2, -1;\nret;"), "not implemented"));
  CHECK(contains(refusal("match.any.b32 %r1, %r2;\nret;"), "not implemented"));
  CHECK(contains(refusal("activemask.b64 %rd1;\nret;"), "not implemented"));
  CHECK(contains(refusal("activemask.b32 %rs1;\nret;"), "needs 32"));
  CHECK(contains(refusal("add.cc.u32 %r1, %r2;\nret;"), "takes 2 source operands"));
  CHECK(contains(refusal("addc.u32 %r1, %r2, %r3, %p1;\nret;"), "takes 2 source operands"));
  CHECK(contains(refusal("madc.lo.u32 %r1, %r2, %r3, %rs1;\nret;"), "needs 32"));
}
