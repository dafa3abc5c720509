// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "checker/check.h"
#include "checker/explore.h"
#include "checker/witness.h"
#include "model/orchestration.h"

namespace turnstile {

struct DecideOptions {
  CheckOptions check;
  checker::SearchLimits search;  ///< of E3, where E4 finds nothing
  double shorten_seconds = 1;    ///< for making a witness that is known the shortest
  bool briefly = false;          ///< errors are known, or time is up: no long search
  std::string raise_limits;      ///< how the user allows a longer search, for the reason that it was stopped
  std::function<bool()> interrupted;
};

struct Decision {
  Report report;
  /// Of the first finding that does not show under every schedule. Its `input` is the caller's to fill in.
  std::optional<Witness> witness;
};

/// The portfolio of algorithms.md 7.1: E1; if its conditions hold, its report is the answer, at no further
/// cost. Else E4 and E3 look for a schedule that does harm: one found is a finding with a witness; a search
/// that completes without one clears the launch where interleavings are all that matters (clearing.h), and
/// what was suspected becomes advice; anything else is inconclusive.
///
/// `program`: what the trace is a run of; without one the trace is cut into one, if it is needed.
Decision decide(const Trace& trace, const DecideOptions& options = {},
                const Orchestration* program = nullptr);

}  // namespace turnstile
