// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace turnstile {

/// State machine of the hardware barrier of a cluster (barrier.cluster, semantics.md section 4). One unit is
/// whatever the program counts: threads, or one for each role.
class ClusterBarrier {
 public:
  /// Where one participant stands.
  enum class Seat : uint8_t {
    out,      ///< has not arrived since its last wait
    arrived,  ///< in the open generation
    released  ///< its generation is complete, it has not waited yet
  };

  enum class Outcome : uint8_t {
    ok,
    completed,        ///< C1: all members have arrived; the barrier is ready for re-use
    arrived_already,  ///< C1: a second arrival before completion
    over_arrival,     ///< more arrive than are members
  };

  ClusterBarrier() = default;
  /// `members`: contributions that complete a generation.
  explicit ClusterBarrier(uint32_t members) : members_(members) {}

  Outcome arrive(Seat seat, uint32_t contribution);
  /// C5: threads that exit leave the membership; that can complete the generation (true). What has `arrived`
  /// leaves with them.
  bool leave(uint32_t contribution, bool arrived);

  /// C2: a wait passes when the generation is complete in which this thread arrived. Without an arrival of
  /// its own that never happens.
  static bool passes(Seat seat) { return seat == Seat::released; }

  uint32_t members() const { return members_; }
  uint32_t arrived() const { return arrived_; }
  uint64_t generation() const { return generation_; }  ///< completed so far

  /// Puts a state back that was read from the accessors.
  void restore(uint32_t members, uint32_t arrived, uint64_t generation);

 private:
  bool settle();

  uint32_t members_ = 0;
  uint32_t arrived_ = 0;
  uint64_t generation_ = 0;
};

}  // namespace turnstile
