// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace turnstile {

/// State machine of one mbarrier object (semantics.md section 2). Used by sim/ to execute and by checker/ to
/// verify; nothing else knows when a phase completes.
///
/// The phase is a 64-bit generation number; parity is only a view of it (semantics.md E3). `generation()`
/// counts completions, so it is also the index of the open phase.
class Mbarrier {
 public:
  static constexpr uint32_t max_count = (1u << 20) - 1;      // MB1, MB2
  static constexpr int64_t max_tx = (int64_t{1} << 20) - 1;  // MB3

  /// What an operation did. Anything but `ok` and `completed` has no defined result; the state is then left
  /// as it was.
  enum class Outcome : uint8_t {
    ok,
    completed,         ///< the operation completed the open phase
    invalid_object,    ///< MB10: not initialised, or invalidated
    already_valid,     ///< MB9: init over a live barrier
    bad_count,         ///< MB1: zero, or above the maximum
    over_arrival,      ///< MB15: more arrivals than the phase expects
    tx_overflow,       ///< MB17
    pending_overflow,  ///< MB20: cp.async.mbarrier.arrive raises the count above its maximum
    dropped_to_zero,   ///< MB21: nobody is left to arrive in later phases
    completes,         ///< MB22: an arrive.noComplete that would complete the phase
  };

  /// An mbarrier state as arrive returns it: the phase that was open before the operation, and what was
  /// pending after it.
  struct State {
    uint64_t generation = 0;
    uint32_t pending = 0;
    bool no_complete = false;  ///< made by a .noComplete form
  };

  /// Answer of test_wait and try_wait on a state (W1).
  enum class StateAnswer : uint8_t { pending, ready, too_old };

  static constexpr bool has_result(Outcome outcome) { return outcome <= Outcome::completed; }

  Outcome init(uint32_t count);
  Outcome inval();
  Outcome arrive(uint32_t count);              // MB15
  Outcome arrive_drop(uint32_t count);         // MB21: later phases expect `count` fewer
  Outcome arrive_no_complete(uint32_t count);  // MB22
  /// Completes the phase when nothing is pending and the bytes are balanced again. The documents give an
  /// expect no completion step (Q19); the H200 takes it (probe P15).
  Outcome expect_tx(uint64_t bytes);
  /// Expect, then one arrival (which with `drops` leaves the later phases), as one step: the expect alone
  /// completes nothing, so that without a pending arrival this is one too many (MB15).
  Outcome arrive_expect_tx(uint64_t bytes, bool drops = false);
  Outcome complete_tx(uint64_t bytes);
  /// What cp.async.mbarrier.arrive (without .noinc) does when it is executed; the arrival that it announces
  /// comes later (MB20, semantics.md 2.4).
  Outcome raise_pending();

  /// W2: parity p is ready iff the last completed phase has parity p; a fresh barrier answers true for
  /// parity 1.
  bool ready(uint32_t parity) const { return ((generation_ & 1) ^ 1) == (parity & 1); }
  /// W1: a state may name the open phase or the one before; anything older is no legal question.
  StateAnswer ready(const State& state) const;
  /// The state that an arrival returns now.
  State state(bool no_complete = false) const { return {generation_, pending_, no_complete}; }
  /// mbarrier.pending_count: only of a state from a .noComplete form; false: the question has no answer.
  static bool pending_count(const State& state, uint32_t& count);

  bool valid() const { return valid_; }
  uint64_t generation() const { return generation_; }
  uint32_t expected() const { return expected_; }
  uint32_t pending() const { return pending_; }
  int64_t tx() const { return tx_; }  ///< bytes expected minus bytes completed, in the open phase

  /// Puts a state back that was read from the accessors.
  void restore(bool valid, uint32_t expected, uint32_t pending, int64_t tx, uint64_t generation);

 private:
  Outcome announce(uint64_t bytes);
  Outcome settle();

  bool valid_ = false;
  uint32_t expected_ = 0;
  uint32_t pending_ = 0;
  int64_t tx_ = 0;
  uint64_t generation_ = 0;
};

/// Rule id of semantics.md that an outcome breaks; empty for ok and completed.
std::string_view broken_rule(Mbarrier::Outcome outcome);

}  // namespace turnstile
