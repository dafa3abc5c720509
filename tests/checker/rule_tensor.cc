// SPDX-License-Identifier: Apache-2.0
//
// tcgen05 and tensor memory (TC4-TC27). tm(i): slot i of tensor memory.
#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

using K = AsyncOp::Kind;
using Q = QueueInfo::Kind;

struct Fences {
  bool before = true, after = true;
};

/// Warp 0: mma => tm(0), commit on `full`; warp 1: wait, ld tm(0), wait::ld, arrive on `empty`; warp 0: wait,
/// second mma => tm(0), commit, wait.
struct MmaLoad {
  bool commit_by_other = false, commit = true, wait_load = true;
  Fences reader, again;

  Trace trace() const {
    TraceBuilder t(3);
    const uint32_t full = t.barrier("full", 1), empty = t.barrier("empty", 1), done = t.barrier("done", 1);
    const uint32_t q = t.queue(Q::tensor, 0), other = t.queue(Q::tensor, 2),
                   loads = t.queue(Q::tensor_load, 1);
    t.run(K::tensor_mma, 0, 1, q, 1, t.tensor(0), true);
    if (commit)
      t.complete(t.issue(K::tensor_commit, commit_by_other ? 2 : 0, 2, commit_by_other ? other : q, 1, full));
    else
      t.arrive(0, 2, full);
    t.wait(1, 3, full, 0, 1);
    if (reader.after) t.event(EventKind::tensor_fence_after, 1, 4);
    t.run(K::tensor_load, 1, 5, loads, 1, t.tensor(0), false);
    if (wait_load) t.group_wait(1, 6, loads, 1);
    if (reader.before) t.event(EventKind::tensor_fence_before, 1, 7);
    t.arrive(1, 8, empty);
    if (!wait_load) t.group_wait(1, 8, loads, 1);
    t.wait(0, 9, empty, 0, 1);
    if (again.after) t.event(EventKind::tensor_fence_after, 0, 10);
    t.run(K::tensor_mma, 0, 11, q, 2, t.tensor(0), true);
    t.complete(t.issue(K::tensor_commit, 0, 12, q, 2, done));
    t.wait(0, 13, done, 0, 1);
    t.exit_all(20);
    return t.trace;
  }
};

CheckOptions fences_are_errors() {
  CheckOptions options;
  options.policies.tensor_fence = Severity::error;
  return options;
}

}  // namespace

TEST_CASE("TC19: mma, commit, wait, fence, load, and back") {
  expect_clean(MmaLoad{}.trace());
  INFO(text_of(check(MmaLoad{}.trace())));
  CHECK(check(MmaLoad{}.trace()).diagnostics.empty());
  CHECK(check(MmaLoad{}.trace(), fences_are_errors()).diagnostics.empty());
}

TEST_CASE("LT27, F3, TC23: a missing tcgen05.fence is advice, or an error if asked for") {
  MmaLoad no_after, no_before, no_second;
  no_after.reader.after = false;
  no_before.reader.before = false;
  no_second.again.after = false;
  expect_lint(no_after.trace(), "TC23", 5);
  expect_lint(no_before.trace(), "TC23", 11);
  expect_lint(no_second.trace(), "TC23", 11);
  CHECK(check(no_after.trace(), fences_are_errors()).verdict == Verdict::finding);
}

TEST_CASE("LT26, TC25: a commit by another thread arrives at once") {
  MmaLoad p;
  p.commit_by_other = true;
  CHECK(expect_rule(p.trace(), "TC25", 5).finding_class == FindingClass::race);
}

TEST_CASE("TC19: an arrival of the issuing thread does not wait for the mma") {
  MmaLoad p;
  p.commit = false;
  expect_first(p.trace(), FindingClass::race, "TC19", 5);
}

TEST_CASE("LT28, TC18: a load that was not waited for, and the next mma") {
  MmaLoad p;
  p.wait_load = false;
  expect_first(p.trace(), FindingClass::race, "TC18", 11);
}

