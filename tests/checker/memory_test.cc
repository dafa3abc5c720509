// SPDX-License-Identifier: Apache-2.0
//
// Visibility: proxies, groups, strands, atomics, lifetime. Litmus numbers are those of semantics.md
// section 18.
#include "tests/checker/expect.h"
#include "tests/checker/role_program.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

enum class Fence { none, writer, issuer_after_barrier, issuer_before_barrier };

/// Warp 0 and 1 write halves of nothing but the same role: warp 1 writes the buffer, a barrier, warp 0 stores
/// it.
RoleProgram store_after_write(Fence fence) {
  RoleProgram p;
  p.role("issuer");
  p.role("writer");
  const uint32_t q = p.queue(QueueInfo::Kind::bulk, {0});
  p.roles[1].at(1).write(0);
  if (fence == Fence::writer) p.roles[1].fence();
  p.roles[1].at(2).bar_sync(1, 64);
  if (fence == Fence::issuer_before_barrier) p.roles[0].fence();
  p.roles[0].at(2).bar_sync(1, 64);
  if (fence == Fence::issuer_after_barrier) p.roles[0].fence();
  p.roles[0].at(3).store(0, 0, q).at(4).commit(q).at(5).group_wait(q, 0);
  return p;
}

}  // namespace

TEST_CASE("LT16: st.shared, barrier, TMA store: where the proxy fence may stand") {
  for (uint64_t seed : {0u, 1u, 2u, 3u}) {
    expect_clean(execute(store_after_write(Fence::writer), seed));
    expect_clean(execute(store_after_write(Fence::issuer_after_barrier), seed));
    expect_first(execute(store_after_write(Fence::issuer_before_barrier), seed), FindingClass::proxy_fence,
                 "PX1", 3);
    const Diagnostic d =
        expect_first(execute(store_after_write(Fence::none), seed), FindingClass::proxy_fence, "PX1", 3);
    REQUIRE(!d.sides.empty());
    CHECK(d.sides.front().position.line == 1);
  }
}

TEST_CASE("LT16 without the barrier: a race, not a missing fence") {
  RoleProgram p = store_after_write(Fence::none);
  for (Role& r : p.roles)
    std::erase_if(r.steps, [](const Step& s) { return s.kind == Step::Kind::bar_sync; });
  expect_first(execute(p, 0), FindingClass::race, "M4", 3);
  expect_first(execute(p, 4), FindingClass::race, "M4", 3);
}

TEST_CASE("a fence travels with a barrier: one warp fences for itself, a third passes the knowledge on") {
  RoleProgram p;
  p.role("issuer");
  p.role("writer");
  p.role("middle");
  const uint32_t q = p.queue(QueueInfo::Kind::bulk, {0});
  p.roles[1].write(0).fence().bar_arrive(1, 64);
  p.roles[2].bar_sync(1, 64).bar_arrive(2, 64);
  p.roles[0].bar_sync(2, 64).store(0, 0, q).commit(q).group_wait(q, 0);
  expect_clean(execute(p, 0));
}

TEST_CASE("E7: fence by only some of the writers") {
  RoleProgram p;
  for (const char* name : {"leader", "sibling"}) p.role(name);
  const uint32_t q = p.queue(QueueInfo::Kind::bulk, {0});
  p.roles[0]
      .at(1)
      .write(0)
      .fence()
      .at(2)
      .bar_sync(1, 64)
      .at(3)
      .store(0, 0, q)
      .store(1, 1, q)
      .commit(q)
      .group_wait(q, 0);
  p.roles[1].at(8).write(1).at(9).bar_sync(1, 64);
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::proxy_fence, "PX1", 3);
  CHECK(d.sides.front().position.line == 8);
}

namespace {

enum class ReadFence { none, reader, producer, producer_before_wait };

/// A ring of one stage whose consumer reads with loads.
RoleProgram read_and_refill(ReadFence fence) {
  RoleProgram p = ring({1, 1, 3, 1, false});
  const auto insert = [&](Role& role, Step::Kind kind, std::ptrdiff_t after) {
    for (size_t i = 0; i < role.steps.size(); ++i) {
      if (role.steps[i].kind != kind) continue;
      Step f;
      f.kind = Step::Kind::fence;
      f.line = 23;
      role.steps.insert(role.steps.begin() + static_cast<std::ptrdiff_t>(i) + after, f);
      ++i;
    }
  };
  if (fence == ReadFence::reader) insert(p.roles[1], Step::Kind::arrive, 0);
  if (fence == ReadFence::producer) insert(p.roles[0], Step::Kind::wait, 1);
  if (fence == ReadFence::producer_before_wait) insert(p.roles[0], Step::Kind::wait, 0);
  return p;
}

}  // namespace

