// SPDX-License-Identifier: Apache-2.0
//
// Lifetime of a CTA that others reach into. Kept is the last touch on each lane, which covers the earlier
// ones.
#include "checker/lifetime.h"

#include <algorithm>
#include <set>

namespace turnstile::checker {

// D1 is checked where the trace tells when a CTA starts to be there: where its barriers are initialised by
// somebody, or it has none. A text that takes its barriers as given takes the CTAs as given.
Lifetime::Lifetime(RunState& run) : run_(run), not_started_reported_(run.trace.places.size()) {
  start_told_ = std::none_of(run.trace.barriers.begin(), run.trace.barriers.end(),
                             [](const BarrierInfo& b) { return b.initial_count != 0; });
}

void Lifetime::note(uint16_t cta, Epoch epoch, size_t event, uint32_t barrier) {
  std::vector<Touch>& lanes = touched_[cta];
  if (lanes.empty()) lanes.resize(run_.lanes.width);
  Touch& last = lanes[epoch.lane];
  if (epoch.value >= last.value) last = {epoch.value, event, barrier};
}

void Lifetime::check_started(const Event& e, uint16_t cta, uint32_t barrier) {
  if (!start_told_ || not_started_reported_[e.place]) return;
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  for (uint32_t a = 0; a < run_.trace.agents.size(); ++a)
    if (run_.trace.agents[a].cta == cta && causal[run_.lanes.agent(a)] > 0) return;
  not_started_reported_[e.place] = true;
  run_.misuse(Misuse::Kind::target_not_started, run_.now, barrier, no_event, cta);
}

void Lifetime::touch(const Event& e, uint16_t cta, uint32_t barrier) {
  if (cta == run_.cta(e.agent)) return;
  check_started(e, cta, barrier);
  note(cta, run_.here(e.agent.v), run_.now, barrier);
}

void Lifetime::land(size_t issue_event, uint16_t cta, Epoch epoch, uint32_t barrier) {
  note(cta, epoch, issue_event, barrier);
}

void Lifetime::exit(const Event& e) {
  std::vector<uint32_t>& all = at_exit_[run_.cta(e.agent)];
  all.resize(run_.lanes.width);
  join(all.data(), run_.strands.row(e.agent.v, Views::causal), all.size());
  last_exit_[run_.cta(e.agent)] = run_.now;
}

void Lifetime::finish() {
  std::set<uint16_t> alive;
  for (const Blocked& b : run_.trace.blocked) alive.insert(run_.cta(b.agent));
  for (const auto& [cta, lanes] : touched_) {
    const auto end = at_exit_.find(cta);
    if (end == at_exit_.end() || alive.contains(cta)) continue;
    for (uint32_t lane = 0; lane < lanes.size(); ++lane)
      if (lanes[lane].value != 0 && !knows(end->second.data(), {lane, lanes[lane].value}))
        run_.misuse(Misuse::Kind::target_exited, lanes[lane].event, lanes[lane].barrier, last_exit_[cta],
                    cta);
  }
}

}  // namespace turnstile::checker
