// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "golden/gpu_runner/run_plan.h"

namespace turnstile {
namespace {

constexpr const char* kHelp =
    "turnstile-gpu: runs kernels on a GPU as plans say (golden/gpu_runner/plan.md)\n"
    "\n"
    "  turnstile-gpu [--timeout SECONDS] [--device N] PLAN OUTDIR [PLAN OUTDIR]...\n"
    "  turnstile-gpu [--device N] --info\n"
    "\n"
    "Each OUTDIR is made, with the plan's output files and info.txt. Exit codes: 0 done; 2 usage, plan, "
    "driver or GPU\n"
    "missing; 3 the GPU refused or faulted; 4 a kernel did not end within the timeout (default 20 seconds).\n"
    "\n"
    "  turnstile-gpu gemm.plan out            run one plan\n"
    "  turnstile-gpu --timeout 5 a.plan a b.plan b\n";

struct Options {
  bool help = false, info = false;
  int device = 0;
  int timeout_seconds = 20;
  std::vector<std::string> words;  ///< plan, folder, plan, folder ...
};

RunnerResult<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--info") {
      options.info = true;
    } else if (word == "--timeout" || word == "--device") {
      int& value = word == "--timeout" ? options.timeout_seconds : options.device;
      const std::string text = i + 1 < arguments.size() ? arguments[++i] : "";
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc{} || stop != text.data() + text.size() || value < 0 || value > 3600) {
        return usage_error(word + " needs a number from 0 to 3600, not '" + text + "'");
      }
    } else if (word.starts_with("-")) {
      return usage_error("unknown option '" + word + "'; see --help");
    } else {
      options.words.push_back(word);
    }
  }
  if (!options.help && !options.info && (options.words.empty() || options.words.size() % 2 != 0)) {
    return usage_error("needs pairs of a plan and an output folder; see --help");
  }
  return options;
}

int report(const RunnerError& error, const std::string& context = "") {
  std::fprintf(stderr, "turnstile-gpu: %s%s\n", error.reason.c_str(), context.c_str());
  std::fflush(nullptr);
  // A kernel that hangs or faulted has taken the context with it: tearing it down could block for ever.
  if (error.code != RunnerError::kUsage) _exit(error.code);
  return error.code;
}

int run(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  if (const auto* error = std::get_if<RunnerError>(&parsed)) return report(*error);
  const Options& options = std::get<Options>(parsed);
  if (options.help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  // All plans are read before the first runs: a typing error must not cost GPU time.
  std::vector<Plan> plans;
  for (size_t i = 0; i < options.words.size(); i += 2) {
    auto plan = read_plan(options.words[i]);
    if (const auto* error = std::get_if<RunnerError>(&plan)) return report(*error);
    plans.push_back(std::move(std::get<Plan>(plan)));
    std::error_code ignored;
    if (std::filesystem::exists(options.words[i + 1], ignored))
      return report(usage_error(options.words[i + 1] + ": exists already"));
  }
  const auto opened = open_gpu(options.device);
  if (const auto* error = std::get_if<RunnerError>(&opened)) return report(*error);
  const Gpu& gpu = std::get<Gpu>(opened);
  if (options.info) {
    for (const auto& [key, value] : describe(gpu)) std::printf("%s %s\n", key.c_str(), value.c_str());
    return 0;
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::string context = " (" + options.words[2 * i] + ")";
    const auto output = run_plan(gpu, plans[i], options.timeout_seconds);
    if (const auto* error = std::get_if<RunnerError>(&output)) return report(*error, context);
    if (auto error = write_output(options.words[2 * i + 1], plans[i], gpu, std::get<RunOutput>(output)))
      return report(*error);
  }
  return 0;
}

}  // namespace
}  // namespace turnstile

int main(int argc, char** argv) { return turnstile::run(std::vector<std::string>(argv + 1, argv + argc)); }
