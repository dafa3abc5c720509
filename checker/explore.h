// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/orchestration.h"
#include "model/protocol/orchestration_machine.h"

namespace turnstile::checker {

/// A schedule of an orchestration: its steps in order. What is not named has not happened.
using Schedule = std::vector<OrchestrationMachine::Step>;

/// Where a search stops without an answer (ALG-PF7: then nothing is clean).
struct SearchLimits {
  uint64_t states = 20'000'000;
  uint64_t bytes = uint64_t{1} << 30;  ///< of the state table
  double seconds = 20;                 ///< CPU time of this thread
};

/// What some schedule leads to.
struct SearchFault {
  enum class Kind : uint8_t {
    hang,     ///< no step is possible, and somebody has not ended
    race,     ///< after the schedule `first` and `second` are both possible; they conflict
    stale,    ///< the last step reads another tag than it demands
    refused,  ///< the last step breaks a rule: `rule`
  };
  static constexpr size_t kinds = 4;
  Kind kind = Kind::hang;
  Schedule schedule;
  OrchestrationMachine::Step first, second;  ///< race
  std::string rule;                          ///< refused: of semantics.md
};

struct SearchOptions {
  SearchLimits limits;
  bool reduce = true;  ///< steps that nothing else can notice go alone (independence.h)
  bool symmetry =
      true;  ///< of the states that differ by an exchange of equal strands one is kept (symmetry.h)
  bool all_kinds = false;                 ///< go on after a fault, until one of each kind is found
  std::optional<SearchFault::Kind> only;  ///< look for this kind of fault alone
  /// A tag that a read demands is compared (orchestration_bugs.md 1.1).
  bool tags = true;
  std::function<bool()> interrupted;  ///< asked now and then; true stops the search
};

struct SearchResult {
  std::vector<SearchFault> faults;  ///< in the order in which they were found, one of each kind
  /// Every state was visited (or, without all_kinds, every one before the fault).
  bool complete = false;
  /// The search was breadth first over all steps: no schedule to such a fault is shorter.
  bool shortest = false;
  /// Some schedule leads to where a strand's further course is not known (Strand::whole, polled_once), so
  /// that finding nothing means nothing.
  bool beyond_knowledge = false;
  std::string limit;  ///< why it stopped, if it is not complete
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint64_t bytes = 0;  ///< of the state table, at the end
};

/// Engine E3 (algorithms.md 7.3): breadth-first search over the states of an orchestration, which must have
/// passed orchestration_defect().
SearchResult explore(const Orchestration& program, const SearchOptions& options = {});

}  // namespace turnstile::checker
