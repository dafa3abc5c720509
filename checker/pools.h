// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <vector>

#include "checker/run_state.h"
#include "model/protocol/tensor_memory.h"

namespace turnstile::checker {

/// What strands take, hold and give back: pools of a .mimw text, and columns of tensor memory (TC4-TC11).
/// Grants compete, so one run stands for all only if the most that all strands hold together fits (K7, EXT9).
class Pools {
 public:
  explicit Pools(RunState& run);

  void acquire(const Event& e);
  void release(const Event& e);
  void tensor_alloc(const Event& e);
  void tensor_dealloc(const Event& e);
  void tensor_relinquish(const Event& e);
  void finish(const std::set<uint32_t>& ended);

 private:
  struct Holder {
    int64_t held = 0, most = 0;
    size_t last = no_event;  ///< its last acquire
  };
  struct Pool {
    std::map<uint32_t, Holder> holders;  ///< by strand
    int64_t units = 0;
    uint32_t place = 0;
  };
  struct Allocation {
    Epoch epoch;
    size_t event;
    uint32_t first = 0, count = 0;  ///< columns
    bool live = true;
  };
  struct Columns {
    TensorMemory machine;
    std::map<uint32_t, Holder> holders;
    std::vector<Allocation> paired, all;
    std::vector<Allocation> freed;  ///< paired deallocations
    size_t relinquish = no_event;
    uint32_t place = 0;
  };

  static void take(std::map<uint32_t, Holder>& holders, uint32_t strand, int64_t units, size_t event);
  bool fits(const std::map<uint32_t, Holder>& holders, int64_t units) const;
  void outcome(TensorMemory::Outcome outcome, uint32_t last_count, size_t relinquish);
  void check_peer(const Event& e);
  void check_increase(const Columns& c, const Event& e);
  void check_allocated(Columns& c, const Event& e);
  void finish_columns(const Columns& c);

  RunState& run_;
  std::vector<Pool> pools_;
  std::map<uint16_t, Columns> columns_;  ///< by CTA
};

}  // namespace turnstile::checker
