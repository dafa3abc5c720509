// SPDX-License-Identifier: Apache-2.0
//
// One pass over the synchronisation events with the same barrier state machine as everybody else, after one
// that finds who guards whom. A copy belongs to the generation that is open when it is issued; if that is not
// the one meant, D3 says so.
#include "checker/structure.h"

#include <algorithm>

#include "checker/run_state.h"
#include "model/protocol/mbarrier.h"

namespace turnstile::checker {

namespace {

std::vector<uint32_t> number_warps(const Trace& trace) {
  std::unordered_map<uint32_t, uint32_t> numbers;
  std::vector<uint32_t> warps;
  for (const AgentInfo& a : trace.agents)
    warps.push_back(numbers.try_emplace(warp_key(a), static_cast<uint32_t>(numbers.size())).first->second);
  return warps;
}

constexpr uint32_t no_barrier = 0xffffffff;

}  // namespace

Guards::Guards(const Trace& trace)
    : trace_(trace),
      warps_(number_warps(trace)),
      last_wait_(trace.agents.size(), no_barrier),
      last_guard_(trace.barriers.size(), no_barrier) {}

void Guards::issue(const Event& e) {
  if (!delivers_bytes(trace_.ops[e.object])) return;
  const uint32_t wait = last_wait_[warps_[e.agent.v]];
  const uint32_t b = trace_.ops[e.object].barrier;
  if (wait == no_barrier || wait == b || last_guard_[b] == wait) return;
  last_guard_[b] = wait;
  const std::pair<uint32_t, uint32_t> pair{wait, b};
  if (std::find(pairs_.begin(), pairs_.end(), pair) == pairs_.end()) pairs_.push_back(pair);
}

Structure::Structure(const Trace& trace, const Guards& guards, Observations& seen)
    : trace_(trace), seen_(seen), barriers_(trace.barriers.size()), warps_(number_warps(trace)) {
  for (uint32_t b = 0; b < barriers_.size(); ++b)
    if (trace.barriers[b].initial_count != 0) barriers_[b].machine.init(trace.barriers[b].initial_count);
  for (const auto& [wait, b] : guards.pairs()) barriers_[wait].guarded.push_back(b);
}

void Structure::finish() {
  if (stopped(trace_)) return;
  for (uint32_t b = 0; b < barriers_.size(); ++b)
    if (barriers_[b].machine.valid() && barriers_[b].machine.pending() == 0 &&
        finished_issuing(barriers_[b].open))
      close(b, barriers_[b].open, barriers_[b].machine.generation());
}

void Structure::step(const Event& e, size_t i) {
  switch (e.kind) {
    case EventKind::mbarrier_init:
      barriers_[e.object].open = {};
      barriers_[e.object].machine.init(e.count);
      break;
    case EventKind::mbarrier_inval:
      barriers_[e.object].machine.inval();
      break;
    case EventKind::mbarrier_arrive:
      arrive(e, i);
      break;
    case EventKind::mbarrier_expect_tx:
      expect(e, i);
      settle(e.object, barriers_[e.object].machine.expect_tx(e.bytes));  // Q19
      break;
    case EventKind::mbarrier_wait:
      wait(e, i);
      break;
    case EventKind::async_issue:
      issue(e, i);
      break;
    case EventKind::async_complete:
      complete(trace_.ops[e.object]);
      break;
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
    case EventKind::fork:
    case EventKind::join:
    case EventKind::named_barrier_arrive:
    case EventKind::named_barrier_pass:
    case EventKind::fence_proxy_async:
    case EventKind::fence:
    case EventKind::fence_mbarrier_init:
    case EventKind::access:
    case EventKind::async_access:
    case EventKind::group_commit:
    case EventKind::group_wait:
    case EventKind::registers_release:
    case EventKind::registers_acquire:
    case EventKind::register_hazard:
    case EventKind::exit:
      break;
  }
}

void Structure::complete(const AsyncOp& op) {
  if (delivers_bytes(op) && op.bytes > 0)
    settle(op.barrier, barriers_[op.barrier].machine.complete_tx(op.bytes));
  if (arrives_when_done(op)) settle(op.barrier, barriers_[op.barrier].machine.arrive(1));
}

void Structure::expect(const Event& e, size_t i) {
  Phase& p = barriers_[e.object].open;
  p.expected += e.bytes;
  if (p.expect == no_event) p.expect = i;
}

void Structure::arrive(const Event& e, size_t i) {
  BarrierState& b = barriers_[e.object];
  for (uint32_t full : b.guarded)
    for (auto& [w, taken] : barriers_[full].taken)
      if (w == warp(e)) taken.release = i;
  if (e.has(Event::expects_bytes)) expect(e, i);
  settle(e.object, e.has(Event::expects_bytes) ? b.machine.arrive_expect_tx(e.bytes, e.has(Event::drops))
                   : e.has(Event::drops)       ? b.machine.arrive_drop(e.count)
                                               : b.machine.arrive(e.count));
}

Structure::Taken& Structure::taken_by(BarrierState& b, uint32_t warp) {
  for (auto& [w, taken] : b.taken)
    if (w == warp) return taken;
  b.taken.push_back({warp, {}});
  return b.taken.back().second;
}

void Structure::wait(const Event& e, size_t i) {
  const uint64_t generation = e.generation;
  if (generation == 0) return;  // the pass of a fresh barrier (W2) takes nothing
  Taken& t = taken_by(barriers_[e.object], warp(e));
  if (t.generation == generation && t.release != no_event) {
    const uint64_t places = uint64_t{trace_.events[t.wait].place} << 32 | e.place;
    const auto [at, fresh] = second_helpings_.try_emplace(places, seen_.second_helpings.size());
    if (fresh)
      seen_.second_helpings.push_back({e.object, generation, t.wait, t.release, i, 1});
    else
      ++seen_.second_helpings[at->second].occurrences;
  }
  if (t.generation != generation) t = {generation, i, no_event};
}

void Structure::issue(const Event& e, size_t i) {
  const AsyncOp& op = trace_.ops[e.object];
  if (raises_pending(op)) barriers_[op.barrier].machine.raise_pending();
  if (!delivers_bytes(op)) return;
  Phase& p = barriers_[op.barrier].open;
  p.issued += op.bytes;
  p.copies.push_back(i);
}

void Structure::settle(uint32_t b, Mbarrier::Outcome outcome) {
  if (outcome != Mbarrier::Outcome::completed) return;
  close(b, barriers_[b].open, barriers_[b].machine.generation() - 1);
  Phase& next = barriers_[b].open;  // its vector keeps its memory
  next.expected = next.issued = 0;
  next.expect = no_event;
  next.copies.clear();
}

// A strand that is stuck between its expect and its copies has not got the bytes wrong; one that went on
// has.
bool Structure::finished_issuing(const Phase& p) const {
  if (p.issued >= p.expected || p.expect == no_event) return true;
  const uint32_t w = warp(trace_.events[p.expect]);
  for (size_t i = p.expect + 1; i < trace_.events.size(); ++i) {
    const Event& e = trace_.events[i];
    if (e.kind != EventKind::async_complete && e.kind != EventKind::async_access && warp(e) == w &&
        (e.kind == EventKind::exit ||
         ((e.kind == EventKind::mbarrier_expect_tx || e.kind == EventKind::mbarrier_arrive) &&
          e.object != trace_.events[p.expect].object)))
      return true;
  }
  return false;
}

void Structure::close(uint32_t b, const Phase& p, uint64_t generation) {
  if (p.expected == p.issued || (p.expect == no_event && p.copies.empty())) return;
  const size_t where = p.expect != no_event ? p.expect : p.copies.front();
  const auto [at, fresh] = mismatches_.try_emplace(trace_.events[where].place, seen_.byte_mismatches.size());
  if (!fresh) {
    ++seen_.byte_mismatches[at->second].occurrences;
    return;
  }
  seen_.byte_mismatches.push_back({b, generation, p.expected, p.issued, p.expect, p.copies, 1});
}

}  // namespace turnstile::checker
