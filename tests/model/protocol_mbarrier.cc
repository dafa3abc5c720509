// SPDX-License-Identifier: Apache-2.0
// mbarriers by the rule texts of semantics.md section 2 and the litmus list of section 18.
#include <doctest/doctest.h>

#include "model/protocol/mbarrier.h"
#include "tests/model/orchestration_builder.h"
#include "tests/model/orchestration_explore.h"

using namespace turnstile;
using namespace turnstile::test;
using MbarrierOutcome = Mbarrier::Outcome;

namespace {

Mbarrier fresh(uint32_t count) {
  Mbarrier b;
  CHECK(b.init(count) == MbarrierOutcome::ok);
  return b;
}

}  // namespace

TEST_CASE("LT1, W2: a fresh barrier lets parity 1 pass and blocks parity 0") {
  const Mbarrier b = fresh(1);
  CHECK(b.ready(1));
  CHECK_FALSE(b.ready(0));
}

TEST_CASE("LT2, MB24: an arrival before its expect completes the phase before the bytes") {
  Mbarrier b = fresh(1);
  CHECK(b.arrive(1) == MbarrierOutcome::completed);
  CHECK(b.expect_tx(16) == MbarrierOutcome::ok);
  CHECK(b.generation() == 1);
}

TEST_CASE("LT3, LT4, MB26: bytes may land before or after arrive.expect_tx of their phase") {
  Mbarrier after = fresh(1), before = fresh(1);
  CHECK(after.arrive_expect_tx(16) == MbarrierOutcome::ok);
  CHECK(after.complete_tx(16) == MbarrierOutcome::completed);
  CHECK(before.complete_tx(16) == MbarrierOutcome::ok);
  CHECK(before.tx() == -16);
  CHECK(before.arrive_expect_tx(16) == MbarrierOutcome::completed);
}

TEST_CASE("LT5, MB25: two expects hold the phase open only while an arrival is pending") {
  OrchestrationBuilder last;  // expect A, copy A, expect B, copy B, arrive
  const uint32_t p = last.agent(), c = last.agent();
  const uint32_t b = last.barrier("b", 1), x = last.memory(Space::shared, 0);
  for (int i = 0; i < 2; ++i) {
    last.event(p, EventKind::mbarrier_expect_tx, b, 0, 16);
    last.load(p, x, b, 16);
  }
  last.arrive(p, b);
  last.wait(c, b, 0);
  size_t early = 0;
  explore_all(last.program(), [&](const OrchestrationMachine& m, const auto&) {
    early += m.strand_ended(c) && !m.in_flight().empty() ? 1 : 0;
  });
  CHECK(early == 0);

  OrchestrationBuilder first;  // arrive.expect A, copy A, expect B, copy B
  const uint32_t q = first.agent(), d = first.agent();
  const uint32_t f = first.barrier("f", 1), y = first.memory(Space::shared, 0);
  first.arrive_tx(q, f, 16);
  first.load(q, y, f, 16);
  first.event(q, EventKind::mbarrier_expect_tx, f, 0, 16);
  first.load(q, y, f, 16);
  first.wait(d, f, 0);
  explore_all(first.program(), [&](const OrchestrationMachine& m, const auto&) {
    early += m.strand_ended(d) && !m.strand_ended(q) ? 1 : 0;  // in some schedules, not in all
  });
  CHECK(early > 0);
}

TEST_CASE("LT6, MB16: a consumer that does not arrive hangs the producer") {
  OrchestrationBuilder o;
  const uint32_t p = o.agent();
  const uint32_t e = o.barrier("empty", 2);
  o.agent();
  o.arrive(p, e);
  o.wait(p, e, 0);
  CHECK(must_deadlock(o.program()));
  OrchestrationMachine m(o.program());
  Event event;
  m.take({OrchestrationMachine::Step::Kind::strand, p}, event);
  REQUIRE(m.blocked().size() == 1);
  CHECK(m.blocked()[0].on == Blocked::On::mbarrier);
  CHECK(m.blocked()[0].object == e);
}

TEST_CASE("LT7, MB15: an extra arrival falls into the next phase, or breaks the open one") {
  Mbarrier b = fresh(2);
  b.arrive(1);
  CHECK(b.arrive(1) == MbarrierOutcome::completed);
  CHECK(b.arrive(1) == MbarrierOutcome::ok);  // counted where nobody meant it
  CHECK(b.pending() == 1);
  CHECK(b.arrive(2) == MbarrierOutcome::over_arrival);
  CHECK(b.pending() == 1);
}

TEST_CASE("LT8, LT9, S2: a waiter that polls late is overtaken and never wakes") {
  OrchestrationBuilder o;  // orchestration_bugs.md A8
  const uint32_t a = o.agent(), b = o.agent();
  const uint32_t e = o.barrier("e", 1);
  o.wait(a, e, 0);
  o.arrive(b, e);
  o.arrive(b, e);
  CHECK(can_deadlock(o.program()));
  CHECK_FALSE(must_deadlock(o.program()));
}

