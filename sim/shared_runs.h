// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/launch/launch.h"
#include "sim/launch_run.h"
#include "sim/program.h"

namespace turnstile::sim {

/// A run of the first cluster with one number of handovers.
struct HandedRun {
  uint32_t handed = 0;
  Trace trace;
  std::shared_ptr<const PositionTape> tape;
};

/// Executes the first cluster with each of these numbers of handovers (sorted), all of which are one run but
/// for their ends (sim/forked.h). `judge` sees each in a process of its own, which has what this one has at
/// that time, and gives what `told` gets here before the next; empty: it has to be executed by itself.
void share_runs(const Program& program, const Launch& launch, const RunOptions& options,
                std::span<const uint32_t> numbers,
                const std::function<std::vector<uint64_t>(HandedRun run)>& judge,
                const std::function<void(uint32_t handed, const std::vector<uint64_t>& words)>& told);

}  // namespace turnstile::sim
