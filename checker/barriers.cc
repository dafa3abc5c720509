// SPDX-License-Identifier: Apache-2.0
//
// mbarriers, representation B (algorithms.md 5.2, 5.3). One lane per barrier holds the number of the last
// completion that a clock knows; D1 and D3 are then one comparison, with a slow path that looks at the
// contributors of the completion. `arriving_` is never reset: under D3 the history of earlier generations is
// in the past anyway, and an mbarrier word carries earlier releases along (M7).
#include "checker/barriers.h"

#include <algorithm>

namespace turnstile::checker {

Barriers::Barriers(RunState& run, Fences& fences)
    : run_(run),
      fences_(fences),
      states_(run.trace.barriers.size()),
      arriving_(run.lanes, run.views, states_.size()),
      done_(run.lanes, run.views, states_.size()),
      keeps_near_(run.views.any_scope != Views::none) {
  if (keeps_near_) {
    arriving_near_ = KnowledgeTable(run.lanes, run.views, states_.size());
    done_near_ = arriving_near_;
    complete_.assign(run.lanes.width, 0);
    std::fill(complete_.begin() + run.lanes.first_barrier, complete_.begin() + run.lanes.first_named, ~0u);
    for (uint32_t q = 0; q < run.trace.queues.size(); ++q) {
      const QueueInfo::Kind kind = run.trace.queues[q].kind;
      if (kind == QueueInfo::Kind::cp_async || kind == QueueInfo::Kind::lds_read) continue;  // generic (CA1)
      complete_[run.lanes.all_done(q)] = ~0u;
      if (kind != QueueInfo::Kind::tensor) complete_[run.lanes.read_done(q)] = ~0u;  // TC20: issued, not done
    }
  }
  for (uint32_t b = 0; b < states_.size(); ++b)
    if (const uint32_t count = run.trace.barriers[b].initial_count; count != 0) {
      states_[b].machine.init(count);  // valid and visible from the start: epoch 0 is known to everyone
      states_[b].exists = true;
    }
}

void Barriers::report(Breach::Kind kind, uint32_t b, uint64_t generation, size_t event) {
  Breach breach;
  breach.kind = kind;
  breach.object = b;
  breach.generation = generation;
  breach.event = event;
  breach.found = run_.now;
  run_.seen.breaches.push_back(breach);
}

void Barriers::init(const Event& e) {
  const uint32_t b = e.object;
  State& s = states_[b];
  if (s.refused) return;
  check_slot(e);
  if (s.refused) return run_.tick(e.agent.v);
  if (s.exists) {
    s.base += static_cast<uint32_t>(s.machine.generation()) + 1;
    if (!s.machine.valid() && !knows(run_.strands.row(e.agent.v, Views::causal), s.invalidated))  // EXT8
      run_.uncovered("a barrier is initialised again by somebody who does not come after its inval (K4)",
                     e.place);
  }
  const Mbarrier::Outcome outcome = s.machine.init(e.count);
  if (!Mbarrier::has_result(outcome)) return settle(b, outcome, run_.now);
  s.open = s.last = s.before_last = {};
  s.expects.clear();
  s.passed.clear();
  s.announced = 0;
  s.exists = true;
  s.init = run_.here(e.agent.v);
  s.init_event = run_.now;
  s.fenced = {};
  run_.tick(e.agent.v);
}

// Two barriers in one slot of memory: the first has to be invalidated before the second is initialised (MB9,
// MB10, orchestration_bugs.md A13). Only barriers that somebody initialises have a slot that means something.
void Barriers::check_slot(const Event& e) {
  const BarrierInfo& info = run_.trace.barriers[e.object];
  std::vector<uint32_t>& here = slots_[{info.cta, info.address}];
  for (const uint32_t other : here) {
    if (other == e.object) continue;
    if (states_[other].machine.valid()) {
      report(Breach::Kind::refused, e.object, states_[e.object].machine.generation(), run_.now);
      run_.seen.breaches.back().rule = "MB9";
      states_[e.object].refused = true;
      return;
    }
    if (!knows(run_.strands.row(e.agent.v, Views::causal), states_[other].invalidated))
      run_.uncovered("a barrier is initialised where another one is invalidated at any time (K4)", e.place);
  }
  if (std::find(here.begin(), here.end(), e.object) == here.end()) here.push_back(e.object);
}

void Barriers::fence_init(const Event& e) {
  bool any = false;
  for (State& s : states_)
    if (s.init_event != no_event && s.init.lane == e.agent.v && s.fenced.value == 0) {
      s.fenced = run_.here(e.agent.v);
      any = true;
    }
  if (any) run_.tick(e.agent.v);
}

void Barriers::inval(const Event& e) {
  const uint32_t b = e.object;
  State& s = states_[b];
  if (!usable(b, run_.strands.all(e.agent.v), e.agent, run_.now)) return;
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  const uint32_t* arrived = arriving_.row(b, Views::causal);
  // MB10: else a late arrive or wait hits a dead object in another schedule. Nothing holds back an arrival of
  // an operation: it can come after all that does not follow from it.
  const bool in_flight = s.async_arrival.value != 0 && !knows(causal, s.async_arrival);
  if (in_flight) run_.misuse(Misuse::Kind::inval_in_flight, run_.now, b, s.async_issue);
  bool after_all_uses = true;
  for (uint32_t lane = 0; lane < run_.lanes.first_barrier; ++lane)
    after_all_uses &= causal[lane] >= arrived[lane] || (in_flight && lane == s.async_arrival.lane);
  for (const Passed& p : s.passed) after_all_uses &= knows(causal, p.epoch);
  if (!run_.policies.commits_in_order) {  // a later commit does not tell that an earlier one has arrived
    const uint64_t generation = s.machine.generation();
    after_all_uses &=
        !s.open.async && (generation == 0 || !s.last.async ||
                          knows(causal, {run_.lanes.barrier(b), s.base + static_cast<uint32_t>(generation)}));
  }
  if (!after_all_uses)
    run_.uncovered("a barrier is invalidated where not all of its uses are over (MB10)", e.place);
  settle(b, s.machine.inval(), run_.now);
  s.async_arrival = {};
  s.invalidated = run_.here(e.agent.v);
  run_.tick(e.agent.v);
}

// K4, MB10, MB11: initialised, and visibly so. Checked in the visibility order, which is the stronger demand;
// a fence.mbarrier_init publishes the init wherever the order of execution leads. Other CTAs need that fence.
bool Barriers::usable(uint32_t b, const uint32_t* knowledge, AgentId user, size_t event) {
  State& s = states_[b];
  if (s.refused) return false;
  if (s.init.value == 0 && s.exists) return true;
  const uint32_t* order = knowledge + run_.lanes.width * Views::order;
  const bool fence_known = s.fenced.value != 0 && knows(knowledge, s.fenced);
  const bool visible = s.exists && (knows(order, s.init) || fence_known);
  if (!visible && !s.early_use_reported) {
    s.early_use_reported = true;
    run_.seen.early_uses.push_back({b, s.init_event, event});
  }
  if (visible && !fence_known && remote(b, user) && !s.unfenced_reported) {
    s.unfenced_reported = true;
    run_.misuse(Misuse::Kind::unfenced_init, event, b, s.init_event);
  }
  return s.exists;
}

bool Barriers::completion_known(uint32_t* causal, uint32_t b, uint64_t generation) {
  const State& s = states_[b];
  if (generation == 0) return true;
  const Epoch completion{run_.lanes.barrier(b), s.base + static_cast<uint32_t>(generation)};
  if (knows(causal, completion)) return true;
  // Slow path: who knows all contributions knows the completion, unless bytes contributed (PF15).
  const Contributors& c = generation == s.machine.generation() ? s.last : s.before_last;
  if (c.async || !std::all_of(c.strands.begin(), c.strands.end(), [&](Epoch e) { return knows(causal, e); }))
    return false;
  causal[completion.lane] = completion.value;
  return true;
}

void Barriers::contribute(uint32_t b, uint32_t* knowledge, size_t event, bool releases) {
  const uint64_t generation = states_[b].machine.generation();
  if (!completion_known(knowledge, b, generation))
    report(Breach::Kind::foreign_arrival, b, generation, event);  // D3
  run_.publish(arriving_.all(b), knowledge, releases);            // HB5
  states_[b].last_contribution = event;
}

void Barriers::report_narrow(Misuse::Kind kind, uint32_t b, size_t event) {
  if (!states_[b].narrow_reported) run_.misuse(kind, event, b);
  states_[b].narrow_reported = true;
}

// HB1, M7. A release fence of a wide scope before the arrival does what the arrival does not.
void Barriers::publish(const Event& e) {
  const uint32_t b = e.object, strand = e.agent.v;
  const bool far = remote(b, e.agent), wide = e.has(Event::release) && (!far || e.scope != Scope::cta);
  const Scope needed = far ? Scope::cluster : Scope::cta;
  uint32_t* knowledge = run_.strands.all(strand);
  const uint32_t* told = wide ? knowledge : fences_.head(strand, needed);
  states_[b].remote_arrivals |= far;
  contribute(b, knowledge, run_.now, wide);
  if (told != nullptr && !wide) run_.publish(arriving_.all(b), told, true);
  if (e.has(Event::release) && !wide) {
    if (!fences_.fresh(strand, needed)) report_narrow(Misuse::Kind::narrow_arrive, b, run_.now);
    tell_complete(arriving_.all(b), knowledge);
  }
  if (!keeps_near_) return;
  uint32_t* near = arriving_near_.all(b);
  if (far && e.has(Event::release)) tell_complete(near, knowledge);
  if (told != nullptr && far)
    for (KnowledgeTable* table : {&arriving_, &arriving_near_}) tell_reads(table->all(b), told);
  if (told != nullptr && !far) run_.publish(near, told, true);
}

// What is over needs no scope: asynchronous operations that were waited for, and reads before a proxy fence
// of their own thread, which waits for them (P16). Classic copies count as generic accesses (CA1): nobody has
// asked the hardware.
void Barriers::tell_complete(uint32_t* point, const uint32_t* knowledge) const {
  const size_t width = run_.lanes.width;
  const uint32_t* order = knowledge + width * Views::order;
  uint32_t* any = point + width * run_.views.any_scope;
  join(any, order, width);
  join(any, knowledge + width * run_.views.any_scope, width);
  if (run_.policies.remote_scope == Policies::Scope::strict) return;
  uint32_t* known = point + width * Views::order;
  for (size_t lane = 0; lane < width; ++lane)
    known[lane] = std::max(known[lane], order[lane] & complete_[lane]);
  for (const uint32_t view :
       {run_.views.reads_over, run_.views.shared_reads_over, run_.views.global_reads_over})
    if (view != Views::none) join(point + width * view, knowledge + width * view, width);
}

// A release of scope .cluster waits for the reads before it (P16), whatever the wait at the other side sees.
void Barriers::tell_reads(uint32_t* point, const uint32_t* knowledge) const {
  tell_complete(point, knowledge);
  if (run_.policies.remote_scope == Policies::Scope::strict) return;
  const size_t width = run_.lanes.width;
  const auto take_in = [&](uint32_t into, uint32_t from) {
    if (into != Views::none && from != Views::none)
      join(point + width * into, knowledge + width * from, width);
  };
  take_in(run_.views.reads_over, Views::order);
  take_in(run_.views.shared_reads_over, run_.views.fenced_shared);
  take_in(run_.views.global_reads_over, run_.views.fenced_global);
}

// MB17 in every order: nobody knows that bytes of the open generation have landed (PF15), so all of its
// expects can come before all of its landings, and the transaction count reaches their sum.
Mbarrier::Outcome Barriers::announced(State& s, uint64_t bytes, Mbarrier::Outcome outcome) {
  s.announced += bytes;
  const bool fits = s.announced <= static_cast<uint64_t>(Mbarrier::max_tx);
  return fits || !Mbarrier::has_result(outcome) ? outcome : Mbarrier::Outcome::tx_overflow;
}

void Barriers::arrive(const Event& e) {
  const uint32_t b = e.object, strand = e.agent.v;
  uint32_t* knowledge = run_.strands.all(strand);
  State& s = states_[b];
  if (!usable(b, knowledge, e.agent, run_.now)) return run_.tick(strand);
  publish(e);
  check_seen(b, knowledge, run_.now);
  s.open.strands.push_back(run_.here(strand));
  for (Expected& x : s.expects) x.covered |= knows(knowledge, x.epoch);
  const bool announces = e.has(Event::expects_bytes) && e.bytes > 0;  // K5: zero bytes are no contribution
  settle(b,
         announces ? announced(s, e.bytes, s.machine.arrive_expect_tx(e.bytes, e.has(Event::drops)))
         : e.has(Event::drops) ? s.machine.arrive_drop(e.count)
                               : s.machine.arrive(e.count),
         run_.now);
  run_.tick(strand);
}

void Barriers::expect(const Event& e) {
  const uint32_t b = e.object, strand = e.agent.v;
  uint32_t* knowledge = run_.strands.all(strand);
  State& s = states_[b];
  if (e.bytes == 0 || !usable(b, knowledge, e.agent, run_.now)) return run_.tick(strand);
  contribute(b, knowledge, run_.now);
  s.open.strands.push_back(run_.here(strand));
  s.expects.push_back({run_.here(strand), run_.now, false});
  settle(b, announced(s, e.bytes, s.machine.expect_tx(e.bytes)), run_.now);
  run_.tick(strand);
}

void Barriers::complete(const AsyncOp& op, size_t issue_event, uint32_t* knowledge) {
  const uint32_t b = op.barrier;
  State& s = states_[b];
  if (op.bytes == 0 || !usable(b, knowledge, op.issuer, issue_event)) return;
  contribute(b, knowledge, issue_event);
  s.open.async = true;
  s.open.commits_of = AsyncOp::none;
  s.bytes_generation = s.machine.generation() + 1;
  settle(b, s.machine.complete_tx(op.bytes), run_.now);
}

// The raise must be in before the phase can complete without it: like an expect, some other arrival of the
// generation has to come after it (D5a).
void Barriers::raise(const AsyncOp& op, const Event& e) {
  const uint32_t b = op.barrier, strand = e.agent.v;
  uint32_t* knowledge = run_.strands.all(strand);
  State& s = states_[b];
  if (!usable(b, knowledge, e.agent, run_.now)) return;
  contribute(b, knowledge, run_.now);
  s.open.strands.push_back(run_.here(strand));
  s.expects.push_back({run_.here(strand), run_.now, false});
  settle(b, s.machine.raise_pending(), run_.now);
}

void Barriers::arrive_async(const AsyncOp& op, size_t issue_event, uint32_t* knowledge, Epoch done) {
  const uint32_t b = op.barrier;
  State& s = states_[b];
  if (!usable(b, knowledge, op.issuer, issue_event)) return;
  CommitLine* line = nullptr;
  if (op.kind == AsyncOp::Kind::tensor_commit && run_.policies.commits_in_order) {
    line = &commits_[{op.queue, run_.trace.barriers[b].cta}];
    line->causal.resize(run_.lanes.width);
    if (done.value <= line->last)
      line = nullptr;  // a run that landed them in another order tells nothing of it
    else
      join(knowledge, line->causal.data(), run_.lanes.width);
  }
  const bool alone_in_phase = line != nullptr && alone(s, knowledge, op.queue);
  const uint64_t generation = s.machine.generation();
  contribute(b, knowledge, issue_event);
  const auto raise_lane = [&](KnowledgeTable& table, uint32_t view) {
    uint32_t& known = table.row(b, view)[done.lane];
    known = std::max(known, done.value);
  };
  raise_lane(arriving_, Views::causal);
  raise_lane(arriving_, Views::order);
  if (keeps_near_) raise_lane(arriving_near_, Views::order);
  if (op.kind == AsyncOp::Kind::tensor_commit) raise_lane(arriving_, run_.views.tensor_in);
  s.open.commits_of = alone_in_phase ? op.queue : AsyncOp::none;
  s.open.async = true;
  s.async_arrival = done;
  s.async_issue = issue_event;
  settle(b, s.machine.arrive(1), run_.now);
  if (line == nullptr) return;
  line->last = done.value;
  join(line->causal.data(), knowledge, run_.lanes.width);
  if (alone_in_phase && s.machine.generation() > generation) {
    uint32_t& completed = line->causal[run_.lanes.barrier(b)];
    completed = std::max(completed, s.base + static_cast<uint32_t>(s.machine.generation()));
  }
}

// A commit of `queue` that knows `causal` knows all that has contributed to the open generation: if it
// completes it in this run, it does so in every schedule.
bool Barriers::alone(const State& s, const uint32_t* causal, uint32_t queue) const {
  return (!s.open.async || s.open.commits_of == queue) &&
         std::all_of(s.open.strands.begin(), s.open.strands.end(), [&](Epoch e) { return knows(causal, e); });
}

// S1: before an arrival in a phase some wait for the phase before must have returned true. Only of objects
// that are made in sight: a text that takes its barriers as given may leave out who waits for them. Where D3
// fails, S1 says nothing new.
void Barriers::check_seen(uint32_t b, uint32_t* knowledge, size_t event) {
  State& s = states_[b];
  const uint64_t generation = s.machine.generation();
  if (generation == 0 || s.init.value == 0 || s.unseen_reported) return;
  if (std::any_of(s.passed.begin(), s.passed.end(),
                  [&](const Passed& p) { return knows(knowledge, p.epoch); }))
    return;
  if (!completion_known(knowledge, b, generation)) return;
  s.unseen_reported = true;
  run_.misuse(Misuse::Kind::phase_unseen, event, b, s.last_completion, generation - 1);
}

void Barriers::settle(uint32_t b, Mbarrier::Outcome outcome, size_t event) {
  State& s = states_[b];
  if (!Mbarrier::has_result(outcome)) {
    report(Breach::Kind::refused, b, s.machine.generation(), event);  // D4
    run_.seen.breaches.back().rule = broken_rule(outcome);
    s.refused = true;
    return;
  }
  if (outcome != Mbarrier::Outcome::completed) return;
  const uint64_t generation = s.machine.generation();
  for (const Expected& x : s.expects)
    if (!x.covered) report(Breach::Kind::unannounced, b, generation - 1, x.event);  // D5a
  uint32_t* arrived = arriving_.row(b, Views::causal);
  for (const Passed& p : s.passed)
    if (!knows(arrived, p.epoch)) {
      report(Breach::Kind::lapped, b, generation - 1, p.event);  // D2
      run_.seen.breaches.back().completion = event;
    }
  arrived[run_.lanes.barrier(b)] = s.base + static_cast<uint32_t>(generation);
  std::copy_n(arriving_.all(b), arriving_.stride(), done_.all(b));
  if (keeps_near_) std::copy_n(arriving_near_.all(b), arriving_near_.stride(), done_near_.all(b));
  std::swap(s.before_last, s.last);
  std::swap(s.last, s.open);
  s.open.strands.clear();
  s.open.async = false;
  s.expects.clear();
  s.passed.clear();
  s.announced = 0;
  s.last_completion = event;
  ++run_.seen.phases;
}

// What a passed wait knows, and what an acquire fence after it adds (M8).
void Barriers::learn(const Event& e, Epoch completion) {
  const uint32_t b = e.object, strand = e.agent.v;
  const size_t width = run_.lanes.width;
  uint32_t* knowledge = run_.strands.all(strand);
  const bool acquires = e.has(Event::acquire), far = states_[b].remote_arrivals;
  const bool narrow = keeps_near_ && far && acquires && e.scope == Scope::cta;
  run_.observe(knowledge, done_.all(b), acquires && !narrow);
  if (narrow) {
    run_.observe(knowledge, done_near_.all(b), true);
    uint32_t* any = knowledge + width * run_.views.any_scope;
    for (const uint32_t view : {Views::order, run_.views.any_scope}) join(any, done_.row(b, view), width);
    narrow_waits_.try_emplace({strand, b}, run_.now);
  }
  const auto landed = [&](uint32_t* order) {  // HB3: the bytes, and nothing of the history of who issued them
    order[completion.lane] = std::max(order[completion.lane], completion.value);
  };
  if (acquires) landed(run_.strands.row(strand, Views::order));
  if (acquires && !narrow) return;
  if (uint32_t* later = fences_.pending(strand, far ? Scope::cluster : Scope::cta); later != nullptr) {
    run_.publish(later, done_.all(b), true);
    landed(later + width * Views::order);
  }
}

void Barriers::fence(const Event& e) {
  if (e.scope == Scope::cta || (e.flags & (Event::fence_acquire | Event::fence_sequential)) == 0) return;
  std::erase_if(narrow_waits_, [&](const auto& w) { return w.first.first == e.agent.v; });
}

void Barriers::wait(const Event& e) {
  const uint32_t b = e.object, strand = e.agent.v;
  State& s = states_[b];
  uint32_t* knowledge = run_.strands.all(strand);
  if (remote(b, e.agent)) {  // MB8: what it reads is not this barrier
    run_.misuse(Misuse::Kind::remote_wait, run_.now, b);
    return run_.tick(strand);
  }
  if (!usable(b, knowledge, e.agent, run_.now)) return run_.tick(strand);
  const uint64_t generation = s.machine.generation();
  if (generation != e.generation || !s.machine.ready(e.count)) {
    run_.seen.inconsistent = "a wait passes that the barrier's state does not let pass";
    return;
  }
  if (generation > 1 && !completion_known(knowledge, b, generation - 1))
    report(Breach::Kind::early_pass, b, generation - 1, run_.now);  // D1
  if (generation > 0) learn(e, {run_.lanes.barrier(b), s.base + static_cast<uint32_t>(generation)});
  s.passed.push_back({run_.here(strand), run_.now});
  run_.tick(strand);
}

Epoch Barriers::landing(uint32_t b) const {
  const State& s = states_[b];
  return {run_.lanes.barrier(b), s.base + static_cast<uint32_t>(s.machine.generation()) + 1};
}

Epoch Barriers::last_bytes(uint32_t b) const {
  const State& s = states_[b];
  if (s.bytes_generation == 0) return {};
  return {run_.lanes.barrier(b), s.base + static_cast<uint32_t>(s.bytes_generation)};
}

void Barriers::finish() {
  for (const auto& [strand_and_barrier, event] : narrow_waits_)
    report_narrow(Misuse::Kind::narrow_wait, strand_and_barrier.second, event);
  for (size_t i = 0; i < run_.trace.blocked.size(); ++i) {
    const Blocked& w = run_.trace.blocked[i];
    if (w.on != Blocked::On::mbarrier) continue;
    const State& s = states_[w.object];
    if (s.refused || !s.exists) continue;
    const uint64_t generation = s.machine.generation();
    if (completion_known(run_.strands.row(w.agent.v, Views::causal), w.object, generation)) continue;
    report(Breach::Kind::blocked_early, w.object, generation, no_event);  // D1
    run_.seen.breaches.back().blocked = i;
    run_.seen.breaches.back().completion = s.last_completion;
  }
  for (uint32_t b = 0; b < states_.size(); ++b) {
    const State& s = states_[b];
    if (s.refused || !s.machine.valid() || s.machine.pending() != 0) continue;
    const size_t expect = s.expects.empty() ? s.last_contribution : s.expects.front().event;
    if (s.machine.tx() < 0 && expect != no_event)
      report(Breach::Kind::unmatched, b, s.machine.generation(), expect);  // D5b
    for (const Expected& x : s.expects)
      if (!x.covered) report(Breach::Kind::unannounced, b, s.machine.generation(), x.event);  // D5a
  }
}

}  // namespace turnstile::checker
