// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "model/protocol/orchestration_machine.h"

namespace turnstile::test {

/// Every state that can be reached; calls `look` in each. Returns how many there are.
template <typename Look>
size_t explore_all(const Orchestration& program, Look look, size_t limit = 200'000) {
  REQUIRE(orchestration_defect(program) == "");
  OrchestrationMachine m(program);
  std::set<std::vector<uint8_t>> known;
  std::vector<std::vector<uint8_t>> open;
  std::vector<uint8_t> bytes;
  m.save(bytes);
  known.insert(bytes);
  open.push_back(bytes);
  std::vector<OrchestrationMachine::Step> steps;
  while (!open.empty()) {
    const std::vector<uint8_t> from = open.back();
    open.pop_back();
    m.load(from);
    m.enabled(steps);
    look(m, steps);
    for (const OrchestrationMachine::Step& s : steps) {
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

/// Some schedule ends with a strand that has not.
inline bool can_deadlock(const Orchestration& program) {
  bool stuck = false;
  explore_all(program,
              [&](const OrchestrationMachine& m, const std::vector<OrchestrationMachine::Step>& steps) {
                stuck |= steps.empty() && !m.strands_ended();
              });
  return stuck;
}

/// Every schedule does.
inline bool must_deadlock(const Orchestration& program) {
  bool ends = false;
  explore_all(program, [&](const OrchestrationMachine& m, const std::vector<OrchestrationMachine::Step>&) {
    ends |= m.strands_ended();
  });
  return !ends;
}

/// Rules broken in any schedule.
inline std::set<std::string> broken_rules(const Orchestration& program) {
  std::set<std::string> rules;
  explore_all(program,
              [&](const OrchestrationMachine& m, const std::vector<OrchestrationMachine::Step>& steps) {
                for (const OrchestrationMachine::Step& s : steps) {
                  OrchestrationMachine copy = m;
                  Event e;
                  for (const Fault& f : copy.take(s, e)) rules.insert(f.rule);
                }
              });
  return rules;
}

}  // namespace turnstile::test
