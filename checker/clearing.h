// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "checker/check.h"
#include "checker/independence.h"
#include "model/orchestration.h"

namespace turnstile::checker {

/// May "no interleaving does harm" be read as "no execution does harm"? A search over interleavings knows
/// the causal order only; races and stale data are matters of visibility (algorithms.md 5.1). Empty: the two
/// agree for this program, by the argument in the .cc. Else the first reason why they may not.
std::string visibility_gap(const Orchestration& program, const Overlaps& overlaps, const Policies& policies);

}  // namespace turnstile::checker
