// SPDX-License-Identifier: Apache-2.0

// turnstile check: one launch in full, or many launches (all cases, sweeps) in a line each and the first with
// a finding in full.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>

#include "cli/check_launch.h"
#include "cli/check_mimw_verb.h"
#include "cli/explain.h"
#include "cli/launch_options.h"
#include "cli/render_json.h"
#include "cli/render_text.h"
#include "cli/sweep.h"
#include "cli/verbs.h"

namespace turnstile::cli {

namespace {

struct CheckArguments {
  LaunchOptions launch;
  CheckLimits limits;
  std::vector<std::string> sweeps;
  std::vector<std::string> variants;
  std::string explained_rule;
  bool all_cases = false;
  bool json = false;
  bool quiet = false;
};

/// One launch that the command asks for.
struct Job {
  std::string label;
  LaunchOverrides overrides;
};

Result<std::vector<Job>> jobs_of(const CheckArguments& arguments) {
  const Result<LaunchOverrides> base = overrides_of(arguments.launch);
  if (!base) return tl::unexpected(base.error());
  std::vector<std::string> cases = {arguments.launch.case_name};
  if (arguments.all_cases) {
    Result<std::vector<std::string>> names = list_cases(arguments.launch.file);
    if (!names) return tl::unexpected(names.error());
    if (names->empty()) return fail(arguments.launch.file, 0, 0, "--all-cases: the file has no [[cases]]");
    cases = std::move(*names);
  }
  std::vector<Sweep> sweeps;
  for (const std::string& text : arguments.sweeps) {
    Result<Sweep> sweep = parse_sweep(text);
    if (!sweep) return tl::unexpected(sweep.error());
    sweeps.push_back(std::move(*sweep));
  }
  const auto settings = combinations(sweeps);
  if (!settings) return tl::unexpected(settings.error());
  std::vector<Job> jobs;
  for (const std::string& name : cases)
    for (const auto& vars : *settings) {
      Job job{name, *base};
      job.overrides.case_name = name;
      for (const auto& [variable, value] : vars) {
        if (!job.overrides.vars.emplace(variable, value).second)
          return fail(fmt::format("{} is both set and swept", variable));
        job.label += fmt::format("{}{}={}", job.label.empty() ? "" : " ", variable, value);
      }
      jobs.push_back(std::move(job));
    }
  return jobs;
}

SourceText source_for(const Launch& launch) {
  std::vector<std::string> folders;
  for (const std::string& path : {launch.source_path, launch.kernel_path, launch.path})
    if (!path.empty()) folders.push_back(std::filesystem::path(path).parent_path().string());
  return SourceText(std::move(folders));
}

std::string row_text(const std::string& label, const CheckOutcome& outcome, const Style& style) {
  const Report& report = outcome.report;
  const std::string time = seconds_text(outcome.execute_seconds + outcome.check_seconds);
  const std::string what =
      report.verdict == Verdict::finding ? findings_text(report) : std::string(verdict_name(report.verdict));
  const std::string head = fmt::format("  {:<32} ", label);
  const std::string line = spread(head + what, time);
  const std::string painted = report.verdict == Verdict::clean     ? style.good(what)
                              : report.verdict == Verdict::finding ? style.error(what)
                                                                   : style.warning(what);
  return head + painted + line.substr(head.size() + what.size()) + "\n";
}

Exit run_one(const CheckArguments& arguments, const Job& job, const Terminal& terminal) {
  const Result<Launch> launch = read_launch(arguments.launch.file, job.overrides);
  if (!launch) return refuse(terminal, "check", arguments.json, launch.error());
  const auto progress = [&](uint64_t done, uint64_t total) {
    terminal.progress(fmt::format("  {} of {} CTAs", done, total));
  };
  const Result<CheckOutcome> outcome = check_launch(*launch, arguments.limits, progress);
  if (!outcome) return refuse(terminal, "check", arguments.json, outcome.error());
  SourceText source = source_for(*launch);
  const Exit exit = exit_of(outcome->report.verdict);
  terminal.print(arguments.json ? json_of_check({*outcome}, source, exit)
                                : render_check(*outcome, source, terminal.out(), arguments.quiet));
  return exit;
}

Exit run_many(const CheckArguments& arguments, const std::vector<Job>& jobs, const Terminal& terminal) {
  std::vector<CheckOutcome> outcomes;
  const CheckOutcome* first_bad = nullptr;
  std::string first_bad_label;
  Exit exit = Exit::clean;
  uint64_t clean = 0;
  outcomes.reserve(jobs.size());
  for (const Job& job : jobs) {
    if (interrupted()) break;
    terminal.progress(fmt::format("  {} of {} launches", outcomes.size(), jobs.size()));
    const Result<Launch> launch = read_launch(arguments.launch.file, job.overrides);
    if (!launch) return refuse(terminal, "check", arguments.json, launch.error());
    Result<CheckOutcome> outcome = check_launch(*launch, arguments.limits, {});
    if (!outcome) return refuse(terminal, "check", arguments.json, outcome.error());
    exit = worst(exit, exit_of(outcome->report.verdict));
    const bool bad = outcome->report.verdict != Verdict::clean;
    clean += bad ? 0 : 1;
    if (!arguments.json && (bad || !arguments.quiet))
      terminal.print(row_text(job.label, *outcome, terminal.out()));
    outcomes.push_back(std::move(*outcome));
    if (bad && first_bad == nullptr) {
      first_bad = &outcomes.back();
      first_bad_label = job.label;
    }
  }
  if (interrupted()) exit = worst(exit, Exit::inconclusive);
  const Launch about = outcomes.empty() ? Launch{} : outcomes.front().launch;
  SourceText source = source_for(about);
  if (arguments.json) {
    terminal.print(json_of_check(outcomes, source, exit));
    return exit;
  }
  if (first_bad != nullptr)
    terminal.print(fmt::format("\nThe first of them, {}:\n\n", first_bad_label) +
                   render_check(*first_bad, source, terminal.out(), arguments.quiet));
  std::string summary = fmt::format("{} of {} clean", grouped(clean), counted(outcomes.size(), "launch"));
  if (interrupted())
    summary += fmt::format("; stopped by the user, {} not checked", grouped(jobs.size() - outcomes.size()));
  terminal.print(summary + "\n");
  return exit;
}

Exit run_mimw(const CheckArguments& arguments, const Terminal& terminal) {
  MimwArguments mimw;
  mimw.file = arguments.launch.file;
  mimw.variants = arguments.variants;
  mimw.limits.strict = arguments.limits.strict;
  mimw.json = arguments.json;
  mimw.quiet = arguments.quiet;
  const Result<LaunchOverrides> set = overrides_of(arguments.launch);
  if (!set) return refuse(terminal, "check", arguments.json, set.error());
  mimw.values.insert(set->vars.begin(), set->vars.end());
  for (const std::string& text : arguments.sweeps) {
    Result<Sweep> sweep = parse_sweep(text);
    if (!sweep) return refuse(terminal, "check", arguments.json, sweep.error());
    mimw.sweeps.push_back(std::move(*sweep));
  }
  return run_check_mimw(mimw, terminal);
}

Exit run_check(const CheckArguments& arguments, const Terminal& terminal) {
  if (!arguments.explained_rule.empty()) return explain_rule(arguments.explained_rule, terminal);
  if (arguments.launch.file.empty()) {
    terminal.complain("check needs a launch file, or --explain RULE (turnstile check --help)");
    return Exit::unusable;
  }
  if (is_mimw(arguments.launch.file)) return run_mimw(arguments, terminal);
  const Result<std::vector<Job>> jobs = jobs_of(arguments);
  if (!jobs) return refuse(terminal, "check", arguments.json, jobs.error());
  const bool many = arguments.all_cases || !arguments.sweeps.empty();
  return many ? run_many(arguments, *jobs, terminal) : run_one(arguments, jobs->front(), terminal);
}

constexpr const char* examples = R"(Examples:
  turnstile check kernels/gemm_bf16_hopper/gemm.toml --set M=77
      Runs every CTA of the launch once on the CPU, without the floating-point work, and says for every
      schedule of that launch whether it can hang, race or read stale data.
  turnstile check gemm.toml --sweep K=0..640 -q
      The same for each value of K; prints only the launches with findings.
  turnstile check ring.mimw --variant bug --set n=3
      Checks an orchestration text: all variants and parameter values, unless some are chosen.

'clean' is about the launches given, and about every order in which warps and copies can run.
Exit codes: 0 clean, 1 findings, 2 usage or unreadable input, 3 not decided.)";

}  // namespace

