// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/cta.h"

namespace turnstile::sim {

/// For a message: which load an unknown value of these lanes came from, with its lines and its buffer. Looked
/// for backwards, through registers, shared and tensor memory, when the message is made; a run that needs no
/// message pays nothing. Starts with "; "; empty: not found. Notes if it was an atomic
/// (RunResult::asks_atomics).
std::string origin_of_unknown(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes);

/// What to do about it, after origin_of_unknown.
std::string help_for_unknown(const Cta& cta);

}  // namespace turnstile::sim
