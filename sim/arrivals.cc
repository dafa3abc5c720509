// SPDX-License-Identifier: Apache-2.0
#include "sim/arrivals.h"

#include <algorithm>

#include "sim/handlers.h"
#include "sim/memory.h"

namespace turnstile::sim {

void note_other_accesses(const Arrivals& arrivals, const Program& program, const GlobalMemory& global,
                         Recorder& recorder) {
  const TicketCounter& word = arrivals.word;
  const Trace& trace = recorder.trace();
  enum : uint8_t { elsewhere, on_word, on_values };
  std::vector<uint8_t> where(trace.footprints.size(), elsewhere);
  for (size_t f = 0; f < where.size(); ++f) {
    const Footprint& footprint = trace.footprints[f];
    if (footprint.space != Space::global) continue;
    const auto ranges = std::span(trace.ranges).subspan(footprint.first_range, footprint.range_count);
    const bool of_word =
        footprint.allocation == word.buffer &&
        std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) { return word.overlaps(r); });
    if (of_word)
      where[f] = on_word;
    else if (global.gives_values(footprint.allocation))
      where[f] = on_values;
  }
  std::vector<std::pair<uint32_t, std::string_view>> reasons;
  for (const Event& e : trace.events) {
    const bool async = e.kind == EventKind::async_access;
    if (e.kind != EventKind::access && !async) continue;
    const uint32_t place = async ? trace.ops[e.object].place : e.place;
    std::string_view reason;
    if (where[e.footprint] == on_values && e.has(Event::write))
      reason =
          "a buffer whose values may decide something is written here, and which CTA sees that depends on "
          "the "
          "schedule (LF3)";
    // Weak accesses to the word race, or come after all arrivals; atomics were looked at when they came.
    if (where[e.footprint] == on_word &&
        (async || (e.has(Event::atomic) && program.code[place].run != exec_atomic)))
      reason =
          "the counter that tells who is the last is accessed here in another way: what it holds then "
          "depends "
          "on the order of the CTAs (LF3)";
    if (!reason.empty() &&
        std::find(reasons.begin(), reasons.end(), std::pair(place, reason)) == reasons.end())
      reasons.emplace_back(place, reason);
  }
  for (const auto& [place, reason] : reasons) recorder.unknown(place, std::string(reason), {});
}

}  // namespace turnstile::sim
