// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/launch/launch.h"
#include "model/report.h"
#include "model/result.h"
#include "sim/program.h"
#include "sim/tickets.h"

namespace turnstile::cli {

/// Whether the tickets that clusters draw from a counter can be decided like clusters that launch control
/// hands over (docs/theory.md, tickets).
struct TicketScheduler {
  std::optional<sim::TicketCounter> counter;
  std::optional<Note> why_not;  ///< there is a counter, but they cannot
};

/// Of a launch that asks counters (sim::asks_counters). `traces`: of it.
Result<TicketScheduler> find_tickets(const sim::Program& program, const Launch& launch, uint64_t traces);

}  // namespace turnstile::cli
