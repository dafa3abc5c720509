// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program.h"

namespace turnstile::sim {

/// Where the ways meet again that a guarded instruction opens, if nothing lies on them but arithmetic in
/// registers, without loops. A guard that the launch does not determine is then harmless: only the registers
/// written there are unknown afterwards (the slow path of a logarithm, the mask of a maximum).
struct Meeting {
  uint32_t at = 0;                ///< instruction
  std::vector<uint32_t> between;  ///< instructions on the ways, the guarded one too
};

/// Nothing: something visible depends on the guard, or the ways are too long to follow.
std::optional<Meeting> meeting_of_ways(const Program& program, uint32_t guarded);

}  // namespace turnstile::sim
