// SPDX-License-Identifier: Apache-2.0

// The latency pass over traces that are small enough to compute by hand: the model has round numbers.

#include "sim/timeline/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/timeline/engine.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::sim;
using turnstile::test::TraceBuilder;

namespace {

LatencyModel round_numbers() {
  LatencyModel m;
  m.mbarrier_arrive = 10;
  m.mbarrier_wait = 20;
  m.mbarrier_wake = 30;
  m.copy_issue = 40;
  m.load_rate_one = m.load_rate_all = 100;
  m.load_latency = 500;
  m.store_rate_one = m.store_rate_all = 10;
  m.store_issue = 5;
  m.store_read = 50;
  m.store_done = 300;
  m.matrix_rate = 4096;  // m64n256: 128 cycles
  m.matrix_latency = 70;
  m.named_barrier = 25;
  m.global_row = 5;
  m.global_load = 200;
  m.global_visible = 400;
  m.remote_arrive = 1000;
  return m;
}

constexpr TimelineOptions alone{1, 132, 1};

Timeline timed(const TraceBuilder& t, const TimelineOptions& options = alone) {
  const Timeline timeline = make_timeline(t.trace, round_numbers(), options);
  // What holds of every timeline.
  uint64_t at = 0;
  for (const PathStep& step : timeline.path) {
    CHECK_EQ(step.begin, at);
    CHECK_LT(step.begin, step.end);
    at = step.end;
  }
  CHECK_EQ(at, timeline.cycles);
  for (size_t i = 0; i < timeline.spans.size(); ++i) {
    const TimelineSpan& s = timeline.spans[i];
    CHECK_LT(s.begin, s.end);
    CHECK_LE(s.end, timeline.cycles);
    if (i != 0 && timeline.spans[i - 1].track == s.track) CHECK_LE(timeline.spans[i - 1].end, s.begin);
    if (s.wait != WaitKind::none) CHECK_LE(s.cause_time, s.end);
  }
  return timeline;
}

const TimelineSpan* wait_of(const Timeline& timeline, WaitKind kind, uint16_t warp) {
  const auto it = std::find_if(timeline.spans.begin(), timeline.spans.end(), [&](const TimelineSpan& s) {
    return s.wait == kind && timeline.tracks[s.track].warp == warp;
  });
  return it == timeline.spans.end() ? nullptr : &*it;
}

std::vector<std::pair<uint64_t, uint64_t>> busy(const Timeline& timeline, TimelineTrack::Kind kind) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (const TimelineSpan& s : timeline.spans)
    if (timeline.tracks[s.track].kind == kind) out.emplace_back(s.begin, s.end);
  return out;
}

uint32_t tile(TraceBuilder& t, uint64_t bytes) { return t.footprint(Space::shared, 0, {0, bytes, 0, 1}); }

}  // namespace

TEST_CASE("a warp that waits for a load goes on when its bytes have come") {
  TraceBuilder t(2);
  const uint32_t full = t.barrier("full[0]");
  t.init(0, 1, full, 1);                           // 0 to 10
  t.arrive_expect(0, 2, full, 6400);               // to 20
  const uint32_t load = t.load(0, 3, full, 6400);  // to 60; the engine from 60 to 124; there at 624
  t.touch(load, tile(t, 6400), true);
  t.complete(load);
  t.wait(1, 9, full, 0, 1);  // from 0 to 624 + 30, then 20
  const Timeline timeline = timed(t);
  CHECK_EQ(timeline.cycles, 674);
  CHECK(busy(timeline, TimelineTrack::Kind::copy_engine) ==
        std::vector<std::pair<uint64_t, uint64_t>>{{60, 124}});
  CHECK_EQ(timeline.copy_busy, 64);
  const TimelineSpan* wait = wait_of(timeline, WaitKind::mbarrier, 1);
  REQUIRE(wait != nullptr);
  CHECK_EQ(wait->begin, 0);
  CHECK_EQ(wait->end, 654);
  CHECK_EQ(wait->cause_time, 624);
  CHECK(wait->critical);
  REQUIRE_LT(wait->cause, timeline.spans.size());
  CHECK(timeline.tracks[timeline.spans[wait->cause].track].kind == TimelineTrack::Kind::copy_engine);
  REQUIRE_EQ(timeline.path.size(), 4);
  const std::pair<TimeUse, uint64_t> path[] = {
      {TimeUse::work, 60}, {TimeUse::copy, 124}, {TimeUse::copy_latency, 624}, {TimeUse::wake, 674}};
  for (size_t i = 0; i < 4; ++i) {
    CHECK(timeline.path[i].use == path[i].first);
    CHECK_EQ(timeline.path[i].end, path[i].second);
  }
  REQUIRE_EQ(timeline.stalls.size(), 1);
  CHECK_EQ(timeline.stalls[0].who, "warps 0-1");
  CHECK_EQ(timeline.stalls[0].what, "full[*]");
  CHECK_EQ(timeline.stalls[0].cycles, 654);
  CHECK_EQ(timeline.stalls[0].used[static_cast<size_t>(TimeUse::copy_latency)], 500);
  CHECK_EQ(timeline.stalls[0].used[static_cast<size_t>(TimeUse::copy)], 64);
  CHECK_EQ(timeline.stalls[0].used[static_cast<size_t>(TimeUse::wake)], 30);
}

