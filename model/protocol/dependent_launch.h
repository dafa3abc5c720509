// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace turnstile {

/// Programmatic dependent launch between a grid and the one after it (semantics.md section 11).
class DependentLaunch {
 public:
  /// `ctas` of the primary grid.
  explicit DependentLaunch(uint32_t ctas) : state_(ctas, 0), untriggered_(ctas), running_(ctas) {}

  /// PD1: griddepcontrol.launch_dependents; once or often is the same.
  void trigger(uint32_t cta) {
    if ((state_[cta] & triggered) == 0) --untriggered_;
    state_[cta] |= triggered;
  }
  /// PD4: the exit of a CTA is a trigger.
  void exit(uint32_t cta) {
    trigger(cta);
    if ((state_[cta] & exited) == 0) --running_;
    state_[cta] |= exited;
  }

  /// PD1: the dependents may start, which does not mean that they do (PD7: nothing may rely on it).
  bool may_start() const { return untriggered_ == 0; }
  /// PD2, PD9: griddepcontrol.wait of a dependent passes when the primary is complete; only then are its
  /// operations visible. A trigger publishes nothing (PD6).
  bool wait_passes() const { return running_ == 0; }

 private:
  static constexpr uint8_t triggered = 1, exited = 2;
  std::vector<uint8_t> state_;  // by CTA
  uint32_t untriggered_;
  uint32_t running_;
};

}  // namespace turnstile
