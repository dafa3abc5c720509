// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "checker/check.h"
#include "checker/narrative.h"
#include "checker/observations.h"
#include "checker/run_state.h"

namespace turnstile::checker {

/// How much a finding explains: causes before consequences (algorithms.md 7.2: "a message of E0 names the
/// cause"). Findings are shown in this order, within one rank in the order of the run.
enum class Rank : uint8_t {
  illegal,         ///< out of bounds, illegal operands
  initialisation,  ///< barrier used before it is visibly initialised
  bytes,           ///< expected and issued bytes differ
  named_barrier,
  early_release,  ///< a stage is released while an operation of the releasing warp still uses it
  stale,          ///< a generation consumed twice
  certificate,    ///< D1 to D5
  refused,        ///< what the barrier's state machine does not allow: mostly the end of a longer story
  data,           ///< races and missing fences
  resource,
  hang,
  lifetime,
  unfenced_read,  ///< PX2: real, and rare
  advice,
};

struct Ranked {
  Rank rank = Rank::advice;
  size_t event = 0;
  Diagnostic diagnostic;
};

/// What the explanations share.
struct Story {
  const Trace& trace;
  const Observations& seen;
  const CheckOptions& options;
  Names names;
  History history;

  const Event& event(size_t i) const { return trace.events[i]; }
  uint32_t warp(size_t i) const { return warp_key(trace.agents[trace.events[i].agent.v]); }
  std::string who(size_t i) const { return names.warp(trace.events[i].agent); }
  std::string line(size_t i) const { return names.line(trace.events[i].place); }
  Note at(size_t i, std::string text) const { return names.note(trace.events[i].place, std::move(text)); }
};

/// Who let the next phase of a barrier begin: the waits of those who contributed to it, and the arrivals that
/// these waits were for.
struct Refill {
  size_t guard_wait = no_event;
  std::vector<size_t> releases;  ///< one arrival per warp
};

Refill refill_of(const Story& story, uint32_t barrier, uint64_t generation);

void explain_breaches(const Story& story, std::vector<Ranked>& out);  ///< D1 to D5
void explain_accesses(const Story& story, std::vector<Ranked>& out);  ///< races, fences, overwritten data
void explain_protocol(
    const Story& story,
    std::vector<Ranked>& out);  ///< initialisation, bytes, named barriers, groups, registers
void explain_mechanisms(const Story& story, std::vector<Ranked>& out);  ///< Misuse of the smaller mechanisms
void explain_faults(const Story& story, std::vector<Ranked>& out);      ///< where the execution had to stop
void explain_hang(const Story& story, std::vector<Ranked>& out);        ///< hang.cc

}  // namespace turnstile::checker
