// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "model/protocol/tensor_memory.h"

namespace turnstile::sim {

/// What tcgen05 keeps for one CTA. The contents of tensor memory are not followed: what is loaded from it is
/// unknown.
struct TensorState {
  static constexpr uint32_t none = 0xffffffff;
  /// Loads or stores of one warp: each operation is a group of its own.
  struct WarpQueue {
    uint32_t queue = none;  ///< number in the trace
    uint64_t issued = 0;
    uint64_t waited = 0;
  };

  TensorMemory memory;
  uint32_t cta_group = 0;                       ///< of the instructions so far (TC8); 0: none yet
  uint64_t pair_allocations = 0;                ///< paired allocations entered (TC9)
  std::map<uint32_t, uint32_t> queues;          ///< of mma, cp, shift, commit: by thread
  std::map<uint32_t, WarpQueue> loads, stores;  ///< by warp
};

}  // namespace turnstile::sim
