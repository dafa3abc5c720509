// SPDX-License-Identifier: Apache-2.0

// turnstile golden record|verify|crossval: GPU, simulator and record held against each other, case by case.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/golden_case.h"
#include "cli/render_golden.h"
#include "cli/render_json.h"
#include "cli/verbs.h"

namespace turnstile::cli {

namespace {

using CaseWork = std::function<GoldenRow(const std::string& case_name)>;

/// Does the cases on some threads and hands the rows over in the order of the cases, each as soon as it and
/// all before it are done.
class CasePool {
 public:
  CasePool(const std::vector<std::string>& cases, const CaseWork& work, unsigned threads)
      : cases_(cases), work_(work), rows_(cases.size()) {
    const size_t count = std::clamp<size_t>(threads, 1, std::max<size_t>(cases.size(), 1));
    for (size_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
  }
  CasePool(const CasePool&) = delete;
  CasePool& operator=(const CasePool&) = delete;
  ~CasePool() {
    for (std::thread& t : threads_) t.join();
  }

  /// Waits for row `i`; nullopt if it was not done because of an interrupt.
  std::optional<GoldenRow> take(size_t i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rows_[i].has_value() || finished_ == threads_.size(); });
    return std::move(rows_[i]);
  }

 private:
  void run() {
    for (size_t i = next_++; i < cases_.size() && !interrupted(); i = next_++) {
      GoldenRow row = work_(cases_[i]);
      const std::scoped_lock lock(mutex_);
      rows_[i] = std::move(row);
      changed_.notify_all();
    }
    const std::scoped_lock lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

  const std::vector<std::string>& cases_;
  const CaseWork& work_;
  std::vector<std::optional<GoldenRow>> rows_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t finished_ = 0;
  std::vector<std::thread> threads_;
};

Exit run_cases(const std::string& verb, const GoldenArguments& arguments, const CaseWork& work,
               const Terminal& terminal) {
  const Result<std::vector<std::string>> cases = cases_of(arguments.launch);
  if (!cases) return refuse(terminal, "golden " + verb, arguments.json, cases.error());
  const unsigned threads =
      arguments.jobs != 0 ? arguments.jobs : std::max(1u, std::thread::hardware_concurrency());
  CasePool pool(*cases, work, threads);
  std::vector<GoldenRow> rows;
  Exit exit = Exit::clean;
  const Style& style = terminal.out();
  if (!arguments.json && !arguments.quiet) terminal.print(render_golden_head(verb));
  for (size_t i = 0; i < cases->size(); ++i) {
    terminal.progress(fmt::format("  {} of {}: {}", i + 1, cases->size(), (*cases)[i]));
    std::optional<GoldenRow> row = pool.take(i);
    if (!row) break;
    exit = worst(exit, exit_of(*row));
    const bool worth_it = !arguments.quiet || exit_of(*row) != Exit::clean;
    if (!arguments.json && worth_it) terminal.print(render_golden_row(verb, *row, style));
    rows.push_back(std::move(*row));
  }
  if (rows.size() < cases->size()) exit = worst(exit, Exit::inconclusive);
  if (arguments.json) {
    terminal.print(json_of_golden("golden " + verb, rows, exit));
    return exit;
  }
  if (!arguments.quiet) terminal.print(render_golden_summary(verb, rows, style));
  if (rows.size() < cases->size())
    terminal.print(
        fmt::format("stopped by the user: {} not done\n", counted(cases->size() - rows.size(), "case")));
  return exit;
}

/// Runs on the GPU must not overlap: they would share its time, and one hang would be the other's timeout.
class OneAtATime {
 public:
  explicit OneAtATime(const golden::RunnerOptions& options) : options_(options) {}
  Result<golden::GpuRun> operator()(const Launch& launch) {
    const std::scoped_lock lock(mutex_);
    return golden::run_on_gpu(launch, options_);
  }

