// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "checker/explore.h"
#include "checker/witness.h"
#include "cli/policy_options.h"
#include "model/launch/launch.h"
#include "model/report.h"

namespace turnstile::cli {

struct CheckLimits {
  uint64_t ctas = 0;  ///< execute only so many CTAs, from the first; 0: all. Fewer than all can not be clean
  uint64_t resident = 0;  ///< clusters that the GPU holds at a time (F2); 0: all
  PolicyChoice policies;
  /// Of a class of CTAs, where one run does not decide: states, bytes, seconds.
  checker::SearchLimits search{2'000'000, uint64_t{512} << 20, 20};
  /// After the first error more CTAs are executed for so long, unless `ctas` asks for them: the verdict
  /// stands.
  double seconds_after_error = 10;
  double all_searches_seconds = 60;  ///< of all classes together; then each is searched briefly
  double shorten_seconds = 1;        ///< for making a witness that is known the shortest
};

/// The verdict about one launch, with what it rests on.
struct CheckOutcome {
  Launch launch;
  std::string target;  ///< "sm_90a"
  Report report;
  PolicyChoice policies;           ///< that it rests on
  std::optional<Witness> witness;  ///< of the first finding that needs a certain schedule
  uint64_t witness_cta = 0;        ///< a CTA of the trace that it belongs to
  uint32_t witness_handed = 0;     ///< clusters that launch control hands over there, or tickets drawn
  bool draws_tickets = false;      ///< it is tickets (sim/tickets.h)
  std::optional<uint32_t>
      witness_last;                ///< the cluster that comes last to its counter there (sim/arrivals.h)
  bool has_last_arrivers = false;  ///< counters told CTAs who is the last (sim/arrivals.h)
  std::string witness_file;        ///< where it was kept; the caller's to fill in
  uint64_t ctas_run = 0;           ///< executed, or followed
  uint64_t ctas_followed = 0;      ///< of these: not executed, but shown to do what others did, at other
                                   ///< addresses in global memory (sim/position_tape.h)
  std::string launch_control;      ///< which numbers of handovers were run, and for which they stand; may be
                                   ///< empty
  uint64_t classes = 0;            ///< CTAs of one class did the same, up to where their global memory lies
  uint32_t warps = 0;
  double execute_seconds = 0;
  double check_seconds = 0;
};

/// Called now and then with how far one part of the work has come, and of what these are ("CTAs").
using CheckProgress = std::function<void(uint64_t done, uint64_t total, std::string_view of)>;

/// Executes every CTA in the control domain (those of a cluster, or that wait for each other, together), or
/// shows that it does what an executed one did (cli/followed_classes.h),
/// decides one trace of each class (checker/decide.h), then what the CTAs do to each other, and folds the
/// reports into one. Stops early, with a reason in `inconclusive`, when interrupted(). An Error is a fault of
/// the input. May be called from several threads.
Result<CheckOutcome> check_launch(const Launch& launch, const CheckLimits& limits,
                                  const CheckProgress& progress);

}  // namespace turnstile::cli
