// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "sim/cta.h"

namespace turnstile::sim {

/// Is the value of a register known in all of these lanes? Values may be unknown in the control domain.
inline bool known_in(const Warp& warp, uint32_t reg, LaneMask lanes) {
  return (warp.regs.known(reg) & lanes) == lanes;
}

/// The same of several registers.
bool known_in(const Warp& warp, std::span<const uint32_t> regs, LaneMask lanes);

/// Ends the execution as inconclusive: a value that decides what the instruction does is not known. `what`:
/// "the address", as the sentence begins.
Step unknown_operand(Cta& cta, const Decoded& d, std::string_view what = "an operand");

}  // namespace turnstile::sim
