// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/launch/launch.h"
#include "model/report.h"

namespace turnstile::cli {

struct CheckLimits {
  uint64_t ctas = 0;  ///< execute only so many CTAs, from the first; 0: all. Fewer than all can not be clean
  bool strict = false;    ///< lints count as findings
  uint64_t resident = 0;  ///< clusters that the GPU holds at a time (F2); 0: all
};

/// The verdict about one launch, with what it rests on.
struct CheckOutcome {
  Launch launch;
  std::string target;  ///< "sm_90a"
  Report report;
  uint64_t ctas_run = 0;
  uint64_t classes = 0;  ///< CTAs of one class did the same, up to where their global memory lies
  uint32_t warps = 0;
  double execute_seconds = 0;
  double check_seconds = 0;
};

/// Called now and then with the number of CTAs done.
using CheckProgress = std::function<void(uint64_t done, uint64_t total)>;

/// Executes every CTA in the control domain (those of a cluster, or that wait for each other, together),
/// checks one trace of each class, then what the CTAs do to each other, and folds the reports into one. Stops
/// early, with a reason in `inconclusive`, when interrupted(). An Error is a fault of the input.
Result<CheckOutcome> check_launch(const Launch& launch, const CheckLimits& limits,
                                  const CheckProgress& progress);

}  // namespace turnstile::cli
