// SPDX-License-Identifier: Apache-2.0
#include "cli/check_mimw_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cli/many.h"
#include "cli/mimw_corpus.h"
#include "cli/render_json.h"
#include "cli/render_mimw.h"
#include "cli/render_text.h"
#include "cli/replay.h"
#include "model/launch/nearest_name.h"

namespace turnstile::cli {

namespace {

struct MimwJob {
  std::string variant;
  std::map<std::string, int64_t> values;
};

/// What a range may be computed from, beside what is swept: --set, and top-level constants. One of those that
/// depends on a swept variable has no single value: that the ranges were computed with another one is an
/// error.
Result<void> check_constants(const MimwProgram& program, const std::string& variant,
                             const std::vector<Sweep>& sweeps, const std::map<std::string, int64_t>& known,
                             const std::map<std::string, int64_t>& values) {
  const auto now = constants(program, variant, values);
  if (!now) return tl::unexpected(now.error());
  for (const Sweep& sweep : sweeps)
    for (const std::string& name : names_used(sweep))
      if (!values.contains(name) && known.at(name) != now->at(name))
        return fail(fmt::format("--sweep {}: {} depends on what is swept; write the range without it",
                                sweep.text, name));
  return {};
}

Result<std::vector<MimwJob>> mimw_jobs(const MimwArguments& arguments, const MimwProgram& program) {
  const std::vector<std::string> known_variants = variants(program);
  for (const std::string& v : arguments.variants)
    if (std::find(known_variants.begin(), known_variants.end(), v) == known_variants.end()) {
      const std::vector<std::string_view> names(known_variants.begin(), known_variants.end());
      return fail(program.file, 0, 0, fmt::format("no variant '{}'{}", v, suggestion(v, names, "variants")));
    }
  for (const Sweep& sweep : arguments.sweeps)
    if (arguments.values.contains(sweep.name))
      return fail(fmt::format("{} is both set and swept", sweep.name));
  std::vector<MimwJob> jobs;
  for (const std::string& variant : arguments.variants.empty() ? known_variants : arguments.variants) {
    const Result<std::vector<Sweep>> sweeps =
        parameter_sweeps(program, variant, arguments.sweeps, arguments.values);
    if (!sweeps) return tl::unexpected(sweeps.error());
    const auto known = constants(program, variant, arguments.values);
    if (!known) return tl::unexpected(known.error());
    const auto settings = combinations(*sweeps, *known);
    if (!settings) return tl::unexpected(settings.error());
    for (const auto& setting : *settings) {
      MimwJob job{variant, arguments.values};
      job.values.insert(setting.begin(), setting.end());
      if (const Result<void> checked =
              check_constants(program, variant, arguments.sweeps, *known, job.values);
          !checked)
        return tl::unexpected(checked.error());
      jobs.push_back(std::move(job));
    }
  }
  if (jobs.size() > most_launches) return fail(fmt::format("more than {} launches", most_launches));
  if (jobs.empty()) return fail("--sweep: there is no combination to check");
  return jobs;
}

/// The variables of the overview: what was asked for, then the parameters with several values.
std::vector<std::string> swept_names(const MimwArguments& arguments, const std::vector<MimwJob>& jobs) {
  std::vector<std::string> names;
  if (arguments.sweeps.empty()) return names;
  for (const Sweep& sweep : arguments.sweeps) names.push_back(sweep.name);
  for (const auto& [name, value] : jobs.front().values) {
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    const bool varies = std::any_of(jobs.begin(), jobs.end(), [&, n = name, v = value](const MimwJob& job) {
      const auto at = job.values.find(n);
      return at != job.values.end() && at->second != v;
    });
    const bool everywhere = std::all_of(jobs.begin(), jobs.end(),
                                        [&, n = name](const MimwJob& job) { return job.values.contains(n); });
    if (!known && varies && everywhere) names.push_back(name);
  }
  return names;
}

void keep_witness_of(MimwOutcome& outcome, const std::string& file, const Terminal& terminal) {
  if (!outcome.witness) return;
  remember_mimw(*outcome.witness, file, outcome.variant, outcome.values);
  remember_policies(*outcome.witness, outcome.policies);
  outcome.witness_file = keep_witness(*outcome.witness, terminal);
}

}  // namespace

bool is_mimw(const std::string& file) { return std::filesystem::path(file).extension() == ".mimw"; }

Exit run_check_mimw(const MimwArguments& arguments, const Terminal& terminal) {
  const Result<MimwProgram> program = read_mimw(arguments.file);
  if (!program) return refuse(terminal, "check", arguments.json, program.error());
  Result<PolicyChoice> policies = policies_of(arguments.policies, arguments.file);
  if (!policies) return refuse(terminal, "check", arguments.json, policies.error());
  MimwLimitsOfCheck limits = arguments.limits;
  limits.policies = std::move(*policies);
  const Result<std::vector<MimwJob>> jobs = mimw_jobs(arguments, *program);
  if (!jobs) return refuse(terminal, "check", arguments.json, jobs.error());

  std::vector<MimwOutcome> outcomes(jobs->size());
  ManyChecks checks;
  checks.noun = "variant";
  checks.swept = swept_names(arguments, *jobs);
  for (const MimwJob& job : *jobs) checks.items.push_back({"variant " + job.variant, job.values});
  checks.check = [&](size_t i) -> Result<void> {
    Result<MimwOutcome> outcome = check_mimw(*program, (*jobs)[i].variant, (*jobs)[i].values, limits);
    if (!outcome) return tl::unexpected(outcome.error());
    outcomes[i] = std::move(*outcome);
    return {};
  };
  checks.report = [&](size_t i) -> Report& { return outcomes[i].report; };
  checks.row = [&](size_t i) {
    const std::string values = values_text(outcomes[i].values);
    const std::string label = printable(outcomes[i].variant) + (values.empty() ? "" : "  " + values);
    return render_row(label, outcomes[i].report, outcomes[i].seconds, terminal.out());
  };
  const bool many = jobs->size() > 1;
  const ManyAnswer answer = check_many(checks, many && !arguments.json, arguments.quiet, terminal);
  if (answer.error) return refuse(terminal, "check", arguments.json, *answer.error);
  std::optional<size_t> shown = answer.shown;
  if (!many && !answer.done.empty()) shown = answer.done.front();
  if (shown) keep_witness_of(outcomes[*shown], arguments.file, terminal);
  SourceText source({std::filesystem::path(arguments.file).parent_path().string()});
  if (arguments.json) {
    terminal.print(json_of_mimw(*program, only(std::move(outcomes), answer.done), answer.shown_place(),
                                source, answer.exit));
    return answer.exit;
  }
  if (many) terminal.print(answer.text);
  if (shown)
    terminal.print((many ? fmt::format("\n{}\n\n", shown_title(checks, answer)) : std::string()) +
                   render_mimw(*program, outcomes[*shown], source, terminal.out(), arguments.quiet));
  if (many) terminal.print(many_summary(checks, answer) + "\n");
  return answer.exit;
}

}  // namespace turnstile::cli
