// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/launch_run.h"
#include "sim/memory.h"

namespace turnstile::sim {

/// Runs CTAs over given global memory, which keeps what they wrote.
Result<RunResult> run_ctas(const Program& program, const Launch& launch, const RunOptions& options,
                           GlobalMemory& global);

}  // namespace turnstile::sim
