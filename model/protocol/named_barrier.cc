// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/named_barrier.h"

namespace turnstile {

NamedBarrier::Outcome NamedBarrier::contribute(uint32_t expected, uint32_t threads, bool whole_cta) {
  if (expected == 0 || expected % 32 != 0) return Outcome::bad_count;
  if (arrived_ != 0 && expected != expected_) return Outcome::count_mismatch;
  if (threads > expected - arrived_) return Outcome::over_arrival;
  whole_cta_ = whole_cta && (arrived_ == 0 || whole_cta_);
  expected_ = expected;
  arrived_ += threads;
  if (arrived_ != expected_) return Outcome::ok;
  release();
  return Outcome::completed;
}

bool NamedBarrier::release() {
  if (arrived_ == 0) return false;
  arrived_ = 0;
  expected_ = 0;
  ++instance_;
  return true;
}

void NamedBarrier::restore(uint32_t expected, uint32_t arrived, uint64_t instance, bool whole_cta) {
  whole_cta_ = whole_cta;
  expected_ = expected;
  arrived_ = arrived;
  instance_ = instance;
}

Contribution::Misuse Contribution::add(bool waits) {
  const uint8_t bit = waits ? 2 : 1;
  const bool again = (bits_ & bit) != 0;
  const bool arrived = (bits_ & 1) != 0;
  bits_ = static_cast<uint8_t>(bits_ | bit);
  if (again) return Misuse::twice;
  return waits && arrived ? Misuse::sync_after_arrive : Misuse::none;
}

}  // namespace turnstile
