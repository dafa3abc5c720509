// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/orchestration.h"

namespace turnstile::test {

/// Two conflicting accesses of one schedule, the later of which nothing made the earlier one visible to.
struct InvisibleConflict {
  uint32_t earlier = 0, later = 0;  ///< places
};

/// Runs random schedules, and keeps for each strand, barrier and operation the set of accesses that it may
/// rely on (semantics.md 2.7: HB1 to HB5, BK5, CA7, WG7, M7). Finds races by visibility, which a search over
/// interleavings does not see; nothing found proves nothing. The steps are those of OrchestrationMachine, the
/// sets are its own. Knows what sketches have, but exits that release barriers; no proxies.
std::optional<InvisibleConflict> invisible_conflict(const Orchestration& program, uint64_t seed,
                                                    unsigned schedules);

}  // namespace turnstile::test