TEST_CASE("LT10, MB9, MB10: initialised twice, or used when it is not") {
  Mbarrier b = fresh(1);
  CHECK(b.init(1) == MbarrierOutcome::already_valid);
  CHECK(b.inval() == MbarrierOutcome::ok);
  CHECK(b.arrive(1) == MbarrierOutcome::invalid_object);
  CHECK(b.expect_tx(1) == MbarrierOutcome::invalid_object);
  CHECK(b.complete_tx(1) == MbarrierOutcome::invalid_object);
  CHECK(b.init(0) == MbarrierOutcome::bad_count);
  CHECK(b.init(Mbarrier::max_count + 1) == MbarrierOutcome::bad_count);
  CHECK(b.init(2) == MbarrierOutcome::ok);
  CHECK(b.generation() == 0);
}

TEST_CASE("MB9: two barriers at one address") {
  OrchestrationBuilder o;  // orchestration_bugs.md A13
  const uint32_t w = o.agent();
  const uint32_t a = o.barrier("A", 0), b = o.barrier("B", 0);
  o.program().tables.barriers[b].address = o.program().tables.barriers[a].address;
  o.event(w, EventKind::mbarrier_init, a, 1);
  o.event(w, EventKind::mbarrier_init, b, 1);
  CHECK(broken_rules(o.program()) == std::set<std::string>{"MB9"});
}

TEST_CASE("LT13, MB21: arrive_drop leaves later phases fewer arrivals, but never none") {
  Mbarrier b = fresh(2);
  CHECK(b.arrive_drop(1) == MbarrierOutcome::ok);
  CHECK(b.arrive(1) == MbarrierOutcome::completed);
  CHECK(b.pending() == 1);
  CHECK(b.arrive_drop(1) == MbarrierOutcome::dropped_to_zero);
  CHECK(broken_rule(MbarrierOutcome::dropped_to_zero) == "MB21");
}

TEST_CASE("LT14, MB22: arrive.noComplete must not complete") {
  Mbarrier b = fresh(2);
  CHECK(b.arrive_no_complete(1) == MbarrierOutcome::ok);
  CHECK(b.arrive_no_complete(1) == MbarrierOutcome::completes);
  CHECK(b.arrive(1) == MbarrierOutcome::completed);
}

TEST_CASE("MB20: cp.async.mbarrier.arrive raises the pending count at once and arrives later") {
  Mbarrier b = fresh(1);
  CHECK(b.raise_pending() == MbarrierOutcome::ok);
  CHECK(b.arrive(1) == MbarrierOutcome::ok);
  CHECK(b.arrive(1) == MbarrierOutcome::completed);
  CHECK(b.pending() == 1);
  Mbarrier full = fresh(Mbarrier::max_count);
  CHECK(full.raise_pending() == MbarrierOutcome::pending_overflow);
}

TEST_CASE("MB17: the transaction count stays within 2^20 - 1 bytes, both ways") {
  Mbarrier b = fresh(1);
  CHECK(b.expect_tx((1u << 20) - 1) == MbarrierOutcome::ok);
  CHECK(b.expect_tx(1) == MbarrierOutcome::tx_overflow);
  Mbarrier c = fresh(1);
  CHECK(c.complete_tx((1u << 20) - 1) == MbarrierOutcome::ok);
  CHECK(c.complete_tx(1) == MbarrierOutcome::tx_overflow);
}

TEST_CASE("W1: a state names the open phase or the one before") {
  Mbarrier b = fresh(1);
  const Mbarrier::State s = b.state();
  CHECK(b.ready(s) == Mbarrier::StateAnswer::pending);
  b.arrive(1);
  CHECK(b.ready(s) == Mbarrier::StateAnswer::ready);
  b.arrive(1);
  CHECK(b.ready(s) == Mbarrier::StateAnswer::too_old);
  uint32_t count = 0;
  CHECK_FALSE(Mbarrier::pending_count(s, count));
  CHECK(Mbarrier::pending_count(b.state(true), count));
  CHECK(count == 1);
}

TEST_CASE("LT15, MB30: a multicast needs an expect in each destination CTA") {
  for (const bool both : {false, true}) {
    OrchestrationBuilder o;
    const uint32_t a = o.agent(0), b = o.agent(1);
    const uint32_t f0 = o.barrier("@0.f", 1, 0), f1 = o.barrier("@1.f", 1, 1);
    o.arrive_tx(a, f0, 16);
    if (both) o.arrive_tx(b, f1, 16);
    o.load(a, o.memory(Space::shared, 0), f0, 16);
    o.load(a, o.memory(Space::shared, 1), f1, 16);
    o.wait(a, f0, 0);
    o.wait(b, f1, 0);
    CHECK(must_deadlock(o.program()) == !both);
  }
}

TEST_CASE("MB7, MB8, W5: remote init, remote wait, parity 2") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(0), b = o.agent(1), c = o.agent(0);
  const uint32_t x = o.barrier("x", 1, 0), y = o.barrier("y", 0, 0);
  o.event(b, EventKind::mbarrier_init, y, 1);
  o.wait(c, x, 2);
  o.wait(a, x, 1);
  CHECK(broken_rules(o.program()) == std::set<std::string>{"MB7", "W5"});
  OrchestrationBuilder r;
  const uint32_t w = r.agent(1);
  r.agent(0);
  r.wait(w, r.barrier("z", 1, 0), 1);
  CHECK(broken_rules(r.program()) == std::set<std::string>{"MB8"});
}
