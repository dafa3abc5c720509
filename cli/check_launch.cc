// SPDX-License-Identifier: Apache-2.0
#include "cli/check_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "checker/check.h"
#include "cli/residency.h"
#include "cli/terminal.h"
#include "cli/trace_class.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"
#include "sim/program.h"

namespace turnstile::cli {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Traces that are held in memory at one time.
constexpr uint64_t batch_size = 8;

std::string cta_name(const Trace& trace) {
  return fmt::format("CTA ({}, {}, {})", trace.first_cta[0], trace.first_cta[1], trace.first_cta[2]);
}

/// Sorts traces into classes and checks the first of each; folds all reports into the outcome at the end.
class Folder {
 public:
  Folder(CheckOutcome& outcome, const CheckOptions& options) : outcome_(outcome), options_(options) {}

  void add(const Trace& trace) {
    outcome_.warps = std::max(outcome_.warps, trace.warps);
    const uint64_t ctas = uint64_t{trace.cluster_ctas} * trace.clusters;
    outcome_.ctas_run += ctas;
    summaries_.push_back(summarize_global(trace));
    const auto [at, is_new] = index_.emplace(trace_class(trace), classes_.size());
    if (is_new) classes_.push_back({check(trace, options_), cta_name(trace), 0});
    classes_[at->second].ctas += ctas;
  }

  void finish() {
    outcome_.classes = classes_.size();
    for (Class& c : classes_) {
      for (Diagnostic& d : c.report.diagnostics)
        if (outcome_.launch.cta_count() > 1) d.facts.push_back(where_seen(c));
      merge_into(outcome_.report, c.report);
    }
    if (summaries_.size() > 1) merge_into(outcome_.report, check_between(summaries_, options_));
    // What a clean verdict does not speak about (ux.md): said each time, so that nobody takes it for granted.
    outcome_.report.not_examined = {"floating-point values (turnstile simulate)",
                                    "the place of wgmma.fence (WG1)",
                                    "alignment of tensor coordinates (BS15)"};
  }

 private:
  struct Class {
    Report report;
    std::string first_cta;
    uint64_t ctas = 0;
  };

  std::string where_seen(const Class& c) const {
    if (c.ctas == outcome_.ctas_run) return fmt::format("the same in each of {} CTAs", c.ctas);
    return fmt::format("in {} of {} CTAs, the first is {}", c.ctas, outcome_.ctas_run, c.first_cta);
  }

  CheckOutcome& outcome_;
  const CheckOptions& options_;
  std::map<TraceClass, size_t> index_;
  std::vector<Class> classes_;
  std::vector<GlobalAccessSummary> summaries_;
};

void add_reason(Report& report, std::string text) { report.inconclusive.push_back({{}, std::move(text)}); }

}  // namespace

Result<CheckOutcome> check_launch(const Launch& launch, const CheckLimits& limits,
                                  const CheckProgress& progress) {
  CheckOutcome outcome;
  outcome.launch = launch;
  Clock::time_point start = Clock::now();
  const Result<sim::ProgramHandle> program = sim::load_program(launch);
  if (!program) return tl::unexpected(program.error());
  outcome.target = (*program)->module.target;
  outcome.launch.cluster = sim::cluster_shape(**program);
  outcome.execute_seconds = since(start);

  CheckOptions options;
  if (limits.strict) options.policies.read_fence = Severity::error;
  Folder folder(outcome, options);
  const uint64_t total = launch.cta_count();
  const uint64_t traces = sim::trace_count(**program, launch), ctas_each = total / traces;
  const uint64_t wanted_traces =
      limits.ctas == 0 ? traces : std::min((limits.ctas + ctas_each - 1) / ctas_each, traces);
  const uint64_t wanted = wanted_traces * ctas_each;
  for (uint64_t first = 0; first < wanted_traces && !interrupted(); first += batch_size) {
    sim::RunOptions run_options;
    run_options.domain = sim::Domain::control;
    for (uint64_t trace = first; trace < std::min(first + batch_size, wanted_traces); ++trace)
      run_options.ctas.push_back(sim::cta_of_trace(**program, launch, trace));
    start = Clock::now();
    const Result<sim::RunResult> run = sim::run_launch(**program, launch, run_options);
    if (!run) return tl::unexpected(run.error());
    outcome.execute_seconds += since(start);
    start = Clock::now();
    for (const Trace& trace : run->traces) folder.add(trace);
    outcome.check_seconds += since(start);
    if (progress) progress(outcome.ctas_run, wanted);
  }
  start = Clock::now();
  folder.finish();
  outcome.check_seconds += since(start);
  start = Clock::now();
  if (const Result<void> judged = judge_residency(**program, launch, limits.resident, outcome.report);
      !judged)
    return tl::unexpected(judged.error());
  outcome.execute_seconds += since(start);

  if (interrupted())
    add_reason(outcome.report,
               fmt::format("stopped by the user after {} of {} CTAs", outcome.ctas_run, wanted));
  else if (wanted < total)
    add_reason(outcome.report, fmt::format("only {} of {} CTAs were executed (--ctas)", wanted, total));
  if (limits.strict)
    for (Diagnostic& d : outcome.report.diagnostics) d.severity = Severity::error;
  conclude(outcome.report);
  return outcome;
}

}  // namespace turnstile::cli
