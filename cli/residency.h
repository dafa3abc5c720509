// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/launch/launch.h"
#include "model/report.h"
#include "model/result.h"
#include "sim/launch_run.h"

namespace turnstile::cli {

/// Whether the clusters of a launch can hang for want of slots (semantics.md F2): adds to the report what
/// `resident` clusters at a time mean for it. 0: all of them are resident, which is then said as a lint.
Result<void> judge_residency(const sim::Program& program, const Launch& launch, uint64_t resident,
                             Report& report);

}  // namespace turnstile::cli
