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
  struct Strand {
    std::vector<Event>
        events;         ///< `generation` of waits and passes is not filled in: the schedule decides it
    bool whole = true;  ///< false: it was blocked when its trace ended, nobody knows how it goes on
  };

  /// Agents, barriers, queues, pools, signals, places, footprints, ops; `events`, `blocked`, `faults` are
  /// empty.
  Trace tables;
  std::vector<Strand> strands;  ///< by AgentId
  /// By index into tables.ops: async_access events, then async_complete. They happen in this order, after the
  /// issue, at times of the schedule's choosing; their accesses and completion are separate steps.
  std::vector<std::vector<Event>> operations;
};

}  // namespace turnstile
