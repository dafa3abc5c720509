// SPDX-License-Identifier: Apache-2.0
//
// Directed schedules (ALG-E4). A condition of the certificate that does not hold tells of another schedule:
// the causal past of an event can be executed first, in any of its linearisations, without the rest of the
// run. Each condition has a recipe for such a prefix, after which the program takes another course; then the
// execution goes on with several biases, and the single run judges what came of it. A finding there is a
// finding on a real schedule. Cost: a few executions and single runs, no search.
#include "checker/directed.h"

#include <algorithm>
#include <map>
#include <set>

#include "checker/single_run.h"
#include "model/protocol/mbarrier.h"

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

CausalPast::CausalPast(const Trace& trace)
    : trace_(trace), previous_(trace.events.size(), no_event), others_(trace.events.size()) {
  std::vector<size_t> last(trace.agents.size(), no_event), in_op(trace.ops.size(), no_event);
  std::vector<Mbarrier> machines(trace.barriers.size());
  counted_.resize(trace.barriers.size());
  for (size_t b = 0; b < machines.size(); ++b) {
    if (trace.barriers[b].initial_count != 0) machines[b].init(trace.barriers[b].initial_count);
    counted_[b].resize(1);
  }
  std::vector<size_t> all_done(trace.barriers.size(), no_event);  // the event that completed last
  std::map<std::pair<EventKind, uint32_t>, std::vector<size_t>> on_object;
  std::map<uint32_t, std::vector<size_t>> issues;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool lands = e.kind == EventKind::async_access || e.kind == EventKind::async_complete;
    size_t& own = lands ? in_op[e.object] : last[e.agent.v];
    previous_[i] = own;
    if (lands && own == no_event) others_[i] = issues[e.object];
    own = i;
    const auto contributed = [&](uint32_t b, Mbarrier::Outcome outcome) {
      counted_[b].back().push_back(i);
      if (outcome != Mbarrier::Outcome::completed) return;
      all_done[b] = i;
      counted_[b].emplace_back();
    };
    const auto all_of = [&](EventKind kind, uint32_t object) {
      const std::vector<size_t>& earlier = on_object[{kind, object}];
      others_[i].insert(others_[i].end(), earlier.begin(), earlier.end());
    };
    switch (e.kind) {
      case EventKind::mbarrier_init:
        machines[e.object].init(e.count);
        on_object[{e.kind, e.object}].push_back(i);
        break;
      case EventKind::mbarrier_arrive:
        all_of(EventKind::mbarrier_init, e.object);
        contributed(e.object, e.has(Event::expects_bytes) ? machines[e.object].arrive_expect_tx(e.bytes)
                                                          : machines[e.object].arrive(e.count));
        break;
      case EventKind::mbarrier_expect_tx:
        all_of(EventKind::mbarrier_init, e.object);
        contributed(e.object, machines[e.object].expect_tx(e.bytes));
        break;
      case EventKind::mbarrier_wait:
        all_of(EventKind::mbarrier_init, e.object);
        if (all_done[e.object] != no_event)
          for (const std::vector<size_t>& g : counted_[e.object])
            if (&g != &counted_[e.object].back()) others_[i].insert(others_[i].end(), g.begin(), g.end());
        break;
      case EventKind::async_complete: {
        const AsyncOp& op = trace.ops[e.object];
        if (op.barrier != AsyncOp::none)
          contributed(op.barrier, op.bytes > 0 && op.kind != AsyncOp::Kind::cp_async
                                      ? machines[op.barrier].complete_tx(op.bytes)
                                      : machines[op.barrier].arrive(1));
        if (op.queue != AsyncOp::none) on_object[{EventKind::group_commit, op.queue}].push_back(i);
        break;
      }
      case EventKind::group_wait:
        for (const size_t c : on_object[{EventKind::group_commit, e.object}])
          if (trace.ops[trace.events[c].object].group <= e.generation) others_[i].push_back(c);
        break;
      case EventKind::async_issue:
        issues[e.object].push_back(i);
        break;
      case EventKind::named_barrier_arrive:
      case EventKind::cluster_arrive:
      case EventKind::signal_add:
      case EventKind::signal_set:
      case EventKind::registers_release:
      case EventKind::pool_release:
      case EventKind::tensor_dealloc:
      case EventKind::tensor_relinquish:
        on_object[{e.kind, e.object}].push_back(i);
        break;
      case EventKind::named_barrier_pass:
        all_of(EventKind::named_barrier_arrive, e.object);
        break;
      case EventKind::cluster_wait:
        all_of(EventKind::cluster_arrive, e.object);
        break;
      case EventKind::signal_wait:
        all_of(EventKind::signal_add, e.object);
        all_of(EventKind::signal_set, e.object);
        break;
      case EventKind::registers_acquire:
        all_of(EventKind::registers_release, e.object);
        break;
      case EventKind::pool_acquire:
        all_of(EventKind::pool_release, e.object);
        break;
      case EventKind::tensor_alloc:
        all_of(EventKind::tensor_dealloc, e.object);
        all_of(EventKind::tensor_relinquish, e.object);
        break;
      case EventKind::fork:
        last[e.object] = i;
        break;
      case EventKind::join:
        if (last[e.object] != no_event) others_[i].push_back(last[e.object]);
        last[e.object] = i;
        break;
      case EventKind::mbarrier_inval:
      case EventKind::access:
      case EventKind::async_access:
      case EventKind::fence:
      case EventKind::fence_proxy_async:
      case EventKind::fence_mbarrier_init:
      case EventKind::fence_tensormap:
      case EventKind::group_commit:
      case EventKind::register_hazard:
      case EventKind::tensor_fence_before:
      case EventKind::tensor_fence_after:
      case EventKind::dependents_launch:
      case EventKind::dependency_wait:
      case EventKind::exit:
        break;
    }
  }
}

std::vector<size_t> CausalPast::before(const std::vector<size_t>& events) const {
  std::vector<bool> in(trace_.events.size());
  std::vector<size_t> todo;
  const auto add = [&](size_t i) {
    if (i == no_event || in[i]) return;
    in[i] = true;
    todo.push_back(i);
  };
  const auto add_before = [&](size_t i) {
    add(previous_[i]);
    for (const size_t p : others_[i]) add(p);
  };
  for (const size_t i : events) add_before(i);
  while (!todo.empty()) {
    const size_t i = todo.back();
    todo.pop_back();
    add_before(i);
  }
  std::vector<size_t> past;
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i]) past.push_back(i);
  return past;
}

std::vector<size_t> CausalPast::contributions(uint32_t barrier, uint64_t generation) const {
  std::vector<size_t> all;
  for (uint64_t g = 0; g < generation && g < counted_[barrier].size(); ++g)
    all.insert(all.end(), counted_[barrier][g].begin(), counted_[barrier][g].end());
  return all;
}

std::vector<size_t> CausalPast::counted_in(uint32_t barrier, uint64_t generation) const {
  return generation < counted_[barrier].size() ? counted_[barrier][generation] : std::vector<size_t>{};
}

}  // namespace turnstile::checker
