// SPDX-License-Identifier: Apache-2.0
//
// Stateful search (ALG-E3). Breadth first over the states of OrchestrationMachine, so that the first fault
// has the shortest schedule; each state is kept as a fingerprint, only the states of the current and the next
// depth as bytes. Loop: take a state; look for a hang and for conflicting accesses that are both possible;
// execute its steps, or the one that may go alone; keep the states that are new. A schedule is found again by
// walking back along the states that each was first reached from, and matching fingerprints forward.
// Cost: transitions x (size of a state); limits end it with "not complete", never with an answer.
#include "checker/explore.h"

#include <algorithm>
#include <ctime>

#include "checker/explore_state.h"
#include "checker/explore_store.h"
#include "checker/independence.h"

namespace turnstile::checker {

namespace {

using Step = OrchestrationMachine::Step;
using FaultKind = SearchFault::Kind;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// States of one depth, one after the other: index, length, bytes.
class Level {
 public:
  void add(uint32_t index, const std::vector<uint8_t>& bytes) {
    const Head head{index, static_cast<uint32_t>(bytes.size())};
    const auto* raw = reinterpret_cast<const uint8_t*>(&head);
    data_.insert(data_.end(), raw, raw + sizeof head);
    data_.insert(data_.end(), bytes.begin(), bytes.end());
  }
  template <typename Each>
  bool for_each(Each each) const {
    for (size_t i = 0; i < data_.size();) {
      Head head;
      std::copy_n(data_.data() + i, sizeof head, reinterpret_cast<uint8_t*>(&head));
      i += sizeof head;
      if (!each(head.index, std::span(data_.data() + i, head.length))) return false;
      i += head.length;
    }
    return true;
  }
  bool empty() const { return data_.empty(); }
  uint64_t bytes() const { return data_.capacity(); }
  void clear() { data_.clear(); }

 private:
  struct Head {
    uint32_t index = 0, length = 0;
  };
  std::vector<uint8_t> data_;
};

class Search {
 public:
  Search(const Orchestration& program, const SearchOptions& options)
      : options_(options),
        overlaps_(program),
        ample_(program, overlaps_),
        start_(program, overlaps_, options.tags),
        here_(start_),
        next_(start_) {}

  SearchResult run() {
    if (!overlaps_.defect().empty()) {
      result_.limit = overlaps_.defect();
      return result_;
    }
    began_ = cpu_seconds();
    start_.save(bytes_);
    frontier_.add(table_.insert(fingerprint(bytes_), StateTable::none).index, bytes_);
    bool going = true;
    while (going && !frontier_.empty()) {
      going = frontier_.for_each([&](uint32_t index, std::span<const uint8_t> state) {
        here_.load(state);
        expand(index);
        return !done_ && within_limits();
      });
      std::swap(frontier_, reached_);
      reached_.clear();
    }
    result_.complete = result_.limit.empty();
    result_.shortest = !options_.reduce && result_.complete;
    result_.states = table_.size();
    result_.bytes = table_.bytes();
    return result_;
  }

 private:
  void expand(uint32_t index) {
    const OrchestrationMachine& m = here_.machine();
    m.enabled(steps_);
    if (steps_.empty()) {
      if (m.beyond_knowledge())
        result_.beyond_knowledge = true;
      else if (!m.strands_ended() && !m.stopped())
        found(FaultKind::hang, index);
      return;
    }
    if (!result_.beyond_knowledge && m.beyond_knowledge()) result_.beyond_knowledge = true;
    look_for_race(index);
    if (done_) return;
    if (options_.reduce)
      if (const std::optional<size_t> alone = ample_.choose(m, steps_)) return execute(index, steps_[*alone]);
    for (size_t i = 0; i < steps_.size() && !done_; ++i) execute(index, steps_[i]);
  }

  void execute(uint32_t index, Step step) {
    next_ = here_;
    const ExploreState::Outcome outcome = next_.take(step);
    ++result_.transitions;
    if (outcome.stale) found(FaultKind::stale, index, step);
    if (!outcome.faults.empty()) found(FaultKind::refused, index, step, outcome.faults.front().rule);
    if (next_.machine().stopped()) return;  // what comes after it has no meaning
    next_.save(bytes_);
    if (const StateTable::Inserted at = table_.insert(fingerprint(bytes_), index); at.is_new)
      reached_.add(at.index, bytes_);
  }

  // An operation in flight that still has to access is a possible access: its next one is enabled, or will be
  // when those before it in its queue are done.
  void look_for_race(uint32_t index) {
    accesses_.clear();
    for (const Step step : steps_)
      if (const Event* e = here_.machine().next(step);
          e != nullptr && (e->kind == EventKind::access || e->kind == EventKind::async_access)) {
        for (const auto& [other, event] : accesses_)
          if (overlaps_.conflict(*e, *event)) return found_race(index, other, step);
        accesses_.emplace_back(step, e);
      }
  }

  bool known(FaultKind kind) const {
    return std::any_of(result_.faults.begin(), result_.faults.end(),
                       [&](const SearchFault& f) { return f.kind == kind; });
  }

  SearchFault* found(FaultKind kind, uint32_t index) {
    if (known(kind) || (options_.only && kind != *options_.only)) return nullptr;
    result_.faults.emplace_back();
    SearchFault& fault = result_.faults.back();
    fault.kind = kind;
    fault.schedule = schedule_to(index);
    done_ = !options_.all_kinds || options_.only || result_.faults.size() == SearchFault::kinds;
    return &fault;
  }
  void found(FaultKind kind, uint32_t index, Step last, const std::string& rule = {}) {
    if (SearchFault* fault = found(kind, index)) {
      fault->schedule.push_back(last);
      fault->rule = rule;
    }
  }
  void found_race(uint32_t index, Step first, Step second) {
    if (SearchFault* fault = found(FaultKind::race, index)) {
      fault->first = first;
      fault->second = second;
    }
  }

  Schedule schedule_to(uint32_t index) const {
    std::vector<uint32_t> path;
    for (uint32_t i = index; i != StateTable::none; i = table_.parent(i)) path.push_back(i);
    Schedule schedule;
    ExploreState state = start_;
    std::vector<Step> steps;
    std::vector<uint8_t> bytes;
    for (size_t i = path.size() - 1; i-- > 0;) {
      state.machine().enabled(steps);
      for (const Step step : steps) {
        ExploreState after = state;
        after.take(step);
        after.save(bytes);
        if (fingerprint(bytes) != table_.print(path[i])) continue;
        schedule.push_back(step);
        state = std::move(after);
        break;
      }
    }
    return schedule;
  }

  bool within_limits() {
    constexpr uint64_t between = 4096;  // states between two looks at the clock
    const SearchLimits& limits = options_.limits;
    if (table_.size() >= std::min<uint64_t>(limits.states, StateTable::none - 1))
      result_.limit = std::to_string(table_.size()) + " states";
    else if (++ticks_ % between != 0)
      return true;
    else if (table_.bytes() + frontier_.bytes() + reached_.bytes() > limits.bytes)
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
  ExploreState start_, here_, next_;
  StateTable table_;
  Level frontier_, reached_;
  SearchResult result_;
  bool done_ = false;
  uint64_t ticks_ = 0;
  double began_ = 0;
  std::vector<Step> steps_;
  std::vector<uint8_t> bytes_;
  std::vector<std::pair<Step, const Event*>> accesses_;
};

}  // namespace

SearchResult explore(const Orchestration& program, const SearchOptions& options) {
  return Search(program, options).run();
}

}  // namespace turnstile::checker
