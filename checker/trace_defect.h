// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "model/event_object.h"
#include "model/trace.h"

namespace turnstile::checker {

/// First reason why a trace cannot be used: an index out of range, or more lanes than we keep clocks for.
/// Empty if there is none.
std::string trace_defect(const Trace& trace);

/// The same for everything but the events.
std::string table_defect(const Trace& trace);

/// The same for events, some at a time: who goes over them anyway looks at each piece first, while it is in
/// the cache.
class EventDefects {
 public:
  explicit EventDefects(const Trace& trace);
  /// Null: none.
  const char* find(std::span<const Event> events) const;

 private:
  EventBounds bounds_;
  size_t agents_, places_;
};

/// Events are gone over in pieces of this many, each by all who look at it, while it is in the cache.
inline constexpr size_t events_a_piece = 256;

/// Asks for the event one piece further on, which is not in the cache yet.
inline void fetch_ahead(std::span<const Event> events, size_t i) {
  __builtin_prefetch(&events[std::min(i + events_a_piece, events.size() - 1)]);
}

}  // namespace turnstile::checker