void add_check(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* verb =
      app.add_subcommand("check", "Find hangs, races and stale data in every schedule of a launch");
  const auto arguments = std::make_shared<CheckArguments>();
  add_launch_options(*verb, arguments->launch);
  verb->get_option("LAUNCH")->required(false);
  verb->add_flag("--all-cases", arguments->all_cases, "Check every case of the launch file, one line each");
  verb->add_option("--sweep", arguments->sweeps,
                   "Check each value of a variable: K=0..9, K=64,128; may be repeated")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  verb->add_option("--variant", arguments->variants,
                   "Variant of a .mimw text; may be repeated (default: all)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb->add_option("--ctas", arguments->limits.ctas,
                   "Execute only the first N CTAs (can find, can not clear)")
      ->type_name("N");
  verb->add_option(
          "--resident", arguments->limits.resident,
          "Clusters that the GPU holds at a time: whether the launch can hang for want of slots (F2)")
      ->type_name("R");
  verb->add_flag("--strict", arguments->limits.strict, "Count lints (contested rules) as findings");
  verb->add_option("--explain", arguments->explained_rule,
                   "Print what a rule says, for example --explain MB12")
      ->type_name("RULE");
  verb->add_flag("--json", arguments->json, "Print one JSON document (docs/json.md)");
  verb->add_flag("-q,--quiet", arguments->quiet, "Print findings only");
  verb->footer(examples);
  verb->callback([arguments, &terminal, &exit] { exit = run_check(*arguments, terminal); });
}

}  // namespace turnstile::cli
