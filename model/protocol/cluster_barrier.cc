// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/cluster_barrier.h"

#include <algorithm>

namespace turnstile {

ClusterBarrier::Outcome ClusterBarrier::arrive(Seat seat, uint32_t contribution) {
  if (seat == Seat::arrived) return Outcome::arrived_already;
  // A seat that was released but never waited for may arrive again: the documents are silent (Q15, a lint).
  if (contribution > members_ - arrived_) return Outcome::over_arrival;
  arrived_ += contribution;
  return settle() ? Outcome::completed : Outcome::ok;
}

bool ClusterBarrier::leave(uint32_t contribution, bool arrived) {
  const uint32_t gone = std::min(contribution, members_);
  members_ -= gone;
  if (arrived) arrived_ -= std::min(gone, arrived_);
  return settle();
}

bool ClusterBarrier::settle() {
  if (arrived_ == 0 || arrived_ != members_) return false;
  arrived_ = 0;
  ++generation_;
  return true;
}

void ClusterBarrier::restore(uint32_t members, uint32_t arrived, uint64_t generation) {
  members_ = members;
  arrived_ = arrived;
  generation_ = generation;
}

}  // namespace turnstile
