// SPDX-License-Identifier: Apache-2.0

// mbarriers, waits, named barriers and the register pool.

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// Warp 0 waits as `wait` says for 32 arrivals of warp 1, and then stores 1.
Ran waiting(const std::string& wait) {
  Setup s;
  s.threads = 64;
  s.variables = ".shared .align 8 .b64 bar;";
  s.body = R"(
    mov.u32 %r2, bar;
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
    mov.pred %p5, %p6;
    setp.ne.u32 %p5, %r0, 999;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [%r2], 32;
    bar.sync 0;
    setp.lt.u32 %p2, %r0, 32;
    @%p2 bra WAITER;
    mbarrier.arrive.shared.b64 _, [%r2];
    ret;
  WAITER:
)" + wait + "\nst.global.u32 [%rd1], 1;\nret;";
  return run(s);
}

bool is_one_wait(const Ran& r) {
  if (!r.finished() || r.count(EventKind::mbarrier_wait) != 1) return false;
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::mbarrier_wait && (e.generation != 1 || e.count != 0 || !e.has(Event::acquire)))
      return false;
  return r.words(32) == std::vector<uint32_t>(32, 1);
}

/// The problem of 32 threads with a barrier `bar` (count 1, made by thread 0) that execute `rest`.
std::string problem_with_barrier(const std::string& rest, uint32_t count = 1) {
  Setup s;
  s.variables = ".shared .align 8 .b64 bar[2];";
  s.body = "mov.u32 %r2, bar; mov.u32 %r3, " + std::to_string(count) +
           "; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r2], %r3; bar.sync 0;\n" + rest +
           "\nret;";
  return run(s).problem();
}

}  // namespace

TEST_CASE("PT1: a loop with an exit label is one wait") {
  CHECK(is_one_wait(waiting(R"({ .reg .pred P1;
    LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%r2], 0, 1000;
    @P1 bra.uni DONE; bra.uni LAB_WAIT; DONE: })")));
}

