// SPDX-License-Identifier: Apache-2.0
#include "cli/check_mimw_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cli/mimw_corpus.h"
#include "cli/render_json.h"
#include "cli/render_mimw.h"
#include "cli/replay.h"
#include "model/launch/nearest_name.h"

namespace turnstile::cli {

namespace {

struct MimwJob {
  std::string variant;
  std::map<std::string, int64_t> values;
};

Result<std::vector<MimwJob>> mimw_jobs(const MimwArguments& arguments, const MimwProgram& program) {
  const std::vector<std::string> known = variants(program);
  for (const std::string& v : arguments.variants)
    if (std::find(known.begin(), known.end(), v) == known.end()) {
      const std::vector<std::string_view> names(known.begin(), known.end());
      return fail(program.file, 0, 0, fmt::format("no variant '{}'{}", v, suggestion(v, names, "variants")));
    }
  const auto settings = combinations(arguments.sweeps);
  if (!settings) return tl::unexpected(settings.error());
  std::vector<MimwJob> jobs;
  for (const std::string& variant : arguments.variants.empty() ? known : arguments.variants)
    for (const auto& setting : *settings) {
      std::map<std::string, int64_t> given = arguments.values;
      for (const auto& [name, value] : setting)
        if (!given.emplace(name, value).second) return fail(fmt::format("{} is both set and swept", name));
      const auto choices = choices_of(program, variant, given);
      if (!choices) return tl::unexpected(choices.error());
      for (const auto& values : *choices) jobs.push_back({variant, values});
    }
  return jobs;
}

}  // namespace

bool is_mimw(const std::string& file) { return std::filesystem::path(file).extension() == ".mimw"; }

Exit run_check_mimw(const MimwArguments& arguments, const Terminal& terminal) {
  const Result<MimwProgram> program = read_mimw(arguments.file);
  if (!program) return refuse(terminal, "check", arguments.json, program.error());
  const Result<std::vector<MimwJob>> jobs = mimw_jobs(arguments, *program);
  if (!jobs) return refuse(terminal, "check", arguments.json, jobs.error());
  SourceText source({std::filesystem::path(arguments.file).parent_path().string()});
  std::vector<MimwOutcome> outcomes;
  Exit exit = Exit::clean;
  uint64_t clean = 0;
  const bool many = jobs->size() > 1;
  for (const MimwJob& job : *jobs) {
    if (interrupted()) break;
    if (many) terminal.progress(fmt::format("  {} of {} variants", outcomes.size(), jobs->size()));
    Result<MimwOutcome> outcome = check_mimw(*program, job.variant, job.values, arguments.limits);
    if (!outcome) return refuse(terminal, "check", arguments.json, outcome.error());
    exit = worst(exit, exit_of(outcome->report.verdict));
    const bool bad = outcome->report.verdict != Verdict::clean;
    clean += bad ? 0 : 1;
    if (many && !arguments.json && (bad || !arguments.quiet))
      terminal.print(render_mimw_row(*outcome, terminal.out()));
    outcomes.push_back(std::move(*outcome));
  }
  if (interrupted()) exit = worst(exit, Exit::inconclusive);
  if (arguments.json) {
    terminal.print(json_of_mimw(*program, outcomes, source, exit));
    return exit;
  }
  const auto shown = std::find_if(outcomes.begin(), outcomes.end(), [&](const MimwOutcome& o) {
    return !many || o.report.verdict != Verdict::clean;
  });
  if (shown != outcomes.end()) {
    if (many) terminal.print("\nThe first of them:\n\n");
    std::string kept;
    if (shown->witness) {
      remember_mimw(*shown->witness, arguments.file, shown->variant, shown->values);
      kept = keep_witness(*shown->witness, terminal);
    }
    terminal.print(render_mimw(*program, *shown, source, terminal.out(), arguments.quiet) + kept);
  }
  if (many) {
    std::string summary = fmt::format("{} of {} clean", grouped(clean), counted(outcomes.size(), "variant"));
    if (interrupted())
      summary +=
          fmt::format("; stopped by the user, {} not checked", grouped(jobs->size() - outcomes.size()));
    terminal.print(summary + "\n");
  }
  return exit;
}

}  // namespace turnstile::cli
