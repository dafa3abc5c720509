// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/launch/launch.h"

namespace turnstile::sim {

/// The answer to a try_cancel, as it lies in memory. The format is the hardware's own (CL10); this one is
/// read by the query instructions only: bit 0 of the first eight bytes tells of success, then 21 bits each
/// for x, y, z of the first CTA. The other eight bytes are zero.
constexpr uint64_t answer_bits(bool canceled, Dim3 first) {
  if (!canceled) return 0;
  return 1 | uint64_t{first[0]} << 1 | uint64_t{first[1]} << 22 | uint64_t{first[2]} << 43;
}

constexpr uint32_t answered_cta(uint64_t answer, unsigned axis) {
  return static_cast<uint32_t>(answer >> (1 + 21 * axis) & 0x1fffff);
}

}  // namespace turnstile::sim
