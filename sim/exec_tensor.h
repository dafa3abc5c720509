// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "sim/cta.h"

namespace turnstile::sim {

// What the instructions of tcgen05 share. Decoded::shape[1] of all that have one is the cta_group.

/// The other CTA of the pair; null if the cluster has none.
Cta* tensor_peer(Cta& cta);

/// TC8, TC9: one cta_group for the whole kernel, and a pair. `alive`: the peer must not have ended. Nothing =
/// go on.
std::optional<Step> wrong_cta_group(Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes, bool alive);

/// A footprint that an operation touches when it lands.
struct TensorTouch {
  uint32_t footprint = 0;
  bool write = false;
};
void land_tensor(Cta& cta, uint32_t op, const std::vector<TensorTouch>& touches);

}  // namespace turnstile::sim
