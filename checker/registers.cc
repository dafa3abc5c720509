// SPDX-License-Identifier: Apache-2.0
//
// Registers per thread are added up over warps; 32 threads a warp cancel out of every comparison.
#include "checker/registers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace turnstile::checker {

namespace {

constexpr size_t most_requests = 1024;

size_t warp_count(const Trace& trace, uint16_t cta) {
  size_t warps = trace.warps / (size_t{std::max(1u, trace.cluster_ctas)} * std::max(1u, trace.clusters));
  for (const AgentInfo& a : trace.agents)
    if (a.cta == cta) warps = std::max<size_t>(warps, size_t{a.warp} + 1);
  return warps;
}

}  // namespace

Registers::Registers(RunState& run) : run_(run) {}

void Registers::request(AgentId agent, uint32_t count) {
  const AgentInfo& info = run_.trace.agents[agent.v];
  std::vector<uint32_t>& wanted = wanted_[info.cta];
  if (wanted.empty()) wanted.resize(warp_count(run_.trace, info.cta));
  wanted[info.warp] = std::max(wanted[info.warp], count);
}

// RG1: before a warp group asks again its warps have to have met after the request before. Of kernels only:
// in a text a role asks as one, whatever warps it stands for.
void Registers::turn(const Event& e) {
  if (run_.trace.places[e.place].ptx_file.empty()) return;
  const AgentInfo& info = run_.trace.agents[e.agent.v];
  std::vector<std::vector<Epoch>>& warps = turns_[uint32_t{info.cta} << 16 | info.warp / 4u];
  warps.resize(4);
  const size_t number = warps[info.warp % 4u].size();
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  const bool met = number == 0 || std::all_of(warps.begin(), warps.end(), [&](const std::vector<Epoch>& w) {
                     return w.empty() || (w.size() >= number && knows(causal, w[number - 1]));
                   });
  if (!met && std::exchange(told_unmet_, true) == false) run_.misuse(Misuse::Kind::registers_unmet, run_.now);
  warps[info.warp % 4u].push_back(run_.here(e.agent.v));
}

// One more than are looked at says that there are too many.
void Registers::note(const Event& e) {
  if (requests_.size() > most_requests) return;
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  const AgentInfo& info = run_.trace.agents[e.agent.v];
  requests_.push_back({info.cta, info.warp, int64_t{e.count} - static_cast<int64_t>(e.bytes),
                       run_.here(e.agent.v), std::vector<uint32_t>(causal, causal + run_.lanes.width)});
}

void Registers::release(const Event& e) {
  turn(e);
  note(e);
  request(e.agent, e.count);
  const uint32_t* causal = run_.strands.row(e.agent.v, Views::causal);
  for (const Epoch& grant : grants_)  // CTAs have pools of their own
    late_release_ |= grant.lane != e.agent.v && knows(causal, grant) &&
                     run_.trace.agents[grant.lane].cta == run_.cta(e.agent);
  run_.tick(e.agent.v);
}

void Registers::acquire(const Event& e) {
  turn(e);
  note(e);
  request(e.agent, e.count);
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
  std::optional<bool> decided;
  const auto always = [&] {
    if (!decided) decided = requests_.size() <= most_requests && always_granted(requests_);
    return *decided;
  };
  for (const auto& [cta, wanted] : wanted_) {
    uint64_t sum = 0;
    for (uint32_t w : wanted) sum += w == 0 ? entry : w;
    if (const uint64_t pool = entry * wanted.size(); sum > pool && !always())
      return run_.uncovered("all setmaxnreg requests together ask for " + std::to_string(sum) +
                                " registers (per thread, summed over warps), the CTA has " +
                                std::to_string(pool) +
                                ": whether all are granted depends on the order (RG8, K7)",
                            Uncovered::nowhere);
  }
  if (late_release_ && !always())
    run_.uncovered(
        "a warp releases registers only after another one acquired some: the order of grants matters (RG7, "
        "K7)",
        Uncovered::nowhere);
}

RegisterPool register_pool(const Trace& trace, uint16_t cta) {
  RegisterPool pool;
  pool.held.assign(warp_count(trace, cta), trace.registers_per_thread);
  pool.total = uint64_t{trace.registers_per_thread} * pool.held.size();
  for (const Event& e : trace.events)
    if ((e.kind == EventKind::registers_release || e.kind == EventKind::registers_acquire) &&
        trace.agents[e.agent.v].cta == cta)
      pool.held[trace.agents[e.agent.v].warp] = e.count;
  for (uint32_t h : pool.held) pool.used += h;
  return pool;
}

}  // namespace turnstile::checker