TEST_CASE("copies queue for the engine, and a wait that finds its phase complete does not wait") {
  TraceBuilder t(2);
  const uint32_t full = t.barrier("full", 1);
  t.arrive_expect(0, 2, full, 12800);           // to 10
  const uint32_t a = t.load(0, 3, full, 6400);  // issued at 50, engine to 114
  const uint32_t b = t.load(0, 4, full, 6400);  // issued at 90, engine 114 to 178, there at 678
  for (const uint32_t o : {a, b}) {
    t.touch(o, tile(t, 6400), true);
    t.complete(o);
  }
  t.wait(1, 9, full, 0, 1);   // 678 + 30 + 20
  t.wait(1, 10, full, 0, 1);  // + 20
  const Timeline timeline = timed(t);
  CHECK(busy(timeline, TimelineTrack::Kind::copy_engine) ==
        std::vector<std::pair<uint64_t, uint64_t>>{{50, 114}, {114, 178}});
  CHECK_EQ(timeline.cycles, 748);
}

TEST_CASE("what all SMs get together is shared, but for bytes that several of them load") {
  TraceBuilder t(1);
  const uint32_t full = t.barrier("full", 1);
  const uint32_t a = t.load(0, 3, full, 6400);
  t.touch(a, tile(t, 6400), true);
  t.complete(a);
  LatencyModel m = round_numbers();
  m.load_rate_all = 25;
  const auto engine_time = [&](uint32_t active, double sharing) {
    return make_timeline(t.trace, m, {active, 100, sharing}).copy_busy;
  };
  CHECK_EQ(engine_time(1, 1), 64);
  CHECK_EQ(engine_time(50, 1), 128);   // 50 bytes a cycle each
  CHECK_EQ(engine_time(100, 1), 256);  // 25
  CHECK_EQ(engine_time(100, 2), 128);
  CHECK_EQ(engine_time(100, 12), 64);  // one SM never gets more than 100
}

TEST_CASE("wgmma of a warp group computes in order; a group is done when its last one is") {
  TraceBuilder t(4);
  const uint32_t queue = t.queue(QueueInfo::Kind::wgmma, 0);
  for (const uint64_t group : {1u, 2u}) {
    const uint32_t o = t.queued(AsyncOp::Kind::wgmma, 3, 5, queue, group);
    for (uint32_t w = 0; w < 4; ++w) t.event(EventKind::async_issue, w, 5, o);
    t.complete(o);
    for (uint32_t w = 0; w < 4; ++w) t.commit(w, 6, queue, group);
  }
  t.group_wait(0, 7, queue, 1);  // 128 + 70
  t.group_wait(1, 8, queue, 2);  // 256 + 70
  const Timeline timeline = timed(t);
  CHECK(busy(timeline, TimelineTrack::Kind::tensor_core) ==
        std::vector<std::pair<uint64_t, uint64_t>>{{0, 128}, {128, 256}});
  REQUIRE(wait_of(timeline, WaitKind::group, 0) != nullptr);
  CHECK_EQ(wait_of(timeline, WaitKind::group, 0)->end, 198);
  CHECK_EQ(wait_of(timeline, WaitKind::group, 1)->end, 326);
  CHECK_EQ(timeline.cycles, 326);
  CHECK_EQ(timeline.matrix_busy, 256);
}

