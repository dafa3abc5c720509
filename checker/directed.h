// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checker/check.h"
#include "checker/explore.h"
#include "model/orchestration.h"
#include "model/trace.h"

namespace turnstile::checker {

/// One execution of an orchestration that somebody steers.
struct Execution {
  Schedule schedule;              ///< one step an event
  Trace trace;                    ///< tables, events, blocked, faults
  bool beyond_knowledge = false;  ///< it ended where a strand's further course is not known
  bool followed = true;           ///< every step of the given prefix was possible
  std::string limit;              ///< why it was cut short
};

/// How an execution goes on when its prefix is used up.
struct Continuation {
  enum class Order : uint8_t { forwards, backwards } order = Order::forwards;
  bool land_early = false;     ///< operations land before every step; else when no strand can move
  uint32_t last = 0xffffffff;  ///< a strand that moves only when nothing else can
};

/// Executes a prefix, then goes on until nothing can move, or a step has no defined result.
Execution steer(const Orchestration& program, const Schedule& prefix, const Continuation& then,
                uint64_t step_limit = 4'000'000);

/// Executes a schedule and nothing more; strands are `blocked` in its trace if nothing can move then.
Execution follow(const Orchestration& program, const Schedule& schedule);

/// A schedule on which a broken condition of the certificate does harm.
struct Directed {
  Execution execution;    ///< the whole of it
  Diagnostic harm;        ///< the first finding about that execution that rests on no condition
  std::string condition;  ///< "ALG-D2"; empty: the program does so under an ordinary schedule
  uint32_t object = 0;    ///< barrier of the condition
};

/// A finding that says only that a condition of the certificate does not hold.
bool rests_on_condition(const Diagnostic& d);

/// Does a report say this already, of its own run and without a broken condition?
bool established(const Report& report, const Diagnostic& d);

/// Engine E4 (algorithms.md section 9): schedules are built from the conditions that one run breaks, without
/// any search. `known`: what that run says; a finding that is established there is no harm of another
/// schedule. Begins no further schedule after so many seconds. Nothing: none of them does harm, which proves
/// nothing.
std::optional<Directed> direct(const Orchestration& program, const CheckOptions& options, const Report& known,
                               double seconds = 10);

}  // namespace turnstile::checker
