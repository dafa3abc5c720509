// SPDX-License-Identifier: Apache-2.0

// Atomics, memory order and words that are used as flags (semantics.md sections 1 and 12; ptx.md PE15, PE16).
// Expected values follow from the PTX text of each operation, worked out by hand.

#include <algorithm>

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// One thread: `word` of global memory starts as `before`, the body works on [word]; what is in it
/// afterwards.
uint32_t word_after(uint32_t before, const std::string& body) {
  Setup s;
  s.threads = 1;
  s.module_text = ".global .align 8 .u32 word[4] = {" + std::to_string(before) + ", 0, 0, 0};";
  s.body = body + "\nld.global.u32 %r80, [word]; st.global.u32 [%rd1], %r80; ret;";
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  return r.words(1)[0];
}

/// The same in shared memory.
uint32_t shared_word_after(uint32_t before, const std::string& body) {
  Setup s;
  s.threads = 1;
  s.variables = ".shared .align 8 .b32 word[4];";
  s.body = "st.shared.u32 [word], " + std::to_string(before) + ";\n" + body +
           "\nld.shared.u32 %r80, [word]; st.global.u32 [%rd1], %r80; ret;";
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  return r.words(1)[0];
}

constexpr uint32_t subnormal = 0x00000100;

/// A word of global memory with a known value, `flag`, and threads that talk through it.
Setup flagged(const std::string& body, uint32_t threads = 64, uint32_t ctas = 1) {
  Setup s;
  s.threads = threads;
  s.ctas = ctas;
  s.domain = sim::Domain::control;
  s.module_text = ".global .align 4 .u32 flag = 0; .global .align 4 .u32 data = 0;";
  s.body =
      "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; setp.ge.u32 %p2, %r0, 32; setp.eq.u32 %p3, %r0, 0;\n"
      "setp.eq.u32 %p4, %r0, 32;\n" +
      body + "\nret;";
  return s;
}

const std::string produce = "@%p3 st.global.u32 [data], 7; @%p3 st.release.gpu.global.u32 [flag], 1;\n";
const std::string consume =
    "@!%p4 bra END; W: ld.acquire.gpu.global.u32 %r5, [flag]; setp.ne.u32 %p5, %r5, 1; @%p5 bra W;\n"
    "ld.global.u32 %r6, [data]; END:\n";

std::vector<const Event*> of_kind(const Trace& t, EventKind kind) {
  std::vector<const Event*> out;
  for (const Event& e : t.events)
    if (e.kind == kind) out.push_back(&e);
  return out;
}

}  // namespace

TEST_CASE("integer atomics compute what their operation says") {
  CHECK(word_after(10, "atom.global.add.u32 %r1, [word], 5;") == 15);
  CHECK(word_after(10, "red.global.add.u32 [word], -11;") == 0xffffffff);
  CHECK(word_after(10, "red.relaxed.gpu.global.min.s32 [word], -1;") == 0xffffffff);
  CHECK(word_after(10, "red.global.min.u32 [word], -1;") == 10);
  CHECK(word_after(10, "red.global.max.s32 [word], -1;") == 10);
  CHECK(word_after(10, "atom.global.and.b32 %r1, [word], 6;") == 2);
  CHECK(word_after(10, "atom.global.or.b32 %r1, [word], 5;") == 15);
  CHECK(word_after(10, "atom.global.xor.b32 %r1, [word], 3;") == 9);
  CHECK(word_after(10, "atom.global.inc.u32 %r1, [word], 10;") == 0);  // old >= b wraps to 0
  CHECK(word_after(10, "atom.global.inc.u32 %r1, [word], 11;") == 11);
  CHECK(word_after(0, "atom.global.dec.u32 %r1, [word], 9;") == 9);   // 0 wraps to b
  CHECK(word_after(10, "atom.global.dec.u32 %r1, [word], 9;") == 9);  // above b too
  CHECK(word_after(10, "atom.global.exch.b32 %r1, [word], 77;") == 77);
  CHECK(word_after(10, "atom.global.cas.b32 %r1, [word], 10, 77;") == 77);
  CHECK(word_after(10, "atom.global.cas.b32 %r1, [word], 11, 77;") == 10);
  CHECK(word_after(10, "atom.acq_rel.sys.global.add.u64 %rd5, [word], 1;") == 11);
  CHECK(shared_word_after(10, "atom.shared.add.u32 %r1, [word], 5;") == 15);
}

