// SPDX-License-Identifier: Apache-2.0
#include "cli/check_launch_verb.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "cli/many.h"
#include "cli/progress.h"
#include "cli/render_json.h"
#include "cli/render_text.h"
#include "cli/replay.h"
#include "cli/sweep_grid.h"
#include "model/launch/nearest_name.h"

namespace turnstile::cli {

namespace {

/// One launch that the command asks for.
struct LaunchJob {
  std::string case_name;
  LaunchOverrides overrides;
  std::map<std::string, int64_t> swept;
};

/// A swept variable must be one of the launch file, and not set as well.
Result<void> check_names(const LaunchArguments& arguments, const LaunchOverrides& base,
                         const std::map<std::string, int64_t>& variables) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : variables) names.push_back(name);
  for (const Sweep& sweep : arguments.sweeps) {
    if (base.vars.contains(sweep.name)) return fail(fmt::format("{} is both set and swept", sweep.name));
    if (!variables.contains(sweep.name))
      return fail(arguments.launch.file, 0, 0,
                  fmt::format("--sweep {}: the launch file has no variable '{}' in [vars]{}", sweep.text,
                              sweep.name, suggestion(sweep.name, names, "variables")));
  }
  return {};
}

Result<std::vector<LaunchJob>> launch_jobs(const LaunchArguments& arguments) {
  const Result<LaunchOverrides> base = overrides_of(arguments.launch);
  if (!base) return tl::unexpected(base.error());
  std::vector<std::string> cases = {arguments.launch.case_name};
  if (arguments.all_cases) {
    Result<std::vector<std::string>> names = list_cases(arguments.launch.file);
    if (!names) return tl::unexpected(names.error());
    if (names->empty()) return fail(arguments.launch.file, 0, 0, "--all-cases: the file has no [[cases]]");
    cases = std::move(*names);
  }
  std::vector<LaunchJob> jobs;
  for (const std::string& name : cases) {
    LaunchOverrides overrides = *base;
    overrides.case_name = name;
    const auto known = launch_variables(arguments.launch.file, overrides);
    if (!known) return tl::unexpected(known.error());
    if (const Result<void> checked = check_names(arguments, *base, *known); !checked)
      return tl::unexpected(checked.error());
    const auto settings = combinations(arguments.sweeps, *known);
    if (!settings) return tl::unexpected(settings.error());
    for (const auto& swept : *settings) {
      LaunchJob job{name, overrides, swept};
      job.overrides.vars.insert(swept.begin(), swept.end());
      jobs.push_back(std::move(job));
    }
  }
  if (jobs.size() > most_launches) return fail(fmt::format("more than {} launches", most_launches));
  if (jobs.empty()) return fail("--sweep: there is no combination to check");
  return jobs;
}

Result<CheckOutcome> check_job(const LaunchArguments& arguments, const LaunchJob& job,
                               const CheckProgress& progress) {
  const Result<Launch> launch = read_launch(arguments.launch.file, job.overrides);
  if (!launch) return tl::unexpected(launch.error());
  Result<PolicyChoice> policies = policies_of(arguments.policies, arguments.launch.file, launch->policies);
  if (!policies) return tl::unexpected(policies.error());
  CheckLimits limits = arguments.limits;
  limits.policies = std::move(*policies);
  return check_launch(*launch, limits, progress);
}

/// Keeps the witness of an outcome, if it has one, and says where.
void keep_witness_of(CheckOutcome& outcome, const LaunchArguments& arguments, const LaunchJob& job,
                     const Terminal& terminal) {
  if (!outcome.witness) return;
  remember_launch(*outcome.witness, arguments.launch.file, job.overrides, outcome);
  remember_policies(*outcome.witness, outcome.policies);
  outcome.witness_file = keep_witness(*outcome.witness, terminal);
}

Exit run_one(const LaunchArguments& arguments, const LaunchJob& job, const Terminal& terminal) {
  auto start = std::chrono::steady_clock::now();
  std::string part;
  const auto progress = [&](uint64_t done, uint64_t total, std::string_view of) {
    const auto now = std::chrono::steady_clock::now();
    if (part != of) start = now;  // an estimate is about one part of the work
    part = of;
    const std::chrono::duration<double> passed = now - start;
    terminal.progress(fmt::format("{}   {}", progress_bar({done, total, std::nullopt, passed.count()}), of));
  };
  Result<CheckOutcome> outcome = check_job(arguments, job, progress);
  if (!outcome) return refuse(terminal, "check", arguments.json, outcome.error());
  keep_witness_of(*outcome, arguments, job, terminal);
  SourceText source = source_for(outcome->launch);
  const Exit exit = exit_of(outcome->report.verdict);
  terminal.print(arguments.json ? json_of_check({*outcome}, std::nullopt, source, exit)
                                : render_check(*outcome, source, terminal.out(), arguments.quiet));
  return exit;
}

Exit run_all(const LaunchArguments& arguments, const std::vector<LaunchJob>& jobs, const Terminal& terminal) {
  std::vector<CheckOutcome> outcomes(jobs.size());
  ManyChecks checks;
  checks.noun = "launch";
  for (const Sweep& sweep : arguments.sweeps) checks.swept.push_back(sweep.name);
  for (const LaunchJob& job : jobs) checks.items.push_back({job.case_name, job.swept});
  checks.check = [&](size_t i) -> Result<void> {
    Result<CheckOutcome> outcome = check_job(arguments, jobs[i], {});
    if (!outcome) return tl::unexpected(outcome.error());
    outcomes[i] = std::move(*outcome);
    return {};
  };
  checks.report = [&](size_t i) -> Report& { return outcomes[i].report; };
  checks.row = [&](size_t i) {
    const double seconds = outcomes[i].execute_seconds + outcomes[i].check_seconds;
    return render_row(item_text(checks, i), outcomes[i].report, seconds, terminal.out());
  };
  const ManyAnswer answer = check_many(checks, !arguments.json, arguments.quiet, terminal);
  if (answer.error) return refuse(terminal, "check", arguments.json, *answer.error);
  if (answer.shown) keep_witness_of(outcomes[*answer.shown], arguments, jobs[*answer.shown], terminal);
  SourceText source = source_for(answer.done.empty() ? Launch{} : outcomes[answer.done.front()].launch);
  if (arguments.json) {
    terminal.print(
        json_of_check(only(std::move(outcomes), answer.done), answer.shown_place(), source, answer.exit));
    return answer.exit;
  }
  terminal.print(answer.text);
  if (answer.shown)
    terminal.print(fmt::format("\n{}\n\n", shown_title(checks, answer)) +
                   render_check(outcomes[*answer.shown], source, terminal.out(), arguments.quiet));
  terminal.print(many_summary(checks, answer) + "\n");
  return answer.exit;
}

}  // namespace

Exit run_check_launch(const LaunchArguments& arguments, const Terminal& terminal) {
  const Result<std::vector<LaunchJob>> jobs = launch_jobs(arguments);
  if (!jobs) return refuse(terminal, "check", arguments.json, jobs.error());
  const bool many = arguments.all_cases || !arguments.sweeps.empty();
  return many ? run_all(arguments, *jobs, terminal) : run_one(arguments, jobs->front(), terminal);
}

}  // namespace turnstile::cli
