// SPDX-License-Identifier: Apache-2.0
// Named and cluster barriers, exits, by semantics.md sections 3 and 4 and the litmus list of section 18.
#include <doctest/doctest.h>

#include "model/protocol/cluster_barrier.h"
#include "model/protocol/named_barrier.h"
#include "tests/model/orchestration_builder.h"
#include "tests/model/orchestration_explore.h"

using namespace turnstile;
using namespace turnstile::test;
using Seat = ClusterBarrier::Seat;

TEST_CASE("LT36: ping-pong over two named barriers ends in every schedule") {
  OrchestrationBuilder o;  // trap T1
  const uint32_t a = o.agent(0, 128), b = o.agent(0, 128);
  o.bar_arrive(b, 9, 256);
  for (int k = 0; k < 3; ++k) {
    o.bar_sync(a, 9, 256);
    o.bar_arrive(a, 10, 256);
    o.bar_sync(b, 10, 256);
    if (k < 2) o.bar_arrive(b, 9, 256);
  }
  CHECK_FALSE(can_deadlock(o.program()));
  CHECK(broken_rules(o.program()).empty());
}

TEST_CASE("LT37, NX1: two counts on one id") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent();
  o.bar_sync(a, 1, 64);
  o.bar_sync(b, 1, 128);
  CHECK(broken_rules(o.program()) == std::set<std::string>{"NX1"});
}

TEST_CASE("LT39, NX4: two groups of two on one id can mix, or meet a barrier that is full") {
  OrchestrationBuilder o;
  std::vector<uint32_t> s;
  for (int i = 0; i < 4; ++i) s.push_back(o.agent());
  const uint32_t b = o.barrier("b", 1);
  for (uint32_t a : s) o.bar_sync(a, 3, 64);
  o.arrive(s[0], b);  // agent 1 was to meet agent 0, and may have met agent 2
  o.wait(s[1], b, 0);
  size_t mixed = 0;
  explore_all(o.program(), [&](const OrchestrationMachine& m, const auto&) {
    mixed += m.position(s[1]) == 2 && m.position(s[0]) == 0 ? 1 : 0;
  });
  CHECK(mixed > 0);
}

TEST_CASE("NX3, N1: surplus threads, counts that are no whole warps") {
  NamedBarrier b;
  CHECK(b.contribute(64, 32) == NamedBarrier::Outcome::ok);
  CHECK(b.contribute(64, 64) == NamedBarrier::Outcome::over_arrival);
  CHECK(b.contribute(64, 32) == NamedBarrier::Outcome::completed);
  CHECK(b.contribute(0, 32) == NamedBarrier::Outcome::bad_count);
  CHECK(b.contribute(33, 32) == NamedBarrier::Outcome::bad_count);
}

TEST_CASE("N7: the same form twice in one instance is an error, arrive then sync is not") {
  Contribution c;
  CHECK(c.add(false) == Contribution::Misuse::none);
  CHECK(c.add(true) == Contribution::Misuse::sync_after_arrive);
  CHECK(c.add(false) == Contribution::Misuse::twice);
}

TEST_CASE("C4 of the catalogue: run-ahead arrivals complete an instance without any waiter") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(0, 128), b = o.agent(0, 128), io = o.agent(0, 128);
  for (int t = 0; t < 3; ++t) {
    o.bar_arrive(a, 5, 384);
    o.bar_arrive(b, 5, 384);
    o.bar_sync(io, 5, 384);
  }
  const std::set<std::string> rules = broken_rules(o.program());
  CHECK(rules.count("C4") == 1);
  CHECK(rules.count("N7") == 1);
  CHECK(can_deadlock(o.program()));
}

TEST_CASE("N3: a waiter that was released goes on however often the barrier completes after it") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent(), c = o.agent();
  o.bar_sync(a, 1, 64);
  o.bar_sync(b, 1, 64);
  o.bar_sync(b, 2, 64);
  o.bar_sync(c, 2, 64);
  CHECK_FALSE(can_deadlock(o.program()));
}

TEST_CASE("N8: a barrier without a count that waits only for threads that have exited lets the others go") {
  for (const bool counted : {false, true}) {  // with a count it hangs: H200, probe P8, exit_all_others
    INFO(counted);
    OrchestrationBuilder o;
    const uint32_t a = o.agent(), b = o.agent();
    o.event(a, EventKind::named_barrier_arrive, 1, 64, 32,
            static_cast<uint8_t>(counted ? Event::waits : Event::waits | Event::whole_cta));
    o.event(a, EventKind::named_barrier_pass, 1);
    o.event(b, EventKind::exit, 0, 32);
    CHECK(can_deadlock(o.program()) == counted);
    CHECK(must_deadlock(o.program()) == counted);
  }
  NamedBarrier mixed;  // one contributor named a count
  mixed.contribute(96, 32, true);
  CHECK(mixed.releasable());
  mixed.contribute(96, 32, false);
  CHECK_FALSE(mixed.releasable());
  OrchestrationBuilder r;  // the end of a role of a text is no exit
  const uint32_t c = r.agent(), d = r.agent();
  r.bar_sync(c, 1, 64);
  r.event(d, EventKind::exit);
  CHECK(must_deadlock(r.program()));
}

