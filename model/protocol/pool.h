// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace turnstile {

/// A counted resource: registers of a CTA (RG4), SM slots of spinning CTAs (F2), columns of tensor memory of
/// an SM that co-resident CTAs share (TC3). Taking blocks until enough is there; which of several waiters is
/// served first is not specified (RG9).
class Pool {
 public:
  Pool() = default;
  explicit Pool(int64_t units) : units_(units) {}

  bool can_acquire(uint64_t units) const { return units_ >= 0 && static_cast<uint64_t>(units_) >= units; }
  void acquire(uint64_t units) { units_ -= static_cast<int64_t>(units); }
  void release(uint64_t units) { units_ += static_cast<int64_t>(units); }

  int64_t units() const { return units_; }
  void restore(int64_t units) { units_ = units; }

 private:
  int64_t units_ = 0;
};

}  // namespace turnstile
