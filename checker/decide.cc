// SPDX-License-Identifier: Apache-2.0
//
// E1 -> E4 -> E3 -> verdict (algorithms.md 7.1).
#include "checker/decide.h"

#include <algorithm>

#include "checker/clearing.h"
#include "checker/directed.h"
#include "checker/independence.h"
#include "checker/narrative.h"

namespace turnstile {

namespace {

using namespace checker;
using FaultKind = SearchFault::Kind;
using Step = OrchestrationMachine::Step;

/// A fault on one schedule, as the report tells it.
struct Harm {
  Diagnostic diagnostic;
  Witness witness;
};

Witness::Shows shows(FaultKind kind) {
  switch (kind) {
    case FaultKind::hang:
      return Witness::Shows::hang;
    case FaultKind::race:
      return Witness::Shows::race;
    case FaultKind::stale:
      return Witness::Shows::stale;
    case FaultKind::refused:
      return Witness::Shows::refused;
  }
  return Witness::Shows::hang;
}

FindingClass class_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::hang:
      return FindingClass::hang;
    case FaultKind::race:
      return FindingClass::race;
    case FaultKind::stale:
      return FindingClass::stale;
    case FaultKind::refused:
      return FindingClass::barrier_protocol;
  }
  return FindingClass::hang;
}

std::optional<FaultKind> kind_of(FindingClass c) {
  switch (c) {
    case FindingClass::hang:
    case FindingClass::resource:
      return FaultKind::hang;
    case FindingClass::race:
      return FaultKind::race;
    case FindingClass::stale:
      return FaultKind::stale;
    case FindingClass::barrier_protocol:
    case FindingClass::lifetime:
      return FaultKind::refused;
    case FindingClass::proxy_fence:
    case FindingClass::overtaken:
    case FindingClass::register_hazard:
    case FindingClass::memory:
      break;
  }
  return std::nullopt;
}

class Decider {
 public:
  Decider(const Trace& trace, const Orchestration* program, const DecideOptions& options)
      : trace_(trace), given_(program), options_(options) {}

  Decision run() {
    SingleRunVerdict single = check_single_run(trace_, options_.check);
    Decision decision{std::move(single.report), std::nullopt};
    // Arriving again without a wait: whether that falls into the next generation depends on the others (D3 of
    // the cluster barrier, C1).
    for (const Diagnostic& d : decision.report.diagnostics)
      if (d.rule == "Q15") single.schedule_dependent.push_back({d.where, d.message});
    if (single.schedule_dependent.empty()) return decision;
    if (given_ == nullptr) {
      own_ = orchestration_of(trace_);
      own_.commits_in_order = options_.check.policies.commits_in_order;
      given_ = &own_;
    }
    if (const std::string defect = orchestration_defect(*given_); !defect.empty()) {
      undecided(decision.report, "its schedules cannot be searched: " + defect);
      return decision;
    }
    // A finding of the run itself stands whatever other schedules do: they are looked at, but not for long.
    settled_ = std::any_of(decision.report.diagnostics.begin(), decision.report.diagnostics.end(),
                           [](const Diagnostic& d) {
                             return d.severity == Severity::error && !d.suspected && !rests_on_condition(d);
                           });
    std::vector<Harm> harms;
    std::optional<Directed> directed =
        settled_ || options_.briefly
            ? direct(*given_, options_.check, decision.report, options_.shorten_seconds)
            : direct(*given_, options_.check, decision.report);
    if (directed) harms.push_back(told(std::move(*directed)));
    const SearchResult found = search(settled_ || options_.briefly || directed.has_value());
    for (const SearchFault& f : found.faults)
      if (std::none_of(harms.begin(), harms.end(),
                       [&](const Harm& h) { return kind_of(h.diagnostic.finding_class) == f.kind; }))
        harms.push_back(told(f));
    if (!harms.empty()) {
      confirm(decision, directed ? directed_condition_ : std::string(), std::move(harms), found);
      return decision;
    }
    conclude_without_harm(decision.report, single, found);
    return decision;
  }

 private:
  const Orchestration& program() const { return *given_; }

