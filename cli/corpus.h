// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "golden/expectations.h"
#include "model/report.h"
#include "model/result.h"

namespace turnstile::cli {

/// What check said about one launch of a table, and whether that was expected.
struct CorpusAnswer {
  golden::Settings set;
  bool must_be_clean = false;
  Verdict verdict = Verdict::inconclusive;
  std::string reason;  ///< the first error's message, or why it is inconclusive
  // Of the first error, if there is one:
  std::optional<FindingClass> finding_class;
  SourcePosition where;
  std::string text;  ///< the source line there
  bool right_class = false;
  bool right_line = false;
  double seconds = 0;

  /// Clean where it must be; else a first error of an expected class that names an expected line.
  bool right() const { return must_be_clean ? verdict == Verdict::clean : right_class && right_line; }
  /// The class of the first error, or the verdict.
  std::string_view got() const;
};

/// All launches of one mutant: those that show the fault, in the order of the table, then the clean ones.
struct MutantAnswer {
  std::vector<CorpusAnswer> launches;

  bool right() const;
};

/// Whether the diagnostic's line or one of its sides' lines holds one of the texts; `text_of` gives a
/// position's source line.
template <typename TextOf>
bool names_a_line(const Diagnostic& d, const std::vector<std::string>& texts, TextOf text_of) {
  const auto holds = [&](const SourcePosition& position) {
    const std::string line = text_of(position);
    for (const std::string& text : texts)
      if (line.find(text) != std::string::npos) return true;
    return false;
  };
  if (holds(d.where)) return true;
  for (const Note& side : d.sides)
    if (holds(side.position)) return true;
  return false;
}

/// Checks a mutant in each of its launches. An Error is a fault of the input: no kernel, no source.
Result<MutantAnswer> judge_mutant(const golden::Expectations& table, const golden::Mutant& mutant);

/// Checks the kernel itself in a launch that must be clean.
Result<CorpusAnswer> judge_clean(const golden::Expectations& table, const golden::CleanLaunch& launch);

}  // namespace turnstile::cli
