// SPDX-License-Identifier: Apache-2.0
//
// Single run (ALG-E1). The simulator executed one schedule; replay it with clocks and check D1-D5 on its
// causal order. If they hold, every schedule is this trace (proof: algorithms.md 3.3). Cost: events x lanes,
// and one comparison for each region accessed. Loop: each event goes to the part that knows it; then the
// waits, phases and stores that are open at the end.
#include "checker/single_run.h"

#include <algorithm>

#include "checker/barriers.h"
#include "checker/named_barriers.h"
#include "checker/queues.h"
#include "checker/races.h"
#include "checker/registers.h"
#include "checker/structure.h"
#include "model/must.h"

namespace turnstile::checker {

namespace {

/// What has to be known before the first event, in one pass.
struct Survey {
  bool shared_fences = false, global_fences = false;
  std::vector<uint32_t> named;             ///< named barriers that occur, sorted
  std::vector<Races::Allocation> written;  ///< allocations that somebody writes, sorted

  explicit Survey(const Trace& trace) {
    std::vector<bool> writes(trace.footprints.size());
    for (const Event& e : trace.events) {
      if (e.kind == EventKind::access || e.kind == EventKind::async_access) {
        if ((e.flags & (Event::write | Event::atomic)) != 0) writes[e.footprint] = true;
      } else if (e.kind == EventKind::fence_proxy_async) {
        shared_fences |= e.has(Event::shared_space);
        global_fences |= e.has(Event::global_space);
      } else if (e.kind == EventKind::named_barrier_arrive || e.kind == EventKind::named_barrier_pass) {
        if (named.empty() || named.back() != e.object) named.push_back(e.object);
      }
    }
    for (size_t f = 0; f < writes.size(); ++f)
      if (writes[f]) written.push_back({trace.footprints[f].space, trace.footprints[f].allocation});
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    std::sort(written.begin(), written.end());
    written.erase(std::unique(written.begin(), written.end()), written.end());
  }
};

/// Asked about a conflict between an operation that reads and something else: what the other side knew at
/// `event`.
struct IssueQuestion {
  size_t event = 0;
  uint32_t op = 0;
  size_t conflict = 0;
};

std::vector<IssueQuestion> issue_questions(const Trace& trace, const std::vector<Conflict>& conflicts) {
  std::vector<IssueQuestion> questions;
  std::vector<size_t> issued;
  for (size_t c = 0; c < conflicts.size(); ++c) {
    size_t reader = conflicts[c].prior, other = conflicts[c].current;
    const auto reads = [&](size_t i) {
      const Event& e = trace.events[i];
      return e.kind == EventKind::async_access && !e.has(Event::write) &&
             trace.ops[e.object].kind != AsyncOp::Kind::bulk_load;
    };
    if (conflicts[c].kind != Conflict::Kind::race) continue;
    if (!reads(reader)) std::swap(reader, other);
    if (!reads(reader)) continue;
    if (issued.empty()) {  // made on demand: nearly no trace has such a conflict
      issued.assign(trace.ops.size(), 0);
      for (size_t i = 0; i < trace.events.size(); ++i)
        if (trace.events[i].kind == EventKind::async_issue) issued[trace.events[i].object] = i;
    }
    const Event& e = trace.events[other];
    questions.push_back(
        {e.kind == EventKind::async_access ? issued[e.object] : other, trace.events[reader].object, c});
  }
  return questions;
}

class SingleRun {
 public:
  SingleRun(const Trace& trace, const Survey& survey, Observations& seen)
      : state_(trace,
               Lanes(trace.agents.size(), trace.barriers.size(), survey.named.size(), trace.queues.size()),
               Views(survey.shared_fences, survey.global_fences), seen),
        barriers_(state_),
        named_(state_, survey.named),
        queues_(state_),
        races_(state_),
        registers_(state_),
        written_(survey.written),
        last_load_(trace.barriers.size(), no_event) {
    for (uint32_t a = 0; a < trace.agents.size(); ++a) state_.tick(a);
  }