TEST_CASE("LT17, P9, PX8: ld.shared, release, TMA refill: an error, advice if asked, nothing with a fence") {
  CheckOptions lint;
  lint.policies.read_fence = Severity::lint;
  for (const ReadFence fence : {ReadFence::none, ReadFence::producer_before_wait}) {
    const Trace trace = execute(read_and_refill(fence), 0);
    const Diagnostic d = expect_rule(trace, "PX2", check(trace).diagnostics.front().where.line);
    CHECK(d.severity == Severity::error);
    CHECK(has_fact(d, "probe P9"));
    CHECK(d.help.find("read_fence=lint") != std::string::npos);
    CHECK(check(trace).verdict == Verdict::finding);
    CHECK(check(trace, lint).verdict == Verdict::clean);
    CHECK(check(trace, lint).diagnostics.size() == 1);
  }
  for (const ReadFence fence : {ReadFence::reader, ReadFence::producer}) {
    const Report r = check(execute(read_and_refill(fence), 0));
    INFO(text_of(r));
    CHECK(r.verdict == Verdict::clean);
    CHECK(r.diagnostics.empty());
  }
}

TEST_CASE("LT18, LT19: TMA load, wait, then ld or wgmma") {
  RoleProgram p;
  const uint32_t full = p.barrier("full", 1);
  p.role("P");
  p.role("C");
  p.role("D");
  const uint32_t q = p.queue(QueueInfo::Kind::wgmma, {2});
  p.roles[0].arrive_tx(full, 64).load(0, full, 64);
  p.roles[1].wait(full, 0).read(0);
  p.roles[2].wait(full, 0).wgmma(0, q).commit(q).group_wait(q, 0);
  expect_clean(execute(p, 0));
}

TEST_CASE("WG5: operands written by stores need the fence too") {
  for (bool fenced : {false, true}) {
    RoleProgram p;
    p.role("C");
    const uint32_t q = p.queue(QueueInfo::Kind::wgmma, {0});
    p.roles[0].at(1).write(0);
    if (fenced) p.roles[0].fence();
    p.roles[0].at(3).wgmma(0, q).commit(q).group_wait(q, 0);
    if (fenced)
      expect_clean(execute(p, 0));
    else
      expect_first(execute(p, 0), FindingClass::proxy_fence, "PX1", 3);
  }
}

TEST_CASE("a copy read without waiting for it: the reader's line") {
  RoleProgram p;
  const uint32_t full = p.barrier("full", 1);
  p.role("P");
  p.role("C");
  p.roles[0].at(1).arrive_tx(full, 64).at(2).load(0, full, 64).wait(full, 0);
  p.roles[1].at(5).read(0);
  for (uint64_t seed : {0u, 1u, 2u, 3u}) expect_first(execute(p, seed), FindingClass::race, "M4", 5);
}

TEST_CASE("HB3: a copy's completion does not publish what its issuer did before") {
  TraceBuilder b(2);
  const uint32_t full = b.barrier("full");
  b.init(1, 1, full, 1);
  b.sync_all(2, 1);
  b.write(0, 5, b.shared(7));  // by the issuer, before the copy
  const uint32_t copy = b.load(0, 6, full, 64);
  b.expect(1, 8, full, 64);
  b.arrive(1, 9, full);  // the arrival is the reader's own: nothing of the issuer travels by it
  b.touch(copy, b.shared(0), true);
  b.complete(copy);
  b.wait(1, 10, full, 0, 1);
  b.read(1, 11, b.shared(0));  // the copy's own bytes: fine
  b.read(1, 12, b.shared(7));
  b.exit_all(20);
  const Diagnostic d = expect_first(b.trace, FindingClass::race, "M4", 12);
  CHECK(d.sides.front().position.line == 5);
  CHECK(check(b.trace).diagnostics.size() == 1);
}

