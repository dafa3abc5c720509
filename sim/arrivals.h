// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/memory.h"
#include "sim/program.h"
#include "sim/tickets.h"

namespace turnstile::sim {

/// A word of global memory to which each of some clusters comes once, with an add of a constant that tells it
/// how many were there before: the semaphore of a split-K kernel, whose last arriver adds up what all have
/// left. Which of them is the last is a choice that no schedule covers (LF3); with it, one run of all of them
/// together says the rest (docs/theory.md, last arrivers).
struct Arrivals {
  TicketCounter word;              ///< `count`: of these clusters
  std::vector<uint32_t> clusters;  ///< ascending
  uint32_t last = 0;               ///< index of the one that comes last in a run
};

/// After a run with RunOptions::arrivals: an unknown for each access that it does not cover.
void note_other_accesses(const Arrivals& arrivals, const Program& program, const GlobalMemory& global,
                         Recorder& recorder);

}  // namespace turnstile::sim