  void run() {
    if (!races_.prepare(written_)) {
      state_.seen.inconsistent = "the accesses cover more pieces of memory than the race check keeps";
      return;
    }
    const std::vector<Event>& events = state_.trace.events;
    for (size_t i = 0; i < events.size() && state_.seen.inconsistent.empty(); ++i) {
      state_.now = i;
      step(events[i]);
    }
    if (state_.seen.inconsistent.empty()) finish();
  }

  /// For conflicts that were found by an earlier run of the same trace: does the other side know the issue of
  /// the operation that reads?
  void answer(std::vector<IssueQuestion> questions, std::vector<Conflict>& conflicts) {
    std::sort(questions.begin(), questions.end(),
              [](const auto& a, const auto& b) { return a.event < b.event; });
    const std::vector<Event>& events = state_.trace.events;
    size_t i = 0;
    for (const IssueQuestion& q : questions) {
      for (; i < q.event; ++i) {
        state_.now = i;
        const EventKind kind = events[i].kind;
        if (kind != EventKind::access && kind != EventKind::async_access) step(events[i]);
      }
      conflicts[q.conflict].issue_known =
          queues_.issue_known(q.op, state_.strands.row(events[q.event].agent.v, Views::order));
    }
  }

 private:
  void step(const Event& e) {
    switch (e.kind) {
      case EventKind::fork:
        return fork(e);
      case EventKind::join:
        return join_strands(e);
      case EventKind::mbarrier_init:
        return barriers_.init(e);
      case EventKind::mbarrier_inval:
        return barriers_.inval(e);
      case EventKind::mbarrier_arrive:
        return barriers_.arrive(e);
      case EventKind::mbarrier_expect_tx:
        return barriers_.expect(e);
      case EventKind::mbarrier_wait:
        return barriers_.wait(e);
      case EventKind::named_barrier_arrive:
        return named_.contribute(e);
      case EventKind::named_barrier_pass:
        return named_.pass(e);
      case EventKind::fence_proxy_async:
        return fence_proxy(e);
      case EventKind::fence:
      case EventKind::fence_mbarrier_init:
        return;
      case EventKind::access:
        return races_.generic(e);
      case EventKind::async_issue:
        return issue(e);
      case EventKind::async_access:
        return async_access(e);
      case EventKind::async_complete:
        return async_complete(e);
      case EventKind::group_commit:
        return queues_.commit(e);
      case EventKind::group_wait:
        return queues_.wait(e);
      case EventKind::registers_release:
        return registers_.release(e);
      case EventKind::registers_acquire:
        return registers_.acquire(e);
      case EventKind::register_hazard:
        state_.seen.register_hazards.push_back(state_.now);
        return;
      case EventKind::cluster_arrive:
      case EventKind::cluster_wait:
      case EventKind::signal_add:
      case EventKind::signal_set:
      case EventKind::signal_wait:
      case EventKind::pool_acquire:
      case EventKind::pool_release:
      case EventKind::tensor_fence_before:
      case EventKind::tensor_fence_after:
      case EventKind::tensor_alloc:
      case EventKind::tensor_dealloc:
      case EventKind::tensor_relinquish:
      case EventKind::fence_tensormap:
      case EventKind::dependents_launch:
      case EventKind::dependency_wait:
        return state_.seen.uncovered.push_back(
            {"an event of a kind that the single run does not judge", e.place});
      case EventKind::exit:
        exits_.push_back(state_.now);
        return;
    }
  }

  void fork(const Event& e) {
    const uint32_t child = e.object;
    const uint32_t last = state_.here(child).value;  // the lane goes on counting under a new owner
    std::copy_n(state_.strands.all(e.agent.v), state_.strands.stride(), state_.strands.all(child));
    for (uint32_t view : {Views::causal, Views::order}) state_.strands.row(child, view)[child] = last + 1;
    state_.tick(e.agent.v);
  }

  // With memory the other strand is absorbed (M15). Without, the two only met (shfl, elect, vote): each has
  // reached this point, but neither sees what the other wrote (M14); both may go on.
  void join_strands(const Event& e) {
    const size_t n = e.has(Event::memory) ? state_.strands.stride() : state_.lanes.width;
    join(state_.strands.all(e.agent.v), state_.strands.all(e.object), n);
    join(state_.strands.all(e.object), state_.strands.all(e.agent.v), n);
    state_.tick(e.object);
    state_.tick(e.agent.v);
  }