TEST_CASE("the source of a store may be written again before the store is done") {
  TraceBuilder t(1);
  const uint32_t queue = t.queue(QueueInfo::Kind::bulk, 0);
  const uint32_t o = t.store(0, 2, queue, 1);  // issued at 5, engine 5 to 105
  t.touch(o, tile(t, 1000), false);
  t.complete(o);
  t.commit(0, 3, queue, 1);
  t.group_wait(0, 4, queue, 1, true);  // 155
  t.group_wait(0, 5, queue, 1);        // 405
  const Timeline timeline = timed(t);
  const TimelineSpan* read = wait_of(timeline, WaitKind::group, 0);
  REQUIRE(read != nullptr);
  CHECK_EQ(read->begin, 5);
  CHECK_EQ(read->end, 155);
  CHECK_EQ(timeline.cycles, 405);
}

TEST_CASE("loads of a thread overlap until something else is done") {
  TraceBuilder t(1);
  t.init(0, 1, t.barrier("b"), 1);  // to 10
  t.read(0, 2, t.global(0));        // issued at 15
  t.read(0, 3, t.global(1));        // issued at 20, there at 220
  t.arrive(0, 4, 0);                // 230
  const Timeline timeline = timed(t);
  CHECK_EQ(timeline.cycles, 230);
  const TimelineSpan* wait = wait_of(timeline, WaitKind::memory, 0);
  REQUIRE(wait != nullptr);
  CHECK_EQ(wait->begin, 20);
  CHECK_EQ(wait->end, 220);
}

TEST_CASE("a named barrier opens when the last warp has come, whatever its place in the trace") {
  TraceBuilder t(2);
  const uint32_t b = t.barrier("b");
  for (int i = 0; i < 10; ++i) t.init(0, 1, b, 1);  // warp 0: 100 cycles
  t.bar_contribute(0, 2, 1, 64, true);
  t.bar_contribute(1, 2, 1, 64, true);
  t.bar_pass(1, 2, 1, 1);
  t.bar_pass(0, 2, 1, 1);
  const Timeline timeline = timed(t);
  CHECK_EQ(timeline.cycles, 125);
  REQUIRE(wait_of(timeline, WaitKind::named_barrier, 1) != nullptr);
  CHECK_EQ(wait_of(timeline, WaitKind::named_barrier, 1)->begin, 0);
  CHECK_EQ(wait_of(timeline, WaitKind::named_barrier, 1)->end, 125);
}

TEST_CASE("a flag in global memory is seen when its write has become visible") {
  TraceBuilder t(2);
  const uint32_t flag = t.signal("flag");
  t.set(0, 1, flag, 1);
  t.spin(1, 2, flag, 1);
  t.trace.events.back().generation = 1;
  // Written at 5, visible 400 later, of which the last 200 are the load that sees it.
  CHECK_EQ(timed(t).cycles, 405);
}

TEST_CASE("instructions between events take the time that they weigh") {
  TraceBuilder t(1);
  const uint32_t b = t.barrier("b");
  t.init(0, 1, b, 1);
  t.arrive(0, 2, b);
  t.trace.work = {8, work_unit * 100 + 8};  // half a cycle, 100 and a half
  CHECK_EQ(timed(t).cycles, 121);
}

TEST_CASE("an arrival at another CTA takes longer than one at home") {
  TraceBuilder t(4);
  t.cluster(2, 4);
  const uint32_t there = t.barrier("there", 1, 1), here = t.barrier("here", 1, 0);
  t.arrive(0, 1, here);       // 10
  t.wait(2, 2, here, 0, 1);   // 10 + 30 + 20
  t.arrive(0, 3, there);      // 20, arrives at 1020
  t.wait(1, 4, there, 0, 1);  // 1020 + 30 + 20
  const Timeline timeline = timed(t);
  CHECK_EQ(timeline.cycles, 1070);
}

TEST_CASE("a strand starts when it is forked, and a join waits for it") {
  TraceBuilder t(1);
  const uint32_t other = t.strand(0);
  const uint32_t b = t.barrier("b");
  t.init(0, 1, b, 1);                                    // 10
  t.event(EventKind::fork, 0, 2, other);                 // at 10
  t.arrive(other, 3, b);                                 // 20
  t.event(EventKind::join, 0, 4, other, Event::memory);  // 20
  t.arrive(0, 5, b);                                     // 30
  CHECK_EQ(timed(t).cycles, 30);
}

