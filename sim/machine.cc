// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <algorithm>

#include "model/must.h"
#include "sim/arrivals.h"
#include "sim/narrow_scopes.h"
#include "sim/position_tracker.h"
#include "sim/tickets.h"

namespace turnstile::sim {

Machine::Machine(const Program& p, const Launch& l, GlobalMemory& g, const RunOptions& o,
                 std::span<const uint32_t> numbers)
    : program(p),
      launch(l),
      global(g),
      options(o),
      recorder(o.event_limit),
      flags(!p.flag_polls.empty() || o.arrivals != nullptr),
      barriers(numbers.size() / p.cluster_size(), ClusterBarrier(p.cluster_size() * l.threads())),
      cluster_size_(p.cluster_size()) {
  must(!numbers.empty() && numbers.size() % cluster_size_ == 0, "a machine holds whole clusters");
  arrived.resize(barriers.size());
  Trace& trace = recorder.trace();
  trace.kernel = p.entry->name;
  trace.places = p.places;
  trace.registers_per_thread = p.registers_per_thread;
  trace.cluster_ctas = cluster_size_;
  trace.clusters = static_cast<uint32_t>(barriers.size());
  for (const Buffer& b : l.buffers) {
    if (b.previous_kernel)
      trace.previous_kernel.push_back(static_cast<uint32_t>(trace.allocation_names.size()));
    trace.allocation_names.push_back(b.name);
  }
  for (const std::string& name : p.variable_names) trace.allocation_names.push_back(name);
  add_shared_names(p, l, trace);
  if (o.work_of != nullptr) {
    recorder.count_work();
    for (const Place& place : p.places) work.push_back(o.work_of(place.instruction));
  }
  for (uint32_t number : numbers) {
    const Dim3 position{number % l.grid[0], number / l.grid[0] % l.grid[1], number / l.grid[0] / l.grid[1]};
    ctas.push_back(std::make_unique<Cta>(*this, static_cast<uint16_t>(ctas.size()), position));
    trace.warps += static_cast<uint32_t>(ctas.back()->warps.size());
  }
  for (size_t i = 0; i < 3; ++i) trace.first_cta[i] = ctas.front()->position[i];
  // Values that come through flags are not followed; nor, with names, a cluster that launch control hands
  // over, or a ticket.
  const bool named = o.domain == Domain::names;
  if (!o.follow_position || (o.domain != Domain::control && !named) || barriers.size() != 1 || flags.any() ||
      (named && (o.clusters_to_cancel != 0 || o.tickets != nullptr)))
    return;
  positions = std::make_unique<PositionTracker>(p, l, named);
  for (auto& cta : ctas) positions->start(*cta);
  recorder.positions = positions.get();
}

Machine::~Machine() = default;

// One schedule (ALG 5.3): every warp runs until none of its lanes can move; when no warp moved, the oldest
// operation in flight lands; the run ends when nothing moves. Any schedule would do: the checker proves from
// this one that all others are the same (ALG section 3).
Trace Machine::run() {
  while (!stopped_) {
    bool moved = false;
    for (auto& cta : ctas) {
      moved |= cta->run_warps();
      if (stopped_) break;
    }
    if (stopped_ || moved || land_one()) continue;
    note_blocked();
    break;
  }
  while (!stopped_ && land_one()) {
  }
  for (auto& cta : ctas) cta->check_register_turns();
  for (auto& cta : ctas) cta->check_optional_meetings();
  if (options.tickets != nullptr) note_other_accesses(*options.tickets, program, recorder);
  if (options.arrivals != nullptr) note_other_accesses(*options.arrivals, program, global, recorder);
  if (positions != nullptr) tape_ = positions->finish(*this);
  recorder.trace().cut_short = stopped_;
  mark_after_answer();
  flags.finish(recorder);
  look_for_narrow_atomics();
  if (narrow_atomics_ || flags.any()) unmark_narrow_atomics(recorder.trace());
  return std::move(recorder.trace());
}

void Machine::look_for_narrow_atomics() {
  narrow_atomics_ = narrow_atomics_ || has_narrow_atomics(recorder.trace(), looked_at_);
  looked_at_ = recorder.trace().events.size();
}

// Other CTAs may be done by then: perhaps that is what the answer said.
void Machine::mark_after_answer() {
  if (!first_answer) return;
  std::vector<Event>& events = recorder.trace().events;
  for (size_t i = *first_answer; i < events.size(); ++i)
    if (events[i].kind == EventKind::access || events[i].kind == EventKind::async_access)
      events[i].flags |= Event::conditional;
}

// A wait for a flag that a CTA outside may set is no hang: nobody knows what comes after it.
void Machine::note_blocked() {
  for (auto& cta : ctas) cta->note_blocked();
  Trace& trace = recorder.trace();
  for (const auto& cta : ctas)
    for (const auto& warp : cta->warps)
      if (!warp->bodies.empty()) {
        recorder.unknown(
            warp->bodies.front().branch,
            "it depends on a value that this launch does not give whether warps go where they wait "
            "for something that does not come",
            "give the values that the branch depends on");
        for (const Blocked& b : trace.blocked) trace.live_pollers.push_back(b.agent);
        trace.blocked.clear();
        return;
      }
  if (covers_launch() || !program.waits_globally) return;
  const bool outside = std::any_of(trace.blocked.begin(), trace.blocked.end(),
                                   [](const Blocked& b) { return b.on == Blocked::On::signal; });
  if (!outside) return;
  recorder.unknown(trace.blocked.front().place,
                   "a loop waits for a flag that a CTA which was not executed with it may set",
                   "a smaller grid, whose CTAs can all be executed together, may decide it");
  for (const Blocked& b : trace.blocked) trace.live_pollers.push_back(b.agent);
  trace.blocked.clear();
}

std::vector<uint32_t> Machine::unfinished_clusters() const {
  std::vector<uint32_t> out;
  for (uint32_t c = 0; c < barriers.size(); ++c)
    if (std::any_of(ctas.begin() + c * cluster_size_, ctas.begin() + (c + 1) * cluster_size_,
                    [](const auto& cta) { return !cta->ended(); }))
      out.push_back(c);
  return out;
}

std::string why_together(const Program& program, const Launch& launch, bool& together) {
  together = false;
  if (!program.waits_globally || launch.cta_count() == program.cluster_size()) return {};
  together = launch.cta_count() <= most_machine_ctas &&
             launch.cta_count() * launch.threads() <= most_machine_threads;
  return "its CTAs wait for each other through flags in global memory";
}

bool Machine::land_one() {
  Cta* oldest = nullptr;
  for (auto& cta : ctas)
    if (cta->oldest_in_flight() != AsyncOp::none &&
        (oldest == nullptr || cta->oldest_in_flight() < oldest->oldest_in_flight()))
      oldest = cta.get();
  return oldest != nullptr && oldest->land_one();
}

uint32_t cluster_of(const Program& program, const Launch& launch, uint32_t cta) {
  const Dim3 c = program.cluster;
  const uint32_t x = cta % launch.grid[0] / c[0], y = cta / launch.grid[0] % launch.grid[1] / c[1],
                 z = cta / launch.grid[0] / launch.grid[1] / c[2];
  return x + launch.grid[0] / c[0] * (y + launch.grid[1] / c[1] * z);
}

std::vector<uint32_t> ctas_of_cluster(const Program& program, const Launch& launch, uint32_t cluster) {
  const Dim3 c = program.cluster;
  const uint32_t across = launch.grid[0] / c[0], down = launch.grid[1] / c[1];
  const uint32_t x0 = cluster % across * c[0], y0 = cluster / across % down * c[1],
                 z0 = cluster / across / down * c[2];
  std::vector<uint32_t> out;
  for (uint32_t z = 0; z < c[2]; ++z)
    for (uint32_t y = 0; y < c[1]; ++y)
      for (uint32_t x = 0; x < c[0]; ++x)
        out.push_back(x0 + x + launch.grid[0] * (y0 + y + launch.grid[1] * (z0 + z)));
  return out;
}

}  // namespace turnstile::sim
