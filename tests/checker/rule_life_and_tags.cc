// SPDX-License-Identifier: Apache-2.0
//
// Data of the wrong generation (orchestration_bugs.md 1.1), the life of barrier objects (MB9-MB11, MB21,
// EXT7), named barriers of roles (N7, N8), dependent launches (PD5), CLC (CL1, CL5).
#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {
using K = AsyncOp::Kind;
using Q = QueueInfo::Kind;
}  // namespace

TEST_CASE("D13: perfectly ordered data of another trip") {
  const auto program = [](bool read_first) {
    TraceBuilder t(1);
    t.trace.shared_names.push_back({{0, 64, 0, 1}, "s", Space::shared});
    t.tagged(0, 1, t.shared(0), true, 0);
    for (uint64_t k = 0; k < 3; ++k) {
      if (read_first) t.tagged(0, 2, t.shared(0), false, k);
      t.tagged(0, 3, t.shared(0), true, k + 1);
      if (!read_first) t.tagged(0, 4, t.shared(0), false, k);
    }
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  const Diagnostic d = expect_first(program(false), FindingClass::stale, "OB1.1", 4);
  CHECK(d.subject == "s");
  CHECK(d.message == "s holds data with tag 1 where those with tag 0 are meant");
  CHECK(d.occurrences == 3);
}

TEST_CASE("a tag that nobody has written, and one that the last write does not leave") {
  TraceBuilder nothing(1);
  nothing.write(0, 1, nothing.shared(1));
  nothing.tagged(0, 2, nothing.shared(0), false, 3);
  nothing.tagged(0, 3, nothing.shared(0), true, 3);
  nothing.exit_all(9);
  expect_first(nothing.trace, FindingClass::stale, "OB1.1", 2);
  TraceBuilder untagged(1);
  untagged.write(0, 1, untagged.shared(0));
  untagged.tagged(0, 2, untagged.shared(0), false, 3);
  untagged.exit_all(9);
  expect_first(untagged.trace, FindingClass::stale, "OB1.1", 2);
}

TEST_CASE("a race explains a wrong tag: it is told alone") {
  TraceBuilder t(2);
  t.tagged(0, 1, t.shared(0), true, 1);
  t.tagged(1, 2, t.shared(0), false, 0);
  t.exit_all(9);
  const Report r = check(t.trace);
  CHECK(r.verdict == Verdict::finding);
  CHECK(find(r, FindingClass::race) != nullptr);
  CHECK(find(r, FindingClass::stale) == nullptr);
}

TEST_CASE("F8: an mma that overwrites what an earlier one should have read, in the order of the queue") {
  TraceBuilder t(1);
  const uint32_t q = t.queue(Q::tensor, 0), d = t.barrier("d", 1);
  t.trace.queues[q].in_order = true;
  t.tagged(0, 1, t.tensor(0), true, 7);
  const uint32_t overwrite = t.issue(K::tensor_mma, 0, 2, q);
  t.touch(overwrite, t.tensor(0), true);
  t.trace.events.back().generation = 9;
  t.complete(overwrite);
  const uint32_t reader = t.issue(K::tensor_mma, 0, 3, q);
  t.touch(reader, t.tensor(0), false);
  t.trace.events.back().generation = 8;
  t.touch(reader, t.tensor(1), true);
  t.complete(reader);
  t.complete(t.issue(K::tensor_commit, 0, 4, q, 1, d));
  t.wait(0, 5, d, 0, 1);
  t.exit_all(9);
  expect_first(t.trace, FindingClass::stale, "OB1.1", 3);
}

TEST_CASE("A13, MB9: two barriers in one slot of memory") {
  const auto program = [](bool inval, bool other_slot) {
    TraceBuilder t(1);
    const uint32_t a = t.barrier("A"), b = t.barrier("B");
    t.trace.barriers[b].address = other_slot ? 64 : t.trace.barriers[a].address;
    t.init(0, 1, a, 1);
    t.arrive(0, 2, a);
    t.wait(0, 3, a, 0, 1);
    if (inval) t.event(EventKind::mbarrier_inval, 0, 4, a);
    t.init(0, 5, b, 1);
    t.arrive(0, 6, b);
    t.wait(0, 7, b, 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, false));
  expect_clean(program(false, true));
  CHECK(expect_first(program(false, false), FindingClass::barrier_protocol, "MB9", 5).subject == "B");
}

TEST_CASE("EXT8: a barrier that is invalidated and initialised again, all in order") {
  TraceBuilder t(1);
  const uint32_t a = t.barrier("a");
  for (int i = 0; i < 2; ++i) {
    t.init(0, 1, a, 1);
    t.arrive(0, 2, a);
    t.wait(0, 3, a, 0, 1);
    t.event(EventKind::mbarrier_inval, 0, 4, a);
  }
  t.exit_all(9);
  expect_clean(t.trace);
}

TEST_CASE("LT13, MB21: arrive_drop lowers the count of later phases, not to zero") {
  TraceBuilder t(2);
  const uint32_t a = t.barrier("a", 2);
  t.arrive(0, 1, a);
  t.event(EventKind::mbarrier_arrive, 1, 2, a, Event::release | Event::drops).count = 1;
  t.wait(0, 3, a, 0, 1);
  t.arrive(0, 4, a);
  t.wait(0, 5, a, 1, 2);
  t.exit_all(9);
  expect_clean(t.trace);
  TraceBuilder last(1);
  const uint32_t b = last.barrier("b", 1);
  last.event(EventKind::mbarrier_arrive, 0, 1, b, Event::release | Event::drops).count = 1;
  last.exit_all(9);
  expect_first(last.trace, FindingClass::barrier_protocol, "MB21", 1);
}

TEST_CASE("N7: a role of 128 threads arrives as four warps") {
  TraceBuilder t(2);
  for (AgentInfo& a : t.trace.agents) a.threads = 128;
  for (uint32_t w : {0u, 1u}) {
    t.bar_contribute(w, 1, 5, 256, true);
    t.trace.events.back().bytes = 128;
  }
  t.bar_pass(0, 1, 5, 1);
  t.bar_pass(1, 1, 5, 1);
  t.exit_all(9);
  expect_clean(t.trace);
}

TEST_CASE("C4: a named barrier completed by arrivals only is named by its id") {
  TraceBuilder t(2);
  for (uint32_t w : {0u, 1u}) t.bar_contribute(w, 1, 5, 64, false);
  t.exit_all(9);
  CHECK(expect_rule(t.trace, "C4", 1).subject == "id5");
}

TEST_CASE("N8: a barrier without a count that waits for warps that have ended lets the others go") {
  TraceBuilder t(2);
  t.exit(1, 1);
  t.bar_contribute(0, 2, 1, 64, true);
  t.trace.events.back().flags |= Event::whole_cta;
  t.bar_pass(0, 2, 1, 1);
  t.exit(0, 3);
  expect_clean(t.trace);
  TraceBuilder counted(2);  // it cannot pass: the trace is wrong
  counted.exit(1, 1);
  counted.bar_contribute(0, 2, 1, 64, true);
  counted.bar_pass(0, 2, 1, 1);
  counted.exit(0, 3);
  CHECK(check(counted.trace).verdict == Verdict::inconclusive);
}

TEST_CASE("LT44, PD5: a role that reads before griddepcontrol.wait what others read after it") {
  const auto program = [](bool waits) {
    TraceBuilder t(2);
    t.event(EventKind::dependency_wait, 0, 1);
    t.read(0, 2, t.global(0));
    if (waits) t.event(EventKind::dependency_wait, 1, 3);
    t.read(1, 4, t.global(0));
    t.event(EventKind::dependents_launch, 1, 5);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  CHECK(check(program(true)).diagnostics.empty());
  expect_lint(program(false), "PD5", 4);
}

TEST_CASE("PD5: weights that only one role reads may be fetched early; nothing may be written") {
  TraceBuilder t(1);
  t.read(0, 1, t.global(1));
  t.event(EventKind::dependency_wait, 0, 2);
  t.read(0, 3, t.global(0));
  t.exit_all(9);
  CHECK(check(t.trace).diagnostics.empty());
  TraceBuilder early(1);
  early.write(0, 1, early.global(0));
  early.event(EventKind::dependency_wait, 0, 2);
  early.exit_all(9);
  expect_lint(early.trace, "PD5", 1);
}

TEST_CASE("CL1, E5: the response of a query: wait, read, fence, query again") {
  const auto program = [](bool wait, bool fence) {
    TraceBuilder t(1);
    const uint32_t f = t.barrier("f", 1);
    for (uint32_t i = 0; i < 2; ++i) {
      t.arrive_expect(0, 1, f, 16);
      const uint32_t o = t.op(K::clc_query, 0, 2);
      t.trace.ops[o].barrier = f;
      t.trace.ops[o].bytes = 16;
      t.event(EventKind::async_issue, 0, 2, o);
      t.touch(o, t.shared(0), true);
      t.complete(o);
      if (!wait) t.read(0, 4, t.shared(0));
      t.wait(0, 3, f, i & 1, i + 1);
      if (wait) t.read(0, 4, t.shared(0));
      if (fence) t.fence(0, 5);
    }
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  CHECK(check(program(true, true)).diagnostics.empty());
  CHECK(expect_rule(program(true, false), "PX2", 2).severity == Severity::error);
  expect_first(program(false, true), FindingClass::race, "M4", 4);
}

TEST_CASE("MB18, H5: each CTA expects the bytes of its own response") {
  TraceBuilder t(2);
  const uint32_t f = t.barrier("f", 1);
  t.arrive_expect(0, 1, f, 32);
  const uint32_t o = t.op(K::clc_query, 0, 2);
  t.trace.ops[o].barrier = f;
  t.trace.ops[o].bytes = 16;
  t.event(EventKind::async_issue, 0, 2, o);
  t.touch(o, t.shared(0), true);
  t.complete(o);
  t.exit(0, 3);
  t.trace.blocked.push_back({AgentId{1}, t.place(4), Blocked::On::mbarrier, f, 0});
  expect_first(t.trace, FindingClass::barrier_protocol, "MB18", 1);
}
