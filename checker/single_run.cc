// SPDX-License-Identifier: Apache-2.0
//
// Single run (ALG-E1). The simulator executed one schedule; replay it with clocks and check D1-D5 on its
// causal order. If they hold, every schedule is this trace (proof: algorithms.md 3.3). Cost: events x lanes,
// and one comparison for each region accessed. Loop: each event goes to the part that knows it; then the
// waits, phases and stores that are open at the end.
#include "checker/single_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "checker/barriers.h"
#include "checker/cluster_barriers.h"
#include "checker/dependents.h"
#include "checker/fences.h"
#include "checker/lifetime.h"
#include "checker/named_barriers.h"
#include "checker/pools.h"
#include "checker/queues.h"
#include "checker/races.h"
#include "checker/registers.h"
#include "checker/signals.h"
#include "checker/structure.h"
#include "checker/survey.h"
#include "checker/trace_defect.h"

namespace turnstile::checker {

namespace {

/// Whether a footprint contains all bytes of another one. Both are a range or two.
bool covers(const Trace& trace, uint32_t footprint, uint32_t part) {
  if (footprint == part || footprint >= trace.footprints.size()) return footprint == part;
  const Footprint &whole = trace.footprints[footprint], &wanted = trace.footprints[part];
  if (whole.space != wanted.space || whole.allocation != wanted.allocation) return false;
  const std::span<const ByteRange> in(trace.ranges.data() + whole.first_range, whole.range_count),
      parts(trace.ranges.data() + wanted.first_range, wanted.range_count);
  return std::all_of(parts.begin(), parts.end(), [&](const ByteRange& p) {
    return std::any_of(in.begin(), in.end(), [&](const ByteRange& r) {
      return r.count == 1 && p.count == 1 && r.begin <= p.begin && p.end <= r.end;
    });
  });
}

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
             !delivers_bytes(trace.ops[e.object]);
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
  SingleRun(const Trace& trace, const Policies& policies, const Survey& survey, Observations& seen)
      : state_(trace, policies,
               Lanes(trace.agents.size(), trace.barriers.size(), survey.named.size(), trace.queues.size()),
               Views(survey.uses), seen),
        fences_(state_, !trace.signals.empty() || survey.uses.narrow_scopes || survey.uses.relaxed_barriers),
        barriers_(state_, fences_),
        named_(state_, survey.named),
        cluster_(state_, fences_),
        queues_(state_, survey.of_one_strand),
        races_(state_),
        registers_(state_),
        pools_(state_),
        signals_(state_, fences_),
        lifetime_(state_),
        dependents_(state_),
        written_(survey.written),
        several_ctas_(state_.several_ctas()),
        dependent_launch_(survey.dependent_launch),
        last_load_(trace.barriers.size(), no_event) {
    for (uint32_t a = 0; a < trace.agents.size(); ++a) state_.tick(a);
  }

  /// Before the first event.
  void prepare() {
    if (!races_.prepare(written_))
      state_.seen.inconsistent = "the accesses cover more pieces of memory than the race check keeps";
  }

  /// Events [begin, end), after those before them.
  void run(size_t begin, size_t end) {
    const std::vector<Event>& events = state_.trace.events;
    for (size_t i = begin; i < end && state_.seen.inconsistent.empty(); ++i) {
      state_.now = i;
      step(events[i]);
    }
  }

  void conclude() {
    if (state_.seen.inconsistent.empty()) finish();
  }