  void fence_proxy(const Event& e) {  // PX8: what is known now, not what is learned later
    const uint32_t* order = state_.strands.row(e.agent.v, Views::order);
    if (e.has(Event::shared_space))
      join(state_.strands.row(e.agent.v, state_.views.fenced_shared), order, state_.lanes.width);
    if (e.has(Event::global_space))
      join(state_.strands.row(e.agent.v, state_.views.fenced_global), order, state_.lanes.width);
    state_.tick(e.agent.v);
  }

  void issue(const Event& e) {
    const AsyncOp& op = state_.trace.ops[e.object];
    if (op.kind == AsyncOp::Kind::bulk_load) last_load_[op.barrier] = state_.now;
    queues_.issue(e);
  }

  void async_access(const Event& e) {
    const uint32_t* knowledge = queues_.knowledge(e.object);
    if (knowledge == nullptr) {
      state_.seen.inconsistent = "an operation acts before it is issued or after it is done";
      return;
    }
    const AsyncOp& op = state_.trace.ops[e.object];
    const Epoch epoch = op.kind == AsyncOp::Kind::bulk_load ? barriers_.landing(op.barrier)
                        : e.has(Event::write)               ? queues_.writes(e.object)
                                                            : queues_.reads(e.object);
    races_.async(e, knowledge, epoch);
  }

  void async_complete(const Event& e) {
    uint32_t* knowledge = queues_.knowledge(e.object);
    if (knowledge == nullptr) {
      state_.seen.inconsistent = "an operation completes before it is issued, or twice";
      return;
    }
    const AsyncOp& op = state_.trace.ops[e.object];
    if (op.kind == AsyncOp::Kind::bulk_load) barriers_.complete(op, queues_.issue_event(e.object), knowledge);
    queues_.retire(e.object);
  }

  void finish() {
    const Trace& trace = state_.trace;
    barriers_.finish();
    registers_.finish();
    if (!trace.faults.empty() || !trace.live_pollers.empty()) return;
    std::vector<size_t> last_exit;  // of each warp that ended
    for (size_t i : exits_) {
      const uint16_t warp = trace.agents[trace.events[i].agent.v].warp;
      if (last_exit.size() <= warp) last_exit.resize(size_t{warp} + 1, no_event);
      last_exit[warp] = i;
    }
    for (const Blocked& b : trace.blocked)
      if (trace.agents[b.agent.v].warp < last_exit.size()) last_exit[trace.agents[b.agent.v].warp] = no_event;
    queues_.finish(last_exit);
    if (trace.blocked.empty() && !exits_.empty()) unfinished_loads();
  }

  // The CTA ends after all exits: a copy may outlive it unless some strand saw it land.
  void unfinished_loads() {
    std::vector<uint32_t> at_end(state_.lanes.width, 0);
    for (size_t i : exits_)
      join(at_end.data(), state_.strands.row(state_.trace.events[i].agent.v, Views::causal),
           state_.lanes.width);
    for (uint32_t b = 0; b < last_load_.size(); ++b)
      if (!knows(at_end.data(), barriers_.last_bytes(b)))
        state_.seen.undrained.push_back({Undrained::Kind::load, last_load_[b], exits_.back()});
  }

