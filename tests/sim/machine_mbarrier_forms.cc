// SPDX-License-Identifier: Apache-2.0

// The rarer forms of mbarrier (semantics.md 2.4, 2.6).

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// %r2: a barrier that thread 0 initialised with `count`; %p1: this is thread 0.
Ran with_barrier(const std::string& body, const std::string& count = "1", uint32_t threads = 1) {
  Setup s;
  s.threads = threads;
  s.variables = ".shared .align 8 .b64 bar;";
  s.body = "mov.u32 %r2, bar; setp.eq.u32 %p1, %r0, 0; @!%p1 bra READY; mbarrier.init.shared.b64 [%r2], " +
           count + ";\nREADY: bar.sync 0;\n" + body + "\nret;";
  return run(s);
}

const std::string kWait0 = "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W;\n";

}  // namespace

TEST_CASE("arrive_drop counts in its phase and lowers the later ones; to zero is MB21") {
  // Two arrivals in phase 0, one of them drops: phase 1 needs one.
  const Ran r = with_barrier(
      "mbarrier.arrive_drop.shared.b64 _, [%r2]; mbarrier.arrive.shared.b64 _, [%r2];\n" + kWait0 +
          "mbarrier.arrive.shared.b64 _, [%r2];\n"
          "V: mbarrier.test_wait.parity.acquire.cta.shared.b64 %p2, [%r2], 1; @!%p2 bra V;",
      "2");
  CHECK_MESSAGE(r.finished(), r.problem());
  CHECK(contains(with_barrier("mbarrier.arrive_drop.shared.b64 _, [%r2];").problem(), "MB21: "));
}

TEST_CASE("arrive_drop.expect_tx expects first, then drops") {
  const Ran r = with_barrier(
      "mbarrier.arrive_drop.expect_tx.shared.b64 _, [%r2], 16; mbarrier.arrive.shared.b64 _, [%r2];\n"
      "mbarrier.complete_tx.shared.b64 [%r2], 16;\n" +
          kWait0,
      "2");
  CHECK_MESSAGE(r.finished(), r.problem());
  size_t drops = 0;
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::mbarrier_arrive && e.has(Event::drops)) {
      CHECK(e.bytes == 16);
      CHECK(e.has(Event::expects_bytes));
      ++drops;
    }
  CHECK(drops == 1);
}

TEST_CASE("MB22: arrive.noComplete may not complete the phase, in no order") {
  CHECK(contains(with_barrier("mbarrier.arrive.noComplete.shared.b64 %rd2, [%r2], 2;", "2").problem(),
                 "MB22: "));
  // The same thread makes the last arrival: always legal.
  const Ran own = with_barrier(
      "mbarrier.arrive.noComplete.shared.b64 %rd2, [%r2], 2; mbarrier.arrive.shared.b64 _, [%r2];\n" + kWait0,
      "3");
  CHECK_MESSAGE(own.finished(), own.problem());
  // Another one does: in another order the noComplete would be last.
  const Ran other = with_barrier(
      "setp.eq.u32 %p3, %r0, 32; @!%p3 bra O; mbarrier.arrive.noComplete.shared.b64 %rd2, [%r2], 1; bra J;\n"
      "O: @!%p1 bra J; mbarrier.arrive.shared.b64 _, [%r2];\nJ:\n" +
          kWait0,
      "2", 64);
  INFO(other.problem());
  CHECK(contains(other.problem(), "?: an arrive.noComplete whose thread"));
}

TEST_CASE("pending_count answers for states of a noComplete form only, and not to control flow") {
  const Ran wrong =
      with_barrier("mbarrier.arrive.shared.b64 %rd2, [%r2]; mbarrier.pending_count.b64 %r3, %rd2;", "2");
  CHECK(contains(wrong.problem(), "MB22: mbarrier.pending_count"));
  const Ran branch = with_barrier(
      "mbarrier.arrive.noComplete.shared.b64 %rd2, [%r2], 1; mbarrier.pending_count.b64 %r3, %rd2;\n"
      "setp.eq.u32 %p3, %r3, 1; @%p3 ret; mbarrier.arrive.shared.b64 _, [%r2];",
      "2");
  CHECK(contains(branch.problem(), "?: the guard of 'ret'"));
}

TEST_CASE("MB20: cp.async.mbarrier.arrive raises the count, up to the maximum") {
  CHECK(contains(with_barrier("cp.async.mbarrier.arrive.shared.b64 [%r2];", "1048575").problem(), "MB20: "));
}

