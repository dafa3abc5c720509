// SPDX-License-Identifier: Apache-2.0
//
// Flags and counters in memory (M7, M8, GM3, K6, LF1, LF2) and pools (K7, TC6).
#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("GM1: data behind a flag that is released and acquired") {
  TraceBuilder t(2);
  const uint32_t f = t.signal("flag");
  t.write(0, 1, t.global(0));
  t.set(0, 2, f, 1);
  t.spin(1, 3, f, 1);
  t.read(1, 4, t.global(0));
  t.exit_all(9);
  expect_clean(t.trace);
}

TEST_CASE("I2, M7: a relaxed increment publishes nothing, unless a release fence stands before it") {
  const auto program = [](bool fence, bool acquire, bool fence_after) {
    TraceBuilder t(2);
    const uint32_t n = t.signal("n");
    t.write(0, 1, t.global(0));
    if (fence) t.memory_fence(0, 2, Event::fence_release);
    t.add(0, 3, n, 1, false);
    t.spin(1, 4, n, 1, acquire);
    if (fence_after) t.memory_fence(1, 5, Event::fence_acquire);
    t.read(1, 6, t.global(0));
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true, false));
  expect_clean(program(true, false, true));  // M8
  expect_first(program(false, true, false), FindingClass::race, "M4", 6);
  expect_first(program(true, false, false), FindingClass::race, "M4",
               6);  // GM5: a plain poll acquires nothing
}

TEST_CASE("LT42, GM3: a flag of scope .cta orders nothing for another CTA") {
  const auto program = [](Scope scope) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    const uint32_t n = t.signal("n");
    t.write(0, 1, t.global(0));
    t.add(0, 2, n, 1, true, scope);
    t.spin(1, 3, n, 1, true, false, Scope::cluster);
    t.read(1, 4, t.global(0));
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(Scope::cluster));
  CHECK(expect_rule(program(Scope::cta), "GM3", 2).subject == "n");
  expect_rule(program(Scope::cta), "M4", 4);
}

TEST_CASE("I4, K6: of two contributors only one is waited for") {
  const auto program = [](int64_t wanted) {
    TraceBuilder t(3);
    const uint32_t n = t.signal("n");
    for (uint32_t w : {0u, 1u}) {
      t.write(w, 1, t.global(w));
      t.add(w, 2, n);
    }
    t.spin(2, 3, n, wanted);
    t.read(2, 4, t.global(0));
    t.read(2, 5, t.global(1));
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(2));
  CHECK(expect_rule(program(1), "M4", 4).finding_class == FindingClass::race);
}

TEST_CASE("K6: whichever of two contributors comes first, both tell what they share") {
  TraceBuilder t(3);
  const uint32_t n = t.signal("n");
  const uint32_t b = t.barrier("b", 1);
  t.write(0, 1, t.shared(0));
  t.arrive(0, 2, b);
  t.wait(1, 3, b, 0, 1);
  t.add(0, 4, n);
  t.add(1, 4, n);
  t.spin(2, 5, n, 1);  // either of them knows the write
  t.read(2, 6, t.shared(0));
  t.exit_all(9);
  expect_clean(t.trace);
}

TEST_CASE("a barrier of counters goes round several times") {
  TraceBuilder t(3);
  const uint32_t n = t.signal("n");
  for (int64_t round = 1; round <= 4; ++round) {
    for (uint32_t w = 0; w < 3; ++w) {
      t.write(w, 1, t.global(w));
      t.add(w, 2, n);
    }
    for (uint32_t w = 0; w < 3; ++w) {
      t.spin(w, 3, n, 6 * round - 3);
      t.read(w, 4, t.global((w + 1) % 3));
      t.add(w, 5, n);
    }
    for (uint32_t w = 0; w < 3; ++w) t.spin(w, 6, n, 6 * round);
  }
  t.exit_all(9);
  expect_clean(t.trace);
}

TEST_CASE("a counter that one role raises ahead of the others' waits") {
  TraceBuilder t(2);
  const uint32_t n = t.signal("n");
  for (uint32_t i = 0; i < 3; ++i) {
    t.write(0, 1, t.global(i));
    t.add(0, 2, n);
  }
  t.spin(1, 3, n, 1);
  t.read(1, 4, t.global(0));
  t.spin(1, 3, n, 3);
  t.read(1, 5, t.global(2));
  t.exit_all(9);
  expect_clean(t.trace);
  TraceBuilder early(2);
  const uint32_t m = early.signal("n");
  for (uint32_t i = 0; i < 3; ++i) {
    early.write(0, 1, early.global(i));
    early.add(0, 2, m);
  }
  early.spin(1, 3, m, 1);  // passes when the value is 3 already; in another schedule it is 1
  early.read(1, 4, early.global(2));
  early.exit_all(9);
  expect_first(early.trace, FindingClass::race, "M4", 4);
}

