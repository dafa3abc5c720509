// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "checker/fences.h"

namespace turnstile::checker {

/// Words of memory that strands use as flags and counters (semantics.md section 12, K6).
///
/// Counters that only grow keep the run determinate: a wait for "at least k" passes in every schedule or in
/// none. What its strand then knows is what every set of writes that can satisfy it tells. A wait for
/// equality needs exactly the writes that it saw if these only grow and all others come after it (the lock
/// that is handed on in turn). Otherwise it is schedule-dependent (LF2), as is a value that can fall, and so
/// is the race verdict where a write that a wait did not need could come before it (PF25): these are left to
/// a search.
class Signals {
 public:
  Signals(RunState& run, Fences& fences);

  void write(const Event& e);
  void wait(const Event& e);
  /// Waits that are blocked at the end.
  void finish();

 private:
  struct Write {
    int64_t amount = 0;
    Epoch epoch;
    uint32_t knowledge = 0;  ///< slot: causal view, and what it publishes
  };
  /// Writes that all know all of the level before: in each schedule they come after it.
  struct Level {
    int64_t before = 0;  ///< value that the levels before add up to
    int64_t total = 0;   ///< and with this one
    std::vector<Write> writes;
    uint32_t prefix = 0;  ///< slot: what all levels before know
  };
  struct Wait {
    int64_t value = 0;
    Epoch epoch;
    uint32_t place = 0;
  };
  struct State {
    bool grows = true;     ///< each write so far left more than there was
    bool any_set = false;  ///< so far
    bool falls = false;    ///< its value can fall, or be overwritten by another strand (LF2)
    bool tangled = false;  ///< a write does not fit into the levels
    Scope needed = Scope::cta;
    uint32_t last_writer = 0xffffffff;
    int64_t value = 0;
    std::vector<Level> levels;
    std::vector<Wait> waits;  ///< that passed in the youngest level
    std::vector<Wait> exact;  ///< for equality: they pass in every schedule if all later writes know them
    bool narrow_reported = false, tangled_reported = false;
  };

  void survey();
  void add_to_levels(State& s, const Event& e, int64_t amount, uint32_t knowledge);
  bool passes_exactly(const State& s) const;
  void check_exact_waits(State& s, const Event& e);
  void not_exact(uint32_t signal, int64_t value, uint32_t place);
  void check_late_write(State& s, const Event& e, const Level& level);
  bool knows_all(const uint32_t* causal, const std::vector<Write>& writes) const;
  void learn(const Event& e, const Level& level, int64_t wanted);
  void take_in(const Event& e, const uint32_t* knowledge);
  bool wide_enough(State& s, const Event& e);

  RunState& run_;
  std::vector<State> states_;
  Fences& fences_;
  KnowledgeTable kept_;
  std::vector<uint32_t> scratch_;
  std::vector<std::pair<uint32_t, int64_t>> order_;
};

}  // namespace turnstile::checker