TEST_CASE("atomics return what was there before") {
  CHECK(word_after(10, "atom.global.add.u32 %r1, [word], 5; atom.global.exch.b32 %r2, [word], %r1;") == 10);
  CHECK(word_after(10, "atom.global.cas.b32 %r1, [word], 11, 77; st.global.u32 [word], %r1;") == 10);
}

TEST_CASE("32 lanes that add to one word all count") {
  Setup s;
  s.module_text = ".global .align 4 .u32 word = 100;";
  s.body =
      "red.global.add.u32 [word], %r0; bar.warp.sync -1; ld.global.u32 %r5, [word]; st.global.u32 [%rd1], "
      "%r5; ret;";
  const Ran r = run(s);
  REQUIRE(r.finished());
  CHECK(r.words(32) == std::vector<uint32_t>(32, 100 + 31 * 32 / 2));
}

TEST_CASE("sums of f32 flush subnormals in global memory and keep them in shared memory (GM7)") {
  const std::string add = "mov.b32 %f1, 0x00000100; ";
  CHECK(word_after(0, add + "red.global.add.f32 [word], %f1;") == 0);
  CHECK(shared_word_after(0, add + "red.shared.add.f32 [word], %f1;") == subnormal);
  CHECK(word_after(0x3f800000, "mov.f32 %f1, 0f40000000; red.global.add.f32 [word], %f1;") == 0x40400000);
}

TEST_CASE("packed halves and vectors are sums of their elements (M6)") {
  CHECK(word_after(0x3c003c00, "mov.b32 %r3, 0x40003c00; red.global.add.noftz.f16x2 [word], %r3;") ==
        0x42004000);
  Setup s;
  s.threads = 1;
  s.module_text = ".global .align 16 .f32 word[4] = {0f3f800000, 0f40000000, 0f40400000, 0f40800000};";
  s.body =
      "mov.f32 %f1, 0f3f800000; red.global.add.v4.f32 [word], {%f1, %f1, %f1, %f1};\n"
      "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [word]; st.global.v4.u32 [%rd0], {%r4, %r5, %r6, %r7}; ret;";
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.words(4) == std::vector<uint32_t>{0x40000000, 0x40400000, 0x40800000, 0x40a00000});
}

TEST_CASE("bits that the order of threads decides are not called predicted [GM7 violates] [GM7 obeys]") {
  auto told = [](const std::string& body) {
    Setup s;
    s.module_text = ".global .align 4 .u32 word = 0;";
    s.body = body + "\nret;";
    return !run(s).result.not_predicted.empty();
  };
  CHECK(told("mov.f32 %f1, 0f3f800000; red.global.add.f32 [word], %f1;"));
  CHECK(told("atom.global.add.u32 %r5, [word], 1;"));
  CHECK_FALSE(told("red.global.add.u32 [word], 1;"));
}

TEST_CASE("atomics that PTX does not have are refused") {
  for (const char* body : {"red.global.exch.b32 [%rd0], 1;", "atom.global.add.b32 %r1, [%rd0], 1;",
                           "red.acquire.gpu.global.add.u32 [%rd0], 1;", "atom.global.inc.s32 %r1, [%rd0], 1;",
                           "red.global.add.f16x2 [%rd0], %r1;", "red.shared.add.v2.f32 [%rd0], {%f1, %f2};",
                           "atom.global.cas.u32 %r1, [%rd0], 1, 2;", "atom.global.add.u32 %rd5, [%rd0], 1;",
                           "atom.global.cas.b32 %r1, [%rd0], 1;", "ld.acquire.global.u32 %r1, [%rd0];",
                           "st.acquire.gpu.global.u32 [%rd0], 1;", "ld.release.gpu.global.u32 %r1, [%rd0];",
                           "ld.relaxed.volatile.gpu.u32 %r1, [%rd0];"}) {
    INFO(body);
    CHECK(!refusal(body).empty());
  }
}

