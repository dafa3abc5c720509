// SPDX-License-Identifier: Apache-2.0
//
// Pools. If the largest amounts that the strands hold at one time fit together, no order of grants can block
// anybody, and granting tells nothing about who gave back: acquire and release make no edges.
#include "checker/pools.h"

#include <algorithm>

namespace turnstile::checker {

Pools::Pools(RunState& run) : run_(run), pools_(run.trace.pools.size()) {
  for (size_t i = 0; i < pools_.size(); ++i) pools_[i].units = run.trace.pools[i].initial;
}

void Pools::take(std::map<uint32_t, Holder>& holders, uint32_t strand, int64_t units, size_t event) {
  Holder& h = holders[strand];
  h.held += units;
  h.most = std::max(h.most, h.held);
  if (units > 0) h.last = event;
}

bool Pools::fits(const std::map<uint32_t, Holder>& holders, int64_t units) const {
  int64_t sum = 0;
  for (const auto& [strand, h] : holders) sum += h.most;
  return sum <= units || holders.size() < 2;
}

void Pools::acquire(const Event& e) {
  Pool& p = pools_[e.object];
  take(p.holders, e.agent.v, e.count, run_.now);
  p.units -= e.count;
  p.place = e.place;
  run_.tick(e.agent.v);
}

void Pools::release(const Event& e) {
  take(pools_[e.object].holders, e.agent.v, -int64_t{e.count}, run_.now);
  pools_[e.object].units += e.count;
  run_.tick(e.agent.v);
}

void Pools::outcome(TensorMemory::Outcome outcome, uint32_t last_count, size_t relinquish) {
  switch (outcome) {
    case TensorMemory::Outcome::ok:
      return;
    case TensorMemory::Outcome::bad_count:
      return run_.misuse(Misuse::Kind::tensor_bad_count, run_.now);
    case TensorMemory::Outcome::increasing:
      return run_.misuse(Misuse::Kind::tensor_increasing, run_.now, 0, no_event, last_count);
    case TensorMemory::Outcome::relinquished:
      return run_.misuse(Misuse::Kind::tensor_relinquished, run_.now, 0, relinquish);
    case TensorMemory::Outcome::mixed_groups:
      return run_.misuse(Misuse::Kind::tensor_mixed_groups, run_.now);
    case TensorMemory::Outcome::not_allocated:
      return run_.misuse(Misuse::Kind::tensor_not_allocated, run_.now);
  }
}

// TC9: a paired allocation needs the peer to be there. Anything that is known of one of its strands tells
// that.
void Pools::check_peer(const Event& e) {
  const uint16_t mine = run_.cta(e.agent), peer = mine ^ 1;
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  for (uint32_t a = 0; a < run_.trace.agents.size(); ++a)
    if (run_.trace.agents[a].cta == peer && causal[run_.lanes.agent(a)] > 0) return;
  run_.misuse(Misuse::Kind::peer_not_started, run_.now);
}

// TC5 in every order: a larger allocation that need not come before this one can come right after it.
void Pools::check_increase(const Columns& c, const Event& e) {
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  const auto larger = std::find_if(c.all.begin(), c.all.end(), [&](const Allocation& a) {
    return a.count > e.count && !knows(causal, a.epoch);
  });
  if (larger != c.all.end())
    run_.misuse(Misuse::Kind::tensor_increasing, larger->event, 0, run_.now, e.count);
}

// TC6 in every order: what is freed here has to be allocated by then.
void Pools::check_allocated(Columns& c, const Event& e) {
  const auto first = static_cast<uint32_t>(e.generation);
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  Allocation* freed = nullptr;
  size_t choices = 0;
  bool known = false;
  for (Allocation& a : c.all) {
    if (!a.live || a.count != e.count || (first != TensorMemory::any_column && a.first != first)) continue;
    ++choices;
    const bool is_known = knows(causal, a.epoch);  // that is the one it can mean
    if (freed == nullptr || (is_known && !known) || (is_known == known && a.first < freed->first)) {
      freed = &a;
      known = is_known;
    }
  }
  if (freed == nullptr) return;
  freed->live = false;
  if (known) return;
  if (choices > 1)
    run_.uncovered("which of several allocations of tensor memory is freed depends on the order", e.place);
  else
    run_.misuse(Misuse::Kind::tensor_not_allocated, run_.now, 0, freed->event);
}

void Pools::tensor_alloc(const Event& e) {
  Columns& c = columns_[run_.cta(e.agent)];
  if (e.bytes == 2) check_peer(e);
  const uint32_t last = c.machine.last_count();
  outcome(c.machine.allocate(static_cast<uint32_t>(e.generation), e.count, static_cast<uint32_t>(e.bytes)),
          last, c.relinquish);
  if (!c.all.empty()) {
    const size_t before = c.all.back().event;
    if (run_.trace.agents[run_.trace.events[before].agent.v].warp != run_.trace.agents[e.agent.v].warp)
      run_.misuse(Misuse::Kind::tensor_other_warp, run_.now, 0, before);
  }
  check_increase(c, e);
  take(c.holders, e.agent.v, e.count, run_.now);
  c.all.push_back({run_.here(e.agent.v), run_.now, static_cast<uint32_t>(e.generation), e.count});
  if (e.bytes == 2) c.paired.push_back(c.all.back());
  c.place = e.place;
  run_.tick(e.agent.v);
}

// TC10: the allocation of the peer has to be over before the first of the pair frees. TC9: a paired dealloc
// may wait for that of the peer, so neither may stand behind something that the other CTA does after its own.
void Pools::tensor_dealloc(const Event& e) {
  Columns& c = columns_[run_.cta(e.agent)];
  if (e.bytes == 2 && !c.paired.empty()) {
    const std::vector<Allocation>& peer = columns_[run_.cta(e.agent) ^ 1].paired;
    const size_t n = c.paired.size();
    const bool there = peer.size() >= n;
    if (!there || !knows(run_.strands.row(e.agent.v, Views::causal), peer[n - 1].epoch))
      run_.misuse(Misuse::Kind::peer_not_allocated, run_.now, 0, there ? peer[n - 1].event : no_event);
    const std::vector<Allocation>& freed = columns_[run_.cta(e.agent) ^ 1].freed;
    const size_t turn = c.freed.size();
    if (freed.size() > turn && knows(run_.strands.row(e.agent.v, Views::causal), freed[turn].epoch))
      run_.misuse(Misuse::Kind::peer_frees_before, run_.now, 0, freed[turn].event);
    c.freed.push_back({run_.here(e.agent.v), run_.now});
  }
  check_allocated(c, e);
  outcome(c.machine.free(static_cast<uint32_t>(e.generation), e.count, static_cast<uint32_t>(e.bytes)),
          c.machine.last_count(), c.relinquish);
  take(c.holders, e.agent.v, -int64_t{e.count}, run_.now);
  run_.tick(e.agent.v);
}

// TC7 holds in every schedule only if all allocations come before.
void Pools::tensor_relinquish(const Event& e) {
  Columns& c = columns_[run_.cta(e.agent)];
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  for (const Allocation& a : c.all)
    if (c.relinquish == no_event && !knows(causal, a.epoch)) {
      run_.misuse(Misuse::Kind::tensor_relinquished, a.event, 0, run_.now);
      break;
    }
  c.machine.relinquish();
  c.relinquish = run_.now;
  run_.tick(e.agent.v);
}

void Pools::finish(const std::set<uint32_t>& ended) {
  const Trace& trace = run_.trace;
  for (uint32_t i = 0; i < pools_.size(); ++i) {
    const Pool& p = pools_[i];
    if (!fits(p.holders, trace.pools[i].initial))
      run_.uncovered(
          "more units of \"" + trace.pools[i].name +
              "\" can be wanted at one time than there are: who gets them depends on the order (K7)",
          p.place);
    if (!trace.pools[i].must_return) continue;
    // A strand that is still blocked may give back what others took, unless everybody gives back his own.
    const bool own =
        std::all_of(p.holders.begin(), p.holders.end(), [](const auto& h) { return h.second.held >= 0; });
    int64_t missing = trace.blocked.empty() ? trace.pools[i].initial - p.units : 0;
    size_t last = no_event;
    for (const auto& [strand, h] : p.holders) {
      if (h.held > 0 && ended.contains(strand)) {
        last = h.last;
        if (!trace.blocked.empty() && own) missing += h.held;
      }
    }
    if (missing > 0 && last != no_event)
      run_.misuse(Misuse::Kind::pool_leak, last, i, no_event, static_cast<uint64_t>(missing));
  }
  for (const auto& [cta, c] : columns_) finish_columns(c);
}

void Pools::finish_columns(const Columns& c) {
  if (!fits(c.holders, TensorMemory::columns))
    run_.uncovered("more columns of tensor memory can be wanted at one time than there are (K7)", c.place);
  if (run_.trace.blocked.empty() && c.machine.leaks())
    run_.misuse(Misuse::Kind::tensor_leak, c.all.back().event, 0, no_event, c.machine.used());
}

}  // namespace turnstile::checker
