// SPDX-License-Identifier: Apache-2.0
//
// For each condition of the certificate the prefix that shows its breach (algorithms.md section 9), and the
// choice among them: the smallest causal past first, because later breaches may be consequences.
#include <algorithm>
#include <ctime>
#include <set>
#include <tuple>

#include "checker/causal_past.h"
#include "checker/directed.h"
#include "checker/single_run.h"

namespace turnstile::checker {

namespace {

using Step = OrchestrationMachine::Step;
using BreachKind = Breach::Kind;

constexpr size_t most_recipes = 12;

struct Recipe {
  Schedule prefix;
  uint32_t held = 0xffffffff;  ///< the strand that is late
  std::string condition;
  uint32_t object = 0;
};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Recipes {
 public:
  Recipes(const Orchestration& program, const Execution& run, const Observations& seen)
      : program_(program),
        run_(run),
        past_(run.trace),
        seen_(seen),
        last_(run.trace.agents.size(), no_event) {
    for (size_t i = 0; i < run.trace.events.size(); ++i)
      if (run.schedule[i].kind == Step::Kind::strand) last_[run.schedule[i].index] = i;
  }

  std::vector<Recipe> all() const {
    std::vector<Recipe> recipes;
    std::set<std::tuple<BreachKind, uint32_t, uint32_t>> known;  // each kind once for its place and barrier
    for (const Breach& b : seen_.breaches) {
      const uint32_t place =
          b.event == no_event ? run_.trace.blocked[b.blocked].place : run_.trace.events[b.event].place;
      if (!known.insert({b.kind, place, b.object}).second) continue;
      Recipe r = cook(b);
      if (!r.prefix.empty()) recipes.push_back(std::move(r));
      if (recipes.size() == 4 * most_recipes) break;
    }
    std::stable_sort(recipes.begin(), recipes.end(),
                     [](const Recipe& a, const Recipe& b) { return a.prefix.size() < b.prefix.size(); });
    if (recipes.size() > most_recipes) recipes.resize(most_recipes);
    return recipes;
  }

 private:
  /// The pasts of the events, then they themselves, in the order of the run.
  std::vector<size_t> through(const std::vector<size_t>& events) const {
    std::vector<size_t> in = past_.before(events);
    in.insert(in.end(), events.begin(), events.end());
    std::sort(in.begin(), in.end());
    in.erase(std::unique(in.begin(), in.end()), in.end());
    std::erase(in, no_event);
    return in;
  }
  Schedule steps(const std::vector<size_t>& events) const {
    Schedule schedule;
    for (const size_t i : events) schedule.push_back(run_.schedule[i]);
    return schedule;
  }

  Recipe cook(const Breach& b) const {
    Recipe r;
    r.object = b.object;
    switch (b.kind) {
      case BreachKind::early_pass: {  // count c = generation + 1: past the start, and two completions early
        r.condition = "ALG-D1";
        std::vector<size_t> needed = past_.contributions(b.object, b.generation - 1);
        if (past_.previous(b.event) != no_event) needed.push_back(past_.previous(b.event));
        r.prefix = steps(through(needed));
        r.prefix.push_back(run_.schedule[b.event]);
        break;
      }
      case BreachKind::blocked_early: {
        r.condition = "ALG-D1";
        const uint32_t strand = run_.trace.blocked[b.blocked].agent.v;
        std::vector<size_t> needed = past_.contributions(b.object, b.generation - 1);
        if (last_[strand] != no_event) needed.push_back(last_[strand]);
        r.prefix = steps(through(needed));
        r.prefix.push_back({Step::Kind::strand, strand});
        break;
      }
      case BreachKind::lapped:
        r.condition = "ALG-D2";
        r.prefix = steps(through({b.completion}));
        r.held = run_.schedule[b.event].index;
        break;
      case BreachKind::foreign_arrival: {
        r.condition = b.named ? "EXT1" : "ALG-D3";
        r.prefix = steps(through({b.event}));
        const Event& e = run_.trace.events[b.event];
        if (e.kind == EventKind::async_issue)  // the bytes of a copy: let it land
          for (size_t i = 0; i < program_.operations[e.object].size(); ++i)
            r.prefix.push_back({Step::Kind::operation, e.object});
        break;
      }
      case BreachKind::unannounced: {
        r.condition = "ALG-D5a";
        std::vector<size_t> arrivals;
        for (const size_t i : past_.counted_in(b.object, b.generation))
          if (i != b.event && run_.trace.events[i].kind == EventKind::mbarrier_arrive) arrivals.push_back(i);
        r.prefix = steps(through(arrivals));
        r.held = run_.schedule[b.event].index;
        break;
      }
      case BreachKind::unmatched: {
        r.condition = "ALG-D5b";
        std::vector<size_t> strands;  // arrivals and expects; the landings follow
        for (const size_t i : past_.counted_in(b.object, b.generation))
          if (run_.schedule[i].kind == Step::Kind::strand) strands.push_back(i);
        r.prefix = steps(through(strands));
        break;
      }
      case BreachKind::refused:  // the run itself shows it
        break;
    }
    return r;
  }

  const Orchestration& program_;
  const Execution& run_;
  CausalPast past_;
  const Observations& seen_;
  std::vector<size_t> last_;  ///< by strand, its last event
};

/// The first finding about a real execution that is more than a broken condition.
std::optional<Diagnostic> harm_of(Execution& run, const CheckOptions& options, const Report& known) {
  if (run.beyond_knowledge) run.trace.blocked.clear();  // somebody's further course might free them
  const SingleRunVerdict verdict = check_single_run(run.trace, options);
  for (const Diagnostic& d : verdict.report.diagnostics)
    if (d.severity == Severity::error && !rests_on_condition(d) && !established(known, d)) return d;
  return std::nullopt;
}

}  // namespace

bool rests_on_condition(const Diagnostic& d) {
  return d.finding_class == FindingClass::overtaken || d.rule.starts_with("ALG-D") || d.rule == "EXT1";
}

bool established(const Report& report, const Diagnostic& d) {
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(), [&](const Diagnostic& e) {
    return !e.suspected && e.severity == Severity::error && e.finding_class == d.finding_class &&
           e.rule == d.rule && e.where.file == d.where.file && e.where.line == d.where.line;
  });
}

