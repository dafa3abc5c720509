// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checker/observations.h"
#include "model/protocol/mbarrier.h"

namespace turnstile::checker {

/// Barriers whose wait lets a copy to another barrier be issued: what a consumer arrives on to release.
class Guards {
 public:
  explicit Guards(const Trace& trace);

  /// For each mbarrier_wait and each async_issue, in order.
  void wait(const Event& e) { last_wait_[warps_[e.agent.v]] = e.object; }
  void issue(const Event& e);
  /// Pairs of the barrier that guards and the one that it guards, in the order in which they were seen.
  const std::vector<std::pair<uint32_t, uint32_t>>& pairs() const { return pairs_; }

 private:
  const Trace& trace_;
  std::vector<uint32_t> warps_;      ///< by strand
  std::vector<uint32_t> last_wait_;  ///< by warp
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
  std::vector<uint32_t> last_guard_;  ///< by barrier: the one noted last
};

/// Engine E0 (algorithms.md 7.2): faults that can be counted, without any order. Bytes expected against bytes
/// of the copies issued, for each barrier and generation; generations that a warp consumes twice. Its
/// messages name causes where E1 sees symptoms.
class Structure {
 public:
  Structure(const Trace& trace, const Guards& guards, Observations& seen);

  /// For each event, in order.
  void step(const Event& e, size_t i);
  void finish();

 private:
  struct Phase {
    uint64_t expected = 0;
    uint64_t issued = 0;
    size_t expect = no_event;
    std::vector<size_t> copies;
  };

  /// What a warp has taken from a barrier.
  struct Taken {
    uint64_t generation = 0;
    size_t wait = no_event;
    size_t release = no_event;
  };

  struct BarrierState {
    Mbarrier machine;
    Phase open;
    std::vector<std::pair<uint32_t, Taken>> taken;  ///< by warp; few
    std::vector<uint32_t> guarded;                  ///< barriers that this one guards
  };

  uint32_t warp(const Event& e) const { return warps_[e.agent.v]; }
  void complete(const AsyncOp& op);
  void expect(const Event& e, size_t i);
  void arrive(const Event& e, size_t i);
  void wait(const Event& e, size_t i);
  void issue(const Event& e, size_t i);
  static Taken& taken_by(BarrierState& b, uint32_t warp);
  void settle(uint32_t b, Mbarrier::Outcome outcome);
  bool finished_issuing(const Phase& p) const;
  void close(uint32_t b, const Phase& p, uint64_t generation);

  const Trace& trace_;
  Observations& seen_;
  std::vector<BarrierState> barriers_;
  std::vector<uint32_t> warps_;  ///< by strand: its warp, numbered through all CTAs
  std::unordered_map<uint64_t, size_t> second_helpings_;
  std::unordered_map<uint32_t, size_t> mismatches_;
};

}  // namespace turnstile::checker
