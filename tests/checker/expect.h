// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "checker/check.h"
#include "checker/rules.h"

namespace turnstile::test {

inline std::string text_of(const Report& r) {
  std::string text = std::string(verdict_name(r.verdict)) + "\n";
  for (const Diagnostic& d : r.diagnostics) {
    text += std::string(d.severity == Severity::lint ? "lint[" : "error[") +
            std::string(finding_class_name(d.finding_class)) + "] " + d.rule + " line " +
            std::to_string(d.where.line) + ": " + d.message + "\n";
    for (const std::string& f : d.facts) text += "  = " + f + "\n";
  }
  for (const Note& n : r.inconclusive) text += "inconclusive: " + n.text + "\n";
  return text;
}

/// No finding, nothing unknown. Advice (lints) is not looked at.
inline void expect_clean(const Trace& trace) {
  const Report r = check(trace);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::clean);
  CHECK(r.guarantee == "every schedule of this launch (one run, certificate ALG-D1 to ALG-D5)");
}

/// The finding that is shown first: class, rule and line of kernel.cu.
inline Diagnostic expect_first(const Trace& trace, FindingClass c, const std::string& rule, uint32_t line) {
  const Report r = check(trace);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
  REQUIRE(!r.diagnostics.empty());
  const Diagnostic& d = r.diagnostics.front();
  CHECK(finding_class_name(d.finding_class) == finding_class_name(c));
  CHECK(d.rule == rule);
  CHECK(d.where.line == line);
  CHECK(d.severity == Severity::error);
  CHECK(!d.help.empty());
  CHECK(find_rule(d.rule) != nullptr);
  return d;
}

/// Some diagnostic of that rule; its severity is looked at by the caller.
inline Diagnostic expect_rule(const Trace& trace, const std::string& rule, uint32_t line,
                              const CheckOptions& options = {}) {
  const Report r = check(trace, options);
  INFO(text_of(r));
  const auto at = std::find_if(r.diagnostics.begin(), r.diagnostics.end(),
                               [&](const Diagnostic& d) { return d.rule == rule; });
  REQUIRE(at != r.diagnostics.end());
  CHECK(at->where.line == line);
  CHECK(!at->help.empty());
  CHECK(find_rule(rule) != nullptr);
  return *at;
}

/// Advice, not a fault: the verdict stays clean.
inline void expect_lint(const Trace& trace, const std::string& rule, uint32_t line) {
  CHECK(expect_rule(trace, rule, line).severity == Severity::lint);
  CHECK(check(trace).verdict == Verdict::clean);
}

/// Nothing is wrong in this run, but only a search can speak for all.
inline void expect_open(const Trace& trace, const std::string& part) {
  const SingleRunVerdict v = check_single_run(trace);
  INFO(text_of(v.report));
  CHECK(v.report.verdict == Verdict::inconclusive);
  CHECK(v.undecidable.empty());
  REQUIRE(!v.schedule_dependent.empty());
  CHECK(v.schedule_dependent.front().text.find(part) != std::string::npos);
}

inline bool has_fact(const Diagnostic& d, const std::string& part) {
  return std::any_of(d.facts.begin(), d.facts.end(),
                     [&](const std::string& f) { return f.find(part) != std::string::npos; });
}

inline const Diagnostic* find(const Report& r, FindingClass c) {
  for (const Diagnostic& d : r.diagnostics)
    if (d.finding_class == c) return &d;
  return nullptr;
}

}  // namespace turnstile::test
