// SPDX-License-Identifier: Apache-2.0
#include "golden/runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "golden/plan.h"
#include "golden/subprocess.h"
#include "model/files.h"

namespace turnstile::golden {

namespace {

constexpr const char* runner_name = "turnstile-gpu";

/// Starting the driver and copying 64 GiB take time beyond the launches themselves.
constexpr double overhead_seconds = 120;

bool is_program(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

template <typename Number>
bool read_number(const std::string& text, Number& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

/// One line of what a failed program said.
std::string last_words(const Finished& finished) {
  std::string text = finished.errors.empty() ? finished.output : finished.errors;
  text = text.substr(0, text.find('\n'));
  const std::string prefix = std::string(runner_name) + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text.empty() ? fmt::format("it ended with exit code {} and said nothing", finished.exit_code)
                      : text.substr(0, 300);
}

/// Exit codes of golden/gpu_runner/plan.md.
Error failure_of(const Finished& finished, const RunnerOptions& options) {
  if (finished.timed_out || finished.exit_code == 4)
    return {{},
            0,
            0,
            fmt::format("the kernel did not end on the GPU within {} s (a hang): {}", options.timeout_seconds,
                        finished.timed_out ? "the runner was killed" : last_words(finished))};
  if (finished.exit_code == 3)
    return {{}, 0, 0, fmt::format("the GPU stopped the kernel: {}", last_words(finished))};
  return {{}, 0, 0, fmt::format("the GPU could not be used: {}", last_words(finished))};
}

Result<void> read_outputs(const Launch& launch, const std::string& folder, GpuRun& run) {
  run.buffers.resize(launch.buffers.size());
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer& buffer = launch.buffers[i];
    if (buffer.role == BufferRole::in) continue;
    const std::string path = folder + "/" + output_file_name(launch, i);
    const Result<std::string> bytes = read_file(path, buffer.bytes);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->size() != buffer.bytes)
      return fail(
          path, 0, 0,
          fmt::format("expected {} bytes of buffer {}, got {}", buffer.bytes, buffer.name, bytes->size()));
    const auto view = std::as_bytes(std::span(*bytes));
    run.buffers[i].assign(view.begin(), view.end());
  }
  return {};
}

}  // namespace

Result<std::string> find_runner(const std::string& option) {
  if (!option.empty()) {
    if (is_program(option)) return option;
    return fail(option, 0, 0, "is not a program (--gpu-runner)");
  }
  const char* from_environment = std::getenv("TURNSTILE_GPU_RUNNER");
  if (from_environment != nullptr && *from_environment != '\0') {
    if (is_program(from_environment)) return std::string(from_environment);
    return fail(from_environment, 0, 0, "is not a program (TURNSTILE_GPU_RUNNER)");
  }
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const std::filesystem::path& candidate :
       {self.parent_path() / runner_name, self.parent_path().parent_path() / "build-gpu" / runner_name,
        std::filesystem::path("build-gpu") / runner_name, std::filesystem::path("build") / runner_name})
    if (is_program(candidate)) return candidate.string();
  return fail(
      "there is no GPU runner (turnstile-gpu): build it on the GPU machine with golden/gpu_runner/build.sh, "
      "or name it with "
      "--gpu-runner");
}

Result<GpuRun> parse_info(const std::string& text, const std::string& path) {
  std::map<std::string, std::string> values;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t blank = line.find(' ');
    if (blank != std::string::npos) values.emplace(line.substr(0, blank), line.substr(blank + 1));
  }
  if (values["turnstile-info"] != "1") return fail(path, 1, 1, "expected \"turnstile-info 1\"");
  GpuRun run;
  run.gpu = values["gpu"];
  run.compute_capability = values["compute_capability"];
  run.driver = values["driver"];
  run.cuda_driver_api = values["cuda_driver_api"];
  run.cuda_toolkit = values["cuda_toolkit"];
  run.identical = values["identical"] != "no";
  const bool numbers = read_number(values["sms"], run.sms) &&
                       read_number(values["repeat"], run.repetitions) &&
                       read_number(values["kernel_ms_median"], run.kernel_ms);
  if (run.gpu.empty() || !numbers)
    return fail(path, 0, 0, "expected gpu, sms, repeat and kernel_ms_median with values");
  return run;
}

Result<GpuRun> run_on_gpu(const Launch& launch, const RunnerOptions& options) {
  for (const Buffer& buffer : launch.buffers)
    if (!buffer.addresses.empty())
      return fail(launch.path, 0, 0,
                  fmt::format("buffer '{}' holds addresses of other buffers, which a plan for the GPU runner "
                              "cannot say; check and simulate know them",
                              buffer.name));
  const Result<std::string> runner = find_runner(options.path);
  if (!runner) return tl::unexpected(runner.error());
  const Result<ScratchFolder> scratch = ScratchFolder::make(options.scratch, "gpu");
  if (!scratch) return tl::unexpected(scratch.error());
  PlanOptions plan_options;
  plan_options.folder = scratch->path();
  plan_options.repeat = options.repeat;
  const Result<std::string> plan = write_plan(launch, plan_options, "launch.plan");
  if (!plan) return tl::unexpected(plan.error());
  const std::string outputs = scratch->path() + "/out";
  const Result<Finished> finished =
      run_program({*runner, "--timeout", std::to_string(options.timeout_seconds), *plan, outputs},
                  options.timeout_seconds * static_cast<double>(options.repeat) + overhead_seconds);
  if (!finished) return tl::unexpected(finished.error());
  if (finished->timed_out || finished->exit_code != 0) return tl::unexpected(failure_of(*finished, options));
  const std::string info_path = outputs + "/info.txt";
  const Result<std::string> info = read_file(info_path, uint64_t{1} << 20);
  if (!info) return tl::unexpected(info.error());
  Result<GpuRun> run = parse_info(*info, info_path);
  if (!run) return run;
  if (const Result<void> read = read_outputs(launch, outputs, *run); !read)
    return tl::unexpected(read.error());
  return run;
}

Result<Record> make_record(const Launch& launch, const GpuRun& run, const std::string& date) {
  Result<Record> record = describe_launch(launch);
  if (!record) return record;
  record->gpu = run.gpu;
  record->compute_capability = run.compute_capability;
  record->driver = run.driver;
  record->cuda_driver_api = run.cuda_driver_api;
  record->cuda_toolkit = run.cuda_toolkit;
  record->sms = run.sms;
  record->repetitions = run.repetitions;
  record->kernel_ms = run.kernel_ms;
  record->date = date;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    if (launch.buffers[i].role == BufferRole::in) continue;
    Result<RecordedOutput> output = record_output(launch.buffers[i], run.buffers[i]);
    if (!output) return tl::unexpected(output.error());
    record->outputs.push_back(std::move(*output));
  }
  if (record->outputs.empty())
    return fail(launch.path, 0, 0, "the launch has no buffer with role out: nothing to record");
  return record;
}

}  // namespace turnstile::golden
