// SPDX-License-Identifier: Apache-2.0
//
// A report from a trace: run, explain, sort by how much each finding explains, conclude.
#include "checker/check.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

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

std::string_view condition_of(const Breach& breach) {
  switch (breach.kind) {
    case Breach::Kind::early_pass:
    case Breach::Kind::blocked_early:
      return "ALG-D1";
    case Breach::Kind::lapped:
      return "ALG-D2";
    case Breach::Kind::foreign_arrival:
      return breach.named ? "EXT1" : "ALG-D3";
    case Breach::Kind::refused:
      return "ALG-D4";
    case Breach::Kind::unannounced:
      return "ALG-D5a";
    case Breach::Kind::unmatched:
      return "ALG-D5b";
  }
  return {};
}

/// The certificate covers all schedules; a trace that stops early, or an input that is not known, does not.
std::string guarantee_of(const Trace& trace, const Observations& seen, const Report& report) {
  if (!stopped(trace) && seen.breaches.empty() && seen.early_uses.empty() && report.inconclusive.empty())
    return "every schedule of this launch (one run, certificate ALG-D1 to ALG-D5)";
  return "the schedule that was executed";
}

void count(const Trace& trace, const Observations& seen, Report& report) {
  report.events = trace.events.size();
  report.accesses = seen.accesses;
  report.warps = trace.warps;
  report.barriers = static_cast<uint32_t>(trace.barriers.size());
  report.phases = seen.phases;
  report.agents = seen.agents;
}

void collect_unknowns(const Trace& trace, const Names& names, std::vector<Note>& reasons) {
  for (const Unknown& u : trace.unknowns) {
    Note note{u.place < trace.places.size() ? names.position(u.place) : SourcePosition{}, u.message};
    if (!u.help.empty()) note.text += " (help: " + u.help + ")";
    reasons.push_back(std::move(note));
  }
  if (!trace.live_pollers.empty())
    reasons.push_back({{},
                       std::to_string(trace.live_pollers.size()) +
                           " strands still ran when the step limit was reached (" +
                           names.warp(trace.live_pollers.front()) + ", ...)"});
}

/// Choice points, each once for its place and text.
void collect_choices(const Observations& seen, const Names& names, SingleRunVerdict& verdict) {
  std::set<std::pair<std::string, uint32_t>> known;
  for (const Uncovered& u : seen.uncovered) {
    const bool placed = u.place != Uncovered::nowhere;
    std::vector<Note>& reasons = u.searchable ? verdict.schedule_dependent : verdict.undecidable;
    if (known.insert({u.reason, u.place}).second)
      reasons.push_back({placed ? names.position(u.place) : SourcePosition{}, u.reason});
  }
}

/// The conditions that do not hold, each once for its place.
void collect_breaches(const Trace& trace, const Observations& seen, const Names& names,
                      std::vector<Note>& reasons) {
  std::set<std::pair<std::string, uint32_t>> known;
  for (const Breach& b : seen.breaches) {
    const uint32_t place = b.event == no_event ? trace.blocked[b.blocked].place : trace.events[b.event].place;
    const std::string text = std::string(condition_of(b)) + " does not hold on " +
                             (b.named ? names.named_barrier(b.object) : names.barrier(b.object));
    if (known.insert({text, place}).second) reasons.push_back({names.position(place), text});
  }
}

}  // namespace

SingleRunVerdict check_single_run(const Trace& trace, const CheckOptions& options) {
  SingleRunVerdict verdict;
  Report& report = verdict.report;
  report.engine = "E1 single run";
  const Observations seen = single_run(trace, options.policies);
  if (!seen.defect.empty()) {
    verdict.undecidable.push_back({{}, "this trace cannot be checked: " + seen.defect});
    report.inconclusive = verdict.undecidable;
    conclude(report);
    return verdict;
  }
  count(trace, seen, report);
  const Names names(trace);
  if (!seen.inconsistent.empty())
    verdict.undecidable.push_back(
        {{}, "the trace contradicts the rules it was made by: " + seen.inconsistent});
  collect_unknowns(trace, names, verdict.undecidable);
  collect_choices(seen, names, verdict);
  report.inconclusive = verdict.undecidable;
  report.inconclusive.insert(report.inconclusive.end(), verdict.schedule_dependent.begin(),
                             verdict.schedule_dependent.end());
  collect_breaches(trace, seen, names, verdict.schedule_dependent);

  std::vector<Ranked> found;
  const bool anything = !seen.breaches.empty() || !seen.conflicts.empty() || !seen.overwrites.empty() ||
                        !seen.early_uses.empty() || !seen.byte_mismatches.empty() ||
                        !seen.second_helpings.empty() || !seen.named.empty() || !seen.undrained.empty() ||
                        !seen.register_hazards.empty() || !seen.stale_reads.empty() ||
                        !seen.misuses.empty() || !trace.faults.empty() || !trace.blocked.empty();
  if (anything) {
    const Story story{trace, seen, options, names, History(trace)};
    explain_protocol(story, found);
    explain_mechanisms(story, found);
    explain_faults(story, found);
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
  return verdict;
}

Report check(const Trace& trace, const CheckOptions& options) {
  return std::move(check_single_run(trace, options).report);
}

}  // namespace turnstile
