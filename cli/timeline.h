// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/text.h"
#include "model/launch/launch.h"
#include "model/result.h"
#include "model/trace.h"
#include "sim/timeline/grid.h"
#include "sim/timeline/timeline.h"

namespace turnstile::cli {

/// `simulate --timeline`: the times of one CTA (with its cluster), and of the launch if all do as it does. An
/// estimate.
struct LaunchTimeline {
  Trace trace;
  sim::LatencyModel model;
  sim::Timeline timeline;
  sim::GridEstimate grid;
  uint32_t cta = 0;
  std::string problem;  ///< not empty: the execution did not reach its end, and there is no timeline
  bool undecided =
      false;  ///< of such a problem: the launch does not say, rather than the kernel being at fault
};

/// Executes the CTA of that number (x fastest). An Error is a fault of the input.
Result<LaunchTimeline> timeline_of(const Launch& launch, uint32_t cta);

/// Text for the terminal. `file`: where the picture went.
std::string render_timeline(const Launch& launch, const LaunchTimeline& result, const std::string& file,
                            const Style& style);

/// The picture, in the trace event format that ui.perfetto.dev and chrome://tracing open.
std::string trace_events_of(const LaunchTimeline& result);

}  // namespace turnstile::cli