  /// For conflicts that were found by an earlier run of the same trace: does the other side know the issue of
  /// the operation that reads?
  void answer(std::vector<IssueQuestion> questions, std::vector<Conflict>& conflicts) {
    queues_.keep_issuers();
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
      const uint32_t strand = events[q.event].agent.v, any = state_.views.any_scope;
      conflicts[q.conflict].issue_known =
          queues_.issue_known(q.op, state_.strands.row(strand, Views::order)) ||
          (any != Views::none && queues_.issue_known(q.op, state_.strands.row(strand, any)));
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
        if (several_ctas_) touch_barrier(e);
        return barriers_.arrive(e);
      case EventKind::mbarrier_expect_tx:
        if (several_ctas_) touch_barrier(e);
        return barriers_.expect(e);
      case EventKind::mbarrier_wait:
        return barriers_.wait(e);
      case EventKind::named_barrier_arrive:
        return named_.contribute(e);
      case EventKind::named_barrier_pass:
        return named_.pass(e);
      case EventKind::cluster_arrive:
        return cluster_.arrive(e);
      case EventKind::cluster_wait:
        return cluster_.wait(e);
      case EventKind::fence_proxy_async:
        return fence_proxy(e);
      case EventKind::fence:
        barriers_.fence(e);
        return fences_.fence(e);
      case EventKind::fence_mbarrier_init:
        return barriers_.fence_init(e);
      case EventKind::fence_tensormap:
        return fence_tensormap(e);
      case EventKind::tensor_fence_before:
        return tensor_fence(e, state_.views.tensor_out, state_.views.tensor);
      case EventKind::tensor_fence_after:
        return tensor_fence(e, state_.views.tensor, state_.views.tensor_in);
      case EventKind::access:
        return access(e);
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
      case EventKind::signal_add:
      case EventKind::signal_set:
        return signals_.write(e);
      case EventKind::signal_wait:
        polled(e);
        return signals_.wait(e);
      case EventKind::pool_acquire:
        return pools_.acquire(e);
      case EventKind::pool_release:
        return pools_.release(e);
      case EventKind::tensor_alloc:
        return pools_.tensor_alloc(e);
      case EventKind::tensor_dealloc:
        return pools_.tensor_dealloc(e);
      case EventKind::tensor_relinquish:
        return pools_.tensor_relinquish(e);
      case EventKind::dependents_launch:
        return;  // PD6: it publishes nothing
      case EventKind::dependency_wait:
        return dependents_.wait(e);
      case EventKind::exit:
        return exit(e);
    }
  }

  // LF1: another schedule may take the other way.
  void polled(const Event& e) {
    if (e.has(Event::polled_once))
      state_.uncovered("a test whose failure leads to other work (LF1)", e.place);
  }

  void touch_barrier(const Event& e) { lifetime_.touch(e, state_.trace.barriers[e.object].cta, e.object); }

  void access(const Event& e) {
    polled(e);
    if (several_ctas_) {
      const Footprint& f = state_.trace.footprints[e.footprint];
      if (f.space != Space::global)
        lifetime_.touch(e, static_cast<uint16_t>(f.allocation), Misuse::no_object);
    }
    if (dependent_launch_ && state_.trace.footprints[e.footprint].space == Space::global)
      dependents_.access(e, state_.strands.row(e.agent.v, Views::order));
    races_.generic(e);
  }

  void exit(const Event& e) {
    exits_.push_back(state_.now);
    named_.exit(e);
    cluster_.exit(e);
    if (several_ctas_) lifetime_.exit(e);
  }

  void fork(const Event& e) {
    const uint32_t child = e.object;
    const uint32_t last = state_.here(child).value;  // the lane goes on counting under a new owner
    std::copy_n(state_.strands.all(e.agent.v), state_.strands.stride(), state_.strands.all(child));
    for (uint32_t view : {Views::causal, Views::order}) state_.strands.row(child, view)[child] = last + 1;
    fences_.fork(e.agent.v, child, static_cast<uint32_t>(e.bytes));
    state_.tick(e.agent.v);
  }

  // With memory the other strand is absorbed (M15). Without, the two only met (shfl, elect, vote): each has
  // reached this point, but neither sees what the other wrote (M14); both may go on.
  void join_strands(const Event& e) {
    const size_t n = e.has(Event::memory) ? state_.strands.stride() : state_.lanes.width;
    join(state_.strands.all(e.agent.v), state_.strands.all(e.object), n);
    join(state_.strands.all(e.object), state_.strands.all(e.agent.v), n);
    if (e.has(Event::memory)) fences_.absorb(e.agent.v, e.object);
    state_.tick(e.object);
    state_.tick(e.agent.v);
  }

