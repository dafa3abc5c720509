// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace turnstile {

/// Other names for the parts of a state of OrchestrationMachine: what part t of the renamed state is, part
/// from[t] is in the state as it stands.
struct OrchestrationRenaming {
  std::vector<uint32_t> strand, barrier, named, contribution, cta, register_group;
  /// By operation: its new name, and that of its queue; to be applied one after the other.
  struct Operations {
    std::vector<uint32_t> op, queue;
  };
  std::vector<const Operations*> operations;
};

}  // namespace turnstile
