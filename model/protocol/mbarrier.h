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
    completed,       ///< the operation completed the open phase
    invalid_object,  ///< MB10: not initialised, or invalidated
    already_valid,   ///< MB9: init over a live barrier
    bad_count,       ///< MB1: zero, or above the maximum
    over_arrival,    ///< MB15: more arrivals than the phase expects
    tx_overflow,     ///< MB17
  };

  Outcome init(uint32_t count);
  Outcome inval();
  Outcome arrive(uint32_t count);            // MB15
  Outcome expect_tx(uint64_t bytes);         // no completion step: semantics.md 2.4, Q19
  Outcome arrive_expect_tx(uint64_t bytes);  // expect, then one arrival, as one step
  Outcome complete_tx(uint64_t bytes);

  /// W2: parity p is ready iff the last completed phase has parity p; a fresh barrier answers true for
  /// parity 1.
  bool ready(uint32_t parity) const { return ((generation_ & 1) ^ 1) == (parity & 1); }

  bool valid() const { return valid_; }
  uint64_t generation() const { return generation_; }
  uint32_t expected() const { return expected_; }
  uint32_t pending() const { return pending_; }
  int64_t tx() const { return tx_; }  ///< bytes expected minus bytes completed, in the open phase

 private:
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
