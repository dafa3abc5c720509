// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker/clocks.h"
#include "checker/observations.h"
#include "model/trace.h"

namespace turnstile::checker {

/// What the parts of the single run share: the trace, what every strand knows so far, and what was seen.
struct RunState {
  RunState(const Trace& t, const Lanes& l, const Views& v, Observations& s)
      : trace(t), lanes(l), views(v), strands(l, v, t.agents.size()), seen(s) {}

  const Trace& trace;
  Lanes lanes;
  Views views;
  KnowledgeTable strands;
  Observations& seen;
  size_t now = 0;  ///< event under way

  /// The present of a strand. Only synchronisation moves it on, so that the accesses in between share one
  /// epoch.
  Epoch here(uint32_t strand) const { return {strand, strands.row(strand, Views::causal)[strand]}; }

  /// After everything that others can learn from or that a condition names: exactly one such event has each
  /// epoch.
  void tick(uint32_t strand) {
    ++strands.row(strand, Views::causal)[strand];
    ++strands.row(strand, Views::order)[strand];
  }
};

}  // namespace turnstile::checker