TEST_CASE("a barrier may be initialised again after inval, not before (MB9, MB10)") {
  CHECK(contains(with_barrier("mbarrier.init.shared.b64 [%r2], 1;").problem(), "MB9: "));
  CHECK(contains(
      with_barrier("mbarrier.inval.shared.b64 [%r2]; mbarrier.arrive.shared.b64 _, [%r2];").problem(),
      "MB10: "));
  CHECK(with_barrier("mbarrier.inval.shared.b64 [%r2]; mbarrier.init.shared.b64 [%r2], 2;\n"
                     "mbarrier.arrive.shared.b64 _, [%r2], 2;\n" +
                     kWait0)
            .problem()
            .empty());
}

TEST_CASE("complete_tx is an operation without data") {
  const Ran r = with_barrier(
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 48;\n"
      "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r2], 48;\n" +
      kWait0);
  REQUIRE_MESSAGE(r.finished(), r.problem());
  REQUIRE(r.trace().ops.size() == 1);
  CHECK(r.trace().ops[0].bytes == 48);
  CHECK(r.count(EventKind::async_access) == 0);
  CHECK(contains(with_barrier("mbarrier.complete_tx.shared.b64 [%r2], 1048576;").problem(), "MB17: "));
}

TEST_CASE("a wait by state ends with the phase of the arrive; relaxed forms acquire nothing") {
  const Ran r = with_barrier(
      "mbarrier.arrive.release.cta.shared.b64 %rd2, [%r2];\n"
      "W: mbarrier.test_wait.relaxed.cta.shared.b64 %p2, [%r2], %rd2; @!%p2 bra W;");
  REQUIRE_MESSAGE(r.finished(), r.problem());
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::mbarrier_wait) {
      CHECK(!e.has(Event::acquire));
      CHECK(e.generation == 1);
    }
}

namespace {

/// Warp 0 peeks, does something, and then waits as CUTLASS does: only if the peek failed. Warp 1 arrives.
Ran peeking(const std::string& between, const std::string& wait) {
  Setup s;
  s.threads = 64;
  s.variables = ".shared .align 8 .b64 bar[2];";
  s.body = R"(
    mov.u32 %r2, bar; setp.ne.u32 %p1, %r0, 0; @%p1 bra READY;
    mbarrier.init.shared.b64 [%r2], 32; mbarrier.init.shared.b64 [%r2+8], 1;
  READY: bar.sync 0;
    setp.lt.u32 %p2, %r0, 32; @%p2 bra WAITER;
    mbarrier.arrive.shared.b64 _, [%r2]; ret;
  WAITER:
    { .reg .pred P; mbarrier.try_wait.parity.shared.b64 P, [%r2], 0; selp.b32 %r5, 1, 0, P; }
)" + between +
           wait + "\nst.global.u32 [%rd1], 7; ret;";
  return run(s);
}

const std::string kWaitIfNeeded =
    "setp.ne.s32 %p3, %r5, 0; @%p3 bra DONE;\n"
    "{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%r2], 0; @P1 bra.uni DONE; "
    "bra.uni LAB_WAIT; }\n"
    "DONE:";

}  // namespace

TEST_CASE("PI6: a peek that only decides whether a later wait is needed is part of that wait") {
  const Ran r = peeking("mov.u32 %r6, 5; st.global.u32 [%rd1+1024], %r6;\n", kWaitIfNeeded);
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.words(1)[0] == 7);
  // The wait, and the peek as a strand of its own that may pass as soon as it is reached.
  CHECK(r.count(EventKind::mbarrier_wait) == 2);
  size_t forks = 0, joins = 0;
  for (const Event& e : r.trace().events) {
    if (r.mnemonic(e.place).rfind("mbarrier.try_wait", 0) != 0) continue;
    forks += e.kind == EventKind::fork ? 1 : 0;
    joins += e.kind == EventKind::join && e.has(Event::memory) ? 1 : 0;
  }
  CHECK(forks == 1);
  CHECK(joins == 1);
}

TEST_CASE("LF1: a peek whose answer decides anything else is other work") {
  const char* others[] = {// work on one side only
                          "setp.ne.s32 %p3, %r5, 0; @%p3 bra DONE; st.global.u32 [%rd1+2048], %r5;\n"
                          "W: mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0; @!%p4 bra W; DONE:",
                          // the answer is stored
                          "st.global.u32 [%rd1+2048], %r5;",
                          // another barrier
                          "setp.ne.s32 %p3, %r5, 0; @%p3 bra DONE;\n"
                          "W: mbarrier.try_wait.parity.shared.b64 %p4, [%r2+8], 1; @!%p4 bra W; DONE:"};
  for (const char* other : others) {
    INFO(std::string(other));
    const Ran r = peeking("", other);
    INFO(r.problem());
    CHECK(contains(r.problem(), "other work than polling again"));
  }
}

TEST_CASE("a peek whose wait is never reached decides nothing") {
  const Ran r = peeking("bra SKIP;\n", kWaitIfNeeded + " SKIP:");
  CHECK_MESSAGE(r.finished(), r.problem());
}