TEST_CASE(
    "strong accesses are marked in the trace, with their scope; fences with what they are (M1, M2, M13)") {
  Setup s = flagged(
      "ld.volatile.global.u32 %r5, [flag]; st.relaxed.cta.global.u32 [data], 1; red.global.add.u32 [data], "
      "1;\n"
      "fence.acq_rel.gpu; membar.gl; fence.sc.cluster; ld.global.u32 %r6, [flag];",
      1);
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  std::vector<std::pair<int, Scope>> accesses;
  for (const Event* e : of_kind(r.trace(), EventKind::access)) accesses.emplace_back(e->flags, e->scope);
  const int rw = Event::write | Event::atomic;
  CHECK(accesses == std::vector<std::pair<int, Scope>>{
                        {Event::atomic, Scope::sys}, {rw, Scope::cta}, {rw, Scope::gpu}, {0, Scope::cta}});
  std::vector<std::pair<int, Scope>> fences;
  for (const Event* e : of_kind(r.trace(), EventKind::fence)) fences.emplace_back(e->flags, e->scope);
  CHECK(fences == std::vector<std::pair<int, Scope>>{{3, Scope::gpu}, {7, Scope::gpu}, {7, Scope::cluster}});
  CHECK(r.trace().signals.empty());  // nobody waits
}

TEST_CASE("a loop around a load is one wait for a flag (PE15)") {
  const Ran r = run(flagged(consume + produce));  // warp 0 runs first; the other order is below
  INFO(r.problem());
  REQUIRE(r.finished());
  REQUIRE(r.trace().signals.size() == 1);
  CHECK(contains(r.trace().signals[0].name, "flag"));
  const auto waits = of_kind(r.trace(), EventKind::signal_wait),
             sets = of_kind(r.trace(), EventKind::signal_set);
  REQUIRE(waits.size() == 1);
  REQUIRE(sets.size() == 1);
  CHECK(waits[0]->bytes == 1);
  CHECK(waits[0]->generation == 1);
  CHECK(waits[0]->has(Event::acquire));
  CHECK(waits[0]->scope == Scope::gpu);
  CHECK(sets[0]->has(Event::release));
  CHECK(sets[0]->bytes == 1);
}

TEST_CASE(
    "all shapes of a waiting loop: counters, signed and unsigned, swapped operands, back-off, atomics") {
  auto waits_for = [](const std::string& poll) {
    // Warp 0 waits, warp 1 counts to 3.
    const Ran r = run(flagged(
        "@%p2 bra COUNT; @!%p3 ret; mov.u32 %r7, 3; mov.u32 %r8, 20;\n" + poll +
        "\nret;\nCOUNT: @%p4 red.release.gpu.global.add.u32 [flag], 1;\n"
        "@%p4 red.release.gpu.global.add.u32 [flag], 1; @%p4 red.release.gpu.global.add.u32 [flag], 1;"));
    INFO(poll, r.problem());
    REQUIRE(r.finished());
    const auto waits = of_kind(r.trace(), EventKind::signal_wait);
    REQUIRE(waits.size() == 1);
    return std::pair(static_cast<int64_t>(waits[0]->bytes), waits[0]->has(Event::equal));
  };
  const std::string load = "W: ld.acquire.gpu.global.u32 %r5, [flag]; ";
  CHECK(waits_for(load + "setp.lt.u32 %p5, %r5, %r7; @%p5 bra W;") == std::pair<int64_t, bool>(3, false));
  CHECK(waits_for(load + "setp.ge.s32 %p5, %r5, %r7; @!%p5 bra W;") == std::pair<int64_t, bool>(3, false));
  CHECK(waits_for(load + "setp.gt.u32 %p5, %r7, %r5; @%p5 bra W;") == std::pair<int64_t, bool>(3, false));
  CHECK(waits_for(load + "setp.gt.s32 %p5, %r5, 2; @%p5 bra D; bra W; D:") ==
        std::pair<int64_t, bool>(3, false));
  // A counter never passes what it counts to: exactly 3 is at least 3.
  CHECK(waits_for(load + "setp.ne.s32 %p5, %r5, 3; @%p5 bra W;") == std::pair<int64_t, bool>(3, false));
  CHECK(waits_for(load + "setp.eq.s32 %p5, %r5, 0; @%p5 bra W;") == std::pair<int64_t, bool>(1, false));
  CHECK(
      waits_for("bra W; B: nanosleep.u32 %r8; shl.b32 %r8, %r8, 1; W: ld.relaxed.gpu.global.u32 %r5, [flag]; "
                "setp.lt.u32 %p5, %r5, 3; @%p5 bra B;") == std::pair<int64_t, bool>(3, false));
  CHECK(
      waits_for("W: atom.acquire.gpu.global.add.u32 %r5, [flag], 0; setp.lt.u32 %p5, %r5, 3; @%p5 bra W;") ==
      std::pair<int64_t, bool>(3, false));
  CHECK(waits_for("W: ld.volatile.global.u32 %r5, [flag]; selp.b32 %r6, 1, 0, %p1; setp.lt.u32 %p5, %r5, 3; "
                  "@%p5 bra W;") == std::pair<int64_t, bool>(3, false));
}

