// SPDX-License-Identifier: Apache-2.0
#include "cli/corpus.h"

#include <algorithm>
#include <filesystem>

#include "cli/check_launch.h"
#include "cli/source_text.h"

namespace turnstile::cli {

namespace {

/// Lints are remarks: what is judged is the first error, which is what people read first.
const Diagnostic* first_error(const Report& report) {
  const auto at = std::find_if(report.diagnostics.begin(), report.diagnostics.end(),
                               [](const Diagnostic& d) { return d.severity == Severity::error; });
  return at == report.diagnostics.end() ? nullptr : &*at;
}

/// Checks one launch; `mutant` is null for the kernel itself.
Result<CorpusAnswer> ask(const golden::Expectations& table, const golden::Mutant* mutant,
                         const golden::Settings& set, bool must_be_clean) {
  LaunchOverrides overrides;
  overrides.vars = set;
  if (mutant != nullptr) overrides.kernel_path = mutant->kernel_path;
  const Result<Launch> launch = read_launch(table.launch_path, overrides);
  if (!launch) return tl::unexpected(launch.error());
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(launch->source_path, ignored))
    return fail(launch->path, 0, 0, "lines can only be compared where `source` names a file that is there");
  CheckLimits limits;
  // A table asks for every rule by its letter: what a GPU happens to forgive is a fault.
  apply_policy(limits.policies, std::string(strict_word), "corpus");
  limits.all_searches_seconds = 600;
  limits.search = {1'000, uint64_t{1} << 30, 600};  // states are the bound: a slow machine says the same
  limits.shorten_seconds = 0.02;                    // nobody reads the schedules
  const Result<CheckOutcome> outcome = check_launch(*launch, limits, {});
  if (!outcome) return tl::unexpected(outcome.error());

  CorpusAnswer answer;
  answer.set = set;
  answer.must_be_clean = must_be_clean;
  answer.verdict = outcome->report.verdict;
  answer.seconds = outcome->execute_seconds + outcome->check_seconds;
  if (const Diagnostic* error = first_error(outcome->report)) {
    SourceText source({std::filesystem::path(launch->source_path).parent_path().string()});
    answer.reason = error->message;
    answer.finding_class = error->finding_class;
    answer.where = error->where;
    answer.text = source.line(error->where);
    if (mutant != nullptr) {
      const auto& others = mutant->other_classes;
      answer.right_class = error->finding_class == mutant->finding_class ||
                           std::find(others.begin(), others.end(), error->finding_class) != others.end();
      std::vector<std::string> lines = mutant->other_lines;
      lines.push_back(mutant->line);
      answer.right_line =
          names_a_line(*error, lines, [&](const SourcePosition& position) { return source.line(position); });
    }
  } else if (!outcome->report.inconclusive.empty()) {
    answer.reason = outcome->report.inconclusive.front().text;
  }
  return answer;
}

}  // namespace

std::string_view CorpusAnswer::got() const {
  return finding_class ? finding_class_name(*finding_class) : verdict_name(verdict);
}

bool MutantAnswer::right() const {
  return std::all_of(launches.begin(), launches.end(), [](const CorpusAnswer& a) { return a.right(); });
}

Result<MutantAnswer> judge_mutant(const golden::Expectations& table, const golden::Mutant& mutant) {
  MutantAnswer all;
  for (const bool must_be_clean : {false, true})
    for (const golden::Settings& set : must_be_clean ? mutant.clean : mutant.show) {
      Result<CorpusAnswer> answer = ask(table, &mutant, set, must_be_clean);
      if (!answer) return tl::unexpected(answer.error());
      all.launches.push_back(std::move(*answer));
    }
  return all;
}

Result<CorpusAnswer> judge_clean(const golden::Expectations& table, const golden::CleanLaunch& launch) {
  return ask(table, nullptr, launch.set, true);
}

}  // namespace turnstile::cli
