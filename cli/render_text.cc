// SPDX-License-Identifier: Apache-2.0
#include "cli/render_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <vector>

#include "cli/launch_options.h"

namespace turnstile::cli {

namespace {

/// Source code is cut rather than broken: a broken line reads like two.
std::string clipped(const std::string& code, size_t width) {
  if (code.size() <= width) return code;
  return code.substr(0, width > 3 ? width - 3 : 0) + "...";
}

/// "  --> gemm.cu:141   mbarrier_wait(...);", with `said` on a line of its own below, under the code.
std::string render_place(const SourcePosition& position, const std::string& said, SourceText& source) {
  const std::string head = fmt::format("  --> {}   ", position_text(position));
  // Long file names must not push what is said to the right border.
  const std::string indent = fmt::format("      |{:{}}", "", head.size() <= 40 ? head.size() - 7 : 5);
  const size_t room = head.size() < line_width ? line_width - head.size() : 0;
  const std::string code = clipped(source.line(position), room);
  std::string out = code.empty() ? head.substr(0, head.size() - 3) + "\n" : head + code + "\n";
  if (!said.empty()) out += wrapped(indent, indent, said);
  return out;
}

std::string dims(const Dim3& d) {
  if (d[2] != 1) return fmt::format("{}x{}x{}", d[0], d[1], d[2]);
  if (d[1] != 1) return fmt::format("{}x{}", d[0], d[1]);
  return fmt::format("{}", d[0]);
}

uint64_t findings_of(const Report& report, std::initializer_list<FindingClass> classes) {
  uint64_t n = 0;
  for (const Diagnostic& d : report.diagnostics)
    if (d.severity == Severity::error &&
        std::find(classes.begin(), classes.end(), d.finding_class) != classes.end())
      ++n;
  return n;
}

/// One row of the table. What a clean verdict means may be claimed only where the verdict is clean.
std::string aspect(const Report& report, std::string_view name, std::string_view good,
                   std::string_view meaning, std::initializer_list<FindingClass> classes,
                   const Style& style) {
  const uint64_t n = findings_of(report, classes);
  if (n != 0) return fmt::format("  {:<11} {}\n", name, style.error(counted(n, "finding")));
  if (report.verdict != Verdict::clean) return fmt::format("  {:<11} no finding\n", name);
  return fmt::format("  {:<11} {}{:{}}{}\n", name, style.good(good), "", 10 - good.size(), meaning);
}

std::string traced_line(const CheckOutcome& outcome) {
  const Report& report = outcome.report;
  const uint64_t total = outcome.launch.cta_count();
  const std::string run = outcome.ctas_run == total
                              ? counted(total, "CTA")
                              : fmt::format("{} of {}", grouped(outcome.ctas_run), counted(total, "CTA"));
  const std::string classes =
      fmt::format("{} in {}{}", run, counted(outcome.classes, "class"),
                  outcome.ctas_run > 1 && outcome.classes == 1 ? " (same control flow)" : "");
  return spread(fmt::format("  {:<11} {:<42} {}, {}", "traced", classes, counted(outcome.warps, "warp"),
                            counted(report.events, "event")),
                seconds_text(outcome.execute_seconds)) +
         "\n";
}

std::string table(const CheckOutcome& outcome, const Style& style) {
  const Report& r = outcome.report;
  using F = FindingClass;
  std::string out = traced_line(outcome);
  if (outcome.ctas_followed != 0)
    out += wrapped(
        "  followed    ", "              ",
        fmt::format("{} not executed: they do what the {} executed do, since what these computed from "
                    "their position reached addresses in global memory only, or came out the same; "
                    "the addresses were computed for each",
                    counted(outcome.ctas_followed, "CTA"),
                    grouped(outcome.ctas_run - outcome.ctas_followed)));
  if (!outcome.launch_control.empty() && r.verdict == Verdict::clean)
    out += wrapped(outcome.draws_tickets       ? "  tickets     "
                   : outcome.has_last_arrivers ? "  last CTA    "
                                               : "  handed over ",
                   "              ", outcome.launch_control);
  out += aspect(r, "hangs", "none", "every wait is answered, in every schedule", {F::hang}, style);
  out += aspect(r, "races", "none",
                fmt::format("{} byte-range accesses, all ordered and visible", rounded(r.accesses)),
                {F::race, F::proxy_fence, F::stale}, style);
  out += aspect(r, "protocol", "ok",
                fmt::format("{}, {} completed; nobody can be lapped", counted(r.barriers, "mbarrier"),
                            counted(r.phases, "phase")),
                {F::overtaken, F::barrier_protocol, F::resource}, style);
  out += aspect(r, "drained", "ok", "asynchronous work completes before exit", {F::lifetime}, style);
  out += aspect(r, "operands", "ok", "addresses in bounds and aligned; registers of pending wgmma untouched",
                {F::memory, F::register_hazard}, style);
  std::string unseen;
  for (const std::string& s : r.not_examined) unseen += (unseen.empty() ? "" : "; ") + s;
  if (!unseen.empty()) out += wrapped("  not seen    ", "              ", unseen);
  if (!outcome.policies.words.empty())
    out += wrapped("  policies    ", "              ", policies_text(outcome.policies));
  return out;
}

}  // namespace

std::string render_diagnostic(const Diagnostic& d, SourceText& source, const Style& style) {
  const bool is_error = d.severity == Severity::error;
  const std::string head =
      fmt::format("{}[{}]", is_error ? "error" : "lint", finding_class_name(d.finding_class));
  std::string out = wrapped(head + ": ", "  ", d.message);
  out = (is_error ? style.error(head) : style.warning(head)) + out.substr(head.size());
  if (!d.where.file.empty()) out += render_place(d.where, d.label, source);
  for (const Note& side : d.sides) {
    if (side.position.file.empty())
      out += wrapped("  = ", "    ", side.text);
    else
      out += render_place(side.position, side.text, source);
  }
  for (const std::string& fact : d.facts) out += wrapped("  = ", "    ", fact);
  if (!d.witness.empty()) {
    out += fmt::format("  {}schedule that shows it:\n", d.witness_is_shortest ? "shortest " : "");
    for (size_t i = 0; i < d.witness.size(); ++i)
      out += wrapped(fmt::format("    {:>3}. ", i + 1), "         ", d.witness[i]);
  }
  if (!d.help.empty()) out += wrapped("  help: ", "        ", d.help);
  const std::string times = d.occurrences > 1 ? fmt::format("seen {} times", grouped(d.occurrences)) : "";
  const std::string rule =
      d.rule.empty() ? "" : fmt::format("rule {} (turnstile check --explain {})", d.rule, d.rule);
  if (!times.empty() || !rule.empty())
    out += style.faint(fmt::format("  {}{}{}", rule, !rule.empty() && !times.empty() ? "   " : "", times)) +
           "\n";
  return out;
}

std::string render_inconclusive(const Note& reason, SourceText& source, const Style& style) {
  const std::string head = "inconclusive";
  const std::string first = reason.text.substr(0, reason.text.find('\n'));
  std::string out = style.warning(head) + wrapped(head + ": ", "  ", first).substr(head.size());
  if (!reason.position.file.empty()) out += render_place(reason.position, "", source);
  // Further lines of a reason say what to do.
  if (first.size() < reason.text.size())
    out += wrapped("  help: ", "        ", reason.text.substr(first.size() + 1));
  return out;
}

std::string render_launch_line(const Launch& launch, const std::string& target) {
  const std::string name = launch.entry + (target.empty() ? "" : "  " + target);
  const std::string vars = vars_text(launch);
  const std::string what = launch.case_name.empty() ? vars : fmt::format("{}: {}", launch.case_name, vars);
  return wrapped("", "  ",
                 fmt::format("{}  grid {}  cluster {}  {} threads   {}", name, dims(launch.grid),
                             dims(launch.cluster), launch.threads(), what));
}

std::string verdict_text(const Report& report) {
  return report.verdict == Verdict::finding ? findings_text(report)
                                            : std::string(verdict_name(report.verdict));
}

std::string painted_verdict(const Report& report, const std::string& text, const Style& style) {
  switch (report.verdict) {
    case Verdict::clean:
      return style.good(text);
    case Verdict::finding:
      return style.error(text);
    case Verdict::inconclusive:
      return style.warning(text);
  }
  return text;
}

std::string verdict_line(const Report& report, double seconds, const Style& style) {
  const std::string word = verdict_text(report);
  std::string rest;
  if (report.verdict == Verdict::clean) rest = fmt::format(": {}", report.guarantee);
  if (report.verdict == Verdict::inconclusive)
    rest = fmt::format(": {} above", counted(report.inconclusive.size(), "reason"));
  return painted_verdict(report, word, style) +
         spread(word + rest, seconds_text(seconds)).substr(word.size()) + "\n";
}

std::string render_findings(const Report& report, SourceText& source, const Style& style, bool quiet) {
  std::string out;
  for (const Diagnostic& d : report.diagnostics)
    if (!quiet || d.severity == Severity::error) out += render_diagnostic(d, source, style) + "\n";
  for (const Note& reason : report.inconclusive)
    out += render_inconclusive(reason, source, style) + (quiet ? "" : "\n");
  return out;
}

std::string render_row(const std::string& label, const Report& report, double seconds, const Style& style) {
  const std::string head = fmt::format("  {:<32} ", label);
  const std::string what = verdict_text(report);
  return head + painted_verdict(report, what, style) +
         spread(head + what, seconds_text(seconds)).substr(head.size() + what.size()) + "\n";
}

std::string replay_line(const std::string& witness_file) {
  return witness_file.empty() ? std::string() : fmt::format("  replay: turnstile replay {}\n", witness_file);
}

std::string findings_text(const Report& report) {
  std::vector<std::pair<std::string_view, uint64_t>> by_class;
  uint64_t errors = 0;
  uint64_t lints = 0;
  for (const Diagnostic& d : report.diagnostics) {
    if (d.severity == Severity::lint) {
      ++lints;
      continue;
    }
    ++errors;
    const std::string_view name = finding_class_name(d.finding_class);
    auto at = std::find_if(by_class.begin(), by_class.end(),
                           [&](const auto& entry) { return entry.first == name; });
    if (at == by_class.end())
      by_class.emplace_back(name, 1);
    else
      ++at->second;
  }
  std::string classes;
  for (const auto& [name, n] : by_class) {
    classes += classes.empty() ? "" : ", ";
    classes += by_class.size() == 1 ? std::string(name) : fmt::format("{} {}", n, name);
  }
  std::string out = counted(errors, "finding");
  if (!classes.empty()) out += fmt::format(" ({})", classes);
  if (lints != 0) out += ", " + counted(lints, "lint");
  return out;
}

std::string render_check(const CheckOutcome& outcome, SourceText& source, const Style& style, bool quiet) {
  std::string out;
  if (!quiet) {
    const std::string line = render_launch_line(outcome.launch, outcome.target);
    const size_t name = std::min(line.size(), outcome.launch.entry.size());
    out += style.strong(line.substr(0, name)) + line.substr(name);
  }
  out += render_findings(outcome.report, source, style, quiet);
  if (!quiet) {
    out += table(outcome, style);
    out += verdict_line(outcome.report, outcome.execute_seconds + outcome.check_seconds, style);
  }
  return out + replay_line(outcome.witness_file);
}

}  // namespace turnstile::cli
