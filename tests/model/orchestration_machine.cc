// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/model/orchestration_builder.h"
#include "tests/model/orchestration_explore.h"

using namespace turnstile;
using namespace turnstile::test;
using Step = OrchestrationMachine::Step;

TEST_CASE("a ring of two consumers ends in every schedule and breaks no rule") {
  const Orchestration program = ring(3, 2, 2);
  CHECK_FALSE(can_deadlock(program));
  CHECK(broken_rules(program).empty());
}

TEST_CASE("a producer that waits for nobody arrives too often on full, and can overtake its consumers") {
  const Orchestration program = ring(5, 2, 1, false);
  CHECK(broken_rules(program).count("MB15") == 1);
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
