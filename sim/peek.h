// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.h"

namespace turnstile::sim {

/// The mbarrier poll at `index`, which is no loop, as a peek (ALG-K2, ptx.md PI6): its answer is used for
/// nothing but to decide, later, whether a wait is executed or skipped. Returns those waits (poll loops);
/// empty: the answer does other work. Needs Decoded::shape[0] of all polls.
std::vector<uint32_t> waits_after_peek(const Program& program, uint32_t index);

}  // namespace turnstile::sim
