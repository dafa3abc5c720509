// SPDX-License-Identifier: Apache-2.0
#include "sim/stored_values.h"

#include <algorithm>

#include "sim/program.h"

namespace turnstile::sim {

namespace {

/// Names of the values of a CTA take many times the memory of the values.
constexpr uint64_t most_name_bytes = uint64_t{1} << 29;

bool is_plain_write(const Event& e) {
  return e.kind == EventKind::access && (e.flags & (Event::write | Event::atomic)) == Event::write;
}

bool same_but_for_values(const Event& a, const Event& b) {
  return a.kind == b.kind && a.flags == b.flags && a.scope == b.scope && a.agent == b.agent &&
         a.place == b.place && a.object == b.object && a.footprint == b.footprint && a.count == b.count &&
         (a.bytes == b.bytes || is_plain_write(a)) && a.generation == b.generation;
}

}  // namespace

bool may_name_values(const Program& program, const Launch& launch, uint64_t ctas) {
  const uint64_t warps = (launch.threads() + warp_size - 1) / warp_size;
  const uint64_t registers = warps * program.register_count * warp_size * sizeof(Cells);
  // A warp executes one role out of several, and most registers belong to one.
  return ctas * (registers / 4 + program.shared_bytes * sizeof(Hash128)) <= most_name_bytes;
}

std::optional<NamedValues> name_stored_values(const Program& program, const Launch& launch,
                                              const RunOptions& options, Trace& trace) {
  if (!may_name_values(program, launch, uint64_t{trace.cluster_ctas} * trace.clusters)) return std::nullopt;
  RunOptions again = options;
  again.domain = Domain::names;
  const Dim3 grid = launch.grid;
  again.ctas = {trace.first_cta[0] + grid[0] * (trace.first_cta[1] + grid[1] * trace.first_cta[2])};
  const Result<RunResult> run = run_launch(program, launch, again);
  if (!run || run->traces.size() != 1) return std::nullopt;
  const Trace& named = run->traces.front();
  // The schedule is the same, so that the events are; if they are not, something depends on what another CTA
  // left, and the names say nothing about this trace.
  if (!std::equal(trace.events.begin(), trace.events.end(), named.events.begin(), named.events.end(),
                  same_but_for_values) ||
      trace.footprints != named.footprints || trace.ranges != named.ranges)
    return std::nullopt;
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (is_plain_write(trace.events[i])) trace.events[i].bytes = named.events[i].bytes;
  return NamedValues{run->tapes.front()};
}

}  // namespace turnstile::sim