TEST_CASE("PT2: a loop on the negated predicate is one wait") {
  CHECK(is_one_wait(waiting(R"({ .reg .pred complete;
    waitLoop: mbarrier.try_wait.parity.shared.b64 complete, [%r2], %r3;
    @!complete bra.uni waitLoop; })")));
}

TEST_CASE("PT3: a wait that a predicate skips as a whole") {
  CHECK(is_one_wait(waiting(R"({ @!%p5 bra.uni skipWait; .reg .pred complete;
    waitLoop: mbarrier.try_wait.parity.shared.b64 complete, [%r2], %r3;
    @!complete bra.uni waitLoop; skipWait: })")));
}

TEST_CASE("PT4: a poll whose answer goes through a register to a loop outside is one wait") {
  CHECK(is_one_wait(waiting(R"(
    AGAIN:
    { .reg .pred P; mbarrier.test_wait.parity.shared.b64 P, [%r2], %r3; selp.b32 %r5, 1, 0, P; }
    setp.ne.s32 %p3, %r5, 0;
    @%p3 bra GO;
    nanosleep.u32 20;
    bra AGAIN;
    GO:)")));
}

TEST_CASE("a suspend hint that the loop sets again is still one wait") {
  CHECK(is_one_wait(waiting(R"(
    AGAIN: mov.u32 %r6, 1000;
    mbarrier.try_wait.parity.shared.b64 %p3, [%r2], %r3, %r6;
    @!%p3 bra AGAIN;)")));
}

TEST_CASE("a failed poll that does other work makes the run inconclusive, once for the place") {
  const char* shapes[] = {
      // counts its failures
      "AGAIN: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0; @%p3 bra GO; add.u32 %r4, %r4, 1; bra "
      "AGAIN; GO:",
      // leaves a mark that is read later
      "AGAIN: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0; @%p3 bra GO; mov.u32 %r4, 1; bra AGAIN; "
      "GO: st.global.u32 [%rd1+256], %r4;",
      // polls once, and goes on whatever the answer
      "mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;",
      // polls for another phase after a failure
      "AGAIN: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], %r3; @%p3 bra GO; mov.u32 %r3, 1; bra AGAIN; "
      "GO:",
      // gives up the poll after a failure
      "setp.eq.u32 %p7, %r0, %r0; AGAIN: @%p7 mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0; @%p3 bra "
      "GO; "
      "setp.ne.u32 %p7, 1, 1; bra AGAIN; GO:",
  };
  for (const char* shape : shapes) {
    INFO(std::string(shape));
    const Ran r = waiting(shape);
    REQUIRE(r.trace().unknowns.size() >= 1);
    CHECK(contains(r.trace().unknowns[0].message, "other work than polling again"));
    CHECK(r.trace().unknowns.size() == (r.trace().live_pollers.empty() ? 1 : 2));
  }
}

TEST_CASE("a wait with the state of the arrive") {
  CHECK(problem_with_barrier("mbarrier.arrive.shared.b64 %rd2, [%r2];\n"
                             "W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd2; @!%p2 bra W;",
                             32)
            .empty());
  // Two phases later the state names nothing that can be asked for.
  CHECK(contains(problem_with_barrier("mbarrier.arrive.shared.b64 %rd2, [%r2];\n"
                                      "mbarrier.arrive.shared.b64 %rd3, [%r2];\n"
                                      "W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd2; @!%p2 bra W;",
                                      32),
                 "W1: "));
}

TEST_CASE("a fresh barrier answers true for parity 1") {
  CHECK(problem_with_barrier("W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 1; @!%p2 bra W;").empty());
}

TEST_CASE("a wait for parity 2 is a fault") {
  CHECK(problem_with_barrier(
            "mov.u32 %r5, 2;\nW: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], %r5; @!%p2 bra W;") ==
        "W5: a wait for parity 2: only 0 and 1 exist");
}

TEST_CASE("a phase that never completes blocks its waiter, with barrier and parity") {
  Setup s;
  s.variables = ".shared .align 8 .b64 bar[2];";
  s.body =
      "mov.u32 %r2, bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r2+8], 1; bar.sync 0;\n"
      "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2+8], 0; @!%p2 bra W; ret;";
  const Ran r = run(s);
  REQUIRE(r.trace().blocked.size() == 1);
  const Blocked& b = r.trace().blocked[0];
  CHECK(b.on == Blocked::On::mbarrier);
  CHECK(r.trace().barriers[b.object].name == "bar[1]");
  CHECK(b.count == 0);
}

TEST_CASE("misuse of an mbarrier is a fault with its rule") {
  CHECK(contains(problem_with_barrier("mov.u32 %r4, 2; @%p1 mbarrier.arrive.shared.b64 _, [%r2], %r4;"),
                 "MB15: "));
  CHECK(contains(problem_with_barrier("@%p1 mbarrier.init.shared.b64 [%r2], 1;"), "MB9: "));
  CHECK(contains(problem_with_barrier("@%p1 mbarrier.arrive.shared.b64 _, [%r2+8];"), "MB10: "));
  CHECK(contains(
      problem_with_barrier("@%p1 mbarrier.inval.shared.b64 [%r2]; @%p1 mbarrier.arrive.shared.b64 _, [%r2];"),
      "MB10: "));
  CHECK(contains(problem_with_barrier("", 0), "MB1: "));
  CHECK(contains(problem_with_barrier("", 1 << 20), "MB1: "));
  CHECK(contains(problem_with_barrier("@%p1 mbarrier.arrive.shared.b64 _, [%r2+4];"), "BS3: "));
  CHECK(contains(problem_with_barrier(
                     "mov.u32 %r4, 0x100000; @%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [%r2], %r4;"),
                 "MB17: "));
}

TEST_CASE("an ordinary access to a live barrier object is a fault, after inval it is not") {
  CHECK(contains(problem_with_barrier("@%p1 st.shared.u32 [%r2+4], 0;"), "(MB9)"));
  CHECK(contains(problem_with_barrier("ld.shared.u64 %rd2, [%r2];"), "(MB9)"));
  CHECK(problem_with_barrier("@%p1 mbarrier.inval.shared.b64 [%r2]; @%p1 st.shared.u32 [%r2+4], 0;").empty());
}

TEST_CASE("named barriers: counts must agree, be whole warps and exist") {
  CHECK(contains(
      run("setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bar.sync 1, 96; ret; L: bar.sync 1, 64; ret;", 96).problem(),
      "NX1: "));
  CHECK(contains(run("bar.sync 16; ret;").problem(), "N1: named barrier 16"));
  CHECK(contains(run("bar.sync 1, 33; ret;").problem(), "N1: "));
  CHECK(contains(run("bar.arrive 1, 0; ret;").problem(), "N1: "));
  CHECK(run("bar.sync 1, 0; ret;", 64).finished());  // no count: the CTA (P8, count_0_all_warps)
  CHECK(contains(run("bar.sync %r0, 32; ret;").problem(), "N2: "));
  CHECK(run("bar.sync 15, 64; ret;", 64).finished());
}

TEST_CASE("a named barrier for more threads than arrive blocks all of them") {
  const Ran r = run("bar.sync 3, 128; ret;", 64);
  REQUIRE(r.trace().blocked.size() == 2);
  for (const Blocked& b : r.trace().blocked) {
    CHECK(b.on == Blocked::On::named_barrier);
    CHECK(b.object == 3);
    CHECK(b.count == 128);
  }
}

TEST_CASE("N8: warps that exit release a barrier without a count, and none with one") {
  // Three warps; the last exits, before the others come or after.
  const auto ran = [](const std::string& barrier, bool late) {
    const std::string delay = late ? "bar.sync 2, 96;" : "";
    return run("setp.lt.u32 %p1, %r0, 64; @%p1 bra L; " + delay + " ret; L: " + delay + barrier +
                   " st.global.u32 [%rd1], 1; ret;",
               96);
  };
  for (const bool late : {false, true}) {
    INFO(late);
    for (const char* all : {"bar.sync 0;", "barrier.sync 1;", "bar.sync 1, 0;"}) {
      INFO(all);
      const Ran r = ran(all, late);
      CHECK(r.problem() == "");
      CHECK(r.words(64) == std::vector<uint32_t>(64, 1));
    }
    const Ran counted = ran("bar.sync 1, 96;", late);
    CHECK(counted.problem() == "blocked");
    CHECK(counted.trace().blocked.size() == 2);
  }
  // A warp that comes to another barrier is not gone.
  CHECK(run("setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bar.sync 1, 64; ret; L: bar.sync 0; ret;", 64).problem() ==
        "blocked");
}

TEST_CASE("bar.arrive does not wait, bar.sync of the other warp does") {
  const Ran r =
      run("setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bar.arrive 1, 64; ret; L: bar.sync 1, 64; ret;", 64);
  REQUIRE(r.finished());
  CHECK(r.count(EventKind::named_barrier_arrive) == 2);
  CHECK(r.count(EventKind::named_barrier_pass) == 1);
}

TEST_CASE("a barrier without a count means all threads, in whole warps") {
  CHECK(run("bar.sync 0; ret;", 40).finished());
}

TEST_CASE("a warp of which some lanes have ended passes a barrier") {
  CHECK(run("setp.gt.u32 %p1, %r0, 7; @%p1 ret; bar.sync 0, 64; ret;", 64).trace().blocked.size() == 1);
  CHECK(run("setp.gt.u32 %p1, %r0, 7; @%p1 ret; bar.sync 0; ret;", 64).finished());  // N8
  CHECK(run("and.b32 %r2, %r0, 31; setp.gt.u32 %p1, %r2, 7; @%p1 ret; bar.sync 0; ret;", 64).finished());
}

namespace {

Ran with_registers(const std::string& first, const std::string& second) {
  Setup s;
  s.threads = 256;
  s.launch_lines = "registers_per_thread = 128";
  s.body = "setp.lt.u32 %p1, %r0, 128; @%p1 bra FIRST;\n" + second + " ret;\nFIRST:\n" + first + " ret;";
  return run(s);
}

}  // namespace

TEST_CASE("setmaxnreg.inc waits until the other warp group has given registers back") {
  const Ran r = with_registers("setmaxnreg.inc.sync.aligned.u32 216;", "setmaxnreg.dec.sync.aligned.u32 40;");
  INFO(r.problem());
  REQUIRE(r.finished());
  size_t released = 0, acquired = 0;
  for (const Event& e : r.trace().events) {
    if (e.kind == EventKind::registers_release) ++released;
    if (e.kind == EventKind::registers_acquire) {
      ++acquired;
      CHECK(released == 4);  // all four warps of the other group came first
      CHECK(e.count == 216);
      CHECK(e.bytes == 128);
    }
  }
  CHECK(acquired == 4);
}

TEST_CASE("setmaxnreg.inc beyond the pool is never granted") {
  const Ran r = with_registers("setmaxnreg.inc.sync.aligned.u32 224;", "setmaxnreg.dec.sync.aligned.u32 40;");
  REQUIRE(r.trace().blocked.size() == 4);
  for (const Blocked& b : r.trace().blocked) {
    CHECK(b.on == Blocked::On::registers);
    CHECK(b.count == 224);
  }
}

TEST_CASE("setmaxnreg: inc to less and dec to more are faults, the same count is not") {
  CHECK(contains(with_registers("setmaxnreg.inc.sync.aligned.u32 64;", "").problem(), "RG2: "));
  CHECK(contains(with_registers("setmaxnreg.dec.sync.aligned.u32 160;", "").problem(), "RG2: "));
  CHECK(with_registers("setmaxnreg.dec.sync.aligned.u32 128;", "").finished());
}

TEST_CASE("setmaxnreg without a known register count is unknown, once") {
  const Ran r = run("setmaxnreg.dec.sync.aligned.u32 40; ret;", 256);
  CHECK(r.trace().unknowns.size() == 1);
  CHECK(contains(r.problem(), "RG10"));
}
