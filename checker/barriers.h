// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "checker/run_state.h"
#include "model/protocol/mbarrier.h"

namespace turnstile::checker {

/// Causal bookkeeping of the mbarriers and the conditions D1 to D5 on them (algorithms.md 3.2, 5.3). Knows no
/// accesses. Cost of an event: a join of clocks, or less.
class Barriers {
 public:
  explicit Barriers(RunState& run);

  void init(const Event& e);
  void inval(const Event& e);
  void arrive(const Event& e);
  void expect(const Event& e);
  void wait(const Event& e);
  /// The bytes of a copy land; `knowledge`: everything that its issuer knew at issue.
  void complete(const AsyncOp& op, size_t issue_event, uint32_t* knowledge);

  /// The write of a copy that lands now is known to those who know the completion that it contributes to.
  Epoch landing(uint32_t barrier) const;

  /// D1 for the waits that are blocked at the end, D5 for the phases that are still open.
  void finish();

  /// Highest generation of a barrier that bytes contributed to, as an epoch; value 0 if none.
  Epoch last_bytes(uint32_t barrier) const;

 private:
  struct Expected {
    Epoch epoch;
    size_t event;
    bool covered;
  };
  struct Passed {
    Epoch epoch;
    size_t event;
  };
  struct Contributors {
    std::vector<Epoch> strands;
    bool bytes = false;
  };
  struct State {
    Mbarrier machine;
    uint32_t base = 0;  ///< lane value of generation 0: goes on when the object is initialised again
    Epoch init;
    size_t init_event = no_event;
    size_t last_completion = no_event;
    bool early_use_reported = false;
    bool refused = false;  ///< an operation had no defined result: the object is left alone from there on
    Contributors open, last, before_last;
    std::vector<Expected> expects;
    std::vector<Passed> passed;
    uint64_t bytes_generation = 0;
  };

  bool usable(uint32_t b, const uint32_t* knowledge, size_t event);
  bool completion_known(uint32_t* causal, uint32_t b, uint64_t generation);
  void contribute(uint32_t b, uint32_t* knowledge, bool publishes, size_t event);
  void settle(uint32_t b, Mbarrier::Outcome outcome, size_t event);
  void report(Breach::Kind kind, uint32_t b, uint64_t generation, size_t event);

  RunState& run_;
  std::vector<State> states_;
  KnowledgeTable arriving_;  ///< all contributions so far
  KnowledgeTable done_;      ///< those of the last completion
};

}  // namespace turnstile::checker
