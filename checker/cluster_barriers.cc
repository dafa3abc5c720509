// SPDX-License-Identifier: Apache-2.0
//
// Cluster barriers. A generation is complete when its contributions reach the count, or, if threads have
// ended (C5), at the latest when the first wait for it passes: nobody can have arrived in the next one
// before. What is published at an arrival is kept apart for each generation, as with named barriers.
#include "checker/cluster_barriers.h"

#include <algorithm>

namespace turnstile::checker {

ClusterBarriers::ClusterBarriers(RunState& run, Fences& fences)
    : run_(run),
      fences_(fences),
      clusters_(std::max(1u, run.trace.clusters)),
      seats_(run.trace.agents.size()) {
  knowledge_ = KnowledgeTable(run.lanes, run.views, 3 * clusters_.size());
}

size_t ClusterBarriers::cluster_of(const Event& e) const {
  const size_t c = run_.cta(e.agent) / std::max(1u, run_.trace.cluster_ctas);
  return std::min(c, clusters_.size() - 1);
}

ClusterBarriers::Warp& ClusterBarriers::warp_of(const Event& e) {
  return warps_[{run_.cta(e.agent), run_.trace.agents[e.agent.v].warp}];
}

void ClusterBarriers::arrive(const Event& e) {
  const size_t n = cluster_of(e);
  Cluster& c = clusters_[n];
  Seat& seat = seats_[e.agent.v];
  Warp& warp = warp_of(e);
  if (seat.arrived_in == c.generation + 1)
    run_.misuse(Misuse::Kind::cluster_twice, run_.now, 0, seat.arrival);  // C1
  else if (seat.arrived_in > warp.waited_for)
    run_.misuse(Misuse::Kind::cluster_no_wait, run_.now, 0, seat.arrival);  // Q15, D3
  if (!c.open) std::fill_n(knowledge_.all(arriving(n)), knowledge_.stride(), 0u);
  c.open = true;
  run_.publish(knowledge_.all(arriving(n)), run_.strands.all(e.agent.v), e.has(Event::release));
  // C3: a relaxed arrival publishes what a release fence before it covers.
  const uint32_t* head = e.has(Event::release) ? nullptr : fences_.head(e.agent.v, Scope::cluster);
  if (head != nullptr) run_.publish(knowledge_.all(arriving(n)), head, true);
  seat.arrived_in = warp.arrived_in = c.generation + 1;
  seat.arrival = run_.now;
  c.arrived += e.count;
  run_.tick(e.agent.v);
  if (run_.trace.cluster_barrier_count != 0 && c.arrived >= run_.trace.cluster_barrier_count) complete(n);
}

void ClusterBarriers::complete(size_t n) {
  Cluster& c = clusters_[n];
  const bool by_exits = c.arrived < run_.trace.cluster_barrier_count;
  if (by_exits && !c.ended.empty())
    join(knowledge_.row(arriving(n), Views::causal), c.ended.data(), run_.lanes.width);
  ++c.generation;
  std::copy_n(knowledge_.all(arriving(n)), knowledge_.stride(), knowledge_.all(done(n, c.generation)));
  c.open = false;
  c.arrived = 0;
}

void ClusterBarriers::wait(const Event& e) {
  const size_t n = cluster_of(e);
  Cluster& c = clusters_[n];
  Warp& warp = warp_of(e);
  if (e.generation == c.generation + 1 && c.open) complete(n);
  if (e.generation == 0 || e.generation > c.generation || e.generation + 2 <= c.generation) {
    run_.seen.inconsistent =
        "a cluster barrier lets a wait pass in a generation that is not the one complete";
    return;
  }
  if (warp.arrived_in < e.generation) run_.misuse(Misuse::Kind::cluster_no_arrive, run_.now);  // C2
  warp.waited_for = e.generation;
  run_.observe(run_.strands.all(e.agent.v), knowledge_.all(done(n, e.generation)), e.has(Event::acquire));
  run_.tick(e.agent.v);
}

void ClusterBarriers::exit(const Event& e) {
  Cluster& c = clusters_[cluster_of(e)];
  // Who has arrived in the open generation is not waited for there: its end tells nothing.
  if (run_.trace.cluster_barrier_count == 0 || seats_[e.agent.v].arrived_in > c.generation) return;
  c.ended.resize(run_.lanes.width);
  join(c.ended.data(), run_.strands.row(e.agent.v, Views::causal), run_.lanes.width);
}

}  // namespace turnstile::checker
