// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/grid.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace turnstile::sim {

namespace {

constexpr uint64_t l2_bytes = 60 << 20;  ///< of an H200
constexpr uint64_t shared_of_sm = 228 * 1024, registers_of_sm = 65536, threads_of_sm = 2048, ctas_of_sm = 32;
constexpr uint64_t register_step = 256;  ///< a warp gets registers in steps of that many

}  // namespace

uint32_t resident_ctas(const Program& program, const Launch& launch) {
  const uint64_t warps = (launch.threads() + 31) / 32;
  uint64_t most = std::min(ctas_of_sm, threads_of_sm / (warps * 32));
  if (program.shared_bytes != 0) most = std::min(most, shared_of_sm / program.shared_bytes);
  const uint64_t registers =
      (uint64_t{program.registers_per_thread} * 32 + register_step - 1) / register_step * register_step;
  if (registers != 0) most = std::min(most, registers_of_sm / (registers * warps));
  return static_cast<uint32_t>(std::max<uint64_t>(1, most));
}

uint32_t active_sms(const Launch& launch, uint32_t machine_sms) {
  return static_cast<uint32_t>(std::min<uint64_t>(machine_sms, launch.cta_count()));
}

double load_sharing(const Launch& launch, const Trace& trace, uint32_t machine_sms) {
  std::set<uint32_t> buffers;
  uint64_t loaded = 0;
  for (const Event& e : trace.events) {
    if (e.kind != EventKind::async_access || e.has(Event::write) || e.has(Event::tensormap)) continue;
    const Footprint& f = trace.footprints[e.footprint];
    if (f.space != Space::global || trace.ops[e.object].kind != AsyncOp::Kind::bulk_load) continue;
    if (f.allocation < launch.buffers.size()) buffers.insert(f.allocation);
    for (uint32_t i = 0; i < f.range_count; ++i) {
      const ByteRange& r = trace.ranges[f.first_range + i];
      loaded += (r.end - r.begin) * r.count;
    }
  }
  uint64_t there = 0;
  for (const uint32_t b : buffers) there += launch.buffers[b].bytes;
  if (there == 0) return 1;
  const double ctas =
      static_cast<double>(launch.cta_count()) / std::max(1u, trace.cluster_ctas * trace.clusters);
  return std::clamp(static_cast<double>(loaded) * ctas / static_cast<double>(there), 1.0,
                    static_cast<double>(active_sms(launch, machine_sms)));
}

GridEstimate estimate_grid(const Launch& launch, uint32_t resident, const Timeline& timeline,
                           const LatencyModel& model, uint32_t machine_sms) {
  GridEstimate grid;
  grid.resident = resident;
  const uint64_t per_sm = (launch.cta_count() + machine_sms - 1) / machine_sms;
  const uint64_t together = std::min<uint64_t>(resident, per_sm);
  grid.waves = (per_sm + together - 1) / together;
  // CTAs of one SM share its engines.
  const uint64_t wave =
      std::max(timeline.cycles, together * std::max(timeline.copy_busy, timeline.matrix_busy));
  grid.cycles =
      grid.waves * wave + (grid.waves - 1) * static_cast<uint64_t>(std::llround(model.cta_turnaround));
  uint64_t bytes = 0;
  for (const Buffer& b : launch.buffers) bytes += b.bytes;
  grid.memory_cycles = static_cast<uint64_t>(static_cast<double>(bytes) / (model.memory_rate * machine_sms));
  grid.bound_by_memory = bytes > l2_bytes && grid.memory_cycles > grid.cycles;
  if (grid.bound_by_memory) grid.cycles = grid.memory_cycles;
  // The clock depends on how long the tensor cores work, which depends on the clock.
  const double busy = static_cast<double>(grid.waves * together * timeline.matrix_busy) /
                      static_cast<double>(std::max<uint64_t>(1, grid.cycles));
  const double active = static_cast<double>(active_sms(launch, machine_sms)) / machine_sms;
  grid.clock_mhz = model.clock_mhz;
  for (int i = 0; i < 4; ++i)
    grid.clock_mhz = clock_under_load(model, busy, active, static_cast<double>(grid.cycles) / grid.clock_mhz);
  grid.microseconds = model.launch_us + static_cast<double>(grid.cycles) / grid.clock_mhz;
  return grid;
}

}  // namespace turnstile::sim
