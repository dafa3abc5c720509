// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx512f and what goes with it (sim/CMakeLists.txt); called where the processor has it
// (tensor_core_tile.cc).
#include "sim/numerics/tensor_core_lanes_kernel.h"

namespace turnstile {

#if defined(__AVX512F__) && defined(__AVX512BW__)
LaneImplementation lanes_of_avx512() { return {32, accumulate_lanes<64>}; }
#else
LaneImplementation lanes_of_avx512() { return {}; }
#endif

}  // namespace turnstile