  void fence_proxy(const Event& e) {  // PX8: what is known now, not what is learned later
    const Views& v = state_.views;
    if (e.has(Event::shared_space)) fence_proxy(e.agent.v, v.fenced_shared, v.shared_reads_over);
    if (e.has(Event::global_space)) fence_proxy(e.agent.v, v.fenced_global, v.global_reads_over);
    state_.tick(e.agent.v);
  }

  // P16: it waits for the reads of its own thread; of others nobody has asked.
  void fence_proxy(uint32_t strand, uint32_t fenced, uint32_t fenced_reads) {
    const uint32_t width = state_.lanes.width, over = state_.views.reads_over;
    KnowledgeTable& known = state_.strands;
    join(known.row(strand, fenced), known.row(strand, Views::order), width);
    if (over == Views::none) return;
    known.row(strand, over)[strand] = state_.here(strand).value;
    join(known.row(strand, fenced_reads), known.row(strand, over), width);
  }

  // TMAP2: a release makes what this strand knows ready for the proxy; an acquire takes in what was made
  // ready, for the copies that use the descriptor that it names.
  void fence_tensormap(const Event& e) {
    const uint32_t width = state_.lanes.width;
    uint32_t* released = state_.strands.row(e.agent.v, state_.views.map_released);
    if (e.has(Event::release))
      join(released, state_.strands.row(e.agent.v, Views::order), width);
    else
      for (uint32_t m = 0; m < state_.views.maps.size(); ++m)
        if (covers(state_.trace, e.footprint, state_.views.maps[m]))
          join(state_.strands.row(e.agent.v, state_.views.first_map + m), released, width);
    state_.tick(e.agent.v);
  }

  void tensor_fence(const Event& e, uint32_t into, uint32_t from) {  // TC23
    if (state_.views.tensor == Views::none) return;
    join(state_.strands.row(e.agent.v, into), state_.strands.row(e.agent.v, from), state_.lanes.width);
    state_.tick(e.agent.v);
  }

  void issue(const Event& e) {
    const AsyncOp& op = state_.trace.ops[e.object];
    if (op.kind == AsyncOp::Kind::bulk_load) last_load_[op.barrier] = state_.now;
    if (raises_pending(op)) barriers_.raise(op, e);
    queues_.issue(e);
  }

  void async_access(const Event& e) {
    const uint32_t* knowledge = queues_.knowledge(e.object);
    if (knowledge == nullptr) {
      state_.seen.inconsistent = "an operation acts before it is issued or after it is done";
      return;
    }
    const AsyncOp& op = state_.trace.ops[e.object];
    const Epoch epoch = delivers_bytes(op)    ? barriers_.landing(op.barrier)
                        : e.has(Event::write) ? queues_.writes(e.object)
                                              : queues_.reads(e.object);
    const Footprint& f = state_.trace.footprints[e.footprint];
    if (several_ctas_ && f.space != Space::global && f.allocation != state_.cta(op.issuer))
      lifetime_.land(queues_.issue_event(e.object), static_cast<uint16_t>(f.allocation), epoch, op.barrier);
    if (dependent_launch_ && f.space == Space::global)
      dependents_.access(e, knowledge + size_t{state_.lanes.width} * Views::order);
    races_.async(e, knowledge, epoch, queues_);
  }

  void async_complete(const Event& e) {
    uint32_t* knowledge = queues_.knowledge(e.object);
    if (knowledge == nullptr) {
      state_.seen.inconsistent = "an operation completes before it is issued, or twice";
      return;
    }
    const AsyncOp& op = state_.trace.ops[e.object];
    const size_t issued = queues_.issue_event(e.object);
    if (op.barrier != AsyncOp::none && several_ctas_)
      if (const uint16_t cta = state_.trace.barriers[op.barrier].cta; cta != state_.cta(op.issuer))
        lifetime_.land(issued, cta, barriers_.landing(op.barrier), op.barrier);
    if (delivers_bytes(op)) barriers_.complete(op, issued, knowledge);
    if (arrives_when_done(op)) barriers_.arrive_async(op, issued, knowledge, queues_.all_before(e.object));
    queues_.retire(e.object);
  }

