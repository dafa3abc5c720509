// SPDX-License-Identifier: Apache-2.0
// A ring written as algorithms.md 11.4 describes it unrolls to the events that are listed there.
#include "tests/model/mimw_support.h"

namespace turnstile {
namespace {

constexpr std::string_view kRing = R"(
param S = 2, 1, 3, 4
param NC = 2, 1, 3
param N = 5, 0..12
let bytes=16384
mbar full[S]:1 empty[S]:NC
buffer buf[S] bytes bytes
agent P
  for i < N
    wait empty[i%S], (i/S&1)^1
    expect_tx full[i%S], bytes
    arrive full[i%S]
    tma_load buf[i%S]#i -> full[i%S], bytes
agent C[NC]
  for i < N
    wait full[i%S], i/S&1
    read buf[i%S]#i
    arrive empty[i%S]
)";

size_t all_events(const Orchestration& o) {
  size_t n = 0;
  for (const auto& strand : o.strands) n += strand.events.size() - 1;  // without exit
  for (const auto& operation : o.operations) n += operation.size();
  return n;
}

}  // namespace

TEST_CASE("the ring unrolls to the events of algorithms.md 11.4") {
  const uint32_t stages = 3, consumers = 2, trips = 8;
  const Orchestration o = unrolled(kRing, "ok", {{"S", stages}, {"NC", consumers}, {"N", trips}});
  REQUIRE(o.strands.size() == 1 + consumers);
  REQUIRE(o.tables.barriers.size() == 2 * stages);
  for (uint32_t s = 0; s < stages; ++s) {
    CHECK(o.tables.barriers[s].name == "full[" + std::to_string(s) + "]");
    CHECK(o.tables.barriers[s].initial_count == 1);
    CHECK(o.tables.barriers[stages + s].name == "empty[" + std::to_string(s) + "]");
    CHECK(o.tables.barriers[stages + s].initial_count == consumers);
  }
  const std::vector<Event>& p = o.strands[0].events;
  REQUIRE(p.size() == 4 * trips + 1);
  for (uint32_t i = 0; i < trips; ++i) {
    CAPTURE(i);
    const uint32_t s = i % stages, q = (i / stages) % 2;
    const Event &wait = p[4 * i], &expect = p[4 * i + 1], &arrive = p[4 * i + 2], &issue = p[4 * i + 3];
    CHECK(wait.kind == EventKind::mbarrier_wait);
    CHECK(wait.object == stages + s);
    CHECK(wait.count == 1 - q);
    CHECK(wait.has(Event::acquire));
    CHECK(expect.kind == EventKind::mbarrier_expect_tx);
    CHECK(expect.object == s);
    CHECK(expect.bytes == 16384);
    CHECK(arrive.kind == EventKind::mbarrier_arrive);
    CHECK(arrive.object == s);
    CHECK(arrive.count == 1);
    CHECK(arrive.has(Event::release));
    CHECK_FALSE(arrive.has(Event::expects_bytes));
    CHECK(issue.kind == EventKind::async_issue);
    REQUIRE(issue.object == i);
    const AsyncOp& op = o.tables.ops[i];
    CHECK(op.kind == AsyncOp::Kind::bulk_load);
    CHECK(op.issuer.v == 0);
    CHECK(op.barrier == s);
    CHECK(op.bytes == 16384);
    CHECK(op.queue == AsyncOp::none);
    REQUIRE(o.operations[i].size() == 2);
    CHECK(o.operations[i][0].kind == EventKind::async_access);
    CHECK(o.operations[i][0].has(Event::write));
    CHECK(o.operations[i][0].generation == i + 1);
    CHECK(o.operations[i][1].kind == EventKind::async_complete);
    for (uint32_t c = 1; c <= consumers; ++c) {
      const std::vector<Event>& events = o.strands[c].events;
      REQUIRE(events.size() == 3 * trips + 1);
      const Event &full = events[3 * i], &read = events[3 * i + 1], &release = events[3 * i + 2];
      CHECK(full.kind == EventKind::mbarrier_wait);
      CHECK(full.object == s);
      CHECK(full.count == q);
      CHECK(read.kind == EventKind::access);
      CHECK_FALSE(read.has(Event::write));
      CHECK(read.footprint == o.operations[i][0].footprint);
      CHECK(read.generation == i + 1);
      CHECK(release.kind == EventKind::mbarrier_arrive);
      CHECK(release.object == stages + s);
      CHECK(release.has(Event::release));
    }
  }
}

