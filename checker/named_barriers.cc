// SPDX-License-Identifier: Apache-2.0
//
// Named barriers. An instance has its own knowledge, kept until its last waiter has gone on: a slow waiter
// must not import what was contributed to the next instance (algorithms.md section 6, last point).
#include "checker/named_barriers.h"

#include <algorithm>

#include "model/must.h"

namespace turnstile::checker {

NamedBarriers::NamedBarriers(RunState& run, std::vector<uint32_t> slots)
    : run_(run),
      objects_(std::move(slots)),
      states_(objects_.size()),
      knowledge_(run.lanes, run.views, objects_.size()) {
  for (uint32_t n = 0; n < states_.size(); ++n) states_[n].arriving = n;
}

size_t NamedBarriers::slot(uint32_t object) const {
  const auto at = std::lower_bound(objects_.begin(), objects_.end(), object);
  must(at != objects_.end() && *at == object, "every named barrier of the trace has a slot");
  return static_cast<size_t>(at - objects_.begin());
}

bool NamedBarriers::completion_known(uint32_t* causal, size_t n) {
  const State& s = states_[n];
  const Epoch completion{run_.lanes.named(static_cast<uint32_t>(n)),
                         static_cast<uint32_t>(s.machine.instance())};
  if (knows(causal, completion)) return true;
  if (!std::all_of(s.last.begin(), s.last.end(),
                   [&](const Contribution& c) { return knows(causal, c.epoch); }))
    return false;
  causal[completion.lane] = completion.value;
  return true;
}

void NamedBarriers::misuse(NamedMisuse::Kind kind, size_t n, size_t event, size_t other) {
  run_.seen.named.push_back({kind, objects_[n], states_[n].machine.instance(), event, other});
}

void NamedBarriers::contribute(const Event& e) {
  const size_t n = slot(e.object);
  State& s = states_[n];
  const uint32_t strand = e.agent.v;
  uint32_t* knowledge = run_.strands.all(strand);
  if (s.refused) return run_.tick(strand);
  if (!completion_known(knowledge, n)) {  // D3
    Breach breach;
    breach.kind = Breach::Kind::foreign_arrival;
    breach.named = true;
    breach.object = e.object;
    breach.generation = s.machine.instance();
    breach.event = breach.found = run_.now;
    run_.seen.breaches.push_back(breach);
  }
  const bool waits = e.has(Event::waits);
  const AgentInfo& info = run_.trace.agents[strand];
  for (const Contribution& c : s.open) {  // N7: the same warp twice, in the same form, in one instance
    const Event& earlier = run_.trace.events[c.event];
    if (run_.trace.agents[earlier.agent.v].warp == info.warp && c.waits == waits &&
        earlier.bytes + e.bytes > std::max(32u, info.threads))
      misuse(NamedMisuse::Kind::twice, n, run_.now, c.event);
  }
  if (s.open.empty()) std::fill_n(knowledge_.all(s.arriving), knowledge_.stride(), 0u);
  run_.publish(knowledge_.all(s.arriving), knowledge, true);
  const size_t first = s.open.empty() ? no_event : s.open.front().event;
  s.open.push_back({run_.here(strand), run_.now, waits});
  run_.tick(strand);
  switch (s.machine.contribute(e.count, static_cast<uint32_t>(e.bytes), e.has(Event::whole_cta))) {
    case NamedBarrier::Outcome::ok:
      return;
    case NamedBarrier::Outcome::completed:
      return complete(n);
    case NamedBarrier::Outcome::count_mismatch:
      misuse(NamedMisuse::Kind::count_mismatch, n, run_.now, first);
      break;
    case NamedBarrier::Outcome::over_arrival:
      misuse(NamedMisuse::Kind::over_arrival, n, run_.now, first);
      break;
    case NamedBarrier::Outcome::bad_count:
      misuse(NamedMisuse::Kind::bad_count, n, run_.now, first);
      break;
  }
  s.refused = true;
}

void NamedBarriers::complete(size_t n) {
  State& s = states_[n];
  const auto waiters = static_cast<uint32_t>(
      std::count_if(s.open.begin(), s.open.end(), [](const Contribution& c) { return c.waits; }));
  knowledge_.row(s.arriving, Views::causal)[run_.lanes.named(static_cast<uint32_t>(n))] =
      static_cast<uint32_t>(s.machine.instance());
  if (waiters == 0) {
    misuse(NamedMisuse::Kind::arrives_only, n, run_.now, s.open.front().event);
  } else {
    s.finished.push_back({s.machine.instance(), waiters, s.arriving});
    s.arriving = knowledge_.take();
  }
  std::swap(s.last, s.open);
  s.open.clear();
}

void NamedBarriers::exit(const Event& e) {
  if (objects_.empty()) return;
  std::vector<uint32_t>& all = exits_[run_.cta(e.agent)];
  all.resize(run_.lanes.width);
  join(all.data(), run_.strands.row(e.agent.v, Views::causal), all.size());
}

// N8: the instance waited for threads that have ended, and names no count; who goes on knows that they have.
bool NamedBarriers::release_by_exits(size_t n) {
  State& s = states_[n];
  const auto ended = exits_.find(objects_[n] / 16);
  if (ended == exits_.end() || !s.machine.releasable() || !s.machine.release()) return false;
  join(knowledge_.row(s.arriving, Views::causal), ended->second.data(), run_.lanes.width);
  complete(n);
  return true;
}

void NamedBarriers::pass(const Event& e) {
  State& s = states_[slot(e.object)];
  if (s.refused) return;
  const auto find = [&] {
    return std::find_if(s.finished.begin(), s.finished.end(),
                        [&](const Finished& f) { return f.instance == e.generation; });
  };
  auto at = find();
  if (at == s.finished.end() && e.generation == s.machine.instance() + 1 && release_by_exits(slot(e.object)))
    at = find();
  if (at == s.finished.end()) {
    run_.seen.inconsistent = "a bar.sync passes in an instance that is not complete";
    return;
  }
  run_.observe(run_.strands.all(e.agent.v), knowledge_.all(at->knowledge), true);
  if (--at->waiters == 0) {
    knowledge_.give_back(at->knowledge);
    s.finished.erase(at);
  }
}

}  // namespace turnstile::checker