  SearchResult search(bool briefly) const {
    SearchOptions options;
    options.limits = options_.search;
    options.all_kinds = true;
    options.interrupted = options_.interrupted;
    if (briefly) {  // only to tell of other faults too
      options.limits.states = std::min<uint64_t>(options.limits.states, 100'000);
      options.limits.seconds = std::min(options.limits.seconds, options_.shorten_seconds);
    }
    return explore(program(), options);
  }

  /// The shortest schedule to a fault of this kind, if a small search finds one.
  std::optional<SearchFault> shortest(FaultKind kind) const {
    SearchOptions options;
    options.limits.states = 200'000;
    options.limits.seconds = options_.shorten_seconds;
    options.reduce = false;
    options.all_kinds = true;
    options.only = kind;
    options.interrupted = options_.interrupted;
    for (SearchFault& f : explore(program(), options).faults)
      if (f.kind == kind) return std::move(f);
    return std::nullopt;
  }

  Witness witness_of(const SearchFault& fault, bool is_shortest) const {
    Witness w;
    w.shows = shows(fault.kind);
    w.rule = fault.rule;
    w.schedule = fault.schedule;
    w.first = fault.first;
    w.second = fault.second;
    w.shortest = is_shortest;
    w.program = program_fingerprint(program());
    return w;
  }

  /// What the single run says of the execution that a fault ends.
  Diagnostic diagnose(const SearchFault& fault) const {
    Schedule schedule = fault.schedule;
    if (fault.kind == FaultKind::race) {
      schedule.push_back(fault.first);
      schedule.push_back(fault.second);
    }
    Execution run = follow(program(), schedule);
    if (fault.kind != FaultKind::hang) run.trace.blocked.clear();
    const SingleRunVerdict verdict = check_single_run(run.trace, options_.check);
    const Diagnostic* any = nullptr;
    for (const Diagnostic& d : verdict.report.diagnostics) {
      if (d.severity != Severity::error || rests_on_condition(d)) continue;
      if (fault.kind == FaultKind::refused ? d.rule == fault.rule : kind_of(d.finding_class) == fault.kind)
        return d;
      if (any == nullptr) any = &d;
    }
    Diagnostic d;
    d.finding_class = class_of(fault.kind);
    d.rule = fault.kind == FaultKind::refused ? fault.rule
             : fault.kind == FaultKind::race  ? "M9"
             : fault.kind == FaultKind::stale ? "OB1.1"
                                              : "MB16";
    const Replay r = replay(program(), witness_of(fault, false));
    d.message = r.steps.empty() ? "a schedule leads to a fault" : r.steps.back();
    if (!run.trace.events.empty()) {
      // The single run keeps silent about stale data where it also sees a race (races.cc).
      if (fault.kind != FaultKind::hang) d.subject = Names(run.trace).object_of(run.trace.events.back());
      const Place& p = run.trace.places[run.trace.events.back().place];
      d.where = {p.file.empty() ? p.ptx_file : p.file, p.file.empty() ? p.ptx_line : p.line,
                 p.file.empty() ? 0 : p.column, p.ptx_line, p.instruction};
    }
    d.help = "order the steps that the schedule below takes in the wrong order";
    return d;
  }

  Harm told(const SearchFault& fault) const {
    const std::optional<SearchFault> best = shortest(fault.kind);
    const SearchFault& use = best ? *best : fault;
    Harm harm{diagnose(use), witness_of(use, best.has_value())};
    finish(harm);
    return harm;
  }

  Harm told(Directed directed) {
    directed_condition_ = directed.condition;
    Harm harm{std::move(directed.harm), {}};
    const std::optional<FaultKind> kind = kind_of(harm.diagnostic.finding_class);
    if (const std::optional<SearchFault> best = kind ? shortest(*kind) : std::nullopt) {
      harm.witness = witness_of(*best, true);
    } else {
      harm.witness.shows = Witness::Shows::judged;
      harm.witness.rule = harm.diagnostic.rule;
      harm.witness.schedule = std::move(directed.execution.schedule);
      harm.witness.program = program_fingerprint(program());
    }
    finish(harm);
    return harm;
  }

  void finish(Harm& harm) const {
    harm.witness.message = harm.diagnostic.message;
    harm.diagnostic.suspected = false;
    harm.diagnostic.witness = replay(program(), harm.witness, 40, options_.check).steps;
    harm.diagnostic.witness_is_shortest = harm.witness.shortest;
  }

  // The condition that does not hold says why, the harm what comes of it: both are told, the condition first.
  void confirm(Decision& decision, const std::string& condition, std::vector<Harm> harms,
               const SearchResult& found) const {
    Report& report = decision.report;
    const auto fresh = std::find_if(harms.begin(), harms.end(),
                                    [&](const Harm& h) { return !established(report, h.diagnostic); });
    if (fresh != harms.end()) confirm_cause(report, condition, *fresh);
    decision.witness = (fresh != harms.end() ? *fresh : harms.front()).witness;
    std::vector<Diagnostic> added;
    for (const Harm& h : harms) {
      const auto same =
          std::find_if(report.diagnostics.begin(), report.diagnostics.end(), [&](const Diagnostic& d) {
            return d.finding_class == h.diagnostic.finding_class && d.rule == h.diagnostic.rule &&
                   d.severity == Severity::error && d.where.line == h.diagnostic.where.line &&
                   d.where.file == h.diagnostic.where.file;
          });
      if (same == report.diagnostics.end()) {
        added.push_back(h.diagnostic);
        continue;
      }
      same->suspected = false;
      if (!same->witness.empty()) continue;
      same->witness = h.diagnostic.witness;
      same->witness_is_shortest = h.witness.shortest;
    }
    const auto advice = std::find_if(report.diagnostics.begin(), report.diagnostics.end(),
                                     [](const Diagnostic& d) { return d.severity == Severity::lint; });
    report.diagnostics.insert(advice, added.begin(), added.end());
    if (fresh == harms.end())
      for (Diagnostic& d : report.diagnostics)
        if (rests_on_condition(d)) d.severity = Severity::lint;  // other faults hide what it leads to
    sort_by_severity(report);
    name_engine(report, found);
    report.guarantee = "the schedule of the witness";
    conclude(report);
  }

  static void confirm_cause(Report& report, const std::string& condition, const Harm& harm) {
    Diagnostic* cause = nullptr;
    for (Diagnostic& d : report.diagnostics)
      if (d.severity == Severity::error && rests_on_condition(d) &&
          (cause == nullptr || (d.rule == condition && cause->rule != condition)))
        cause = &d;
    if (cause == nullptr) return;
    cause->suspected = false;
    cause->witness = harm.diagnostic.witness;
    cause->witness_is_shortest = harm.witness.shortest;
    cause->facts.push_back("on the schedule below: " + harm.diagnostic.message);
  }

  static void sort_by_severity(Report& report) {
    std::stable_sort(report.diagnostics.begin(), report.diagnostics.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.severity < b.severity; });
  }