TEST_CASE("a look before the loop is part of the wait: what nvcc makes of while (load != n) nanosleep") {
  const Ran r =
      run(flagged("@%p2 bra SET; @!%p3 ret; mov.u32 %r7, 1; ld.acquire.gpu.global.b32 %r5, [flag];\n"
                  "setp.eq.s32 %p5, %r5, %r7; @%p5 bra DONE;\n"
                  "LOOP: mov.u32 %r8, 32; nanosleep.u32 %r8; ld.acquire.gpu.global.b32 %r6, [flag];\n"
                  "setp.ne.s32 %p6, %r6, %r7; @%p6 bra LOOP;\n"
                  "DONE: ld.global.u32 %r9, [data]; ret;\n"
                  "SET: @%p4 st.global.u32 [data], 7; @%p4 st.release.gpu.global.u32 [flag], 1;"));
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(of_kind(r.trace(), EventKind::signal_wait).size() == 1);
}

TEST_CASE("a wait for exactly a value that a counter passes stays exact: a poll can miss it") {
  const Ran r = run(
      flagged("@%p2 bra COUNT; @!%p3 ret; W: ld.acquire.gpu.global.u32 %r5, [flag]; "
              "setp.ne.s32 %p5, %r5, 1; @%p5 bra W; ret;\n"
              "COUNT: @%p4 red.release.gpu.global.add.u32 [flag], 1; @%p4 red.global.add.u32 [flag], 1;"));
  REQUIRE(r.trace().blocked.size() == 1);
  CHECK(r.trace().blocked[0].on == Blocked::On::signal);
  CHECK(r.trace().blocked[0].count == 1);
}

TEST_CASE("a flag that nobody sets: a hang that names it") {
  const Ran r = run(flagged(consume));
  REQUIRE(!r.trace().blocked.empty());
  CHECK(r.trace().blocked[0].on == Blocked::On::signal);
  REQUIRE(r.trace().signals.size() == 1);
  CHECK(contains(r.trace().signals[r.trace().blocked[0].object].name, "flag"));
}

TEST_CASE("a plain load in a waiting loop may be hoisted: F4 when it has to be repeated") {
  const std::string poll =
      "@!%p3 bra END; W: ld.global.u32 %r5, [flag]; setp.eq.u32 %p5, %r5, 0; @%p5 bra W; END:\n";
  CHECK(contains(run(flagged(poll + "@%p4 st.global.u32 [flag], 1;")).problem(), "F4: "));
}

