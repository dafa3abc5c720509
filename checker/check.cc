// SPDX-License-Identifier: Apache-2.0
//
// A report from a trace: run, explain, sort by how much each finding explains, conclude.
#include "checker/check.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "checker/explain.h"
#include "checker/single_run.h"

namespace turnstile {

namespace {

using namespace checker;

bool by_rank(const Ranked& a, const Ranked& b) {
  const auto key = [](const Ranked& r) {
    return std::tuple(r.diagnostic.severity == Severity::lint, r.rank, r.event);
  };
  return key(a) < key(b);
}

/// The certificate covers all schedules; a trace that stops early, or an input that is not known, does not.
std::string guarantee_of(const Trace& trace, const Observations& seen, const Report& report) {
  const bool whole = trace.faults.empty() && trace.live_pollers.empty();
  if (whole && seen.breaches.empty() && seen.early_uses.empty() && report.inconclusive.empty())
    return "every schedule of this launch (one run, certificate ALG-D1 to ALG-D5)";
  return "the schedule that was executed";
}

void count(const Trace& trace, const Observations& seen, Report& report) {
  report.events = trace.events.size();
  report.accesses = seen.accesses;
  report.warps = trace.warps;
  report.barriers = static_cast<uint32_t>(trace.barriers.size());
  report.phases = seen.phases;
  std::set<uint16_t> agents;
  for (const Event& e : trace.events) agents.insert(e.agent.v);
  report.agents = static_cast<uint32_t>(agents.size());
}

void collect_unknowns(const Trace& trace, const Observations& seen, const Names& names, Report& report) {
  for (const Unknown& u : trace.unknowns) {
    Note note{u.place < trace.places.size() ? names.position(u.place) : SourcePosition{}, u.message};
    if (!u.help.empty()) note.text += " (help: " + u.help + ")";
    report.inconclusive.push_back(std::move(note));
  }
  std::set<std::string> reasons(seen.uncovered.begin(), seen.uncovered.end());
  for (const std::string& reason : reasons) report.inconclusive.push_back({{}, reason});
  if (!trace.live_pollers.empty())
    report.inconclusive.push_back({{},
                                   std::to_string(trace.live_pollers.size()) +
                                       " strands still ran when the step limit was reached (" +
                                       names.warp(trace.live_pollers.front()) + ", ...)"});
}

}  // namespace

Report check(const Trace& trace, const CheckOptions& options) {
  Report report;
  report.engine = "E1 single run";
  if (std::string defect = trace_defect(trace); !defect.empty()) {
    report.inconclusive.push_back({{}, "this trace cannot be checked: " + defect});
    conclude(report);
    return report;
  }
  const Observations seen = single_run(trace);
  count(trace, seen, report);
  if (!seen.inconsistent.empty())
    report.inconclusive.push_back(
        {{}, "the trace contradicts the rules it was made by: " + seen.inconsistent});
  const Names names(trace);
  collect_unknowns(trace, seen, names, report);

  std::vector<Ranked> found;
  const bool anything = !seen.breaches.empty() || !seen.conflicts.empty() || !seen.overwrites.empty() ||
                        !seen.early_uses.empty() || !seen.byte_mismatches.empty() ||
                        !seen.second_helpings.empty() || !seen.named.empty() || !seen.undrained.empty() ||
                        !seen.register_hazards.empty() || !trace.faults.empty() || !trace.blocked.empty();
  if (anything) {
    const Story story{trace, seen, options, names, History(trace)};
    explain_faults(story, found);
    explain_protocol(story, found);
    explain_breaches(story, found);
    explain_accesses(story, found);
    explain_hang(story, found);
  }
  std::stable_sort(found.begin(), found.end(), by_rank);
  const size_t shown = std::min<size_t>(found.size(), std::max(1u, options.max_diagnostics));
  for (size_t i = 0; i < shown; ++i) report.diagnostics.push_back(std::move(found[i].diagnostic));
  if (shown < found.size())
    report.diagnostics.back().facts.push_back(std::to_string(found.size() - shown) +
                                              " further findings are not shown");

  const bool errors = std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                                  [](const Diagnostic& d) { return d.severity == Severity::error; });
  if (!trace.blocked.empty() && !errors)  // PF7: never fall through to clean
    report.inconclusive.push_back(
        {{}, std::to_string(trace.blocked.size()) + " strands were waiting when the execution stopped"});
  report.guarantee = guarantee_of(trace, seen, report);
  conclude(report);
  return report;
}

}  // namespace turnstile
