// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"
#include "sim/timeline/timeline.h"

namespace turnstile::sim {

/// Something that has ended, and what it had to wait for last: the time between the two ends went to `use`.
struct TimelineNode {
  static constexpr uint32_t none = 0xffffffff;
  uint64_t end = 0;
  uint32_t before = none;
  TimeUse use = TimeUse::work;
  uint32_t track = 0;
  uint32_t place = 0;
  uint32_t span = none;  ///< into Timeline::spans
};

/// A span that waits, and the node that ended the wait.
struct StallSeen {
  uint32_t span = 0;
  uint32_t cause = TimelineNode::none;
};

/// The longest path is the chain of predecessors of the node that ends last.
void mark_critical_path(const std::vector<TimelineNode>& nodes, uint32_t last, Timeline& timeline);

/// Sums up waits by who waits and for what.
void list_stalls(const Trace& trace, const std::vector<TimelineNode>& nodes,
                 const std::vector<StallSeen>& seen, Timeline& timeline);

/// Spans by track, in order of time; references to them follow.
void sort_spans(Timeline& timeline);

}  // namespace turnstile::sim
