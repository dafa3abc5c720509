// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "checker/run_state.h"

namespace turnstile::checker {

/// Operations in flight and the queues that count their completions: bulk groups of a thread (BK1-BK6), wgmma
/// groups of a warp group (WG3, WG4). An operation keeps what its issuer knew; its accesses get epochs on the
/// lane of its queue or barrier.
class Queues {
 public:
  explicit Queues(RunState& run);

  void issue(const Event& e);
  void commit(const Event& e);
  void wait(const Event& e);
  /// The operation is over; its knowledge is dropped.
  void retire(uint32_t op);

  /// Everything that the issuer of an operation in flight knew; null if it was never issued.
  uint32_t* knowledge(uint32_t op);
  size_t issue_event(uint32_t op) const { return ops_[op].event; }
  /// Is the issue of this operation, by at least one of its warps, in the visibility view `order`?
  bool issue_known(uint32_t op, const uint32_t* order) const;

  Epoch reads(uint32_t op) const;
  Epoch writes(uint32_t op) const;

  /// BK6: stores of threads that are gone which nobody waited for. `last_exit`: exit event of each warp, or
  /// no_event.
  void finish(const std::vector<size_t>& last_exit);

 private:
  static constexpr uint32_t no_slot = 0xffffffff;
  struct Op {
    uint32_t slot = no_slot;
    size_t event = no_event;         ///< last issue event
    Epoch issue;                     ///< of the first strand that issued it
    std::vector<Epoch> more_issues;  ///< wgmma: of the others
  };
  struct Queue {
    std::vector<uint32_t> issued;  ///< causal clocks, width words a group, from group 1: what was known at
                                   ///< the issues of the group
    uint64_t last_group = 0;       ///< youngest group that has an operation
    size_t last_issue = no_event;
    uint64_t read_waited = 0, all_waited = 0;
  };

  RunState& run_;
  std::vector<Op> ops_;
  std::vector<Queue> queues_;
  KnowledgeTable in_flight_;
};

}  // namespace turnstile::checker