TEST_CASE("HB5: a relaxed arrival publishes nothing, a release one does") {
  for (bool release : {false, true}) {
    TraceBuilder b(2);
    const uint32_t bar = b.barrier("b");
    b.init(0, 1, bar, 1);
    b.sync_all(2, 1);
    b.write(0, 5, b.shared(0));
    b.arrive(0, 6, bar, 1, release);
    b.wait(1, 10, bar, 0, 1);
    b.read(1, 11, b.shared(0));
    b.exit_all(20);
    if (release)
      expect_clean(b.trace);
    else
      expect_first(b.trace, FindingClass::race, "M4", 11);
  }
}

TEST_CASE("LT21: wait_group by another thread waits for nothing") {
  TraceBuilder b(1);
  const uint32_t mine = b.queue(QueueInfo::Kind::bulk, 0, 0), other = b.queue(QueueInfo::Kind::bulk, 0, 1);
  const uint32_t store = b.store(0, 3, mine, 1);
  b.commit(0, 4, mine, 1);
  b.group_wait(0, 5, other, 0, true);
  b.write(0, 6, b.shared(0));
  b.touch(store, b.shared(0), false);
  b.touch(store, b.global(0), true);
  b.complete(store);
  b.group_wait(0, 8, mine, 1);
  b.exit(0, 9);
  expect_first(b.trace, FindingClass::race, "BK2", 6);
}

TEST_CASE("LT22: after wait_group.read the source is free, the destination is not there") {
  for (bool read_only : {true, false}) {
    TraceBuilder b(1);
    const uint32_t q = b.queue(QueueInfo::Kind::bulk, 0);
    const uint32_t store = b.store(0, 3, q, 1);
    b.commit(0, 4, q, 1);
    b.touch(store, b.shared(0), false);
    if (!read_only) b.touch(store, b.global(0), true), b.complete(store);
    b.group_wait(0, 5, q, 1, read_only);
    b.write(0, 6, b.shared(0));
    if (read_only) b.touch(store, b.global(0), true), b.complete(store);
    b.read(0, 7, b.global(0));
    b.group_wait(0, 8, q, 1);
    b.exit(0, 9);
    if (read_only)
      expect_first(b.trace, FindingClass::race, "BK3", 7);
    else
      expect_clean(b.trace);
  }
}

TEST_CASE("LT23: wait_group.read N off by one before the buffer is filled again") {
  for (uint32_t pending : {0u, 1u}) {
    RoleProgram p;
    p.role("W");
    const uint32_t q = p.queue(QueueInfo::Kind::bulk, {0});
    for (uint32_t i = 0; i < 3; ++i)
      p.roles[0]
          .at(1)
          .group_wait(q, pending, true)
          .at(2)
          .write(0)
          .fence()
          .at(3)
          .store(0, i, q)
          .at(4)
          .commit(q);
    p.roles[0].at(5).group_wait(q, 0);
    for (uint64_t seed : {0u, 3u}) {
      if (pending == 0)
        expect_clean(execute(p, seed));
      else
        expect_first(execute(p, seed), FindingClass::race, "BK3", 2);
    }
  }
}

TEST_CASE("LT24: accumulators read before their group is waited for") {
  TraceBuilder b(1);
  const uint32_t q = b.queue(QueueInfo::Kind::wgmma, 0);
  const uint32_t mma = b.queued(AsyncOp::Kind::wgmma, 0, 3, q, 1);
  b.event(EventKind::async_issue, 0, 3, mma);
  b.commit(0, 4, q, 1);
  b.event(EventKind::register_hazard, 0, 5, q).generation = 1;
  b.touch(mma, b.shared(0), false);
  b.complete(mma);
  b.group_wait(0, 6, q, 1);
  b.exit(0, 9);
  expect_first(b.trace, FindingClass::register_hazard, "WG3", 5);
}

TEST_CASE("LT1, LT10, LT11: fresh, initialised twice, initialised without a barrier after it") {
  TraceBuilder b(2);
  const uint32_t bar = b.barrier("b");
  b.init(0, 1, bar, 1);
  b.wait(0, 2, bar, 1, 0);
  b.arrive(1, 5, bar);
  b.exit_all(9);
  const Diagnostic d = expect_first(b.trace, FindingClass::race, "MB11", 5);
  CHECK(d.sides.front().position.line == 1);

  TraceBuilder twice(1);
  const uint32_t c = twice.barrier("b");
  twice.init(0, 1, c, 1);
  twice.init(0, 2, c, 1);
  twice.exit(0, 3);
  expect_first(twice.trace, FindingClass::barrier_protocol, "MB9", 2);

  TraceBuilder never(1);
  never.arrive(0, 1, never.barrier("b"));
  never.exit(0, 3);
  expect_first(never.trace, FindingClass::barrier_protocol, "MB10", 1);
}

