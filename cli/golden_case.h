// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cli/golden_rows.h"
#include "cli/launch_options.h"
#include "cli/terminal.h"
#include "golden/runner.h"

namespace turnstile::cli {

struct GoldenArguments {
  LaunchOptions launch;
  std::string records;  ///< folder; empty: golden/records near the launch file
  golden::RunnerOptions runner;
  bool update = false;
  bool json = false;
  bool quiet = false;
  bool no_why = false;  ///< a difference is not explained
  unsigned jobs = 0;    ///< cases at a time; 0: as many as there are cores
};

/// The folder of records: the option, else `golden/records` in the nearest folder above the launch file that
/// has one, else below here.
std::string records_folder(const GoldenArguments& arguments);

/// Runs a launch on the GPU. A parameter so that tests need no GPU, and so that runs can be kept from
/// overlapping.
using GpuRunner = std::function<Result<golden::GpuRun>(const Launch&)>;

// One case of a launch file each; never throws the rest away: what went wrong stands in the row.

/// Runs the GPU and writes the record, unless one is there that says something else and `update` is not
/// given.
GoldenRow record_case(const GoldenArguments& arguments, const std::string& case_name, const GpuRunner& run);
/// Simulates and compares with the record.
GoldenRow verify_case(const GoldenArguments& arguments, const std::string& case_name);
/// Runs the GPU and the simulator and compares both, and the GPU with the record.
GoldenRow crossval_case(const GoldenArguments& arguments, const std::string& case_name, const GpuRunner& run);

/// What a row means for the exit code.
Exit exit_of(const GoldenRow& row);

/// The command line that makes the record of a case, for messages.
std::string record_command(const GoldenArguments& arguments, const std::string& case_name);

}  // namespace turnstile::cli
