// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cta.h"

namespace turnstile::sim {

/// An operation that ends with one arrival on a barrier lands: cp.async.mbarrier.arrive, tcgen05.commit.
/// `owner`: the CTA of the barrier.
void land_arrival(Cta& cta, uint32_t op, BarrierObject& barrier, const Cta& owner);

}  // namespace turnstile::sim
