// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/orchestration.h"
#include "model/protocol/orchestration_machine.h"
#include "model/trace.h"

namespace turnstile::sim {

/// In which order the steps of an orchestration are taken.
struct Schedule {
  enum class Policy : uint8_t {
    bursts,       ///< each strand until it blocks; an operation lands when no strand can move
    eager,        ///< as bursts, but what is in flight lands before every step
    round_robin,  ///< one step of each strand in turn; an operation lands when no strand can move
    random,       ///< any step that is possible, chosen by `seed`
  };
  /// Taken first, in this order (a witness to replay). One that is not possible ends the list, and the trace
  /// says so.
  std::vector<OrchestrationMachine::Step> steps;
  Policy policy = Policy::bursts;
  bool backwards = false;  ///< strands from the last to the first (bursts, eager, round_robin)
  uint64_t seed = 0;
  uint64_t step_limit = 16'000'000;
};

/// The trace of one execution of the orchestration under a schedule. It ends when nothing can move (strands
/// that have not ended are `blocked`), with the first step that has no defined result (a Fault), or at the
/// limit (an Unknown). Leaks, surplus arrivals and other remarks of the machine are left to the checker. The
/// program must have passed orchestration_defect().
Trace run_orchestration(const Orchestration& program, const Schedule& schedule = {});

}  // namespace turnstile::sim
