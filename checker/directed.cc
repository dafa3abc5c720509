// SPDX-License-Identifier: Apache-2.0
//
// Directed schedules (ALG-E4). A condition of the certificate that does not hold tells of another schedule:
// the causal past of an event can be executed first, in any of its linearisations, without the rest of the
// run. Each condition has a recipe for such a prefix, after which the program takes another course; then the
// execution goes on with several biases, and the single run judges what came of it. A finding there is a
// finding on a real schedule. Cost: a few executions and single runs, no search.
#include "checker/directed.h"

namespace turnstile::checker {

namespace {

using Step = OrchestrationMachine::Step;

class Steering {
 public:
  Steering(const Orchestration& program, const Continuation& then, uint64_t limit)
      : then_(then),
        limit_(limit),
        strands_(static_cast<uint32_t>(program.strands.size())),
        machine_(program) {
    out_.trace = program.tables;
  }

  Execution follow(const Schedule& prefix) {
    std::vector<Step> enabled;
    if (take_all(prefix)) machine_.enabled(enabled);
    if (enabled.empty()) end();
    return std::move(out_);
  }

  Execution run(const Schedule& prefix) {
    if (!take_all(prefix)) return std::move(out_);
    while (move()) {
      if (out_.schedule.size() < limit_) continue;
      out_.limit = std::to_string(limit_) + " steps";
      return std::move(out_);
    }
    end();
    return std::move(out_);
  }

 private:
  bool take_all(const Schedule& prefix) {
    for (const Step step : prefix) {
      if (!machine_.is_enabled(step)) {
        out_.followed = false;
        return false;
      }
      if (!take(step)) return false;
    }
    return true;
  }

  void end() {
    if (!out_.trace.faults.empty() || !out_.followed) return;
    out_.trace.blocked = machine_.blocked();
    out_.beyond_knowledge = machine_.beyond_knowledge();
  }

  bool take(Step step) {
    Event event;
    const std::vector<Fault> faults = machine_.take(step, event);
    out_.schedule.push_back(step);
    out_.trace.events.push_back(event);
    if (!machine_.stopped()) return true;
    out_.trace.faults.insert(out_.trace.faults.end(), faults.begin(), faults.end());
    return false;
  }

  bool stopped() const { return !out_.trace.faults.empty(); }

  // One landing; whether there was one.
  bool land() {
    for (const AsyncGroups::Operation& o : machine_.in_flight()) {
      const Step step{Step::Kind::operation, o.op};
      if (!machine_.is_enabled(step)) continue;
      take(step);
      return true;
    }
    return false;
  }

  // One strand until it blocks; whether it moved.
  bool burst(uint32_t strand) {
    const Step step{Step::Kind::strand, strand};
    bool moved = false;
    while (!stopped() && out_.schedule.size() < limit_ && machine_.is_enabled(step)) {
      moved = true;
      take(step);
      if (then_.land_early || strand == then_.last) break;
    }
    return moved;
  }

  // The held strand comes last of all. False: nothing can move, or a step had no defined result.
  bool move() {
    if (stopped()) return false;
    if (then_.land_early && land()) return true;
    for (uint32_t i = 0; i < strands_; ++i) {
      const uint32_t s = then_.order == Continuation::Order::backwards ? strands_ - 1 - i : i;
      if (s != then_.last && burst(s)) return true;
    }
    return land() || (then_.last < strands_ && burst(then_.last));
  }

  Continuation then_;
  uint64_t limit_;
  uint32_t strands_;
  OrchestrationMachine machine_;
  Execution out_;
};

}  // namespace

Execution steer(const Orchestration& program, const Schedule& prefix, const Continuation& then,
                uint64_t step_limit) {
  return Steering(program, then, step_limit).run(prefix);
}

Execution follow(const Orchestration& program, const Schedule& schedule) {
  return Steering(program, {}, ~uint64_t{0}).follow(schedule);
}

}  // namespace turnstile::checker
