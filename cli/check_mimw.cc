// SPDX-License-Identifier: Apache-2.0
//
// From a .mimw text to a verdict. The program of an orchestration does not depend on the schedule, so every
// trace that the machine executes is real, and so is what the single run sees in it; only its conditions
// (ALG-D1 to ALG-D5) are about other schedules, and those are what decide() settles.
#include "cli/check_mimw.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "checker/decide.h"
#include "checker/directed.h"
#include "checker/explore.h"
#include "cli/terminal.h"
#include "sim/orchestration_run.h"

namespace turnstile::cli {

namespace {

constexpr size_t kFewEvents = 20'000;  ///< of programs that are run under many schedules
constexpr uint64_t kRandomRuns = 24;

/// More schedules of a program that has a fault, to see every class of fault that it has: what a search for
/// the first one does not need.
class Gatherer {
 public:
  Gatherer(const Orchestration& program, const MimwLimitsOfCheck& limits, MimwOutcome& outcome)
      : program_(program), limits_(limits), outcome_(outcome) {
    options_.policies = limits.policies.policies;
  }

  void run() {
    using Policy = sim::Schedule::Policy;
    for (const Policy policy : {Policy::bursts, Policy::eager, Policy::round_robin})
      for (const bool backwards : {false, true}) {
        sim::Schedule s;
        s.policy = policy;
        s.backwards = backwards;
        add(s);
      }
    size_t events = 0;
    for (const Orchestration::Strand& s : program_.strands) events += s.events.size();
    for (uint64_t seed = 1; seed <= kRandomRuns && events <= kFewEvents; ++seed) {
      sim::Schedule s;
      s.policy = Policy::random;
      s.seed = seed;
      add(s);
    }
    search();
  }

 private:
  void add(const sim::Schedule& schedule) {
    if (interrupted()) return;
    ++outcome_.runs;
    const SingleRunVerdict verdict = check_single_run(sim::run_orchestration(program_, schedule), options_);
    for (const Diagnostic& d : verdict.report.diagnostics)
      if (!checker::rests_on_condition(d)) note(d);
  }

  void note(const Diagnostic& d) {
    for (Diagnostic& known : outcome_.report.diagnostics)
      if (known.rule == d.rule && known.finding_class == d.finding_class && known.subject == d.subject &&
          known.where.file == d.where.file && known.where.line == d.where.line)
        return;
    outcome_.report.diagnostics.push_back(d);
    outcome_.report.diagnostics.back().suspected = false;
  }

  /// What a schedule of the search leads to is told by the single run of its trace.
  void search() {
    checker::SearchOptions options;
    options.limits.states = limits_.states;
    options.limits.seconds = limits_.seconds;
    options.all_kinds = true;
    options.interrupted = interrupted;
    const checker::SearchResult result = checker::explore(program_, options);
    outcome_.states += result.states;
    for (const checker::SearchFault& fault : result.faults) {
      sim::Schedule s;
      s.steps = fault.schedule;
      if (fault.kind == checker::SearchFault::Kind::race) {
        s.steps.push_back(fault.first);
        s.steps.push_back(fault.second);
      }
      add(s);
    }
  }

  const Orchestration& program_;
  const MimwLimitsOfCheck& limits_;
  CheckOptions options_;
  MimwOutcome& outcome_;
};

}  // namespace

Result<MimwOutcome> check_mimw(const MimwProgram& program, const std::string& variant,
                               const std::map<std::string, int64_t>& values,
                               const MimwLimitsOfCheck& limits) {
  const auto start = std::chrono::steady_clock::now();
  Result<Orchestration> orchestration = unroll(program, variant, values);
  if (!orchestration) return tl::unexpected(orchestration.error());
  if (const std::string defect = orchestration_defect(*orchestration); !defect.empty())
    return fail(program.file, 0, 0, "the program cannot be executed: " + defect);
  orchestration->commits_in_order = limits.policies.policies.commits_in_order;
  MimwOutcome outcome;
  outcome.variant = variant;
  outcome.values = values;
  outcome.policies = limits.policies;
  const Trace trace = sim::run_orchestration(*orchestration);
  DecideOptions options;
  options.check.policies = limits.policies.policies;
  if (variant == mimw_lenient_variant) options.check.policies.read_fence = Severity::lint;
  options.search.states = limits.states;
  options.search.seconds = limits.seconds;
  options.interrupted = interrupted;
  Decision decision = decide(trace, options, &*orchestration);
  outcome.report = std::move(decision.report);
  outcome.witness = std::move(decision.witness);
  Report& report = outcome.report;
  if (limits.all_classes) Gatherer(*orchestration, limits, outcome).run();
  if (variant == mimw_lenient_variant)  // rule fence-war is switched off (orchestration_bugs.md 2.1)
    std::erase_if(report.diagnostics, [](const Diagnostic& d) { return d.rule == "PX2"; });
  std::stable_sort(report.diagnostics.begin(), report.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity < b.severity; });
  if (interrupted()) report.inconclusive.push_back({{}, "stopped by the user"});
  conclude(report);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

Result<std::vector<Sweep>> parameter_sweeps(const MimwProgram& program, const std::string& variant,
                                            const std::vector<Sweep>& asked,
                                            const std::map<std::string, int64_t>& given) {
  const Result<std::vector<MimwParameter>> all = parameters(program, variant);
  if (!all) return tl::unexpected(all.error());
  std::vector<Sweep> sweeps = asked;
  for (const MimwParameter& p : *all) {
    const bool swept =
        std::any_of(asked.begin(), asked.end(), [&](const Sweep& s) { return s.name == p.name; });
    if (swept || given.contains(p.name)) continue;
    Sweep sweep{p.name, p.name, {}};
    for (const int64_t value : p.values)
      sweep.ranges.emplace_back(std::to_string(value), std::to_string(value));
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

Result<std::vector<std::map<std::string, int64_t>>> choices_of(const MimwProgram& program,
                                                               const std::string& variant,
                                                               const std::map<std::string, int64_t>& given) {
  const Result<std::vector<Sweep>> sweeps = parameter_sweeps(program, variant, {}, given);
  if (!sweeps) return tl::unexpected(sweeps.error());
  auto choices = combinations(*sweeps);
  if (choices)
    for (auto& choice : *choices) choice.insert(given.begin(), given.end());
  return choices;
}

}  // namespace turnstile::cli
