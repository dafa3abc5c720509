// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sim/program.h"

namespace turnstile::sim {

/// Whether the instruction at `index`, an mbarrier poll, is the only thing a loop does: from its failure on,
/// control comes back to it through branches and register moves that depend on nothing but the failed poll
/// (ptx.md PT1-PT4, PE15; ALG-K2). Such a loop is one wait.
bool is_poll_loop(const Program& program, uint32_t index);

/// The wait that a loop around the load at `index` is, if it does nothing but load a word and compare it with
/// something that the loop leaves alone (PE15).
std::optional<FlagPoll> flag_poll(const Program& program, uint32_t index);

/// Compilers look once before they enter the loop: a load whose failed comparison leads into a loop that
/// waits for the same, and whose success leads where the loop leads, is that wait. The loop (or a later such
/// look) has its Decoded::poll already.
std::optional<FlagPoll> first_look(const Program& program, uint32_t index);

}  // namespace turnstile::sim
