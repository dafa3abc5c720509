// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "sim/hash128.h"
#include "sim/program.h"

namespace turnstile::sim {

/// How the runs of one cluster differ by the number of clusters that launch control hands over to it, or of
/// tickets that it draws.
struct HandoverSurvey {
  /// Why they do not repeat; empty: from `start` handovers on, each run is that with `period` handovers
  /// fewer, with one round of the same `period` tiles put in, where which clusters are handed over is left
  /// open (docs/theory.md, launch control).
  std::string why_not;
  uint32_t start = 0, period = 0;
  uint32_t runs = 0;            ///< the runs with 0 to runs-1 handovers have to be decided; why_not empty
  std::vector<Hash128> kinds;   ///< of the parts (sim/tape_parts.h) of all runs with one handover or more
  std::vector<uint32_t> first;  ///< numbers of handovers whose run was the first of its kind, from 1
};

/// Executes the first cluster once for every number of handovers, from none to `most`. All of these runs are
/// one but for their ends, so that each end is executed in a process of its own that is forked off there.
/// `tickets`: it is these that are handed over, instead of clusters. `stop`: asked now and then. `progress`:
/// told how many of the numbers are done; may be empty.
HandoverSurvey survey_handovers(const Program& program, const Launch& launch, uint32_t most,
                                const TicketCounter* tickets, const std::function<bool()>& stop,
                                const std::function<void(uint32_t done)>& progress);

}  // namespace turnstile::sim
