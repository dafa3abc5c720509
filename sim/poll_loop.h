// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/program.h"

namespace turnstile::sim {

/// Whether the instruction at `index`, an mbarrier poll, is the only thing a loop does: from its failure on,
/// control comes back to it through branches and register moves that depend on nothing but the failed poll
/// (ptx.md PT1-PT4, PE15; ALG-K2). Such a loop is one wait.
bool is_poll_loop(const Program& program, uint32_t index);

}  // namespace turnstile::sim
