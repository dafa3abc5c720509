// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checker/run_state.h"

namespace turnstile::checker {

/// Operations in flight and the queues that count their completions: bulk groups of a thread (BK1-BK6), wgmma
/// groups of a warp group (WG3, WG4), classic copies (CA1-CA8), tcgen05 (TC15-TC24), LDS reads (AM9). An
/// operation keeps what its issuer knew; its accesses get epochs on the lane of its queue or barrier. The
/// unit of a lane is the group; where operations of one group end apart (cp.async with its arrive,
/// tcgen05.mma with its commit) it is the operation, counted in the order of issue.
class Queues {
 public:
  /// `of_one_strand`: by queue (Survey).
  Queues(RunState& run, const std::vector<uint8_t>& of_one_strand);

  /// From here on, keep who issued each operation: `issue_known` asks.
  void keep_issuers() { keeps_issuers_ = true; }

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
  /// The epoch of everything in the queue up to this operation, which is what a tcgen05.commit and a
  /// cp.async.mbarrier.arrive stand for.
  Epoch all_before(uint32_t op) const;
  /// Position in the order of issue of its queue, from 1.
  uint32_t sequence(uint32_t op) const { return ops_[op].sequence; }

  /// BK6: stores of threads that are gone which nobody waited for. `last_exit`: exit event by CTA and warp of
  /// those that ended.
  void finish(const std::map<std::pair<uint16_t, uint16_t>, size_t>& last_exit);

 private:
  static constexpr uint32_t no_slot = 0xffffffff;
  struct Op {
    uint32_t slot = no_slot;
    uint32_t sequence = 0;
    size_t event = no_event;  ///< last issue event
  };
  struct Queue {
    std::vector<uint32_t> issued;  ///< causal clocks, width words a group, from group 1: what was known at
                                   ///< the issues of the group; nothing in a queue of one strand
    uint64_t last_group = 0;       ///< youngest group that has an operation
    size_t last_issue = no_event;
    uint32_t operations = 0;              ///< issued so far
    std::vector<uint32_t> last_of_group;  ///< cp_async: youngest operation of each group, from group 1
    uint64_t read_waited = 0, all_waited = 0;
  };

  void count_in_queue(const AsyncOp& op, Op& o, const uint32_t* strand);
  uint32_t lane_value(uint32_t queue, uint64_t group) const;

  RunState& run_;
  const std::vector<uint8_t>& of_one_strand_;
  bool keeps_issuers_ = false;
  std::vector<Op> ops_;
  std::unordered_map<uint32_t, std::vector<Epoch>> issues_;  ///< by operation; of a wgmma four
  std::vector<Queue> queues_;
  KnowledgeTable in_flight_;
};

}  // namespace turnstile::checker
