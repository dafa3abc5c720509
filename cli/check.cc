// SPDX-License-Identifier: Apache-2.0

// turnstile check: one launch in full, or many launches (all cases, sweeps) in a line each and the first with
// a finding in full.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>

#include "cli/check_launch_verb.h"
#include "cli/check_mimw_verb.h"
#include "cli/explain.h"
#include "cli/render_json.h"
#include "cli/verbs.h"

namespace turnstile::cli {

namespace {

struct CheckArguments {
  LaunchArguments launch;
  std::vector<std::string> sweeps;
  std::vector<std::string> variants;
  std::string explained_rule;
  double search_seconds = 0;
  uint64_t search_mib = 0;
};

/// Who asks for more than the default wants no other bound in the way.
void allow_longer_searches(const CheckArguments& arguments, CheckLimits& limits) {
  if (arguments.search_seconds == 0 && arguments.search_mib == 0) return;
  limits.search.states = ~uint64_t{0};
  if (arguments.search_seconds != 0) limits.search.seconds = arguments.search_seconds;
  if (arguments.search_mib != 0) limits.search.bytes = arguments.search_mib << 20;
  limits.all_searches_seconds = std::max(limits.all_searches_seconds, 3 * limits.search.seconds);
}

Exit run_mimw(const LaunchArguments& launch, const std::vector<std::string>& variants,
              const Terminal& terminal) {
  const Result<LaunchOverrides> set = overrides_of(launch.launch);
  if (!set) return refuse(terminal, "check", launch.json, set.error());
  MimwArguments mimw;
  mimw.file = launch.launch.file;
  mimw.variants = variants;
  mimw.values.insert(set->vars.begin(), set->vars.end());
  mimw.sweeps = launch.sweeps;
  mimw.policies = launch.policies;
  mimw.json = launch.json;
  mimw.quiet = launch.quiet;
  return run_check_mimw(mimw, terminal);
}

Exit run_check(CheckArguments arguments, const Terminal& terminal) {
  if (!arguments.explained_rule.empty()) return explain_rule(arguments.explained_rule, terminal);
  LaunchArguments& launch = arguments.launch;
  allow_longer_searches(arguments, launch.limits);
  if (launch.launch.file.empty()) {
    terminal.complain("check needs a launch file, or --explain RULE (turnstile check --help)");
    return Exit::unusable;
  }
  for (const std::string& text : arguments.sweeps) {
    Result<Sweep> sweep = parse_sweep(text);
    if (!sweep) return refuse(terminal, "check", launch.json, sweep.error());
    launch.sweeps.push_back(std::move(*sweep));
  }
  return is_mimw(launch.launch.file) ? run_mimw(launch, arguments.variants, terminal)
                                     : run_check_launch(launch, terminal);
}

constexpr const char* examples = R"(Examples:
  turnstile check kernels/gemm_bf16_hopper/gemm.toml --set M=77
      Runs every CTA of the launch once on the CPU, without the floating-point work, and says for every
      schedule of that launch whether it can hang, race or read stale data.
  turnstile check gemm.toml --sweep K=0..640 --sweep sms=1,2
      Every combination, in parallel; an overview, and the smallest launch that fails in full.
  turnstile check ring.mimw --variant bug --sweep n=0..2S+1
      Checks an orchestration text (docs/mimw.md): all variants and parameter values, unless some are chosen.
  turnstile check gemm.toml --strict --policy read_fence=lint
      Contested rules by the letter of the documents, but for one (docs/cli.md).

'clean' is about the launches given, and about every order in which warps and copies can run.
Exit codes: 0 clean, 1 findings, 2 usage or unreadable input, 3 not decided.)";

}  // namespace

void add_check(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* verb = app.add_subcommand(
      "check", "Find hangs, races and stale data in every schedule of a launch, or of a .mimw text");
  const auto arguments = std::make_shared<CheckArguments>();
  LaunchArguments& launch = arguments->launch;
  add_launch_options(*verb, launch.launch);
  verb->get_option("LAUNCH")->required(false)->description(
      "Launch file (TOML), or an orchestration text (.mimw)");
  verb->add_flag("--all-cases", launch.all_cases, "Check every case of the launch file, one line each");
  verb->add_option("--sweep", arguments->sweeps,
                   "Check each value of a variable: K=0..9, K=64,128, k_tiles=0..2S+1; may be repeated")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  verb->add_option("--variant", arguments->variants,
                   "Variant of a .mimw text; may be repeated (default: all)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb->add_option("--ctas", launch.limits.ctas, "Execute only the first N CTAs (can find, can not clear)")
      ->type_name("N");
  verb->add_option(
          "--resident", launch.limits.resident,
          "Clusters that the GPU holds at a time: whether the launch can hang for want of slots (F2)")
      ->type_name("R");
  verb->add_option("--search-seconds", arguments->search_seconds,
                   "CPU time for a search over the schedules of a class of CTAs "
                   "(default: 20)")
      ->type_name("S")
      ->check(CLI::Range(0.1, 1e6));
  verb->add_option("--search-memory", arguments->search_mib, "MiB for its states (default: 512)")
      ->type_name("MIB")
      ->check(CLI::Range(1, 1 << 20));
  add_policy_options(*verb, launch.policies);
  verb->add_option("--explain", arguments->explained_rule,
                   "Print what a rule says, for example --explain MB12")
      ->type_name("RULE");
  verb->add_flag("--json", launch.json, "Print one JSON document (docs/json.md)");
  verb->add_flag("-q,--quiet", launch.quiet, "Print findings only");
  verb->footer(policies_help() + "\n" + examples);
  verb->callback([arguments, &terminal, &exit] { exit = run_check(*arguments, terminal); });
}

}  // namespace turnstile::cli
