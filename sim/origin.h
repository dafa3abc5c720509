// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/cta.h"

namespace turnstile::sim {

/// For a message: which load an unknown value of these lanes came from, with its lines and its buffer. Looked
/// for backwards, through registers, shared and tensor memory, when the message is made; a run that needs no
/// message pays nothing. Starts with "; "; empty: not found.
std::string origin_of_unknown(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes);

}  // namespace turnstile::sim
