// SPDX-License-Identifier: Apache-2.0
// Orchestrations under schedules, and traces that are cut into orchestrations again.
#include <doctest/doctest.h>

#include "sim/orchestration_run.h"
#include "tests/model/orchestration_builder.h"

using namespace turnstile;
using namespace turnstile::test;
using sim::run_orchestration;
using sim::Schedule;
using MachineStep = OrchestrationMachine::Step;

namespace {

bool same(const Event& a, const Event& b) {
  return a.kind == b.kind && a.flags == b.flags && a.agent == b.agent && a.object == b.object &&
         a.count == b.count && a.bytes == b.bytes && a.footprint == b.footprint;
}

bool same(const std::vector<Event>& a, const std::vector<Event>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Event& x, const Event& y) { return same(x, y); });
}

Event event(EventKind kind, uint16_t agent, uint32_t object = 0, uint32_t count = 0, uint8_t flags = 0) {
  Event e;
  e.kind = kind;
  e.agent.v = agent;
  e.object = object;
  e.count = count;
  e.flags = flags;
  return e;
}

}  // namespace

TEST_CASE("every policy executes all of a correct ring, and its trace is the ring again") {
  const Orchestration program = ring(5, 2, 2);
  for (const auto policy : {Schedule::Policy::bursts, Schedule::Policy::eager, Schedule::Policy::round_robin,
                            Schedule::Policy::random})
    for (const bool backwards : {false, true}) {
      Schedule s;
      s.policy = policy;
      s.backwards = backwards;
      s.seed = 7;
      const Trace t = run_orchestration(program, s);
      CHECK(t.blocked.empty());
      CHECK(t.faults.empty());
      CHECK(t.unknowns.empty());
      const Orchestration again = orchestration_of(t);
      REQUIRE(again.strands.size() == program.strands.size());
      for (size_t i = 0; i < program.strands.size(); ++i) {
        CHECK(again.strands[i].whole);
        CHECK(same(again.strands[i].events, program.strands[i].events));
      }
      for (size_t i = 0; i < program.operations.size(); ++i)
        CHECK(same(again.operations[i], program.operations[i]));
    }
}

TEST_CASE("a wait says how many completions it has seen") {
  const Trace t = run_orchestration(ring(4, 2, 1));
  uint64_t most = 0;
  for (const Event& e : t.events)
    if (e.kind == EventKind::mbarrier_wait) {
      CHECK((e.generation + 1) % 2 == e.count % 2);
      most = std::max(most, e.generation);
    }
  CHECK(most == 2);
}

TEST_CASE("strands that nobody answers are blocked, and are not whole when the trace is cut") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent();
  const uint32_t e = o.barrier("e", 2);
  o.arrive(a, e);
  o.wait(a, e, 0);
  o.event(b, EventKind::exit);
  const Trace t = run_orchestration(o.program());
  REQUIRE(t.blocked.size() == 1);
  CHECK(t.blocked[0].agent.v == a);
  CHECK(t.blocked[0].count == 0);
  const Orchestration again = orchestration_of(t);
  CHECK_FALSE(again.strands[a].whole);
  CHECK(again.strands[b].whole);
  CHECK(same(again.strands[a].events, o.program().strands[a].events));
}

TEST_CASE("a step without a defined result ends the execution") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent();
  const uint32_t e = o.barrier("e", 1);
  o.arrive(a, e, 2);
  o.arrive(a, e);
  const Trace t = run_orchestration(o.program());
  REQUIRE(t.faults.size() == 1);
  CHECK(t.faults[0].rule == "MB15");
  CHECK(t.faults[0].subject == "e");
  CHECK(t.events.size() == 1);
}

TEST_CASE("a schedule that is given is followed; one that is not possible is an unknown") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent();
  const uint32_t e = o.barrier("e", 1);
  o.wait(a, e, 0);
  o.arrive(b, e);
  o.arrive(b, e);
  Schedule s;
  s.steps = {{MachineStep::Kind::strand, b}, {MachineStep::Kind::strand, b}};
  CHECK(run_orchestration(o.program(), s).blocked.size() == 1);  // a is overtaken
  s.steps.resize(1);
  s.steps.push_back({MachineStep::Kind::strand, a});
  CHECK(run_orchestration(o.program(), s).blocked.empty());
  s.steps = {{MachineStep::Kind::strand, a}};
  CHECK(run_orchestration(o.program(), s).unknowns.size() == 1);
}

TEST_CASE("the step limit is an unknown, not a hang") {
  Schedule s;
  s.step_limit = 10;
  const Trace t = run_orchestration(ring(5, 2, 2), s);
  CHECK(t.events.size() == 10);
  CHECK(t.blocked.empty());
  CHECK(t.unknowns.size() == 1);
}

TEST_CASE("strands that fork and join run again in the order that forks and joins demand") {
  Trace t;
  t.places.resize(1);
  t.agents.resize(3);
  t.barriers.push_back({0, 0, "e", 9});
  const uint8_t memory = Event::memory;
  for (int i = 0; i < 2; ++i) {  // strand 2 is absorbed by 0, and started again by it
    t.events.push_back(event(EventKind::fork, 0, 2));
    t.events.push_back(event(EventKind::mbarrier_arrive, 2, 0, 1, Event::release));
    t.events.push_back(event(EventKind::mbarrier_arrive, 0, 0, 1, Event::release));
    t.events.push_back(event(EventKind::join, 0, 2, 0, memory));
  }
  t.events.push_back(event(EventKind::fork, 1, 2));  // and by another: a new strand
  t.events.push_back(event(EventKind::exit, 2));
  t.events.push_back(event(EventKind::exit, 1));
  t.events.push_back(event(EventKind::exit, 0));
  const Orchestration program = orchestration_of(t);
  REQUIRE(orchestration_defect(program) == "");
  CHECK(program.strands.size() == 4);
  OrchestrationMachine m(program);
  CHECK_FALSE(m.is_enabled({MachineStep::Kind::strand, 2}));  // not before its fork
  for (const bool backwards : {false, true}) {
    Schedule s;
    s.backwards = backwards;
    const Trace again = run_orchestration(program, s);
    CHECK(again.blocked.empty());
    CHECK(again.unknowns.empty());
    CHECK(again.events.size() == t.events.size());
  }
}
