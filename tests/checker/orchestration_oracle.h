// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/orchestration.h"

namespace turnstile::test {

/// What some schedule of an orchestration does. Never in production; shares no code with model/protocol/ or
/// checker/.
struct OrchestrationTruth {
  bool hang = false;
  bool race = false;     ///< two conflicting accesses possible in one state
  bool stale = false;    ///< a read finds another tag than it demands
  bool refused = false;  ///< an operation without a defined result; that schedule is not followed further
  bool dead = false;     ///< a CTA ends that is still a target, or is touched after it has ended
  uint64_t states = 0;

  bool fault() const { return hang || race || stale || refused || dead; }
  std::string text() const;
};

/// All interleavings by depth-first search over states (algorithms.md section 10): an operation is two steps,
/// its access and then its completion; an expect may complete a phase (Q19, P15). Nothing if there are more
/// states than the limit. Knows mbarriers (no inval), bulk loads and st.async, wgmma, bulk stores, cp.async,
/// tcgen05.mma, commit and ld with their groups and queues (queues of one strand, numbered in the order of
/// issue), accesses, named and cluster barriers, signals, pools, registers (all groups alike), exits; must
/// not be given anything else.
std::optional<OrchestrationTruth> explore_naively(const Orchestration& program, uint64_t limit);

}  // namespace turnstile::test
