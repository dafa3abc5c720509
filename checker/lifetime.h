// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "checker/run_state.h"

namespace turnstile::checker {

/// Shared memory and barriers of another CTA (semantics.md D1 to D5). A CTA is gone when all its strands have
/// ended. What is done to it is safe in every schedule iff some strand ends causally after it: else all of
/// them can end first. Used only where a trace holds several CTAs.
class Lifetime {
 public:
  explicit Lifetime(RunState& run);

  /// An event of `strand` touches the shared memory of a CTA, or a barrier there.
  void touch(const Event& e, uint16_t cta, uint32_t barrier);
  /// Something lands there that is known to be over to those who know `epoch`.
  void land(size_t issue_event, uint16_t cta, Epoch epoch, uint32_t barrier);
  void exit(const Event& e);
  void finish();

 private:
  struct Touch {
    uint32_t value = 0;
    size_t event = no_event;
    uint32_t barrier = Misuse::no_object;
  };

  void note(uint16_t cta, Epoch epoch, size_t event, uint32_t barrier);
  void check_started(const Event& e, uint16_t cta, uint32_t barrier);

  RunState& run_;
  bool start_told_ = false;
  std::map<uint16_t, std::vector<Touch>> touched_;     ///< by CTA: the last on each lane
  std::map<uint16_t, std::vector<uint32_t>> at_exit_;  ///< by CTA: what its ends know, in causal order
  std::map<uint16_t, size_t> last_exit_;
  std::vector<bool> not_started_reported_;
};

}  // namespace turnstile::checker
