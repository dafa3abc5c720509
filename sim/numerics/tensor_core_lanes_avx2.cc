// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 (sim/CMakeLists.txt); called where the processor has it (tensor_core_tile.cc).
#include "sim/numerics/tensor_core_lanes_kernel.h"

namespace turnstile {

#if defined(__AVX2__)
LaneImplementation lanes_of_avx2() { return {16, accumulate_lanes<32>}; }
#else
LaneImplementation lanes_of_avx2() { return {}; }
#endif

}  // namespace turnstile
