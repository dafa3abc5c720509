// SPDX-License-Identifier: Apache-2.0
//
// Registers per thread are added up over warps; 32 threads a warp cancel out of every comparison.
#include "checker/registers.h"

#include <algorithm>
#include <string>

namespace turnstile::checker {

namespace {

size_t warp_count(const Trace& trace) {
  size_t warps = trace.warps;
  for (const AgentInfo& a : trace.agents) warps = std::max<size_t>(warps, size_t{a.warp} + 1);
  return warps;
}

}  // namespace

Registers::Registers(RunState& run) : run_(run), wanted_(warp_count(run.trace)) {}

void Registers::request(uint16_t warp, uint32_t count) { wanted_[warp] = std::max(wanted_[warp], count); }

void Registers::release(const Event& e) {
  request(run_.trace.agents[e.agent.v].warp, e.count);
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  for (const Epoch& grant : grants_) late_release_ |= grant.lane != e.agent.v && knows(causal, grant);
  run_.tick(e.agent.v);
}

void Registers::acquire(const Event& e) {
  request(run_.trace.agents[e.agent.v].warp, e.count);
  if (e.count > e.bytes) grants_.push_back(run_.here(e.agent.v));  // Q18: an equal count takes nothing
  run_.tick(e.agent.v);
}

void Registers::finish() {
  for (const Blocked& b : run_.trace.blocked)
    if (b.on == Blocked::On::registers) return;  // a finding of its own (RG4)
  if (grants_.empty()) return;
  const uint64_t entry = run_.trace.registers_per_thread;
  if (entry == 0) {
    run_.seen.uncovered.push_back(
        {"setmaxnreg.inc, but the registers per thread at entry are not known (RG10)", Uncovered::nowhere,
         false});
    return;
  }
  uint64_t sum = 0;
  for (uint32_t w : wanted_) sum += w == 0 ? entry : w;
  const uint64_t pool = entry * wanted_.size();
  if (sum > pool)
    run_.seen.uncovered.push_back({"all setmaxnreg requests together ask for " + std::to_string(sum) +
                                       " registers (per thread, summed over warps), the CTA has " +
                                       std::to_string(pool) +
                                       ": whether all are granted depends on the order (RG8, K7)",
                                   Uncovered::nowhere});
  else if (late_release_)
    run_.seen.uncovered.push_back(
        {"a warp releases registers only after another one acquired some: the order of grants matters (RG7, "
         "K7)",
         Uncovered::nowhere});
}

RegisterPool register_pool(const Trace& trace) {
  RegisterPool pool;
  pool.held.assign(warp_count(trace), trace.registers_per_thread);
  pool.total = uint64_t{trace.registers_per_thread} * pool.held.size();
  for (const Event& e : trace.events)
    if (e.kind == EventKind::registers_release || e.kind == EventKind::registers_acquire)
      pool.held[trace.agents[e.agent.v].warp] = e.count;
  for (uint32_t h : pool.held) pool.used += h;
  return pool;
}

}  // namespace turnstile::checker
