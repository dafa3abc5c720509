// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/launch_run.h"
#include "sim/memory.h"

namespace turnstile::sim {

struct SumLog;

/// Runs CTAs over given global memory, which keeps what they wrote. With `log`, explains one element.
Result<RunResult> run_ctas(const Program& program, const Launch& launch, const RunOptions& options,
                           GlobalMemory& global, SumLog* log = nullptr);

}  // namespace turnstile::sim
