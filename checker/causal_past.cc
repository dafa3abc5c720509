// SPDX-License-Identifier: Apache-2.0
//
// Most events have at most one predecessor beside that of their strand. Where an event needs all that has
// happened to an object (each earlier arrival, each group up to one), it holds how long the list of that
// object was then, not the events: those would be quadratic in the trips of a loop.
#include "checker/causal_past.h"

#include <algorithm>
#include <map>
#include <utility>

#include "checker/observations.h"
#include "model/protocol/mbarrier.h"

namespace turnstile::checker {

class CausalPast::Builder {
 public:
  Builder(CausalPast& past, const Trace& trace)
      : past_(past),
        trace_(trace),
        last_(trace.agents.size(), no_event),
        in_op_(trace.ops.size(), no_event),
        machines_(trace.barriers.size()) {
    for (size_t b = 0; b < machines_.size(); ++b) {
      if (trace.barriers[b].initial_count != 0) machines_[b].init(trace.barriers[b].initial_count);
      past.counted_.push_back(new_list());
    }
    past.completed_.resize(trace.barriers.size());
  }

  void run() {
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      past_.first_prefix_.push_back(static_cast<uint32_t>(past_.prefixes_.size()));
      const Event& e = trace_.events[i];
      const bool lands = e.kind == EventKind::async_access || e.kind == EventKind::async_complete;
      size_t& own = lands ? in_op_[e.object] : last_[e.agent.v];
      past_.previous_.push_back(own);
      past_.joined_.push_back(no_event);
      if (lands && own == no_event) all_of(EventKind::async_issue, e.object);
      own = i;
      add(i, e);
    }
    past_.first_prefix_.push_back(static_cast<uint32_t>(past_.prefixes_.size()));
  }

 private:
  uint32_t new_list() {
    past_.lists_.emplace_back();
    return static_cast<uint32_t>(past_.lists_.size() - 1);
  }

  std::vector<Item>& list_of(EventKind kind, uint32_t object) {
    const auto [at, is_new] = by_object_.try_emplace({kind, object}, 0);
    if (is_new) at->second = new_list();
    return past_.lists_[at->second];
  }

  void first_of(uint32_t list, size_t length, uint64_t group = 0) {
    if (length != 0) past_.prefixes_.push_back({list, static_cast<uint32_t>(length), group});
  }

  /// The event that is added has all those on the object before it.
  void all_of(EventKind kind, uint32_t object, uint64_t group = 0) {
    const auto found = by_object_.find({kind, object});
    if (found != by_object_.end()) first_of(found->second, past_.lists_[found->second].size(), group);
  }

  void contributed(size_t event, uint32_t barrier, Mbarrier::Outcome outcome) {
    std::vector<Item>& all = past_.lists_[past_.counted_[barrier]];
    all.push_back({event, 0});
    if (outcome == Mbarrier::Outcome::completed)
      past_.completed_[barrier].push_back(static_cast<uint32_t>(all.size()));
  }

  void landed(size_t i, uint32_t number) {
    const AsyncOp& op = trace_.ops[number];
    if (op.barrier != AsyncOp::none) {
      Mbarrier& m = machines_[op.barrier];
      const bool bytes = op.bytes > 0 && op.kind != AsyncOp::Kind::cp_async;
      contributed(i, op.barrier, bytes ? m.complete_tx(op.bytes) : m.arrive(1));
    }
    if (op.queue != AsyncOp::none) list_of(EventKind::group_commit, op.queue).push_back({i, op.group});
  }

  void add(size_t i, const Event& e) {
    switch (e.kind) {
      case EventKind::mbarrier_init:
        machines_[e.object].init(e.count);
        list_of(e.kind, e.object).push_back({i, 0});
        break;
      case EventKind::mbarrier_arrive: {
        all_of(EventKind::mbarrier_init, e.object);
        Mbarrier& m = machines_[e.object];
        contributed(i, e.object,
                    e.has(Event::expects_bytes) ? m.arrive_expect_tx(e.bytes) : m.arrive(e.count));
        break;
      }
      case EventKind::mbarrier_expect_tx:
        all_of(EventKind::mbarrier_init, e.object);
        contributed(i, e.object, machines_[e.object].expect_tx(e.bytes));
        break;
      case EventKind::mbarrier_wait: {
        all_of(EventKind::mbarrier_init, e.object);
        const std::vector<uint32_t>& completed = past_.completed_[e.object];
        if (!completed.empty()) first_of(past_.counted_[e.object], completed.back());
        break;
      }
      case EventKind::async_complete:
        landed(i, e.object);
        break;
      case EventKind::group_wait:
        all_of(EventKind::group_commit, e.object, e.generation);
        break;
      case EventKind::async_issue:
      case EventKind::named_barrier_arrive:
      case EventKind::cluster_arrive:
      case EventKind::signal_add:
      case EventKind::signal_set:
      case EventKind::registers_release:
      case EventKind::pool_release:
      case EventKind::tensor_dealloc:
      case EventKind::tensor_relinquish:
        list_of(e.kind, e.object).push_back({i, 0});
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
        last_[e.object] = i;
        break;
      case EventKind::join:
        past_.joined_.back() = std::exchange(last_[e.object], i);
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

  CausalPast& past_;
  const Trace& trace_;
  std::vector<size_t> last_, in_op_;  ///< by strand, by operation
  std::vector<Mbarrier> machines_;
  std::map<std::pair<EventKind, uint32_t>, uint32_t> by_object_;  ///< lists
};

CausalPast::CausalPast(const Trace& trace) : events_(trace.events.size()) { Builder(*this, trace).run(); }

std::vector<size_t> CausalPast::before(const std::vector<size_t>& events) const {
  std::vector<bool> in(events_);
  std::vector<size_t> todo;
  std::vector<uint32_t> all_before(lists_.size(), 0);  // by list: so many, from its begin, are in
  const auto add = [&](size_t i) {
    if (i == no_event || in[i]) return;
    in[i] = true;
    todo.push_back(i);
  };
  const auto add_first = [&](const Prefix& p) {
    const std::vector<Item>& list = lists_[p.list];
    uint32_t& done = all_before[p.list];
    for (uint32_t k = done; k < p.length; ++k) {
      if (list[k].group <= p.group) add(list[k].event);
      if (k == done && in[list[k].event]) ++done;
    }
  };
  const auto add_before = [&](size_t i) {
    add(previous_[i]);
    add(joined_[i]);
    for (uint32_t p = first_prefix_[i]; p < first_prefix_[i + 1]; ++p) add_first(prefixes_[p]);
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

size_t CausalPast::first_counted(uint32_t barrier, uint64_t generation) const {
  const std::vector<uint32_t>& completed = completed_[barrier];
  if (generation == 0) return 0;
  return generation <= completed.size() ? completed[generation - 1] : lists_[counted_[barrier]].size();
}

std::vector<size_t> CausalPast::contributions(uint32_t barrier, uint64_t generation) const {
  std::vector<size_t> all;
  for (size_t k = 0; k < first_counted(barrier, generation); ++k)
    all.push_back(lists_[counted_[barrier]][k].event);
  return all;
}

std::vector<size_t> CausalPast::counted_in(uint32_t barrier, uint64_t generation) const {
  std::vector<size_t> all;
  for (size_t k = first_counted(barrier, generation); k < first_counted(barrier, generation + 1); ++k)
    all.push_back(lists_[counted_[barrier]][k].event);
  return all;
}

}  // namespace turnstile::checker
