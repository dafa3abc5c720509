// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "checker/check.h"
#include "tests/sim/machine_support.h"

/// Rules at PTX level: a small kernel is executed as `turnstile check` does it, and judged.
namespace turnstile::test {

inline Report judge(Setup s) {
  s.domain = sim::Domain::control;
  const Ran r = run(s);
  Report total;
  std::vector<GlobalAccessSummary> summaries;
  for (const Trace& t : r.result.traces) {
    merge_into(total, check(t));
    summaries.push_back(summarize_global(t));
  }
  if (summaries.size() > 1) merge_into(total, check_between(summaries));
  conclude(total);
  return total;
}

/// "clean", "inconclusive", or the rules of the findings in their order: "D2 C3".
inline std::string judged(const Setup& s) {
  const Report r = judge(s);
  if (r.verdict == Verdict::clean) return "clean";
  std::string out;
  for (const Diagnostic& d : r.diagnostics)
    if (d.severity == Severity::error) out += (out.empty() ? "" : " ") + d.rule;
  if (!out.empty()) return out;
  return r.inconclusive.empty() ? "inconclusive" : "inconclusive: " + r.inconclusive.front().text;
}

inline bool cites(const std::string& found, const std::string& rule) {
  return (" " + found + " ").find(" " + rule + " ") != std::string::npos;
}

}  // namespace turnstile::test
