// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/model/orchestration_builder.h"

using namespace turnstile;
using namespace turnstile::test;
using Step = OrchestrationMachine::Step;

namespace {

/// Every state that can be reached; calls `look` in each.
template <typename Look>
size_t explore(const Orchestration& program, Look look, size_t limit = 200'000) {
  REQUIRE(orchestration_defect(program) == "");
  OrchestrationMachine m(program);
  std::set<std::vector<uint8_t>> known;
  std::vector<std::vector<uint8_t>> open;
  std::vector<uint8_t> bytes;
  m.save(bytes);
  known.insert(bytes);
  open.push_back(bytes);
  std::vector<Step> steps;
  while (!open.empty()) {
    const std::vector<uint8_t> from = open.back();
    open.pop_back();
    m.load(from);
    m.enabled(steps);
    look(m, steps);
    for (const Step& s : steps) {
      m.load(from);
      Event e;
      m.take(s, e);
      if (m.stopped()) continue;
      m.save(bytes);
      if (known.insert(bytes).second) open.push_back(bytes);
      REQUIRE(known.size() < limit);
    }
  }
  return known.size();
}

bool can_deadlock(const Orchestration& program) {
  bool stuck = false;
  explore(program, [&](const OrchestrationMachine& m, const std::vector<Step>& steps) {
    stuck |= steps.empty() && !m.strands_ended();
  });
  return stuck;
}

/// Rules broken in any schedule.
std::set<std::string> broken(const Orchestration& program) {
  std::set<std::string> rules;
  OrchestrationMachine probe(program);
  explore(program, [&](const OrchestrationMachine& m, const std::vector<Step>& steps) {
    for (const Step& s : steps) {
      OrchestrationMachine copy = m;
      Event e;
      for (const Fault& f : copy.take(s, e)) rules.insert(f.rule);
    }
  });
  return rules;
}

}  // namespace

TEST_CASE("a ring of two consumers ends in every schedule and breaks no rule") {
  const Orchestration program = ring(3, 2, 2);
  CHECK_FALSE(can_deadlock(program));
  CHECK(broken(program).empty());
}

TEST_CASE("a producer that waits for nobody arrives too often on full, and can overtake its consumers") {
  const Orchestration program = ring(5, 2, 1, false);
  CHECK(broken(program).count("MB15") == 1);
  CHECK(can_deadlock(program));
}

TEST_CASE("a state that is saved and loaded goes on as the original") {
  const Orchestration program = ring(4, 2, 2);
  OrchestrationMachine a(program), b(program);
  std::vector<uint8_t> bytes, again;
  std::vector<Step> steps, same;
  for (size_t i = 0;; ++i) {
    a.save(bytes);
    b.load(bytes);
    b.save(again);
    REQUIRE(bytes == again);
    a.enabled(steps);
    b.enabled(same);
    REQUIRE(steps == same);
    if (steps.empty()) break;
    Event e;
    CHECK(a.take(steps[i * 7919 % steps.size()], e).empty());
  }
  CHECK(a.strands_ended());
  CHECK(bytes.size() <= 40);
}
