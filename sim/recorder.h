// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/trace.h"

namespace turnstile::sim {

class PositionTracker;

/// Writes the Trace of one machine: numbers strands, interns footprints, counts against the event limit.
class Recorder {
 public:
  explicit Recorder(uint64_t event_limit) : event_limit_(event_limit) {}

  Trace& trace() { return trace_; }
  const Trace& trace() const { return trace_; }
  Event& add(EventKind kind, AgentId agent, uint32_t place);
  /// From now on the trace says what agents executed between their events (Trace::work).
  void count_work() { counts_work_ = true; }
  void work(AgentId agent, uint32_t amount);
  bool full() const { return trace_.events.size() >= event_limit_; }

  /// The footprint with exactly these ranges (sorted, disjoint), new or known.
  uint32_t footprint(Space space, uint32_t allocation, std::span<const ByteRange> ranges);

  /// A strand number for a warp: a free one of that warp, or a new one.
  AgentId take_agent(uint16_t cta, uint16_t warp, const std::string& role);
  void release_agent(AgentId agent);

  uint32_t add_queue(const QueueInfo& info);
  uint32_t add_barrier(const BarrierInfo& info);
  uint32_t add_op(const AsyncOp& op);
  /// Once for each place and message.
  void unknown(uint32_t place, std::string message, std::string help);
  void fault(AgentId agent, uint32_t place, std::string rule, std::string message, std::string help);

  /// Is told of each footprint in global memory; may be null.
  PositionTracker* positions = nullptr;

 private:
  Trace trace_;
  uint64_t event_limit_;
  bool counts_work_ = false;
  std::vector<uint32_t> work_;  ///< by agent, since its last event
  std::unordered_map<uint64_t, std::vector<uint32_t>> footprints_by_hash_;
  std::unordered_map<uint32_t, std::vector<AgentId>> free_agents_;  ///< by CTA and warp
};

/// Sorts ranges and joins those that touch. Plain ranges only.
void normalise(std::vector<ByteRange>& ranges);

}  // namespace turnstile::sim
