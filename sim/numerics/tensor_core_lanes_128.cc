// SPDX-License-Identifier: Apache-2.0
// Vectors of 128 bits, which every 64-bit processor has.
#include "sim/numerics/tensor_core_lanes_kernel.h"

namespace turnstile {

LaneImplementation lanes_of_128_bits() { return {8, accumulate_lanes<16>}; }

}  // namespace turnstile
