// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/launch/launch.h"
#include "model/result.h"
#include "sim/launch_run.h"

namespace turnstile::sim {

/// How many clusters of a launch have to be resident at the same time (semantics.md F2): clusters are
/// launched in any order, and one that has not started may wait for a slot until another ends. Both bounds
/// are 1 where no cluster waits for another.
struct Residency {
  uint64_t clusters = 1;
  uint64_t at_least = 1;  ///< with fewer, there is an order of launching that hangs
  uint64_t at_most = 1;   ///< with so many, no order hangs for want of a slot
  bool decided = true;    ///< false: an execution stopped early, the bounds are 1 and all
};

/// Executes parts of the launch, in the control domain, and looks at which clusters get stuck without the
/// others. Cost: each cluster once by itself, and a few times nearly all of them.
Result<Residency> needed_residency(const Program& program, const Launch& launch);

}  // namespace turnstile::sim
