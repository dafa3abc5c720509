// SPDX-License-Identifier: Apache-2.0
#include "cli/mimw_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "checker/verdict_classes.h"
#include "cli/terminal.h"
#include "model/files.h"

namespace turnstile::cli {

namespace {

std::string class_text(std::string_view name, const std::vector<std::string>& subjects) {
  std::string objects;
  for (const std::string& s : subjects) objects += (objects.empty() ? "" : ";") + s;
  return objects.empty() ? std::string(name) : fmt::format("{}({})", name, objects);
}

std::string expected_text(const MimwExpectation& expectation) {
  std::string text;
  for (const MimwExpectation::Finding& f : expectation.findings)
    text += (text.empty() ? "" : ", ") + class_text(f.verdict_class, f.subjects);
  return text.empty() ? "safe" : text;
}

/// All classes that diagnostics belong to, each with the objects that they concern.
std::string got_text(const std::vector<Diagnostic>& found) {
  std::string text;
  const auto add = [&](std::string_view name, auto counts) {
    std::vector<std::string> subjects;
    bool any = false;
    for (const Diagnostic& d : found) {
      if (!counts(d)) continue;
      any = true;
      if (!d.subject.empty() && std::find(subjects.begin(), subjects.end(), d.subject) == subjects.end())
        subjects.push_back(d.subject);
    }
    if (any) text += (text.empty() ? "" : ", ") + class_text(name, subjects);
  };
  for (const VerdictClass& c : verdict_classes_of_findings())
    add(c.name, [&](const Diagnostic& d) { return belongs_to(d, c.name); });
  std::set<std::string> others;
  for (const Diagnostic& d : found)
    if (d.severity == Severity::error &&
        std::none_of(verdict_classes_of_findings().begin(), verdict_classes_of_findings().end(),
                     [&](const VerdictClass& c) { return belongs_to(d, c.name); }))
      others.insert(d.rule);
  for (const std::string& rule : others) text += (text.empty() ? "" : ", ") + rule;
  return text;
}

bool shows(const std::vector<Diagnostic>& found, const MimwExpectation::Finding& wanted) {
  return std::any_of(found.begin(), found.end(), [&](const Diagnostic& d) {
    if (!belongs_to(d, wanted.verdict_class)) return false;
    return wanted.subjects.empty() ||
           std::any_of(wanted.subjects.begin(), wanted.subjects.end(),
                       [&](const std::string& s) { return same_subject(d.subject, s); });
  });
}

Result<CorpusLine> judge(const MimwProgram& program, const MimwExpectation& expectation) {
  CorpusLine line;
  line.file = program.file;
  line.name = program.name;
  line.variant = expectation.variant;
  line.expected = expected_text(expectation);
  line.derived = expectation.derived;
  const auto choices = choices_of(program, expectation.variant, {});
  if (!choices) return tl::unexpected(choices.error());
  MimwLimitsOfCheck limits;
  limits.states = 40'000;
  limits.seconds = 60;  // the states are the bound, so that a slow machine says the same
  limits.all_classes = !expectation.findings.empty();
  std::vector<Diagnostic> found;
  std::string doubt;
  for (const auto& values : *choices) {
    if (interrupted()) return fail("stopped by the user");
    const Result<MimwOutcome> outcome = check_mimw(program, expectation.variant, values, limits);
    if (!outcome) return tl::unexpected(outcome.error());
    ++line.choices;
    line.seconds += outcome->seconds;
    const Report& report = outcome->report;
    if (report.verdict == Verdict::inconclusive && doubt.empty())
      doubt = report.inconclusive.empty() ? "no reason given" : report.inconclusive.front().text;
    found.insert(found.end(), report.diagnostics.begin(), report.diagnostics.end());
  }
  const auto first_error = std::find_if(found.begin(), found.end(),
                                        [](const Diagnostic& d) { return d.severity == Severity::error; });
  line.got = got_text(found);
  if (first_error == found.end() && !doubt.empty()) line.got = "inconclusive";
  if (line.got.empty()) line.got = "clean";
  if (expectation.findings.empty()) {
    if (first_error != found.end())
      line.missing = fmt::format("{}: {}", first_error->rule, first_error->message);
    else
      line.missing = doubt;
    if (first_error == found.end() && doubt.empty()) line.got = "clean";  // lints do not count
  } else {
    for (const MimwExpectation::Finding& f : expectation.findings)
      if (!shows(found, f))
        line.missing += (line.missing.empty() ? "" : ", ") + class_text(f.verdict_class, f.subjects);
    if (!line.missing.empty() && !doubt.empty()) line.missing += " (" + doubt + ")";
  }
  line.right = line.missing.empty();
  return line;
}

}  // namespace

Result<std::vector<std::string>> mimw_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error) && at->path().extension() == ".mimw") files.push_back(at->path().string());
  if (error) return fail(path, 0, 0, "the directory cannot be read: " + error.message());
  if (files.empty()) return fail(path, 0, 0, "no .mimw file in this directory");
  std::sort(files.begin(), files.end());
  return files;
}

Result<MimwProgram> read_mimw(const std::string& path) {
  const Result<std::string> text = read_file(path, mimw_max_text);
  if (!text) return tl::unexpected(text.error());
  return parse_mimw(*text, path);
}

Result<std::vector<CorpusLine>> judge_mimw(const MimwProgram& program) {
  std::vector<CorpusLine> lines;
  for (const MimwExpectation& expectation : expectations(program)) {
    Result<CorpusLine> line = judge(program, expectation);
    if (!line) return tl::unexpected(line.error());
    lines.push_back(std::move(*line));
  }
  return lines;
}

}  // namespace turnstile::cli
