// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/launch/launch.h"
#include "model/trace.h"
#include "sim/program.h"
#include "sim/recorder.h"

namespace turnstile::sim {

struct AtomicAnswer;  // launch_run.h

/// A word of global memory from which clusters draw tickets: one add of a constant after the other, so that
/// the i-th of all returns value(i), whoever comes for it (LF3). Tickets below `count` are tiles; whoever
/// draws one of the others draws no more.
struct TicketCounter {
  uint32_t buffer = 0;
  uint64_t offset = 0;
  uint8_t bytes = 4;
  uint64_t start = 0;  ///< what it holds before the launch
  uint64_t step = 1;   ///< added each time
  uint32_t place = 0;  ///< of the first draw, for reports
  uint64_t count = 0;
  // The thread of each cluster that draws: one alone, since its program order is the order of its tickets.
  uint16_t cta = 0, warp = 0;
  uint8_t lane = 0;

  uint64_t value(uint64_t ticket) const;
  bool overlaps(uint64_t begin, uint64_t end) const { return begin < offset + bytes && offset < end; }
  bool overlaps(const ByteRange& range) const;
  /// These are the bytes of the counter, and no others.
  bool is_whole(std::span<const ByteRange> ranges) const;
};

/// The word that gave this answer, as its first one: `count` is left open.
TicketCounter counter_of(const AtomicAnswer& first);

/// Whether what an atomic returns decides how the first cluster goes on, and clusters can be executed one by
/// one: only then who comes to counters, and when, is a question.
bool asks_counters(const Program& program, const Launch& launch);

/// The counter of this launch, as the run of the first cluster shows it if nobody else comes: it takes all
/// tickets, then one that is no tile. Nothing: it draws no tickets from one counter whose value is known.
/// That all tickets below `count` are alike, and all others, is left to the caller to show.
std::optional<TicketCounter> find_ticket_counter(const Program& program, const Launch& launch);

/// After a run with RunOptions::tickets: an unknown for each access to the counter that does not draw.
void note_other_accesses(const TicketCounter& counter, const Program& program, Recorder& recorder);

}  // namespace turnstile::sim
