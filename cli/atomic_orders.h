// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "checker/decide.h"
#include "model/launch/launch.h"
#include "model/result.h"
#include "sim/program.h"

namespace turnstile::cli {

/// What an atomic in global memory returns says how many CTAs have come to its word: the next tile of a
/// scheduler, or whether this CTA is the last of a split. Which answers a CTA gets is a choice that no
/// schedule of its own covers (LF3). Some orders of the CTAs are run here, and each run is judged.
struct AtomicOrders {
  Report report;          ///< findings of all runs, each saying which answers lead there
  uint64_t runs = 0;      ///< 0: no add to a known word decides anything
  uint64_t clusters = 0;  ///< that were run, from the first
  std::string sentence;   ///< what was run, for a reader
};

/// For the first clusters of the grid: as if it came first; as if others came in between, by one or two; and
/// as if, from some call on, others had taken all that was left. Where a CTA asks once only: each number of
/// CTAs before it. `options`: as for other runs.
Result<AtomicOrders> run_atomic_orders(const sim::Program& program, const Launch& launch, uint64_t clusters,
                                       const DecideOptions& options, const std::function<bool()>& stop);

}  // namespace turnstile::cli