TEST_CASE("C1, C2: everybody arrives once, waits for the generation of the own arrival") {
  ClusterBarrier b(2);
  CHECK(b.arrive(Seat::out, 1) == ClusterBarrier::Outcome::ok);
  CHECK(b.arrive(Seat::arrived, 1) == ClusterBarrier::Outcome::arrived_already);
  CHECK(b.arrive(Seat::out, 1) == ClusterBarrier::Outcome::completed);
  CHECK(b.generation() == 1);
  CHECK(b.arrive(Seat::out, 3) == ClusterBarrier::Outcome::over_arrival);
  CHECK(ClusterBarrier::passes(Seat::released));
  CHECK_FALSE(ClusterBarrier::passes(Seat::arrived));
}

TEST_CASE("C2: a wait without an arrival never passes") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(0), b = o.agent(1);
  o.cluster(1);
  o.cluster_arrive(a);
  o.cluster_wait(a);
  o.cluster_wait(b);
  CHECK(must_deadlock(o.program()));
}

TEST_CASE("C1: a second arrival before completion") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(0), b = o.agent(1);
  o.cluster(2);
  o.cluster_arrive(a);
  o.cluster_arrive(a);
  o.cluster_arrive(b);
  CHECK(broken_rules(o.program()) == std::set<std::string>{"C1"});
}

TEST_CASE("LT35, C5: a cluster barrier completes without threads that have exited") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(0), b = o.agent(1), c = o.agent(1);
  o.cluster(3);
  for (uint32_t s : {a, b}) {
    o.cluster_arrive(s);
    o.cluster_wait(s);
  }
  o.event(c, EventKind::exit, 0, 1);
  CHECK_FALSE(can_deadlock(o.program()));
}

TEST_CASE("C5: an exit between arrive and wait takes its arrival along") {
  ClusterBarrier b(2);
  b.arrive(Seat::out, 1);
  CHECK_FALSE(b.leave(1, true));  // the one that is left has not arrived
  CHECK(b.members() == 1);
  CHECK(b.arrive(Seat::out, 1) == ClusterBarrier::Outcome::completed);
}

TEST_CASE("C2: lanes that come apart after the arrival wait each for it") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(0), part = o.agent(0), b = o.agent(1);
  o.cluster(2);
  o.cluster_arrive(a);
  o.event(a, EventKind::fork, part);
  o.event(part, EventKind::fork, part);
  o.cluster_wait(a);
  o.cluster_wait(part);
  o.cluster_arrive(b);
  CHECK_FALSE(can_deadlock(o.program()));
}

TEST_CASE("clusters of one trace have barriers of their own") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(0), b = o.agent(1);
  o.program().tables.cluster_ctas = 1;
  o.program().tables.clusters = 2;
  o.cluster(1);
  o.cluster_arrive(a);
  o.cluster_wait(a);
  o.cluster_wait(b);
  CHECK(must_deadlock(o.program()));
}

TEST_CASE("LT33, D3: an arrival on a barrier of an exited CTA") {
  OrchestrationBuilder o;  // orchestration_bugs.md H2
  const uint32_t a = o.agent(0), b = o.agent(1);
  const uint32_t e = o.barrier("@0.e", 1, 0), e2 = o.barrier("@0.e2", 1, 0);
  o.wait(a, e, 0);
  o.arrive(b, e);
  o.arrive(b, e2);
  CHECK(broken_rules(o.program()) == std::set<std::string>{"D3"});
}

TEST_CASE("D2: an access and a copy to memory of an exited CTA; a cluster barrier cures both") {
  for (const bool cured : {false, true}) {
    OrchestrationBuilder o;
    const uint32_t a = o.agent(0), b = o.agent(1);
    const uint32_t x = o.memory(Space::shared, 0), f = o.barrier("@0.f", 1, 0);
    o.cluster(2);
    o.arrive_tx(a, f, 16);
    o.access(b, x, true);
    o.load(b, o.memory(Space::shared, 0, 64), f, 16);
    if (cured) {
      o.wait(a, f, 0);
      for (uint32_t s : {a, b}) {
        o.cluster_arrive(s);
        o.cluster_wait(s);
      }
    }
    const std::set<std::string> rules = broken_rules(o.program());
    CHECK(rules.count("D2") == (cured ? 0u : 1u));
    CHECK((!cured || rules.empty()));
  }
}
