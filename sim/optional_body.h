// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program.h"

namespace turnstile::sim {

/// What a branch jumps over, if it may be executed although nobody knows whether the branch is taken
/// (docs/theory.md, branches on data): accesses, the waits of their own warp, and barriers at which only
/// warps meet that decide alike; nothing else that others can see.
struct OptionalBody {
  uint32_t end = 0;               ///< instruction where both ways go on
  std::vector<uint32_t> written;  ///< registers
  bool has_barriers = false;
  bool waits_for_loads = false, waits_for_stores = false;  ///< of tensor memory
};

/// Nothing: something else lies there, or it does not end where the branch leads.
std::optional<OptionalBody> optional_body(const Program& program, uint32_t branch);

/// One that a strand is in.
struct OpenBody {
  const OptionalBody* body = nullptr;
  uint32_t branch = 0;
  LaneMask lanes = 0;
  Hash128 condition;  ///< name of the guard: who has the same decides alike. One lane alone needs no name
  bool named = false;
};

}  // namespace turnstile::sim
