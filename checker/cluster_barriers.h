// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "checker/fences.h"
#include "checker/run_state.h"

namespace turnstile::checker {

/// The hardware barrier of each cluster (semantics.md section 4, EXT2): knowledge flows from all who arrived
/// in a generation to those who wait for it; what flows is what the forms say (C3, LT34). Each participant
/// waits between its arrivals, which is all that D3 asks of it.
class ClusterBarriers {
 public:
  ClusterBarriers(RunState& run, Fences& fences);

  void arrive(const Event& e);
  void wait(const Event& e);
  /// C5: a strand that ends leaves the membership.
  void exit(const Event& e);

 private:
  struct Seat {
    uint64_t arrived_in = 0;  ///< generation of its last arrival, from 1; 0: none yet
    size_t arrival = no_event;
  };
  struct Warp {  ///< its strands come and go between an arrival and the wait
    uint64_t arrived_in = 0;
    uint64_t waited_for = 0;
  };
  struct Cluster {
    uint64_t generation = 0;      ///< completed
    uint32_t arrived = 0;         ///< contributions to the open one
    bool open = false;            ///< somebody has arrived in it
    std::vector<uint32_t> ended;  ///< what strands that ended without arriving in it knew, in causal order
  };

  size_t cluster_of(const Event& e) const;
  Warp& warp_of(const Event& e);
  void complete(size_t c);
  size_t arriving(size_t c) const { return 3 * c; }
  /// Of a completed generation; two are kept, because nobody can be further behind (C2).
  size_t done(size_t c, uint64_t generation) const { return 3 * c + 1 + generation % 2; }

  RunState& run_;
  Fences& fences_;
  std::vector<Cluster> clusters_;
  std::vector<Seat> seats_;                              ///< by strand
  std::map<std::pair<uint16_t, uint16_t>, Warp> warps_;  ///< by CTA and number
  KnowledgeTable knowledge_;
};

}  // namespace turnstile::checker
