// SPDX-License-Identifier: Apache-2.0
#include "model/report.h"

#include <algorithm>

#include "model/must.h"

namespace turnstile {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::clean:
      return "clean";
    case Verdict::finding:
      return "finding";
  }
  must(false, "unknown verdict");
  return {};
}

std::string_view finding_class_name(FindingClass c) {
  switch (c) {
    case FindingClass::hang:
      return "hang";
    case FindingClass::race:
      return "race";
    case FindingClass::proxy_fence:
      return "proxy_fence";
    case FindingClass::overtaken:
      return "overtaken";
    case FindingClass::stale:
      return "stale";
    case FindingClass::barrier_protocol:
      return "barrier_protocol";
    case FindingClass::resource:
      return "resource";
    case FindingClass::lifetime:
      return "lifetime";
    case FindingClass::register_hazard:
      return "register_hazard";
    case FindingClass::memory:
      return "memory";
  }
  must(false, "unknown finding class");
  return {};
}

namespace {

/// One source line is one place, however often the compiler unrolled it; without line information the PTX
/// line decides.
bool same_place(const SourcePosition& a, const SourcePosition& b) {
  if (a.file != b.file || a.line != b.line) return false;
  return (!a.file.empty() && a.line != 0) || a.ptx_line == b.ptx_line;
}

}  // namespace

bool same_finding(const Diagnostic& a, const Diagnostic& b) {
  if (a.finding_class != b.finding_class || a.rule != b.rule || !same_place(a.where, b.where)) return false;
  if (a.sides.size() != b.sides.size()) return false;
  return std::equal(a.sides.begin(), a.sides.end(), b.sides.begin(),
                    [](const Note& x, const Note& y) { return same_place(x.position, y.position); });
}

void merge_into(Report& total, const Report& part) {
  if (total.engine.empty()) total.engine = part.engine;
  if (total.guarantee.empty()) total.guarantee = part.guarantee;
  for (const Diagnostic& d : part.diagnostics) {
    auto twin = std::find_if(total.diagnostics.begin(), total.diagnostics.end(),
                             [&](const Diagnostic& known) { return same_finding(known, d); });
    if (twin == total.diagnostics.end())
      total.diagnostics.push_back(d);
    else
      twin->occurrences += d.occurrences;
  }
  for (const Note& n : part.inconclusive) {
    const bool known = std::any_of(total.inconclusive.begin(), total.inconclusive.end(), [&](const Note& k) {
      return k.text == n.text && same_place(k.position, n.position);
    });
    if (!known) total.inconclusive.push_back(n);
  }
  for (const std::string& s : part.not_examined)
    if (std::find(total.not_examined.begin(), total.not_examined.end(), s) == total.not_examined.end())
      total.not_examined.push_back(s);
  total.events += part.events;
  total.accesses += part.accesses;
  total.agents = std::max(total.agents, part.agents);
  total.warps = std::max(total.warps, part.warps);
  total.barriers = std::max(total.barriers, part.barriers);
  total.phases += part.phases;
}

void conclude(Report& report) {
  std::vector<Diagnostic> distinct;
  for (Diagnostic& d : report.diagnostics) {
    auto twin = std::find_if(distinct.begin(), distinct.end(),
                             [&](const Diagnostic& known) { return same_finding(known, d); });
    if (twin == distinct.end())
      distinct.push_back(std::move(d));
    else
      twin->occurrences += d.occurrences;
  }
  report.diagnostics = std::move(distinct);
  std::stable_partition(report.diagnostics.begin(), report.diagnostics.end(),
                        [](const Diagnostic& d) { return d.severity == Severity::error; });
  const bool finding = !report.diagnostics.empty() && report.diagnostics.front().severity == Severity::error;
  report.verdict = finding                       ? Verdict::finding
                   : report.inconclusive.empty() ? Verdict::clean
                                                 : Verdict::inconclusive;
}

}  // namespace turnstile