TEST_CASE("PF25: a later increment could have stood in for the one that was waited for") {
  TraceBuilder t(3);
  const uint32_t n = t.signal("n");
  t.write(0, 1, t.global(0));
  t.add(0, 2, n);
  t.spin(2, 3, n, 1);
  t.read(2, 4, t.global(0));
  t.add(1, 5, n);
  t.exit_all(9);
  expect_open(t.trace, "(K6)");
}

TEST_CASE("K6: a lock that is handed on in turn, each waiting until it is exactly its number") {
  const auto program = [](bool sets, bool waits_first) {
    TraceBuilder t(3);
    const uint32_t lock = t.signal("lock");
    for (uint32_t i = 0; i < 3; ++i) {
      if (waits_first || i == 0) t.spin(i, 1, lock, i, true, true);
      if (waits_first) t.write(i, 2, t.global(0));
      if (sets)
        t.set(i, 3, lock, i + 1);
      else
        t.add(i, 3, lock);
      if (!waits_first && i != 0) t.spin(i, 4, lock, i + 1, true, true);
    }
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(false, true));
  expect_clean(program(true, true));
  expect_open(program(false, false), "(LF2)");  // the next one may come before the value was seen
  expect_open(program(true, false), "(LF2)");
}

TEST_CASE("LF2: equality that another write may end, and flags that are reset, are for a search") {
  TraceBuilder equal(3);
  const uint32_t a = equal.signal("a");
  equal.add(0, 1, a);
  equal.spin(1, 2, a, 1, true, true);
  equal.add(2, 3, a);
  equal.exit_all(9);
  expect_open(equal.trace, "(LF2)");

  TraceBuilder back(2);  // one down, two up: 1 comes twice
  const uint32_t c = back.signal("c");
  back.add(0, 1, c, -1);
  back.add(0, 2, c, 2);
  back.spin(1, 3, c, 1, true, true);
  back.exit_all(9);
  expect_open(back.trace, "(LF2)");

  TraceBuilder two(3);  // values of two writers, in any order
  const uint32_t d = two.signal("d");
  two.set(0, 1, d, 1);
  two.set(1, 2, d, 2);
  two.spin(2, 3, d, 2, true, true);
  two.exit_all(9);
  expect_open(two.trace, "(LF2)");

  TraceBuilder reset(2);  // I1
  const uint32_t b = reset.signal("b");
  reset.add(0, 1, b);
  reset.spin(1, 2, b, 1);
  reset.set(0, 3, b, 0);
  reset.exit_all(9);
  expect_open(reset.trace, "(LF2)");
}

TEST_CASE("LF1: a test whose failure leads to other work") {
  TraceBuilder t(1);
  t.event(EventKind::access, 0, 1, 0, Event::polled_once).footprint = t.global(0);
  t.exit_all(9);
  expect_open(t.trace, "(LF1)");
}

TEST_CASE("a flag that never comes is a hang that names it") {
  TraceBuilder t(2);
  const uint32_t f = t.signal("flag");
  t.exit(0, 1);
  t.trace.blocked.push_back({AgentId{1}, t.place(2), Blocked::On::signal, f, 0});
  CHECK(expect_first(t.trace, FindingClass::hang, "F1", 2).subject == "flag");
}

TEST_CASE("K7: a pool that has enough for everybody needs no search") {
  const auto program = [](int64_t units) {
    TraceBuilder t(2);
    const uint32_t p = t.pool("sm", units, true);
    for (uint32_t w : {0u, 1u}) {
      t.take(w, 1, p, 256);
      t.give(w, 2, p, 256);
    }
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(512));
  expect_open(program(256), "(K7)");
}

TEST_CASE("TC6: what is taken from a pool has to come back") {
  TraceBuilder t(1);
  const uint32_t p = t.pool("sm", 512, true);
  t.take(0, 1, p, 512);
  t.exit_all(9);
  CHECK(expect_first(t.trace, FindingClass::resource, "TC6", 1).subject == "sm");
  t.trace.pools[p].must_return = false;
  expect_clean(t.trace);
}

TEST_CASE("F9: who ends with units in his hand leaks, also when somebody else hangs for them") {
  TraceBuilder t(2);
  const uint32_t p = t.pool("sm", 512, true);
  t.take(0, 1, p, 512);
  t.exit(0, 2);
  t.trace.blocked.push_back({AgentId{1}, t.place(3), Blocked::On::pool, p, 512});
  const Report r = check(t.trace);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
  expect_rule(t.trace, "RG4", 3);
  expect_rule(t.trace, "TC6", 1);
}
