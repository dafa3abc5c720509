// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/check_launch.h"
#include "cli/launch_options.h"
#include "cli/policy_options.h"
#include "cli/sweep.h"
#include "cli/terminal.h"

namespace turnstile::cli {

/// `turnstile check LAUNCH.toml` as the command line gives it.
struct LaunchArguments {
  LaunchOptions launch;
  PolicyOptions policies;
  CheckLimits limits;
  std::vector<Sweep> sweeps;
  bool all_cases = false;
  bool json = false;
  bool quiet = false;
};

/// Checks one launch in full; or all cases, or every combination of a sweep, in parallel: a line or a letter
/// each, and the smallest that is not clean in full.
Exit run_check_launch(const LaunchArguments& arguments, const Terminal& terminal);

}  // namespace turnstile::cli
