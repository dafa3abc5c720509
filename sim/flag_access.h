// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/flag_words.h"
#include "sim/lane_targets.h"

namespace turnstile::sim {

// What loads, stores and atomics share where a word of memory is a flag (exec_flag.cc).

/// A poll in a loop that only waits (Decoded::poll): lanes whose value is there go on, the others stay.
Step wait_for_flag(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const LaneTargets& targets);

/// After a strong load that is no wait, without data: values that other threads may be writing at the same
/// time are not known to the program's control (LF3).
void forget_contended(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const LaneTargets& targets);

/// Before a store: records what it does to flags.
void note_flag_stores(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const LaneTargets& targets);

/// The word that one lane of an atomic changes, if the program waits for flags.
std::optional<uint32_t> flag_word(Cta& cta, const Target& target, uint8_t bytes, const Decoded& d);

/// Strong writes make the values of strong loads depend on the schedule.
void note_strong_write(Cta& cta, const Target& target, uint64_t bytes);

}  // namespace turnstile::sim