  RunState state_;
  Barriers barriers_;
  NamedBarriers named_;
  Queues queues_;
  Races races_;
  Registers registers_;
  std::vector<Races::Allocation> written_;
  std::vector<size_t> last_load_;  ///< per barrier, event that issued its youngest copy
  std::vector<size_t> exits_;
};

std::string event_defect(const Trace& t, const Event& e) {
  if (e.agent.v >= t.agents.size() || e.place >= t.places.size())
    return "an event names a strand or a place that is not there";
  const auto bad = [](uint32_t object, size_t size) { return object >= size; };
  bool wrong = false;
  switch (e.kind) {
    case EventKind::fork:
    case EventKind::join:
      wrong = bad(e.object, t.agents.size()) || e.object == e.agent.v;
      break;
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
    case EventKind::mbarrier_arrive:
    case EventKind::mbarrier_expect_tx:
    case EventKind::mbarrier_wait:
      wrong = bad(e.object, t.barriers.size());
      break;
    case EventKind::access:
      wrong = bad(e.footprint, t.footprints.size());
      break;
    case EventKind::async_access:
      wrong = bad(e.footprint, t.footprints.size()) || bad(e.object, t.ops.size());
      break;
    case EventKind::async_issue:
    case EventKind::async_complete:
      wrong = bad(e.object, t.ops.size());
      break;
    case EventKind::group_commit:
    case EventKind::group_wait:
    case EventKind::register_hazard:
      wrong = bad(e.object, t.queues.size());
      break;
    case EventKind::named_barrier_arrive:
      wrong = e.bytes > 0xffffffff;
      break;
    case EventKind::named_barrier_pass:
    case EventKind::fence_proxy_async:
    case EventKind::fence:
    case EventKind::fence_mbarrier_init:
    case EventKind::registers_release:
    case EventKind::registers_acquire:
    case EventKind::cluster_arrive:
    case EventKind::cluster_wait:
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::signal_wait:
    case EventKind::pool_acquire:
    case EventKind::pool_release:
    case EventKind::tensor_fence_before:
    case EventKind::tensor_fence_after:
    case EventKind::tensor_alloc:
    case EventKind::tensor_dealloc:
    case EventKind::tensor_relinquish:
    case EventKind::fence_tensormap:
    case EventKind::dependents_launch:
    case EventKind::dependency_wait:
    case EventKind::exit:
      break;
  }
  return wrong ? "an event names an object that is not there" : "";
}

}  // namespace

std::string trace_defect(const Trace& t) {
  if (t.events.size() >= 0xffffffff || t.ops.size() >= 0xffffffff) return "the trace is too long";
  for (const Footprint& f : t.footprints)
    if (uint64_t{f.first_range} + f.range_count > t.ranges.size())
      return "a footprint names ranges that are not there";
  for (const ByteRange& r : t.ranges)
    if (r.end < r.begin || (r.count > 1 && r.stride > (uint64_t{1} << 62) / r.count) ||
        r.end > uint64_t{1} << 62)
      return "a byte range wraps around";
  for (const AsyncOp& op : t.ops) {
    const bool load = op.kind == AsyncOp::Kind::bulk_load;
    if (op.kind > AsyncOp::Kind::wgmma)
      return "an asynchronous operation of a kind that the single run does not judge";
    if (load ? op.barrier >= t.barriers.size() : op.queue >= t.queues.size())
      return "an asynchronous operation names a barrier or a queue that is not there";
    if (op.issuer.v >= t.agents.size() || op.place >= t.places.size())
      return "an asynchronous operation names a strand or a place that is not there";
  }
  for (const Event& e : t.events)
    if (std::string defect = event_defect(t, e); !defect.empty()) return defect;
  for (const Blocked& b : t.blocked) {
    const size_t objects = b.on == Blocked::On::mbarrier ? t.barriers.size()
                           : b.on == Blocked::On::group  ? t.queues.size()
                           : b.on == Blocked::On::signal ? t.signals.size()
                           : b.on == Blocked::On::pool   ? t.pools.size()
                                                         : size_t{0xffffffff};
    if (b.agent.v >= t.agents.size() || b.place >= t.places.size() || b.object >= objects)
      return "a blocked strand names something that is not there";
  }
  for (const Fault& f : t.faults)
    if (f.agent.v >= t.agents.size() || f.place >= t.places.size())
      return "a fault names a strand or a place that is not there";
  for (const AgentId a : t.live_pollers)
    if (a.v >= t.agents.size()) return "a polling strand is not there";
  const uint64_t owners = t.agents.size() + 2 * t.barriers.size() + 64;
  if (owners * (t.agents.size() + t.barriers.size() + 2 * t.queues.size() + 64) > uint64_t{1} << 26)
    return "more strands, barriers and queues than the checker keeps clocks for";
  return {};
}

Observations single_run(const Trace& trace) {
  Observations seen;
  check_structure(trace, seen);
  const Survey survey(trace);
  SingleRun(trace, survey, seen).run();
  if (const auto questions = issue_questions(trace, seen.conflicts); !questions.empty()) {
    Observations again;
    SingleRun(trace, survey, again).answer(questions, seen.conflicts);
  }
  return seen;
}

}  // namespace turnstile::checker
