// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "golden/record.h"
#include "model/launch/launch.h"

namespace turnstile::golden {

struct RunnerOptions {
  std::string path;                    ///< of turnstile-gpu; empty: look for it (find_runner)
  std::string scratch = ".turnstile";  ///< folder for the plan and the outputs; removed afterwards
  uint32_t repeat = 3;                 ///< runs, which must all give the same bits
  unsigned timeout_seconds = 20;       ///< of one launch: a hang must end
};

/// What a GPU made of a launch.
struct GpuRun {
  std::vector<std::vector<std::byte>> buffers;  ///< after the launch, by buffer number; empty for inputs
  std::string gpu;
  std::string compute_capability;
  std::string driver;
  std::string cuda_driver_api;
  std::string cuda_toolkit;
  uint32_t sms = 0;
  uint32_t repetitions = 1;
  bool identical = true;  ///< false: the repetitions gave different bits
  double kernel_ms = 0;
};

/// The program that runs kernels on a GPU: `option`, else $TURNSTILE_GPU_RUNNER, else turnstile-gpu beside
/// this program, in build-gpu/ or in build/. The error says how to build it.
Result<std::string> find_runner(const std::string& option);

/// Runs a launch on this machine's GPU (golden/gpu_runner/plan.md). Errors are one line: no runner, no GPU, a
/// hang, a fault of the kernel.
Result<GpuRun> run_on_gpu(const Launch& launch, const RunnerOptions& options);

/// The record of a run that is `describe_launch(launch)` plus what the GPU did.
Result<Record> make_record(const Launch& launch, const GpuRun& run, const std::string& date);

/// Reads the runner's info.txt; exposed for tests.
Result<GpuRun> parse_info(const std::string& text, const std::string& path);

}  // namespace turnstile::golden