  void conclude_without_harm(Report& report, const SingleRunVerdict& single,
                             const SearchResult& found) const {
    name_engine(report, found);
    const std::string seen = std::to_string(found.states) + " states";
    if (!found.complete) {
      std::string reason = "the search of its schedules stopped at " + found.limit;
      if (settled_)
        reason += ", early because of the errors that every schedule has";
      else if (options_.briefly)
        reason += ", early because of errors elsewhere or of the searches before it";
      else if (!options_.raise_limits.empty())
        reason += " (" + options_.raise_limits + ")";
      return undecided(report, reason);
    }
    if (found.beyond_knowledge)
      return undecided(report, "in some schedule a strand goes on where this run does not show what it does");
    if (!single.undecidable.empty()) return undecided(report, "something about this run is not known");
    const Overlaps overlaps(program());
    if (const std::string gap = visibility_gap(program(), overlaps, options_.check.policies); !gap.empty())
      return undecided(report, "no interleaving does harm (" + seen + "), but " + gap);
    report.inconclusive = single.undecidable;
    for (Diagnostic& d : report.diagnostics) {
      if (!(d.suspected || rests_on_condition(d)) || d.severity != Severity::error) continue;
      d.severity = Severity::lint;
      d.suspected = false;
      d.message = "schedule-dependent: " + d.message;
      d.facts.push_back("all schedules were searched (" + seen + "): none hangs, races or reads stale data");
      d.witness.clear();
    }
    sort_by_severity(report);
    report.guarantee = "every schedule of this launch (search over " + seen + ")";
    conclude(report);
  }

  // A condition that does not hold, and no schedule that does harm: neither a finding nor clean.
  void undecided(Report& report, const std::string& reason) const {
    for (Diagnostic& d : report.diagnostics) {
      if (!(d.suspected || rests_on_condition(d)) || d.severity != Severity::error) continue;
      d.severity = Severity::lint;
      report.inconclusive.push_back({d.where, "not decided: " + d.message});
    }
    sort_by_severity(report);
    report.inconclusive.push_back({{}, reason});
    conclude(report);
  }

  static void name_engine(Report& report, const SearchResult& found) {
    report.engine =
        "E1 single run, E4 directed schedules, E3 search (" + std::to_string(found.states) + " states)";
  }

  const Trace& trace_;
  const Orchestration* given_;
  Orchestration own_;
  const DecideOptions& options_;
  std::string directed_condition_;
  bool settled_ = false;  ///< the run has findings that stand by themselves
};

}  // namespace

Decision decide(const Trace& trace, const DecideOptions& options, const Orchestration* program) {
  return Decider(trace, program, options).run();
}

}  // namespace turnstile