// algorithms.md 5.4: ring S8 NC3 N65536 has 983,040 events; 3.x: S4 NC3 N16 has 240.
TEST_CASE("the ring has as many events as algorithms.md measured") {
  CHECK(all_events(unrolled(kRing, "ok", {{"S", 4}, {"NC", 3}, {"N", 16}})) == 240);
  CHECK(all_events(unrolled(kRing, "ok", {{"S", 8}, {"NC", 3}, {"N", 65536}})) == 983040);
}

TEST_CASE("stages are side by side, so that each has bytes of its own") {
  const Orchestration o = unrolled(kRing, "ok", {{"S", 4}, {"N", 4}});
  std::vector<uint64_t> begins;
  for (const auto& operation : o.operations) {
    const ByteRange range = bytes_of(o, operation[0]);
    CHECK(range.end - range.begin == 16384);
    begins.push_back(range.begin);
  }
  REQUIRE(begins.size() == 4);
  for (size_t i = 1; i < 4; ++i) CHECK(begins[i] == begins[0] + i * 16384);
}

TEST_CASE("places point at the operation, line and column, as it is written") {
  const Orchestration o =
      unrolled("-- a ring\nmbar full[2]:1\nagent P\n  [ok] arrive  full[ 1 ]   -- hello\n");
  const Place& place = o.tables.places.at(o.strands[0].events[0].place);
  CHECK(place.file == "t.mimw");
  CHECK(place.line == 4);
  CHECK(place.column == 8);
  CHECK(place.instruction == "arrive  full[ 1 ]");
  const Place& exit = o.tables.places.at(o.strands[0].events[1].place);
  CHECK(exit.line == 3);
  CHECK(exit.instruction == "end of agent P");
}

TEST_CASE("use ring: changed constants, another consumer list, another variant") {
  const Orchestration o = unrolled("use ring with n=3 S=2+1 consumers=D,E.w0,F variant=nowait\n");
  REQUIRE(o.strands.size() == 4);
  CHECK(o.tables.agents[1].role == "D");
  CHECK(o.tables.agents[2].role == "E.w0");
  CHECK(o.tables.agents[3].role == "F");
  CHECK(o.tables.agents[3].threads == 128);
  CHECK(o.tables.barriers.size() == 6);
  // nowait: wait, wgmma, commit, arrive a trip; then one wait for all, and the exit.
  CHECK(o.strands[1].events.size() == 3 * 4 + 2);
  CHECK(o.tables.places.at(o.strands[0].events[0].place).file == "ring.mimw (library)");
  CHECK(mimw_error("use ring with m=3\n") ==
        "t.mimw:1:1: in 'ring': there is no value 'm' to set in variant 'ok'; known values: B, E, L, S, X, "
        "flip, n, nC, nP");
  CHECK(mimw_error("agent A\n  nop\nuse ring with variant=nwait\n") ==
        "t.mimw:3:23: 'ring' has no variant 'nwait'; did you mean 'nowait'?");
  CHECK(mimw_error("use rng\n") == "t.mimw:1:1: there is no pattern 'rng'; did you mean 'ring'?");
  CHECK(mimw_error("use ring with n=3 S=0\n") == "t.mimw:1:1: in 'ring': remainder of a division by zero");
}

}  // namespace turnstile
