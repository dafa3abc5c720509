// SPDX-License-Identifier: Apache-2.0
#include "cli/render_corpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/source_text.h"

namespace turnstile::cli {

namespace {

/// Padded by hand because colours have no width.
std::string padded(const std::string& text, size_t width, const std::string& painted) {
  return painted + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

/// "3/3": how many of the launches that must show the fault, or must be clean, are right.
std::string share(const MutantAnswer& answer, bool must_be_clean) {
  size_t all = 0;
  size_t right = 0;
  for (const CorpusAnswer& a : answer.launches) {
    if (a.must_be_clean != must_be_clean) continue;
    ++all;
    right += a.right() ? 1 : 0;
  }
  return all == 0 ? "-" : fmt::format("{}/{}", right, all);
}

std::string expected_text(const golden::Mutant& mutant) {
  std::string text(finding_class_name(mutant.finding_class));
  for (const FindingClass c : mutant.other_classes) text += fmt::format(" or {}", finding_class_name(c));
  return text;
}

/// What is wrong about one launch.
std::string complaint(const golden::Mutant& mutant, const CorpusAnswer& a) {
  const std::string launch = settings_text(a.set);
  const std::string got = a.reason.empty() ? std::string(a.got()) : fmt::format("{}: {}", a.got(), a.reason);
  if (a.must_be_clean) return fmt::format("{}: must be clean; got {}", launch, got);
  if (!a.right_class) return fmt::format("{}: must be {}; got {}", launch, expected_text(mutant), got);
  return fmt::format("{}: the first error is at {} and names no expected line, such as: {}", launch,
                     position_text(a.where), mutant.line);
}

constexpr std::string_view row_format = "  {:<22}{:<17}{:<17}{:<6}{:<6}";

}  // namespace

std::string settings_text(const golden::Settings& set) {
  std::string text;
  for (const auto& [name, value] : set)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", printable(name), value);
  return text;
}

std::string render_mutant_head() {
  return fmt::format(row_format, "mutant", "expected", "got", "shown", "clean") + "       first error at\n";
}

std::string render_mutant_row(const golden::Mutant& mutant, const MutantAnswer& answer, const Style& style) {
  const CorpusAnswer& first = answer.launches.front();
  const std::string expected(finding_class_name(mutant.finding_class));
  std::string out =
      fmt::format(row_format, mutant.name, expected, first.got(), share(answer, false), share(answer, true));
  const std::string word = answer.right() ? "right" : "wrong";
  out += padded(word, 7, answer.right() ? style.good(word) : style.error(word));
  out += position_text(first.where) + "\n";
  if (!first.text.empty()) out += style.faint(wrapped("      ", "      ", first.text));
  if (first.right_class && first.got() != expected)
    out += wrapped("    = ", "      ", fmt::format("{}: the table allows either", expected_text(mutant)));
  for (const CorpusAnswer& a : answer.launches)
    if (!a.right()) out += wrapped("    = ", "      ", complaint(mutant, a));
  return out;
}

std::string render_clean_head() {
  return fmt::format("\n  {:<41}{:<46}{}\n", "kernel itself", "launch", "got");
}

std::string render_clean_row(const golden::CleanLaunch& launch, const CorpusAnswer& answer,
                             const Style& style) {
  const std::string got(answer.got());
  std::string out = fmt::format("  {:<40} {:<45} {}\n", printable(launch.name), settings_text(answer.set),
                                answer.right() ? style.good(got) : style.error(got));
  if (!answer.right() && !answer.reason.empty())
    out += wrapped("    = ", "      ",
                   answer.finding_class ? fmt::format("{}: {}", position_text(answer.where), answer.reason)
                                        : answer.reason);
  return out;
}

std::string render_corpus_summary(const std::vector<MutantAnswer>& mutants,
                                  const std::vector<CorpusAnswer>& clean, const Style& style) {
  const auto right = [](const auto& all) {
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& a) { return a.right(); }));
  };
  const std::string words = fmt::format("{} of {} right class and line, {} of {} clean", right(mutants),
                                        mutants.size(), right(clean), clean.size());
  const bool all = right(mutants) == mutants.size() && right(clean) == clean.size();
  return (all ? style.good(words) : style.error(words)) + "\n";
}

}  // namespace turnstile::cli
