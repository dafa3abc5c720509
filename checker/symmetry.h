// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "checker/independence.h"
#include "model/orchestration.h"
#include "model/protocol/orchestration_machine.h"
#include "model/protocol/orchestration_renaming.h"

namespace turnstile {
struct OrchestrationPlan;
}

namespace turnstile::checker {

struct Correspondence;

/// Exchanges of strands, and of what belongs to them, that leave an orchestration as it is: two consumers of
/// one ring, two CTAs that do the same. A search needs to look at one of the states that differ by such an
/// exchange only (see the argument in the .cc).
class Symmetry {
 public:
  Symmetry(const Orchestration& program, const Overlaps& overlaps);

  bool any() const { return !exchanges_.empty(); }
  size_t exchanges() const { return exchanges_.size(); }

  /// Names for the parts of this state under which those of two exchangeable strands that is further comes
  /// first. Valid until the next call.
  struct Names {
    OrchestrationRenaming machine;
    std::vector<uint32_t> cell;  ///< tags of memory: as the others, cell t of the renamed state is from[t]
    bool own = true;             ///< nothing is renamed
  };
  const Names& sort(const OrchestrationMachine& state);

 private:
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
  struct Exchange {
    Pairs strands;  ///< by their first
    Pairs barriers, named, contributions, ctas, register_groups, cells;
    OrchestrationRenaming::Operations operations;
  };

  void apply(const Exchange& exchange);
  void note(const OrchestrationPlan& plan, const Correspondence& found);

  std::vector<Exchange> exchanges_;
  Names names_;
  std::vector<const Exchange*> applied_;
};

}  // namespace turnstile::checker
