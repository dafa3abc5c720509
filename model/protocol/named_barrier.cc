// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/named_barrier.h"

namespace turnstile {

NamedBarrier::Outcome NamedBarrier::contribute(uint32_t expected, uint32_t threads) {
  if (expected == 0 || expected % 32 != 0) return Outcome::bad_count;
  if (arrived_ != 0 && expected != expected_) return Outcome::count_mismatch;
  if (arrived_ + threads > expected) return Outcome::over_arrival;
  expected_ = expected;
  arrived_ += threads;
  if (arrived_ != expected_) return Outcome::ok;
  arrived_ = 0;
  expected_ = 0;
  ++instance_;
  return Outcome::completed;
}

}  // namespace turnstile
