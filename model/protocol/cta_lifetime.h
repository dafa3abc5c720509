// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace turnstile {

/// Shared memory, tensor memory and barriers of a CTA exist while it runs (semantics.md section 4): from its
/// first step (D1) until its last strand has ended (D2). What lies there after that may belong to a stranger
/// (D5).
class CtaLifetime {
 public:
  CtaLifetime() = default;
  explicit CtaLifetime(uint32_t strands) : strands_(strands), live_(strands) {}

  /// One strand of the CTA ended; true: it was the last.
  bool end_one() { return --live_ == 0; }

  /// D2, D3: an access, an arrive or an asynchronous operation of another CTA finds nothing here. A CTA of
  /// which the program says nothing is taken to live.
  bool exited() const { return strands_ != 0 && live_ == 0; }
  uint32_t live() const { return live_; }

  void restore(uint32_t live) { live_ = live; }

 private:
  uint32_t strands_ = 0;
  uint32_t live_ = 0;
};

}  // namespace turnstile