TEST_CASE("what an atomic or a contended load gives is not known to control (LF3)") {
  auto problem = [](const std::string& body, uint32_t threads = 64) {
    return run(flagged(body, threads)).problem();
  };
  // A ticket decides who does the rest.
  CHECK(contains(problem("atom.global.add.u32 %r5, [flag], 1; setp.eq.u32 %p5, %r5, 63; @%p5 ret;"), "?: "));
  // The same value kept as data does not matter.
  CHECK(
      problem("atom.global.add.u32 %r5, [flag], 1; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5;").empty());
  // One look at a flag that others set: other schedules go the other way.
  const std::string look =
      "@%p3 st.relaxed.gpu.global.u32 [flag], 1;\n@!%p4 bra END; ld.relaxed.gpu.global.u32 %r5, [flag];\n"
      "setp.eq.u32 %p5, %r5, 1; @%p5 ret; END:\n";
  CHECK(contains(problem(look), "?: "));
  // A volatile load of what nobody writes with strong operations is a load.
  CHECK(problem("ld.volatile.global.u32 %r5, [flag]; setp.eq.u32 %p5, %r5, 1; @%p5 bra END; END:").empty());
  // A lock: who gets it first depends on the schedule.
  CHECK(contains(
      problem("L: atom.acquire.gpu.global.cas.b32 %r5, [flag], 0, 1; setp.ne.u32 %p5, %r5, 0; @%p5 bra L;",
              1),
      "?: "));
}

TEST_CASE("the value that ended a wait may be another one in other schedules: using it is not decided") {
  const std::string use =
      "@!%p4 bra END; W: ld.acquire.gpu.global.u32 %r5, [flag]; setp.lt.u32 %p5, %r5, 1; @%p5 bra W;\n"
      "add.u32 %r6, %r5, 1; END:\n";
  CHECK(contains(run(flagged(use + produce)).problem(), "?: "));
}

TEST_CASE("a wait for something that comes and goes, or for less, is not decided") {
  auto problem = [](const std::string& condition) {
    return run(flagged("@!%p4 bra END; W: ld.acquire.gpu.global.u32 %r5, [flag]; " + condition +
                       " @%p5 bra W; END:\n"
                       "@%p3 red.release.gpu.global.add.u32 [flag], -5;"))
        .problem();
  };
  CHECK(contains(problem("setp.eq.s32 %p5, %r5, 0;"), "?: "));
  CHECK(contains(problem("setp.ge.s32 %p5, %r5, 0;"), "?: "));
}

TEST_CASE("a flag in a buffer without values is not known") {
  Setup s;
  s.domain = sim::Domain::control;
  s.body = "W: ld.acquire.gpu.global.u32 %r5, [%rd0]; setp.ne.u32 %p5, %r5, 1; @%p5 bra W; ret;";
  CHECK(contains(run(s).problem(), "?: a loop waits for the flag at out"));
}

TEST_CASE("CTAs that wait for each other run together and leave one trace; others run one by one (F2)") {
  const std::string body =
      "@!%p1 bra SET; " + consume + "ret; SET: @%p3 st.release.gpu.global.u32 [flag], 1;";
  const Ran r = run(flagged(body, 64, 2));
  INFO(r.problem());
  REQUIRE(r.finished());
  REQUIRE(r.result.traces.size() == 1);
  CHECK(r.trace().clusters == 2);
  CHECK(r.trace().cluster_ctas == 1);
  const auto waits = of_kind(r.trace(), EventKind::signal_wait),
             sets = of_kind(r.trace(), EventKind::signal_set);
  REQUIRE(waits.size() == 1);
  REQUIRE(sets.size() == 1);
  CHECK(r.trace().agents[waits[0]->agent.v].cta == 0);
  CHECK(r.trace().agents[sets[0]->agent.v].cta == 1);

  CHECK(run(flagged("red.global.add.u32 [flag], 1;", 32, 3)).result.traces.size() == 3);
}

TEST_CASE("a grid too large to run together is not decided, and is no hang") {
  const Ran r = run(
      flagged("@!%p1 bra SET; " + consume + "ret; SET: @%p3 st.release.gpu.global.u32 [flag], 1;", 64, 300));
  CHECK(r.result.traces.size() == 300);
  CHECK(r.trace(0).blocked.empty());
  CHECK(!r.trace(0).unknowns.empty());
}
