// SPDX-License-Identifier: Apache-2.0
#include "sim/orchestration_run.h"

#include <algorithm>
#include <random>
#include <string>

namespace turnstile::sim {

namespace {

using Turn = OrchestrationMachine::Step;

class Run {
 public:
  Run(const Orchestration& program, const Schedule& schedule)
      : schedule_(schedule),
        strands_(static_cast<uint32_t>(program.strands.size())),
        machine_(program),
        random_(schedule.seed) {
    trace_ = program.tables;
  }

  Trace go() {
    replay();
    switch (schedule_.policy) {
      case Schedule::Policy::bursts:
      case Schedule::Policy::eager:
      case Schedule::Policy::round_robin:
        while (open() && (move_strands() || land())) {
        }
        break;
      case Schedule::Policy::random:
        while (open() && anything()) {
        }
        break;
    }
    finish();
    return std::move(trace_);
  }

 private:
  bool open() const { return trace_.faults.empty() && steps_ < schedule_.step_limit; }

  void take(Turn step) {
    Event event;
    const std::vector<Fault> faults = machine_.take(step, event);
    ++steps_;
    trace_.events.push_back(event);
    if (machine_.stopped() && !faults.empty()) trace_.faults.push_back(faults.back());
  }

  void replay() {
    for (size_t i = 0; i < schedule_.steps.size() && open(); ++i) {
      if (!machine_.is_enabled(schedule_.steps[i])) {
        trace_.unknowns.push_back(
            {0, "step " + std::to_string(i + 1) + " of the given schedule is not possible here",
             "the schedule belongs to another program, or to other values of its parameters"});
        return;
      }
      take(schedule_.steps[i]);
    }
  }

  uint32_t strand(uint32_t i) const { return schedule_.backwards ? strands_ - 1 - i : i; }

  bool move_strands() {
    const bool one = schedule_.policy == Schedule::Policy::round_robin;
    bool moved = false;
    for (uint32_t i = 0; i < strands_; ++i) {
      const Turn step{Turn::Kind::strand, strand(i)};
      while (open() && machine_.is_enabled(step)) {
        take(step);
        moved = true;
        if (schedule_.policy == Schedule::Policy::eager)
          while (open() && land()) {
          }
        if (one) break;
      }
    }
    return moved;
  }

  /// All that is left of one operation in flight, the first that can land.
  bool land() {
    for (const AsyncGroups::Operation& o : machine_.in_flight()) {
      const Turn step{Turn::Kind::operation, o.op};
      if (!machine_.is_enabled(step)) continue;
      while (open() && machine_.is_enabled(step)) take(step);
      return true;
    }
    return false;
  }

  bool anything() {
    machine_.enabled(possible_);
    if (possible_.empty()) return false;
    // Not std::uniform_int_distribution: it differs between libraries, and a seed has to mean one schedule.
    take(possible_[static_cast<size_t>(random_() % possible_.size())]);
    return true;
  }

  void finish() {
    if (!trace_.faults.empty()) return;
    if (steps_ >= schedule_.step_limit) {
      trace_.unknowns.push_back(
          {0,
           "the orchestration was executed for " + std::to_string(steps_) + " steps without coming to an end",
           "check fewer iterations"});
      return;
    }
    if (machine_.strands_ended()) return;
    if (machine_.beyond_knowledge()) {
      trace_.unknowns.push_back(
          {0, "a strand got past the point where its trace ends: nobody knows how it goes on", ""});
      return;
    }
    trace_.blocked = machine_.blocked();
  }

  const Schedule& schedule_;
  uint32_t strands_;
  OrchestrationMachine machine_;
  std::mt19937_64 random_;
  std::vector<Turn> possible_;
  uint64_t steps_ = 0;
  Trace trace_;
};

}  // namespace

Trace run_orchestration(const Orchestration& program, const Schedule& schedule) {
  return Run(program, schedule).go();
}

}  // namespace turnstile::sim
