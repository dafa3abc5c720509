// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "model/launch/launch.h"
#include "model/result.h"

namespace turnstile::golden {

struct PlanOptions {
  std::string folder = ".";  ///< where the plan will stand; the path of the PTX is written relative to it
  uint32_t repeat = 1;       ///< runs of the kernel, 1 to 1000, each from the same initial buffers
  bool poison_outputs =
      true;  ///< `out` buffers start as bytes 0xA5 rather than zeros, so that elements never written show
};

/// The plan of a launch for the GPU runner, as golden/gpu_runner/plan.md defines it. Buffers with `values`
/// are given as files that must stand beside the plan (input_file_name); write_plan makes them.
std::string plan_text(const Launch& launch, const PlanOptions& options);

/// File beside the plan that holds the initial contents of a buffer with `values`.
std::string input_file_name(const Launch& launch, size_t buffer);

/// File in the runner's output folder that holds a buffer (`out` or `in_out`) after the launch.
std::string output_file_name(const Launch& launch, size_t buffer);

/// Writes the plan as FOLDER/NAME, and the files that it needs; gives the plan's path. The folder must exist.
Result<std::string> write_plan(const Launch& launch, const PlanOptions& options, const std::string& name);

}  // namespace turnstile::golden
