// SPDX-License-Identifier: Apache-2.0
#include "cli/render_mimw.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/render_text.h"

namespace turnstile::cli {

namespace {

/// Padded by hand because colours have no width; a long text keeps one blank.
std::string padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

}  // namespace

std::string values_text(const std::map<std::string, int64_t>& values) {
  std::string text;
  for (const auto& [name, value] : values)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", printable(name), value);
  return text;
}

std::string render_mimw(const MimwProgram& program, const MimwOutcome& outcome, SourceText& source,
                        const Style& style, bool quiet) {
  const Report& report = outcome.report;
  std::string out;
  if (!quiet) {
    const std::string name = printable(program.name);
    const std::string line =
        wrapped("", "  ",
                fmt::format("{}  variant {}  {}, {}   {}", name, printable(outcome.variant),
                            counted(report.agents, "agent"), counted(report.barriers, "mbarrier"),
                            values_text(outcome.values)));
    const size_t shown = std::min(line.size(), name.size());
    out += style.strong(line.substr(0, shown)) + line.substr(shown);
  }
  out += render_findings(report, source, style, quiet);
  if (!quiet) {
    if (!outcome.policies.words.empty())
      out += wrapped("  policies    ", "              ", policies_text(outcome.policies));
    out += verdict_line(report, outcome.seconds, style);
  }
  return out + replay_line(outcome.witness_file);
}

std::string render_case_head() {
  return "  " + padded("case", 9) + padded("variant", 10) + padded("expected", 38) + "got\n";
}

std::string render_case_row(const CorpusLine& line, const Style& style) {
  const std::string head = "  " + padded(printable(line.name), 9) + padded(printable(line.variant), 10) +
                           padded(printable(line.expected), 38);
  const std::string got = printable(line.got);
  std::string out = head + (line.right ? style.good(got) : style.error(got)) + "\n";
  if (!line.right)
    out += wrapped("      wrong: ", "             ",
                   fmt::format("{} {}", line.expected == "safe" ? "must be clean;" : "not found:",
                               printable(line.missing)));
  return out;
}

std::string render_case_summary(const std::vector<CorpusLine>& lines, const Style& style) {
  const auto right = static_cast<uint64_t>(
      std::count_if(lines.begin(), lines.end(), [](const CorpusLine& l) { return l.right; }));
  double seconds = 0;
  for (const CorpusLine& l : lines) seconds += l.seconds;
  const std::string text = fmt::format("{} of {} right", grouped(right), counted(lines.size(), "variant"));
  return (right == lines.size() ? style.good(text) : style.error(text)) +
         spread(text, seconds_text(seconds)).substr(text.size()) + "\n";
}

}  // namespace turnstile::cli
