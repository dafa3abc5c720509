// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "model/report.h"
#include "model/result.h"
#include "sim/arrivals.h"
#include "sim/program.h"

namespace turnstile::cli {

/// The clusters of a launch by the counters that tell them who is the last.
struct LastArrivers {
  std::vector<sim::Arrivals> groups;  ///< of clusters that come to one counter; empty: nothing to decide here
  std::vector<uint32_t> others;       ///< clusters that come to none
  std::optional<Note> why_not;        ///< there are counters, but one run for each last arriver does not do
};

/// Executes each cluster by itself, as if it came first, second, .. and last to its counter: what it does may
/// depend on whether it is the last, and on nothing else of that. `traces`: of the launch.
Result<LastArrivers> find_last_arrivers(const sim::Program& program, const Launch& launch, uint64_t traces,
                                        const std::function<bool()>& stop);

/// Says in the report for what the runs with each of them as the last one stand, and gives a sentence.
std::string conclude_last_arrivers(const LastArrivers& arrivers, Report& report);

}  // namespace turnstile::cli
