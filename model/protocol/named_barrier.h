// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace turnstile {

/// State machine of one named barrier of a CTA (bar / barrier.cta, semantics.md section 3). The unit is the
/// warp: 32 threads (N2).
class NamedBarrier {
 public:
  enum class Outcome : uint8_t {
    ok,
    completed,  ///< the contribution completed the open instance; waiters go on, the barrier is ready for
                ///< re-use (N3)
    count_mismatch,  ///< NX1: another thread count than the first contributor of this instance
    over_arrival,    ///< NX3
    bad_count,       ///< N1: zero or not a multiple of 32
  };

  /// `expected`: thread count named by the instruction, or all threads of the CTA if it names none
  /// (`whole_cta`); `threads`: 32 for a full warp.
  Outcome contribute(uint32_t expected, uint32_t threads, bool whole_cta = false);

  /// N8: the open instance waits for exited threads only, and completes without them. False: nothing is
  /// open.
  bool release();
  /// May exits release the open instance? Only if no contributor named a count: bar.sync with a count waits
  /// for that many threads whoever exits, also when it is the count of the CTA (H200, probe P8).
  bool releasable() const { return arrived_ != 0 && whole_cta_; }

  uint64_t instance() const { return instance_; }  ///< completed so far
  uint32_t arrived() const { return arrived_; }    ///< threads, in the open instance
  uint32_t expected() const { return expected_; }  ///< 0 while the open instance has no contributor

  /// Puts a state back that was read from the accessors.
  void restore(uint32_t expected, uint32_t arrived, uint64_t instance, bool whole_cta = false);

 private:
  bool whole_cta_ = false;  ///< no contributor of the open instance named a count
  uint32_t expected_ = 0;
  uint32_t arrived_ = 0;
  uint64_t instance_ = 0;
};

/// What one warp has done in the open instance of a named barrier (N7): kept beside the counts, because the
/// hardware does not notice and a checker must.
class Contribution {
 public:
  enum class Misuse : uint8_t {
    none,
    twice,             ///< the same form twice in one instance: an error
    sync_after_arrive  ///< allowed by the text, suspicious
  };

  Misuse add(bool waits);
  bool any() const { return bits_ != 0; }
  bool waited() const { return (bits_ & 2) != 0; }
  void clear() { bits_ = 0; }

  uint8_t bits() const { return bits_; }  ///< 1: has arrived, 2: has synchronised
  void restore(uint8_t bits) { bits_ = bits; }

 private:
  uint8_t bits_ = 0;
};

}  // namespace turnstile
