// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/launch/launch.h"
#include "sim/launch_run.h"

namespace turnstile::sim {

/// How many traces all CTAs of a launch leave: one for each cluster, or one for all of them if they wait for
/// each other through flags in global memory and are few enough.
uint64_t trace_count(const Program& program, const Launch& launch);

/// A CTA of the trace with this number; named in RunOptions::ctas, it brings all others of that trace.
uint32_t cta_of_trace(const Program& program, const Launch& launch, uint64_t trace);

/// Whether the kernel asks launch control for clusters that have not started (CL1).
bool takes_clusters(const Program& program);

/// CTAs per cluster as the kernel runs: the launch file's, or what the kernel requires (.reqnctapercluster).
Dim3 cluster_shape(const Program& program);

}  // namespace turnstile::sim
