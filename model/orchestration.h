// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/trace.h"

namespace turnstile {

/// A program of agents, free of any schedule: what each strand does, in its program order, and what each
/// asynchronous operation does between issue and completion. A Trace is an Orchestration plus one schedule;
/// both front ends meet here: a .mimw text is one, and a trace of a kernel is cut into one (fragment K1 of
/// algorithms.md 3.1: what a strand does next does not depend on the schedule).
struct Orchestration {
  /// `generation` of waits and passes is not filled in: the schedule decides it. That of group_wait is: the
  /// group is part of the program.
  ///
  /// Strands that other strands create: `fork` with its own strand as object marks where a strand begins and
  /// waits until its parent's fork. `join` with its own strand as object, and count = the other strand, marks
  /// where the `join` of that strand meets it; the two pass together.
  ///
  /// `exit` with a count: so many threads (contributions of the cluster barrier) leave the barriers that
  /// count them (C5, N8). Without a count the strand is only at its end.
  struct Strand {
    std::vector<Event> events;
    bool whole = true;  ///< false: its trace ended while it was blocked, nobody knows how it goes on
  };

  /// Agents, barriers, queues, pools, signals, places, footprints, ops; `events`, `blocked`, `faults` are
  /// empty.
  Trace tables;
  std::vector<Strand> strands;  ///< by AgentId
  /// By index into tables.ops: async_access events, then async_complete. They happen in this order, after the
  /// issue, at times of the schedule's choosing; their accesses and completion are separate steps. A
  /// bulk_store has read its source (READ_DONE: what a wait with read_only waits for) with its last access
  /// that does not write, and is done (FULL) with async_complete. Empty: it is never issued in full, or
  /// nobody knows when it lands.
  std::vector<std::vector<Event>> operations;
  /// The arrivals in one CTA of the tcgen05.commit of one thread come in the order of issue (tensor_queue.h).
  bool commits_in_order = true;
};

/// The agents of a trace. A strand that was blocked at the end has the wait that blocks it as its last event,
/// and is not whole; so is every strand if the trace ended with a fault or at a limit. Strand numbers that
/// the trace re-uses become separate strands where re-use would order what the program does not.
Orchestration orchestration_of(const Trace& trace);

}  // namespace turnstile