TEST_CASE("an operation takes the first gap of its engine that is wide enough") {
  Engine engine;
  CHECK_EQ(engine.take(100, 50, 0).begin, 100);
  CHECK_EQ(engine.take(0, 60, 1).begin, 0);
  const Engine::Slot behind = engine.take(0, 60, 2);  // 60 to 100 is too narrow
  CHECK_EQ(behind.begin, 150);
  CHECK_EQ(behind.before, 0);
  const Engine::Slot between = engine.take(10, 40, 3);
  CHECK_EQ(between.begin, 60);
  CHECK_EQ(between.before, 1);
  CHECK_EQ(engine.take(500, 1, 4).before, Engine::none);
  CHECK_EQ(engine.total(), 211);
}

TEST_CASE("what leaves an event weighs nothing, and a division more than an addition") {
  for (const char* event :
       {"mbarrier.arrive.shared::cta.b64", "st.shared.b32", "wgmma.commit_group.sync.aligned",
        "ld.global.u32", "bar.sync", "mov.u32", "cp.async.bulk.commit_group", "red.global.add.u32"})
    CHECK_EQ(instruction_work(event), 0);
  for (const char* op : {"add.s32", "redux.sync.add.u32", "shfl.sync.bfly.b32", "ex2.approx.ftz.f32", "bra",
                         "ld.param.u32", "sub.f32", "setp.lt.u32"})
    CHECK_GT(instruction_work(op), 0);
  CHECK_GT(instruction_work("div.u32"), 10 * instruction_work("add.u32"));
  CHECK_LT(instruction_work("div.full.f32"), instruction_work("div.u32"));
}

TEST_CASE("a wgmma holds the tensor core as its columns say") {
  const LatencyModel m = h200_model();
  // 1024 products of bf16 a cycle and a quarter of the SM: 128 cycles, measured with what a loop adds.
  const uint64_t full = matrix_cycles(m, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16");
  CHECK_GE(full, 128);
  CHECK_LE(full, 129);
  CHECK_EQ(matrix_cycles(m, "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32"), 64);
  CHECK_LT(matrix_cycles(m, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"), 24);
  CHECK_GT(matrix_cycles(m, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"), 12);
}

TEST_CASE("the clock falls with the work of the tensor cores") {
  LatencyModel m;
  m.clock_mhz = 2000;
  m.clock_one_sm = 1800;
  m.clock_20us = 1700;
  m.clock_100us = 1600;
  m.clock_200us = m.clock_500us = m.clock_2ms = 1400;
  CHECK_EQ(clock_under_load(m, 0, 1, 100), 2000);
  CHECK_EQ(clock_under_load(m, 1, 1, 5), 1700);
  CHECK_EQ(clock_under_load(m, 1, 1, 100), 1600);
  CHECK_EQ(clock_under_load(m, 1, 0, 100), 1800);
  CHECK_EQ(clock_under_load(m, 0.5, 1, 1e6), 1700);
}

TEST_CASE("tcgen05: the commit comes when the mma is done, and the timeline says that nobody measured that") {
  TraceBuilder t(2);
  const uint32_t done = t.barrier("done", 1), queue = t.queue(QueueInfo::Kind::tensor, 0);
  const uint32_t mma = t.issue(AsyncOp::Kind::tensor_mma, 0, 1, queue);
  const uint32_t commit = t.issue(AsyncOp::Kind::tensor_commit, 0, 2, queue, 1, done);
  // 128 lanes by 64 columns of 4 bytes.
  t.touch(mma, t.footprint(Space::tensor, 0, {0, 256, 2048, 128}), true);
  t.complete(mma);
  t.complete(commit);
  t.wait(1, 3, done, 0, 1);
  LatencyModel m = round_numbers();
  m.tensor_rate = 8192;  // 128 * 64 * 32 / 8192 = 32 cycles
  m.tensor_latency = 100;
  const Timeline timeline = make_timeline(t.trace, m, alone);
  CHECK_EQ(timeline.matrix_busy, 32);
  CHECK_EQ(timeline.cycles, 32 + 100 + 30 + 20);
  CHECK(timeline.has_tensor_memory);
}