TEST_CASE("F1, TC17: a store to tensor memory that was not waited for") {
  const auto program = [](bool wait) {
    TraceBuilder t(2);
    const uint32_t f = t.barrier("f", 1);
    const uint32_t stores = t.queue(Q::tensor_store, 0), loads = t.queue(Q::tensor_load, 1);
    t.run(K::tensor_store, 0, 1, stores, 1, t.tensor(0), true);
    if (wait) t.group_wait(0, 2, stores, 1);
    t.event(EventKind::tensor_fence_before, 0, 3);
    t.arrive(0, 4, f);
    t.wait(1, 5, f, 0, 1);
    t.event(EventKind::tensor_fence_after, 1, 6);
    t.run(K::tensor_load, 1, 7, loads, 1, t.tensor(0), false);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  expect_first(program(false), FindingClass::race, "TC17", 7);
}

TEST_CASE("T10, TC15: mma after mma on one accumulator needs nothing in between") {
  TraceBuilder t(1);
  const uint32_t q = t.queue(Q::tensor, 0), d = t.barrier("d", 1);
  t.run(K::tensor_mma, 0, 1, q, 1, t.tensor(0), true);
  t.run(K::tensor_mma, 0, 2, q, 1, t.tensor(0), true);
  t.complete(t.issue(K::tensor_commit, 0, 3, q, 1, d));
  t.wait(0, 4, d, 0, 1);
  t.exit_all(9);
  expect_clean(t.trace);
  CHECK(check(t.trace).diagnostics.empty());
}

TEST_CASE("LT29, TC16: mma on another accumulator over the same columns is ordered by the hardware only") {
  TraceBuilder t(1);
  const uint32_t q = t.queue(Q::tensor, 0), d = t.barrier("d", 1);
  t.run(K::tensor_mma, 0, 1, q, 1, t.tensor(0), true);
  const uint32_t second = t.issue(K::tensor_mma, 0, 2, q, 1);
  t.touch(second, t.tensor(0), false);
  t.touch(second, t.tensor(1), true);
  t.complete(second);
  t.complete(t.issue(K::tensor_commit, 0, 3, q, 1, d));
  t.wait(0, 4, d, 0, 1);
  t.exit_all(9);
  expect_lint(t.trace, "TC16", 2);
}

TEST_CASE("TC20: cp by one thread, mma by another: fences and a barrier, no completion") {
  const auto program = [](bool sync, bool fences) {
    TraceBuilder t(2);
    const uint32_t a = t.queue(Q::tensor, 0), b = t.queue(Q::tensor, 1), s = t.barrier("s", 1),
                   d = t.barrier("d", 1);
    t.run(K::tensor_copy, 0, 1, a, 1, t.tensor(0), true);
    if (fences) t.event(EventKind::tensor_fence_before, 0, 2);
    t.arrive(0, 3, s);
    if (sync) t.wait(1, 4, s, 0, 1);
    if (fences) t.event(EventKind::tensor_fence_after, 1, 5);
    const uint32_t mma = t.issue(K::tensor_mma, 1, 6, b, 1);
    t.touch(mma, t.tensor(0), false);
    t.touch(mma, t.tensor(1), true);
    t.complete(mma);
    t.complete(t.issue(K::tensor_commit, 1, 7, b, 1, d));
    t.wait(1, 8, d, 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  CHECK(check(program(true, true)).diagnostics.empty());
  expect_lint(program(true, false), "TC23", 6);
  expect_first(program(false, true), FindingClass::race, "TC20", 6);
}

TEST_CASE("TC22: operands of an mma: proxy fence before, commit after") {
  const auto program = [](bool fence, bool commit) {
    TraceBuilder t(2);
    const uint32_t q = t.queue(Q::tensor, 0), empty = t.barrier("empty", 1), d = t.barrier("d", 1);
    t.write(0, 1, t.shared(0));
    if (fence) t.fence(0, 2);
    const uint32_t mma = t.issue(K::tensor_mma, 0, 3, q, 1);
    t.touch(mma, t.shared(0), false);
    t.touch(mma, t.tensor(0), true);
    t.complete(mma);
    if (commit)
      t.complete(t.issue(K::tensor_commit, 0, 4, q, 1, empty));
    else
      t.arrive(0, 4, empty);
    t.wait(1, 5, empty, 0, 1);
    t.write(1, 6, t.shared(0));
    t.complete(t.issue(K::tensor_commit, 0, 7, q, 1, d));
    t.wait(0, 8, d, 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  expect_rule(program(false, true), "PX1", 3);
  expect_rule(program(true, false), "TC22", 6);
}

TEST_CASE(
    "a stage that tcgen05.commit releases is filled again: the copies are ordered by the mma between them") {
  TraceBuilder t(2);
  const uint32_t q = t.queue(Q::tensor, 1), full = t.barrier("full", 1), empty = t.barrier("empty", 1);
  for (uint32_t i = 0; i < 3; ++i) {
    if (i > 0) t.wait(0, 1, empty, (i - 1) & 1, i);
    t.arrive_expect(0, 2, full, 64);
    const uint32_t copy = t.load(0, 3, full, 64);
    t.touch(copy, t.shared(0), true);
    t.complete(copy);
    t.wait(1, 4, full, i & 1, i + 1);
    const uint32_t mma = t.issue(K::tensor_mma, 1, 5, q, 1);
    t.touch(mma, t.shared(0), false);
    t.touch(mma, t.tensor(0), true);
    t.complete(mma);
    t.complete(t.issue(K::tensor_commit, 1, 6, q, 1, empty));
  }
  t.wait(1, 7, empty, 0, 3);
  t.exit_all(9);
  expect_clean(t.trace);
  CHECK(check(t.trace).diagnostics.empty());
}

TEST_CASE("HB4: a commit publishes what it tracks, not what its thread did besides") {
  TraceBuilder t(2);
  const uint32_t q = t.queue(Q::tensor, 0), d = t.barrier("d", 1);
  t.write(0, 1, t.shared(1));
  t.run(K::tensor_mma, 0, 2, q, 1, t.tensor(0), true);
  t.complete(t.issue(K::tensor_commit, 0, 3, q, 1, d));
  t.wait(1, 4, d, 0, 1);
  t.read(1, 5, t.shared(1));
  t.exit_all(9);
  expect_first(t.trace, FindingClass::race, "M4", 5);
}

TEST_CASE("TC26: two commits on a barrier of count 1 in one phase") {
  TraceBuilder t(1);
  const uint32_t q = t.queue(Q::tensor, 0), d = t.barrier("d", 1);
  t.run(K::tensor_mma, 0, 1, q, 1, t.tensor(0), true);
  t.complete(t.issue(K::tensor_commit, 0, 2, q, 1, d));
  t.complete(t.issue(K::tensor_commit, 0, 3, q, 1, d));
  t.wait(0, 4, d, 1, 2);
  t.exit_all(9);
  // The commits arrive in the order of issue, so the second completes phase 1; but the wait can come before.
  CHECK(expect_rule(t.trace, "ALG-D1", 4).finding_class == FindingClass::overtaken);
  CheckOptions free;
  free.policies.commits_in_order = false;
  CHECK(expect_rule(t.trace, "ALG-D3", 3, free).finding_class == FindingClass::barrier_protocol);
}

// MB10: nothing holds back an arrival. What tells that it has come: a wait for its phase, or for that of a
// later commit of the same thread.
TEST_CASE("MB10: a barrier is invalidated while the arrival of a commit can be on its way") {
  const auto program = [](bool own_phase, bool later_commit) {
    TraceBuilder t(2);
    const uint32_t q = t.queue(Q::tensor, 0), b = t.barrier("b"), d = t.barrier("d", 1);
    t.init(0, 1, b, 1);
    t.run(K::tensor_mma, 0, 2, q, 1, t.tensor(0), true);
    t.complete(t.issue(K::tensor_commit, 0, 3, q, 1, b));
    t.complete(t.issue(K::tensor_commit, 0, 4, q, 1, d));
    if (own_phase) t.wait(0, 5, b, 0, 1);
    if (later_commit) t.wait(0, 6, d, 0, 1);
    t.event(EventKind::mbarrier_inval, 0, 7, b);
    if (!later_commit) t.wait(0, 8, d, 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  const Diagnostic d = expect_rule(program(false, false), "MB10", 7);
  CHECK(d.severity == Severity::error);
  CHECK(d.witness.size() == 3);
  CHECK(check(program(true, false)).verdict == Verdict::clean);
  CHECK(check(program(false, true)).verdict == Verdict::clean);
  CheckOptions free;
  free.policies.commits_in_order = false;
  CHECK(check(program(true, false), free).verdict == Verdict::clean);
  CHECK(check(program(false, true), free).verdict == Verdict::inconclusive);
}

TEST_CASE("LT30, LT32, TC4-TC8, TC11: allocation of tensor memory") {
  TraceBuilder t(2);
  t.tensor_alloc(0, 1, 0, 256);
  t.tensor_dealloc(0, 2, 0, 256);
  t.event(EventKind::tensor_relinquish, 0, 3);
  t.exit_all(9);
  expect_clean(t.trace);

  const auto finds = [](const char* rule, uint32_t line, auto fill) {
    TraceBuilder b(2);
    fill(b);
    b.exit_all(9);
    return expect_rule(b.trace, rule, line).finding_class;
  };
  CHECK(finds("TC6", 1, [](TraceBuilder& b) { b.tensor_alloc(0, 1, 0, 64); }) == FindingClass::resource);
  finds("TC6", 2, [](TraceBuilder& b) {
    b.tensor_alloc(0, 1, 0, 64);
    b.tensor_dealloc(0, 2, 64, 64);
    b.tensor_dealloc(0, 3, 0, 64);
  });
  finds("TC4", 1, [](TraceBuilder& b) { b.tensor_alloc(0, 1, 0, 48); });
  finds("TC5", 2, [](TraceBuilder& b) {
    b.tensor_alloc(0, 1, 0, 64);
    b.tensor_alloc(0, 2, 128, 128);
  });
  finds("TC7", 2, [](TraceBuilder& b) {
    b.event(EventKind::tensor_relinquish, 0, 1);
    b.tensor_alloc(0, 2, 0, 64);
  });
  finds("TC7", 1, [](TraceBuilder& b) {  // in another schedule the relinquish comes first
    b.tensor_alloc(0, 1, 0, 64);
    b.event(EventKind::tensor_relinquish, 1, 2);
  });
  finds("TC8", 2, [](TraceBuilder& b) {
    b.tensor_alloc(0, 1, 0, 64);
    b.tensor_dealloc(0, 2, 0, 64, 2);
  });
  finds("TC11", 2, [](TraceBuilder& b) {
    b.tensor_alloc(0, 1, 0, 64);
    b.tensor_alloc(1, 2, 64, 64);
  });
}

TEST_CASE("K7: columns that two warps want at one time") {
  TraceBuilder t(2);
  for (uint32_t w : {0u, 1u}) {
    t.tensor_alloc(w, 1, 0, 512);
    t.tensor_dealloc(w, 2, 0, 512);
  }
  t.exit_all(9);
  expect_open(t.trace, "(K7)");
}

TEST_CASE("F6, F7, TC9, TC10: a pair allocates when both are there, and frees when both have allocated") {
  const auto program = [](bool before, bool between) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    uint64_t generation = 0;
    if (before) t.cluster_sync(1, ++generation);
    for (uint32_t w : {0u, 1u}) t.tensor_alloc(w, 2, 0, 32, 2);
    if (between) t.cluster_sync(3, ++generation);
    for (uint32_t w : {0u, 1u}) t.tensor_dealloc(w, 4, 0, 32, 2);
    t.cluster_sync(5, ++generation);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  expect_first(program(false, true), FindingClass::lifetime, "TC9", 2);
  expect_first(program(true, false), FindingClass::lifetime, "TC10", 4);
}

TEST_CASE("TC12, D2: an mma that reads operands of the peer, which does not wait for it") {
  const auto program = [](bool waits) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    t.cluster_sync(1, 1);
    const uint32_t q = t.queue(Q::tensor, 0), d = t.barrier("@0.d", 1, 0);
    const uint32_t mma = t.issue(K::tensor_mma, 0, 2, q, 1);
    t.touch(mma, t.shared_of(1, 0), false);
    t.touch(mma, t.tensor(0), true);
    t.complete(mma);
    t.complete(t.issue(K::tensor_commit, 0, 3, q, 1, d));
    t.wait(0, 4, d, 0, 1);
    if (waits) t.cluster_sync(5, 2);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  expect_first(program(false), FindingClass::lifetime, "D2", 2);
}
