// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "sim/program.h"

namespace turnstile::sim {

/// Where the ways meet again that a guarded instruction opens: [at + 1, result) is executed in part,
/// depending on the guard, and does nothing but arithmetic in registers, without loops. A guard that the
/// launch does not determine is then harmless: only the registers written there are unknown afterwards (the
/// slow path of a logarithm, the mask of a maximum). Nothing: something visible depends on the guard.
std::optional<uint32_t> meeting_point(const Program& program, uint32_t at);

}  // namespace turnstile::sim
