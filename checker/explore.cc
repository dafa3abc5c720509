// SPDX-License-Identifier: Apache-2.0
//
// Stateful search (ALG-E3). Breadth first over the states of OrchestrationMachine, so that the first fault
// has the shortest schedule; every state is kept in full (explore_store.h), and the list of states seen is
// also the queue of those to be looked at. Loop: take a state; look for a hang and for conflicting accesses
// that are both possible; execute its steps, or the one that may go alone; keep the states that are new. A
// schedule is found again by walking back along the states that each was first reached from, and forward with
// the steps that lead there. Cost: transitions x (size of a state); limits end it with "not complete", never
// with an answer.
#include "checker/explore.h"

#include <algorithm>
#include <ctime>

#include "checker/explore_state.h"
#include "checker/explore_store.h"
#include "checker/independence.h"
#include "checker/symmetry.h"
#include "model/must.h"

namespace turnstile::checker {

namespace {

using Step = OrchestrationMachine::Step;
using FaultKind = SearchFault::Kind;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Search {
 public:
  Search(const Orchestration& program, const SearchOptions& options)
      : options_(options),
        overlaps_(program),
        ample_(program, overlaps_),
        start_(program, overlaps_, options.tags),
        here_(start_),
        next_(start_),
        may_leave_knowledge_(may_leave_knowledge(program)) {
    if (options.symmetry && overlaps_.defect().empty()) symmetry_.emplace(program, overlaps_);
    if (symmetry_ && !symmetry_->any()) symmetry_.reset();
  }

  SearchResult run() {
    if (!overlaps_.defect().empty()) {
      result_.limit = overlaps_.defect();
      return result_;
    }
    began_ = cpu_seconds();
    keep(start_, StateTable::none);
    insert_kept();
    for (uint32_t at = table_.first(); at != StateTable::none; at = table_.after(at)) {
      load(here_, at);
      expand(at);
      if (done_) break;
      insert_kept();
      if (!within_limits()) break;
    }
    result_.complete = result_.limit.empty();
    result_.shortest = !options_.reduce && result_.complete;
    result_.states = table_.size();
    result_.bytes = table_.bytes();
    return result_;
  }

 private:
  /// A state that a step has led to, until all steps of its origin are taken: then its place in the table is
  /// in the cache.
  struct Kept {
    std::vector<uint8_t> bytes;
    uint64_t hash = 0;
    uint32_t parent = StateTable::none;
  };

  static bool may_leave_knowledge(const Orchestration& program) {
    return std::any_of(program.strands.begin(), program.strands.end(), [](const Orchestration::Strand& s) {
      return !s.whole || std::any_of(s.events.begin(), s.events.end(), [](const Event& e) {
        return e.kind == EventKind::signal_wait && e.has(Event::polled_once);
      });
    });
  }

  void expand(uint32_t at) {
    const OrchestrationMachine& m = here_.machine();
    m.enabled(steps_);
    const bool beyond = may_leave_knowledge_ && m.beyond_knowledge();
    result_.beyond_knowledge |= beyond;
    if (steps_.empty()) {
      if (!beyond && !m.strands_ended() && !m.stopped()) found_hang(at);
      return;
    }
    if (race_among(here_, steps_)) found_race(at);
    if (done_) return;
    if (options_.reduce)
      if (const std::optional<size_t> alone = ample_.choose(m, steps_))
        return execute(at, steps_[*alone], here_);
    for (size_t i = 0; i + 1 < steps_.size() && !done_; ++i) {
      next_ = here_;
      execute(at, steps_[i], next_);
    }
    if (!done_) execute(at, steps_.back(), here_);
  }

  /// `state`: of `at`; becomes the one after the step.
  void execute(uint32_t at, Step step, ExploreState& state) {
    const ExploreState::Outcome outcome = state.take(step);
    ++result_.transitions;
    if (!state.machine().stopped()) keep(state, at);  // what comes after a stop has no meaning
    if (outcome.stale) found(FaultKind::stale, at);
    if (!outcome.faults.empty()) found(FaultKind::refused, at, outcome.faults.front().rule);
  }

  /// As it is kept: under the names that symmetry chooses.
  void save(const ExploreState& state, std::vector<uint8_t>& bytes) {
    BitWriter w(bytes);
    if (const Symmetry::Names* names = symmetry_ ? &symmetry_->sort(state.machine()) : nullptr;
        names && !names->own)
      state.save(w, *names);
    else
      state.save(w);
    w.finish();
  }

  void load(ExploreState& state, uint32_t at) const {
    BitReader r(table_.state(at));
    state.load(r);
  }

  void keep(const ExploreState& state, uint32_t parent) {
    if (kept_count_ == kept_.size()) kept_.emplace_back();
    Kept& k = kept_[kept_count_++];
    save(state, k.bytes);
    k.hash = StateTable::hash(k.bytes);
    k.parent = parent;
    table_.expect(k.hash);
  }

  void insert_kept() {
    for (size_t i = 0; i < kept_count_ && result_.limit.empty(); ++i)
      if (kept_[i].bytes.size() > StateTable::largest)
        result_.limit = "a state of " + std::to_string(kept_[i].bytes.size()) + " bytes";
      else
        table_.insert(kept_[i].bytes, kept_[i].hash, kept_[i].parent);
    kept_count_ = 0;
  }

  // An operation in flight that still has to access is a possible access: its next one is enabled, or will be
  // when those before it in its queue are done.
  std::optional<std::pair<Step, Step>> race_among(const ExploreState& state, const std::vector<Step>& steps) {
    accesses_.clear();
    for (const Step step : steps)
      if (const Event* e = state.machine().next(step); ExploreState::is_access(e)) {
        for (const auto& [other, event] : accesses_)
          if (overlaps_.conflict(*e, *event)) return std::pair{other, step};
        accesses_.emplace_back(step, e);
      }
    return std::nullopt;
  }

  bool known(FaultKind kind) const {
    return std::any_of(result_.faults.begin(), result_.faults.end(),
                       [&](const SearchFault& f) { return f.kind == kind; });
  }

  bool wanted(FaultKind kind) const { return !known(kind) && (!options_.only || kind == *options_.only); }

  SearchFault& note(FaultKind kind, Schedule schedule) {
    result_.faults.emplace_back();
    SearchFault& fault = result_.faults.back();
    fault.kind = kind;
    fault.schedule = std::move(schedule);
    done_ = !options_.all_kinds || options_.only || result_.faults.size() == SearchFault::kinds;
    return fault;
  }

  void found_hang(uint32_t at) {
    if (!wanted(FaultKind::hang)) return;
    ExploreState state = start_;
    note(FaultKind::hang, schedule_to(at, state));
  }

  // The state that a schedule leads to may differ from the one that was kept by an exchange: there another
  // step than the one at hand leads to the fault.
  void found(FaultKind kind, uint32_t at, const std::string& rule = {}) {
    if (!wanted(kind)) return;
    ExploreState state = start_;
    Schedule schedule = schedule_to(at, state);
    std::vector<Step> steps;
    state.machine().enabled(steps);
    const auto shows = [&](Step step) {
      ExploreState after = state;
      const ExploreState::Outcome outcome = after.take(step);
      if (kind == FaultKind::stale) return outcome.stale;
      return std::any_of(outcome.faults.begin(), outcome.faults.end(),
                         [&](const Fault& f) { return f.rule == rule; });
    };
    const auto last = std::find_if(steps.begin(), steps.end(), shows);
    must(last != steps.end(), "a step to a fault that was seen");
    schedule.push_back(*last);
    note(kind, std::move(schedule)).rule = rule;
  }

  void found_race(uint32_t at) {
    if (!wanted(FaultKind::race)) return;
    ExploreState state = start_;
    Schedule schedule = schedule_to(at, state);
    std::vector<Step> steps;
    state.machine().enabled(steps);
    const std::optional<std::pair<Step, Step>> both = race_among(state, steps);
    must(both.has_value(), "a race that was seen");
    SearchFault& fault = note(FaultKind::race, std::move(schedule));
    fault.first = both->first;
    fault.second = both->second;
  }

  /// `state`: the first one; becomes one that differs from that at `at` by exchanges at most.
  Schedule schedule_to(uint32_t at, ExploreState& state) {
    std::vector<uint32_t> path;
    for (uint32_t i = at; i != StateTable::none; i = table_.parent(i)) path.push_back(i);
    Schedule schedule;
    std::vector<Step> steps;
    std::vector<uint8_t> bytes;
    for (size_t i = path.size() - 1; i-- > 0;) {
      const std::span<const uint8_t> target = table_.state(path[i]);
      state.machine().enabled(steps);
      const auto leads_there = [&](Step step) {
        next_ = state;
        next_.take(step);
        save(next_, bytes);
        return std::equal(bytes.begin(), bytes.end(), target.begin(), target.end());
      };
      const auto step = std::find_if(steps.begin(), steps.end(), leads_there);
      must(step != steps.end(), "a way that was taken before");
      schedule.push_back(*step);
      state = next_;
    }
    return schedule;
  }

  bool within_limits() {
    constexpr uint64_t between = 4096;  // states between two looks at the clock
    const SearchLimits& limits = options_.limits;
    if (!result_.limit.empty()) return false;
    if (table_.size() >= limits.states || !table_.has_room())
      result_.limit = std::to_string(table_.size()) + " states";
    else if (++ticks_ % between != 0)
      return true;
    else if (table_.bytes() > limits.bytes)
      result_.limit = std::to_string(limits.bytes >> 20) + " MiB of states";
    else if (cpu_seconds() - began_ > limits.seconds)
      result_.limit = std::to_string(static_cast<uint64_t>(limits.seconds)) + " s of search";
    else if (options_.interrupted && options_.interrupted())
      result_.limit = "stopped by the user";
    return result_.limit.empty();
  }

  const SearchOptions& options_;
  Overlaps overlaps_;
  Ample ample_;
  std::optional<Symmetry> symmetry_;
  ExploreState start_, here_, next_;
  StateTable table_;
  std::vector<Kept> kept_;  ///< the first kept_count_; the others keep their memory
  size_t kept_count_ = 0;
  bool may_leave_knowledge_ = false;
  SearchResult result_;
  bool done_ = false;
  uint64_t ticks_ = 0;
  double began_ = 0;
  std::vector<Step> steps_;
  std::vector<std::pair<Step, const Event*>> accesses_;
};

}  // namespace

SearchResult explore(const Orchestration& program, const SearchOptions& options) {
  return Search(program, options).run();
}

}  // namespace turnstile::checker
