// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/trace.h"
#include "sim/hash128.h"
#include "sim/tape_parts.h"

namespace turnstile::sim {

/// Pieces of traces, compared up to what counts up from piece to piece: numbers of operations, generations of
/// barriers, groups of queues are taken as differences to the last one seen of the same object, places in
/// global memory as functions of the cluster that is worked on (docs/theory.md, launch control).
class TraceShape {
 public:
  explicit TraceShape(const Trace& trace) : trace_(&trace) {}

  /// The same events have moved there.
  void moved_to(const Trace& trace) { trace_ = &trace; }
  /// Goes on to this event.
  void pass(size_t end);

  /// How the events up to `end` look from here, when `handed` clusters have been handed over; goes on there.
  /// Nothing: they do something that comes once, or access written memory in a way that has no name.
  std::optional<Hash128> piece(size_t end, std::span<const FootprintName> names,
                               std::span<const uint32_t> written, uint32_t handed);
  /// The same for the rest of the trace, with its end.
  std::optional<Hash128> rest(std::span<const FootprintName> names, std::span<const uint32_t> written,
                              uint32_t handed);

 private:
  struct Numbers {
    int64_t generation = 0, group = 0, own_group = 0, op = 0;
    uint64_t bytes = 0;
  };
  Numbers numbers_of(const Event& e);
  Hash128 ranges(uint32_t footprint);
  Hash128 event(const Event& e, std::span<const FootprintName> names, std::span<const uint32_t> written,
                uint32_t handed, bool& named);

  const Trace* trace_;
  std::vector<std::optional<Hash128>> ranges_;  ///< by footprint, of those that were asked for
  size_t at_ = 0;
  uint64_t ops_ = 0;
  std::map<std::pair<EventKind, uint32_t>, uint64_t> generations_;
  std::map<uint32_t, uint64_t> groups_;
  std::unordered_map<uint32_t, uint64_t> stores_;                 ///< of known values, by footprint
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> last_equal_;  ///< by footprint and value: which of them
};

/// Buffers that the events [begin, end) write, added to a sorted list.
void add_written(const Trace& trace, size_t begin, size_t end, std::vector<uint32_t>& written);

}  // namespace turnstile::sim