  void finish() {
    const Trace& trace = state_.trace;
    barriers_.finish();
    registers_.finish();
    signals_.finish();
    races_.finish();
    dependents_.finish();
    if (stopped(trace)) return;
    std::map<std::pair<uint16_t, uint16_t>, size_t> last_exit;  // of each warp that ended
    std::set<uint32_t> ended;
    for (size_t i : exits_) {
      const AgentInfo& agent = trace.agents[trace.events[i].agent.v];
      last_exit[{agent.cta, agent.warp}] = i;
      ended.insert(trace.events[i].agent.v);
    }
    for (const Blocked& b : trace.blocked)
      last_exit.erase({trace.agents[b.agent.v].cta, trace.agents[b.agent.v].warp});
    queues_.finish(last_exit);
    pools_.finish(ended);
    if (several_ctas_) lifetime_.finish();
    if (trace.blocked.empty() && !exits_.empty()) unfinished_loads();
  }

  // A CTA ends after all its exits: a copy may outlive it unless some strand saw it land. Copies to other
  // CTAs: D2.
  void unfinished_loads() {
    struct End {
      std::vector<uint32_t> clock;
      size_t exit = no_event;
    };
    std::map<uint16_t, End> ends;
    for (size_t i : exits_) {
      const AgentId agent = state_.trace.events[i].agent;
      End& end = ends[state_.cta(agent)];
      end.clock.resize(state_.lanes.width);
      end.exit = i;
      join(end.clock.data(), state_.strands.row(agent.v, Views::causal), state_.lanes.width);
    }
    for (uint32_t b = 0; b < last_load_.size(); ++b) {
      if (last_load_[b] == no_event) continue;
      const uint16_t cta = state_.trace.barriers[b].cta;
      const auto end = ends.find(cta);
      if (cta != state_.cta(state_.trace.events[last_load_[b]].agent) || end == ends.end()) continue;
      if (!knows(end->second.clock.data(), barriers_.last_bytes(b)))
        state_.seen.undrained.push_back({Undrained::Kind::load, last_load_[b], end->second.exit});
    }
  }

  RunState state_;
  Fences fences_;
  Barriers barriers_;
  NamedBarriers named_;
  ClusterBarriers cluster_;
  Queues queues_;
  Races races_;
  Registers registers_;
  Pools pools_;
  Signals signals_;
  Lifetime lifetime_;
  Dependents dependents_;
  std::vector<Races::Allocation> written_;
  bool several_ctas_ = false, dependent_launch_ = false;
  std::vector<size_t> last_load_;  ///< per barrier, event that issued its youngest copy
  std::vector<size_t> exits_;
};

}  // namespace

Observations single_run(const Trace& trace, const Policies& policies) {
  Observations seen;
  const Survey survey(trace);
  if (!survey.defect.empty()) {
    seen.defect = survey.defect;
    return seen;
  }
  seen.agents = survey.agents;
  Structure structure(trace, survey.guards, seen);
  SingleRun run(trace, policies, survey, seen);
  run.prepare();
  // Both look at the same events: in pieces, so that these are still in the cache for the second.
  for (size_t begin = 0; begin < trace.events.size(); begin += events_a_piece) {
    const size_t end = std::min(begin + events_a_piece, trace.events.size());
    for (size_t i = begin; i < end; ++i) {
      fetch_ahead(trace.events, i);
      structure.step(trace.events[i], i);
    }
    run.run(begin, end);
  }
  structure.finish();
  run.conclude();
  if (const auto questions = issue_questions(trace, seen.conflicts); !questions.empty()) {
    Observations again;
    SingleRun second(trace, policies, survey, again);
    second.answer(questions, seen.conflicts);
  }
  return seen;
}

}  // namespace turnstile::checker
