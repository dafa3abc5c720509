// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/cta.h"

namespace turnstile::sim {

// The mbarrier operand of an instruction, for every family that has one.

/// Where the barrier operand (an address operand, the one with number `operand` among the sources) lies in
/// one lane: in the own shared memory, or with Decoded::any_cta in that of any CTA of the cluster. Nothing if
/// it is no 8-byte aligned address there.
struct BarrierPlace {
  Cta* owner = nullptr;
  uint64_t offset = 0;  ///< in the shared window of the owner
};
std::optional<BarrierPlace> barrier_place(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane,
                                          size_t operand = 0);

/// The live barrier object that one lane names; null: a fault was recorded.
BarrierObject* find_barrier(Cta& cta, Warp& warp, const Decoded& d, unsigned lane, size_t operand = 0);

/// What a barrier's state machine refused, in words.
std::string outcome_text(Mbarrier::Outcome outcome, const std::string& name, const Mbarrier& b);
const char* outcome_help(Mbarrier::Outcome outcome);

/// Step::next, or a recorded fault.
Step check_outcome(Cta& cta, Warp& warp, const Decoded& d, unsigned lane, Mbarrier::Outcome outcome,
                   const BarrierObject& b);

/// A write of shared memory that would touch a live barrier object: the fault is recorded (MB9).
bool writes_a_barrier(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane, const Cta& target,
                      uint64_t offset, uint64_t bytes);

}  // namespace turnstile::sim
