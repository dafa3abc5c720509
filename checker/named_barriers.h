// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "checker/run_state.h"
#include "model/protocol/named_barrier.h"

namespace turnstile::checker {

/// Named barriers (semantics.md section 3): knowledge flows from all contributors of an instance to those who
/// wait in it, and to nobody else. Conditions of algorithms.md EXT1: D3 for each contribution, D4 and equal
/// counts by the state machine.
class NamedBarriers {
 public:
  /// `slots`: the objects (cta * 16 + id) that occur, sorted.
  NamedBarriers(RunState& run, std::vector<uint32_t> slots);

  void contribute(const Event& e);
  void pass(const Event& e);
  /// A strand of this CTA has ended (N8).
  void exit(const Event& e);

 private:
  struct Contribution {
    Epoch epoch;
    size_t event;
    bool waits;
  };
  struct Finished {  ///< an instance whose waiters have not all gone on yet
    uint64_t instance;
    uint32_t waiters;
    uint32_t knowledge;
  };
  struct State {
    NamedBarrier machine;
    std::vector<Contribution> open, last;
    std::vector<Finished> finished;
    uint32_t arriving = 0;
    bool refused = false;
  };

  size_t slot(uint32_t object) const;
  bool completion_known(uint32_t* causal, size_t n);
  void complete(size_t n);
  bool release_by_exits(size_t n);
  void misuse(NamedMisuse::Kind kind, size_t n, size_t event, size_t other);

  RunState& run_;
  std::vector<uint32_t> objects_;
  std::vector<State> states_;
  KnowledgeTable knowledge_;
  std::map<uint32_t, std::vector<uint32_t>>
      exits_;  ///< by CTA: what the strands that ended knew, in causal order
};

}  // namespace turnstile::checker
