// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "checker/clocks.h"

namespace turnstile::checker {

/// One setmaxnreg of one warp, as a run executed it.
struct RegisterRequest {
  uint16_t cta = 0;
  uint16_t warp = 0;
  int64_t taken = 0;             ///< registers per thread: positive for inc, negative for dec
  Epoch epoch;                   ///< of the request
  std::vector<uint32_t> causal;  ///< what its warp knew of the order of execution when it asked
};

/// Is every setmaxnreg.inc granted in every schedule (RG4, RG8, K7), whoever is served first? The pool of
/// each CTA is empty at the start, as after RG10. Decided over all states in which some groups wait for an
/// inc and all the rest is done (docs/theory.md, "Registers"); requests may be granted to the warps of a
/// group one by one. False: not in every schedule, as far as this can tell, or too many states to look at.
bool always_granted(const std::vector<RegisterRequest>& requests);

}  // namespace turnstile::checker
