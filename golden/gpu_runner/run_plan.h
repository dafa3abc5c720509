// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "golden/gpu_runner/driver.h"
#include "golden/gpu_runner/read_plan.h"

namespace turnstile {

using Info = std::vector<std::pair<std::string, std::string>>;  ///< key, value; in the order of info.txt

/// What plan.md promises about the GPU and the software around it.
Info describe(const Gpu& gpu);

struct RunOutput {
  std::vector<std::string> buffers;  ///< bytes, in the order of Plan::outputs
  Info info;                         ///< of this run, without the GPU's part
};

/// Runs the plan. An error of code kTimeout or kGpu may leave the context unusable: end the process without
/// touching it again.
RunnerResult<RunOutput> run_plan(const Gpu& gpu, const Plan& plan, double timeout_seconds);

/// Writes outputs and info.txt into `folder`, which must not exist: beside it first, then renamed.
RunnerStatus write_output(const std::filesystem::path& folder, const Plan& plan, const Gpu& gpu,
                          const RunOutput& output);

}  // namespace turnstile