 private:
  const golden::RunnerOptions& options_;
  std::mutex mutex_;
};

CLI::App* add_verb(CLI::App& golden, const char* name, const char* description, const char* examples,
                   const std::shared_ptr<GoldenArguments>& arguments) {
  CLI::App* verb = golden.add_subcommand(name, description);
  add_launch_options(*verb, arguments->launch);
  verb->add_option("--records", arguments->records,
                   "Folder of the records (default: golden/records near the launch file)")
      ->type_name("FOLDER");
  verb->add_option("--jobs", arguments->jobs, "Cases to work on at a time (default: one a core)")
      ->type_name("N");
  if (std::string_view(name) != "record")
    verb->add_flag("--no-why", arguments->no_why, "Say what differs, not where its bits come from");
  verb->add_flag("--json", arguments->json, "Print one JSON document (docs/json.md)");
  verb->add_flag("-q,--quiet", arguments->quiet, "Print only cases that are not as they should be");
  verb->footer(examples);
  return verb;
}

void add_gpu_options(CLI::App& verb, GoldenArguments& arguments) {
  verb.add_option("--gpu-runner", arguments.runner.path,
                  "The program turnstile-gpu (or set TURNSTILE_GPU_RUNNER)")
      ->type_name("PATH");
  verb.add_option("--repeat", arguments.runner.repeat, "Runs of each case, which must all give the same bits")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  verb.add_option("--timeout", arguments.runner.timeout_seconds,
                  "Seconds after which a launch counts as hung")
      ->check(CLI::Range(1u, 3600u))
      ->capture_default_str();
}

constexpr const char* record_examples = R"(Needs a GPU, and turnstile-gpu (golden/gpu_runner/build.sh).

Examples:
  turnstile golden record kernels/gemm_bf16_hopper/gemm.toml
      Runs every case of the launch file on the GPU and writes golden/records/gemm_bf16_hopper/CASE.json.
  turnstile golden record gemm.toml --case m77_n512_k333_wide --update
      Makes one record anew, also if it differs from the one that is there.)";

constexpr const char* verify_examples = R"(Needs no GPU.

Examples:
  turnstile golden verify kernels/gemm_bf16_hopper/gemm.toml
      Simulates every case and compares each bit with what a GPU was recorded to give.
  turnstile golden verify gemm.toml --case m77_n512_k333_wide --json
      One case, as JSON.

Of a case that differs, the first element is explained: where the differences are, its path back to
the inputs (instructions, k groups, roundings), and which change of the arithmetic would give the
recorded bits (docs/differences.md).

Exit codes: 0 equal, 1 bits differ, 2 no such record or unreadable input, 3 something has no exact model.)";

constexpr const char* crossval_examples = R"(Needs a GPU, and turnstile-gpu (golden/gpu_runner/build.sh).

Examples:
  turnstile golden crossval kernels/gemm_bf16_hopper/gemm.toml
      Runs every case on the GPU and in the simulator, and compares the GPU with both simulator and record.
  turnstile golden crossval gemm.toml --case m77_n512_k333_wide --gpu-runner build-gpu/turnstile-gpu
      One case, with a runner from elsewhere.

Of a case in which GPU and simulator differ, the first element is explained: where the differences
are, its path back to the inputs (instructions, k groups, roundings), and which change of the
arithmetic would give the GPU's bits (docs/differences.md).)";

}  // namespace

void add_golden(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* golden = app.add_subcommand("golden", "Compare the GPU, the simulator and recorded outputs");
  golden->require_subcommand(1);
  const auto arguments = std::make_shared<GoldenArguments>();
  const auto gpu = std::make_shared<OneAtATime>(arguments->runner);

  CLI::App* record =
      add_verb(*golden, "record", "Run on the GPU and write records", record_examples, arguments);
  add_gpu_options(*record, *arguments);
  record->add_flag("--update", arguments->update, "Overwrite records that say something else");
  record->callback([=, &terminal, &exit] {
    const CaseWork work = [&](const std::string& name) {
      return record_case(*arguments, name, std::ref(*gpu));
    };
    exit = run_cases("record", *arguments, work, terminal);
  });

  CLI::App* verify =
      add_verb(*golden, "verify", "Simulate and compare with the records", verify_examples, arguments);
  verify->callback([=, &terminal, &exit] {
    const CaseWork work = [&](const std::string& name) { return verify_case(*arguments, name); };
    exit = run_cases("verify", *arguments, work, terminal);
  });

  CLI::App* crossval = add_verb(*golden, "crossval", "Run GPU and simulator, compare both and the records",
                                crossval_examples, arguments);
  add_gpu_options(*crossval, *arguments);
  crossval->callback([=, &terminal, &exit] {
    const CaseWork work = [&](const std::string& name) {
      return crossval_case(*arguments, name, std::ref(*gpu));
    };
    exit = run_cases("crossval", *arguments, work, terminal);
  });
}

}  // namespace turnstile::cli
