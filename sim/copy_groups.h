// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/register_file.h"

namespace turnstile::sim {

/// Groups of cp.async of the 32 threads of one warp (CA1-CA4). They belong to threads; as long as all threads
/// of the warp issue, commit and wait together, one queue of the trace stands for the 32 of them.
struct CopyGroups {
  static constexpr uint32_t none = 0xffffffff;
  struct Written {  ///< a destination in the group that its thread has open (CA5)
    uint8_t lane = 0;
    uint64_t begin = 0, end = 0;
  };

  std::array<uint64_t, warp_size> committed{};  ///< groups closed, by lane
  uint32_t warp_queue = none;                   ///< number in the trace
  std::array<uint32_t, warp_size> lane_queue;
  uint64_t warp_group = 0;  ///< youngest group of the warp's queue that has an operation
  uint64_t warp_waited = 0;
  std::vector<Written> open;

  CopyGroups() { lane_queue.fill(none); }
};

}  // namespace turnstile::sim
