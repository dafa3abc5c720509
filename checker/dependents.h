// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <vector>

#include "checker/run_state.h"

namespace turnstile::checker {

/// Programmatic dependent launch (semantics.md section 11). griddepcontrol.wait is the only thing that orders
/// this grid after the ones before it (PD9). Which buffers those write is not in the trace: advised is
/// against writes to global memory that nothing orders after a wait, and against reads of a buffer that
/// others of this grid read after a wait (PD5). Where the launch says which buffers (Trace::previous_kernel),
/// every access to those that is not ordered after a wait is a fault, and so is a kernel without any (PD3).
/// The trigger publishes nothing (PD6), so it makes no edge.
class Dependents {
 public:
  explicit Dependents(RunState& run) : run_(run) {}

  void wait(const Event& e);
  /// An access to global memory, with what its strand, or the issuer of its copy, knew in the visibility
  /// order.
  void access(const Event& e, const uint32_t* order);
  void finish();

 private:
  struct Early {
    size_t event;
    bool writes;
  };

  RunState& run_;
  std::vector<Epoch> waits_;
  std::map<uint32_t, std::vector<Early>> early_;  ///< by buffer: once for each place
  std::set<std::pair<uint32_t, uint32_t>> known_;
  std::set<uint32_t> read_after_;  ///< buffers
  size_t first_wait_ = no_event;
};

}  // namespace turnstile::checker
