// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checker/witness.h"
#include "cli/policy_options.h"
#include "cli/sweep.h"
#include "model/mimw/mimw.h"
#include "model/report.h"
#include "model/result.h"

namespace turnstile::cli {

struct MimwLimitsOfCheck {
  uint64_t states = 2'000'000;  ///< of a search, where one run does not decide
  double seconds = 20;          ///< of the search, CPU time
  PolicyChoice policies;
  bool all_classes = false;  ///< report every class of fault that many schedules and a search show
};

/// The verdict about one variant of a .mimw text with one choice of values.
struct MimwOutcome {
  std::string variant;
  std::map<std::string, int64_t> values;
  Report report;
  PolicyChoice policies;           ///< that it rests on
  std::optional<Witness> witness;  ///< of the first finding that needs a certain schedule
  std::string witness_file;        ///< where it was kept; the caller's to fill in
  uint64_t runs = 0;               ///< further schedules executed (all_classes)
  uint64_t states = 0;             ///< visited by the search of all_classes
  double seconds = 0;
};

/// Unrolls, executes once and decides (checker/decide.h). An Error is a fault of the text. May be called from
/// several threads.
Result<MimwOutcome> check_mimw(const MimwProgram& program, const std::string& variant,
                               const std::map<std::string, int64_t>& values, const MimwLimitsOfCheck& limits);

/// The sweeps that were asked for, and one over all values of each parameter that is neither swept nor given.
Result<std::vector<Sweep>> parameter_sweeps(const MimwProgram& program, const std::string& variant,
                                            const std::vector<Sweep>& asked,
                                            const std::map<std::string, int64_t>& given);

/// Every choice of values of the variant's parameters that `given` does not fix, in order.
Result<std::vector<std::map<std::string, int64_t>>> choices_of(const MimwProgram& program,
                                                               const std::string& variant,
                                                               const std::map<std::string, int64_t>& given);

}  // namespace turnstile::cli