std::optional<Directed> direct(const Orchestration& program, const CheckOptions& options, const Report& known,
                               double seconds) {
  const double began = cpu_seconds();
  const Continuation plain, backwards{Continuation::Order::backwards, false, 0xffffffff},
      early{Continuation::Order::forwards, true, 0xffffffff};
  Execution run = steer(program, {}, plain);
  if (!run.limit.empty()) return std::nullopt;
  const auto judge = [&](Execution& execution, const Recipe& r) -> std::optional<Directed> {
    if (!execution.followed || !execution.limit.empty()) return std::nullopt;
    std::optional<Diagnostic> harm = harm_of(execution, options, known);
    if (!harm) return std::nullopt;
    return Directed{std::move(execution), std::move(*harm), r.condition, r.object};
  };
  if (auto harm = judge(run, {})) return harm;
  for (const Continuation* then : {&backwards, &early}) {
    if (cpu_seconds() - began > seconds) return std::nullopt;
    Execution other = steer(program, {}, *then);
    if (auto harm = judge(other, {})) return harm;
  }
  const Observations seen = single_run(run.trace);
  if (!seen.defect.empty()) return std::nullopt;
  for (const Recipe& r : Recipes(program, run, seen).all()) {
    const Continuation late{Continuation::Order::forwards, false, r.held};
    for (const Continuation* then : {&late, &plain, &backwards, &early}) {
      if (cpu_seconds() - began > seconds) return std::nullopt;
      if (then == &late && r.held == plain.last) continue;
      Execution execution = steer(program, r.prefix, *then);
      if (!execution.followed) break;
      if (auto harm = judge(execution, r)) return harm;
    }
  }
  return std::nullopt;
}

}  // namespace turnstile::checker
