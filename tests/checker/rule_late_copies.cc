// SPDX-License-Identifier: Apache-2.0
//
// Operations that end late without a proxy of their own: cp.async (CA1-CA9, HB2), st.async (DX1), LDS reads
// (AM10, AM13), queues in order (T21); and descriptors (TMAP2, TMAP4).
#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {
using K = AsyncOp::Kind;
using Q = QueueInfo::Kind;
}  // namespace

TEST_CASE("CA6, CA7, L3: copy, wait, barrier, read [AM13 violates] [AM13 obeys] [LT47 shows]") {
  const auto program = [](bool wait, bool barrier) {
    TraceBuilder t(2);
    const uint32_t q = t.queue(Q::cp_async, 0);
    t.run(K::cp_async, 0, 1, q, 1, t.shared(0), true);
    t.commit(0, 2, q, 1);
    if (wait) t.group_wait(0, 3, q, 1);
    t.read(0, 4, t.shared(0));
    if (barrier) t.sync_all(5, 1);
    t.read(1, 6, t.shared(0));
    t.group_wait(0, 7, q, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  expect_first(program(false, true), FindingClass::race, "CA6", 4);
  expect_first(program(true, false), FindingClass::race, "CA7", 6);
}

TEST_CASE("CA5: two copies of one group to the same bytes; of two groups with a wait between them") {
  const auto program = [](uint64_t second_group) {
    TraceBuilder t(1);
    const uint32_t q = t.queue(Q::cp_async, 0);
    t.run(K::cp_async, 0, 1, q, 1, t.shared(0), true);
    if (second_group == 2) {
      t.commit(0, 2, q, 1);
      t.group_wait(0, 3, q, 1);
    }
    t.run(K::cp_async, 0, 4, q, second_group, t.shared(0), true);
    t.commit(0, 5, q, second_group);
    t.group_wait(0, 6, q, second_group);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(2));
  expect_first(program(1), FindingClass::race, "CA5", 4);
}

TEST_CASE("T21: copies into a queue that works in order [AM11 AM15 shows]") {
  TraceBuilder t(1);
  const uint32_t q = t.queue(Q::cp_async, 0);
  t.trace.queues[q].in_order = true;
  for (uint64_t g = 1; g <= 2; ++g) {
    const uint32_t o = t.issue(K::cp_async, 0, 1, q, g);
    t.touch(o, t.shared(0), true);
    t.trace.events.back().generation = g;
    t.complete(o);
    t.commit(0, 2, q, g);
  }
  t.group_wait(0, 3, q, 2);
  t.tagged(0, 4, t.shared(0), false, 1);
  t.exit_all(9);
  expect_clean(t.trace);
}

TEST_CASE("LT20, CA9: data of cp.async read by wgmma need a proxy fence") {
  const auto program = [](bool fence) {
    TraceBuilder t(1);
    const uint32_t q = t.queue(Q::cp_async, 0), w = t.queue(Q::wgmma, 0);
    t.run(K::cp_async, 0, 1, q, 1, t.shared(0), true);
    t.commit(0, 2, q, 1);
    t.group_wait(0, 3, q, 1);
    if (fence) t.fence(0, 4);
    t.run(K::wgmma, 0, 5, w, 1, t.shared(0), false);
    t.commit(0, 6, w, 1);
    t.group_wait(0, 7, w, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  expect_first(program(false), FindingClass::proxy_fence, "PX1", 5);
}

TEST_CASE("HB2: cp.async.mbarrier.arrive, with and without .noinc") {
  const auto program = [](bool counts, bool arrives_after) {
    TraceBuilder t(2);
    const uint32_t q = t.queue(Q::cp_async, 0), full = t.barrier("full", 1);
    const uint32_t copy = t.issue(K::cp_async, 0, 1, q, 1);
    const uint32_t arrive = t.issue(K::cp_async, 0, 2, q, 1, full, counts ? 1 : 0);
    if (arrives_after) t.arrive(0, 3, full);
    t.touch(copy, t.shared(0), true);
    t.complete(copy);
    t.complete(arrive);
    if (counts && !arrives_after) t.arrive(1, 3, full);
    t.wait(1, 4, full, 0, 1);
    t.read(1, 5, t.shared(0));
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(false, false));
  expect_clean(program(true, true));
  // EXT7: nothing orders the raise before the arrival that completes the phase.
  expect_rule(program(true, false), "ALG-D5a", 2);
}

TEST_CASE("MB20: the arrival of cp.async covers the copies before it, not those after") {
  TraceBuilder t(2);
  const uint32_t q = t.queue(Q::cp_async, 0), full = t.barrier("full", 1);
  const uint32_t arrive = t.issue(K::cp_async, 0, 1, q, 1, full);
  t.complete(arrive);
  t.run(K::cp_async, 0, 2, q, 1, t.shared(0), true);
  t.commit(0, 3, q, 1);
  t.group_wait(0, 3, q, 1);
  t.wait(1, 4, full, 0, 1);
  t.read(1, 5, t.shared(0));
  t.exit_all(9);
  expect_first(t.trace, FindingClass::race, "CA7", 5);
}

TEST_CASE("DX1: st.async is seen by those who wait on its barrier") {
  const auto program = [](bool wait) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    const uint32_t full = t.barrier("@1.full", 1, 1);
    t.arrive_expect(1, 1, full, 64);
    const uint32_t o = t.op(K::remote_store, 0, 2);
    t.trace.ops[o].barrier = full;
    t.trace.ops[o].bytes = 64;
    t.event(EventKind::async_issue, 0, 2, o);
    t.touch(o, t.shared_of(1, 0), true);
    t.complete(o);
    if (wait) t.wait(1, 3, full, 0, 1);
    t.read(1, 4, t.shared_of(1, 0));
    if (!wait) t.wait(1, 5, full, 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  expect_first(program(false), FindingClass::race, "M4", 4);
}

TEST_CASE("LDS reads are back before the barrier [AM10 violates] [AM10 obeys] [LT46 AM9 AM14 shows]") {
  const auto program = [](bool wait_before) {
    TraceBuilder t(2);
    const uint32_t q = t.queue(Q::lds_read, 0);
    t.run(K::lds_read, 0, 1, q, 1, t.shared(0), false);
    if (wait_before) t.group_wait(0, 2, q, 1);
    t.sync_all(3, 1);
    t.group_wait(0, 4, q, 1);
    t.write(1, 5, t.shared(0));
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  expect_first(program(false), FindingClass::race, "AM10", 5);
}

TEST_CASE("D14, TMAP2, TMAP4: a descriptor that changes") {
  const auto program = [](bool release, bool acquire, bool waits) {
    TraceBuilder t(1);
    const uint32_t full[] = {t.barrier("full[0]", 1), t.barrier("full[1]", 1)};
    for (uint32_t g = 0; g < 2; ++g) {
      if (g > 0 && waits) t.wait(0, 1, full[0], 0, 1);
      t.write(0, 2, t.global(0));
      if (release) t.event(EventKind::fence_tensormap, 0, 3, 0, Event::release);
      if (acquire) {
        t.event(EventKind::fence_tensormap, 0, 4);
        t.trace.events.back().footprint = t.global(0);
      }
      t.arrive_expect(0, 5, full[g], 64);
      const uint32_t o = t.load(0, 6, full[g], 64);
      t.touch(o, t.global(0), false);
      t.trace.events.back().flags = Event::tensormap;
      t.touch(o, t.shared(g), true);
      t.complete(o);
    }
    if (!waits) t.wait(0, 7, full[0], 0, 1);
    t.wait(0, 7, full[1], 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true, true));
  CHECK(expect_first(program(true, false, true), FindingClass::proxy_fence, "TMAP2", 6).subject ==
        "buffer 0");
  expect_first(program(false, true, true), FindingClass::proxy_fence, "TMAP2", 6);
  expect_first(program(true, true, false), FindingClass::race, "TMAP4", 2);
}

// The way of a Q tile: its consumer saw the copy land, and what the consumer arrives with (tcgen05.commit:
// HB4, a relaxed arrive: HB5) tells the loader nothing of that copy. It has read the map all the same, in
// every schedule.
TEST_CASE("TMAP4: a copy that has landed has read its map, also where nobody publishes that") {
  const auto program = [](bool consumer_waits, bool consumer_publishes) {
    TraceBuilder t(2);
    const uint32_t full[] = {t.barrier("full[0]", 1), t.barrier("full[1]", 1)};
    const uint32_t freed = t.barrier("freed", 1);
    for (uint32_t g = 0; g < 2; ++g) {
      if (g > 0) {
        if (consumer_waits) t.wait(1, 7, full[0], 0, 1);
        t.arrive(1, 8, freed, 1, consumer_publishes);
        t.wait(0, 1, freed, 0, 1);
      }
      t.write(0, 2, t.global(0));
      t.event(EventKind::fence_tensormap, 0, 3, 0, Event::release);
      t.event(EventKind::fence_tensormap, 0, 4);
      t.trace.events.back().footprint = t.global(0);
      t.arrive_expect(0, 5, full[g], 64);
      const uint32_t o = t.load(0, 6, full[g], 64);
      t.touch(o, t.global(0), false);
      t.trace.events.back().flags = Event::tensormap;
      t.touch(o, t.shared(g), true);
      t.complete(o);
    }
    if (!consumer_waits) t.wait(1, 7, full[0], 0, 1);
    t.wait(1, 9, full[1], 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  expect_clean(program(true, false));
  expect_first(program(false, true), FindingClass::race, "TMAP4", 2);
  expect_first(program(false, false), FindingClass::race, "TMAP4", 2);
}

TEST_CASE("TMAP2: an acquire is of the descriptor that it names") {
  const auto program = [](bool first, bool second) {
    TraceBuilder t(1);
    const uint32_t full = t.barrier("full", 1);
    const uint32_t maps[] = {t.global(0), t.global(1)};
    for (const uint32_t map : maps) {
      t.write(0, 2, map);
      t.event(EventKind::fence_tensormap, 0, 3, 0, Event::release);
    }
    for (uint32_t m = 0; m < 2; ++m) {
      if (!(m == 0 ? first : second)) continue;
      t.event(EventKind::fence_tensormap, 0, 4);
      t.trace.events.back().footprint = maps[m];
    }
    t.arrive_expect(0, 5, full, 128);
    for (uint32_t m = 0; m < 2; ++m) {
      const uint32_t o = t.load(0, 6 + m, full, 64);
      t.touch(o, maps[m], false);
      t.trace.events.back().flags = Event::tensormap;
      t.touch(o, t.shared(m), true);
      t.complete(o);
    }
    t.wait(0, 8, full, 0, 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  expect_first(program(false, true), FindingClass::proxy_fence, "TMAP2", 6);
  expect_first(program(true, false), FindingClass::proxy_fence, "TMAP2", 7);
}

TEST_CASE("E5: an answer by st.async does not release the buffer that its thread has read") {
  const auto program = [](bool released) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    const uint32_t full = t.barrier("@1.full", 1, 1), answered = t.barrier("answered", 1);
    const auto store = [&](uint32_t from, uint32_t line, uint32_t barrier, uint16_t to, uint32_t buffer) {
      const uint32_t o = t.op(K::remote_store, from, line);
      t.trace.ops[o].barrier = barrier;
      t.trace.ops[o].bytes = 64;
      t.event(EventKind::async_issue, from, line, o);
      t.touch(o, t.shared_of(to, buffer), true);
      t.complete(o);
    };
    t.arrive_expect(1, 1, full, 64);
    t.arrive_expect(0, 1, answered, 64);
    store(0, 2, full, 1, 0);
    t.wait(1, 3, full, 0, 1);
    t.read(1, 4, t.shared_of(1, 0));
    t.arrive_expect(1, 5, full, 64);
    store(1, 6, answered, 0, 1);
    t.wait(0, 7, answered, 0, 1);
    if (released) t.cluster_sync(8, 1);
    store(0, 9, full, 1, 0);
    t.wait(1, 10, full, 1, 2);
    t.exit_all(99);
    return t.trace;
  };
  expect_clean(program(true));
  const Report report = check(program(false), {});
  REQUIRE(!report.diagnostics.empty());
  const Diagnostic& d = report.diagnostics.front();
  CHECK(d.rule == "M4");
  CHECK(d.message.find("TMA") == std::string::npos);
}