TEST_CASE("BK6: a load that outlives its thread") {
  RoleProgram p;
  const uint32_t full = p.barrier("full", 1);
  p.role("P");
  p.roles[0].at(1).arrive_tx(full, 64).at(2).load(0, full, 64);
  expect_first(execute(p, 0), FindingClass::lifetime, "BK6", 2);
}

TEST_CASE("lanes of a warp: a strand that left its warp is ordered with it by bar.warp.sync, not by shfl") {
  for (bool memory : {true, false}) {
    TraceBuilder b(1);
    const uint32_t lane = b.strand(0);
    b.write(0, 1, b.shared(0));
    b.event(EventKind::fork, 0, 2, lane);
    b.read(lane, 3, b.shared(0));  // what the warp did before the fork is its own past
    b.write(lane, 4, b.shared(1));
    b.event(EventKind::join, 0, 5, lane, memory ? Event::memory : 0);
    b.read(0, 6, b.shared(1));
    b.exit(0, 9);
    if (!memory) b.exit(lane, 9);
    if (memory)
      expect_clean(b.trace);
    else
      expect_first(b.trace, FindingClass::race, "M4", 6);
  }
}

TEST_CASE(
    "a strand number that is used again goes on counting: its new owner is not known by the old one's "
    "epochs") {
  TraceBuilder b(2);
  const uint32_t lane = b.strand(0);
  b.event(EventKind::fork, 0, 1, lane);
  b.write(lane, 2, b.shared(0));
  b.event(EventKind::join, 0, 3, lane, Event::memory);
  b.sync_all(4, 1);  // warp 1 knows the first life of the strand
  b.event(EventKind::fork, 0, 5, lane);
  b.write(lane, 6, b.shared(1));
  b.read(1, 7, b.shared(0));
  b.read(1, 8, b.shared(1));
  b.event(EventKind::join, 0, 9, lane, Event::memory);
  b.exit_all(10);
  expect_first(b.trace, FindingClass::race, "M4", 8);
  CHECK(check(b.trace).diagnostics.size() == 1);
}

TEST_CASE("atomics do not race with each other, but with everything else, however many came between") {
  TraceBuilder b(3);
  for (uint32_t w = 0; w < 3; ++w) b.atomic(w, 1 + w, b.global(0));
  b.exit_all(9);
  expect_clean(b.trace);
  TraceBuilder c(3);
  c.atomic(0, 1, c.global(0));
  c.atomic(1, 2, c.global(0));
  c.read(1, 3, c.global(0));  // knows its own atomic, not that of warp 0
  c.exit_all(9);
  const Diagnostic d = expect_first(c.trace, FindingClass::race, "M4", 3);
  CHECK(d.sides.front().position.line == 1);
}

TEST_CASE("a slow waiter at a named barrier does not learn what the next instance brings") {
  TraceBuilder b(3);
  b.bar_contribute(0, 1, 1, 64, true);
  b.bar_contribute(1, 2, 1, 64, false);
  b.write(2, 5, b.shared(0));
  b.bar_contribute(2, 6, 1, 64, false);
  b.bar_contribute(1, 7, 1, 64, true);  // instance 2: warps 2 and 1
  b.bar_pass(1, 7, 1, 2);
  b.bar_pass(0, 1, 1, 1);
  b.read(0, 9, b.shared(0));
  b.exit_all(10);
  const Report r = check(b.trace);
  INFO(text_of(r));
  REQUIRE(find(r, FindingClass::race) != nullptr);
  CHECK(find(r, FindingClass::race)->where.line == 9);
}

TEST_CASE("the report names shared memory and barriers as the launch does") {
  TraceBuilder b(2);
  b.trace.shared_names.push_back({{1024, 2048, 0, 1}, "A[1]", Space::shared});
  b.write(0, 1, b.shared(1));
  b.write(1, 2, b.shared(1));
  b.exit_all(9);
  const Diagnostic d = expect_first(b.trace, FindingClass::race, "M4", 2);
  CHECK(d.message ==
        "generic store writes and generic store writes the same bytes, A[1][0..63], in no order");
}
