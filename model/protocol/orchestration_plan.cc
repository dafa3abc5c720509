// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/orchestration_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

#include "model/protocol/mbarrier.h"

namespace turnstile {

namespace {

unsigned bits_for(uint64_t largest) { return static_cast<unsigned>(std::bit_width(largest)); }

}  // namespace

OrchestrationPlan::OrchestrationPlan(const Orchestration& program) {
  const Trace& t = program.tables;
  ctas = std::max<uint32_t>(1, t.cluster_ctas);
  for (const AgentInfo& a : t.agents) ctas = std::max<uint32_t>(ctas, a.cta + 1u);
  for (const BarrierInfo& b : t.barriers) ctas = std::max<uint32_t>(ctas, b.cta + 1u);
  strands_of_cta.assign(ctas, 0);
  for (uint32_t s = 0; s < program.strands.size(); ++s) {
    ++strands_of_cta[t.agents[s].cta];
    const Orchestration::Strand& strand = program.strands[s];
    strands.push_back({static_cast<uint32_t>(strand.events.size()), bits_for(strand.events.size()),
                       t.agents[s].cta, strand.whole, false});
  }
  plan_ops(program);
  plan_events(program);
  plan_barriers(program);
  plan_registers(program);
  has_rest = !named.empty() || uses_cluster || uses_registers || uses_tensor_memory || exits_leave ||
             !t.signals.empty() || !t.pools.empty();
}

void OrchestrationPlan::plan_ops(const Orchestration& program) {
  const Trace& t = program.tables;
  ops.resize(t.ops.size());
  for (const Orchestration::Strand& s : program.strands)
    for (const Event& e : s.events)
      if (e.kind == EventKind::async_issue) ++ops[e.object].issues;
  uint32_t most = 0;
  for (uint32_t o = 0; o < ops.size(); ++o) {
    const std::vector<Event>& lands = program.operations[o];
    Op& op = ops[o];
    op.phases = op.issues + static_cast<uint32_t>(lands.size());
    op.reads_done = op.issues;
    op.tensor.kind = t.ops[o].kind;
    if (op.tensor.kind == AsyncOp::Kind::tensor_commit && program.commits_in_order &&
        t.ops[o].barrier != AsyncOp::none)
      op.tensor.arrives_in = t.barriers[t.ops[o].barrier].cta;
    for (uint32_t i = 0; i < lands.size(); ++i) {
      if (lands[i].kind != EventKind::async_access) continue;
      if (!lands[i].has(Event::write)) op.reads_done = op.issues + i + 1;
      if (lands[i].has(Event::write) && t.footprints[lands[i].footprint].space == Space::tensor &&
          !op.tensor.accumulates) {
        op.tensor.accumulates = true;
        op.tensor.accumulator = lands[i].footprint;
      }
    }
    if (t.ops[o].queue != AsyncOp::none) op.order = queue_order(t.queues[t.ops[o].queue]);
    most = std::max(most, op.phases);
  }
  op_bits = bits_for(ops.empty() ? 0 : ops.size() - 1);
  phase_bits = bits_for(most);
}

void OrchestrationPlan::plan_events(const Orchestration& program) {
  std::map<uint32_t, std::pair<std::vector<uint32_t>, uint32_t>> found;  // strands, largest count
  for (uint32_t s = 0; s < program.strands.size(); ++s)
    for (const Event& e : program.strands[s].events) {
      exits_leave |= e.kind == EventKind::exit && e.count != 0;
      uses_cluster |= e.kind == EventKind::cluster_arrive || e.kind == EventKind::cluster_wait;
      uses_registers |= e.kind == EventKind::registers_release || e.kind == EventKind::registers_acquire;
      uses_tensor_memory |= e.kind == EventKind::tensor_alloc || e.kind == EventKind::tensor_dealloc ||
                            e.kind == EventKind::tensor_relinquish;
      if (e.kind != EventKind::named_barrier_arrive && e.kind != EventKind::named_barrier_pass) continue;
      strands[s].passes |= e.kind == EventKind::named_barrier_pass;
      auto& [participants, largest] = found[e.object];
      if (participants.empty() || participants.back() != s) participants.push_back(s);
      largest = std::max(largest, e.count);
    }
  if (!found.empty()) named_at.assign(found.rbegin()->first + size_t{1}, none);
  for (auto& [object, what] : found) {
    named_at[object] = static_cast<uint32_t>(named.size());
    Named n;
    n.object = object;
    n.first = contributions;
    n.count_bits = bits_for(what.second);
    n.participants = std::move(what.first);
    contributions += static_cast<uint32_t>(n.participants.size());
    named.push_back(std::move(n));
  }
}

void OrchestrationPlan::plan_barriers(const Orchestration& program) {
  const Trace& t = program.tables;
  struct Seen {
    uint64_t largest = 0, first_count = 0, unit = 0, raises = 0;
  };
  std::vector<Seen> seen(t.barriers.size());
  barriers.resize(t.barriers.size());
  const auto count = [&](uint32_t b, uint64_t expected) {
    Seen& s = seen[b];
    if (s.first_count != 0 && s.first_count != expected) barriers[b].resizes = true;
    s.first_count = expected;
    s.largest = std::max(s.largest, expected);
  };
  const auto bytes = [&](uint32_t b, uint64_t amount) {
    barriers[b].counts_tx = true;
    seen[b].unit = std::gcd(seen[b].unit, amount);
  };
  for (uint32_t b = 0; b < t.barriers.size(); ++b)
    if (t.barriers[b].initial_count != 0) count(b, t.barriers[b].initial_count);
  for (const Orchestration::Strand& strand : program.strands)
    for (const Event& e : strand.events) {
      if (e.kind == EventKind::mbarrier_init) {
        barriers[e.object].lives = true;
        count(e.object, e.count);
      } else if (e.kind == EventKind::mbarrier_inval) {
        barriers[e.object].lives = true;
      } else if (e.kind == EventKind::mbarrier_expect_tx) {
        bytes(e.object, e.bytes);
      } else if (e.kind == EventKind::mbarrier_arrive) {
        barriers[e.object].resizes |= e.has(Event::drops);
        if (e.has(Event::expects_bytes)) bytes(e.object, e.bytes);
      } else if (e.kind == EventKind::async_issue && t.ops[e.object].barrier != AsyncOp::none) {
        const AsyncOp& op = t.ops[e.object];
        if (op.kind == AsyncOp::Kind::cp_async)
          ++seen[op.barrier].raises;
        else if (op.kind != AsyncOp::Kind::tensor_commit)
          bytes(op.barrier, op.bytes);
      }
    }
  std::map<std::pair<uint16_t, uint64_t>, std::vector<uint32_t>> places;
  for (uint32_t b = 0; b < barriers.size(); ++b) {
    barriers[b].count_bits =
        bits_for(std::min<uint64_t>(seen[b].largest + seen[b].raises, Mbarrier::max_count));
    barriers[b].expected = static_cast<uint32_t>(seen[b].first_count);
    // Where even one amount is out of range the count stays 0 (MB17).
    const bool in_range = seen[b].unit != 0 && seen[b].unit <= static_cast<uint64_t>(Mbarrier::max_tx);
    barriers[b].tx_unit = in_range ? static_cast<int32_t>(seen[b].unit) : 1;
    if (barriers[b].lives) places[{t.barriers[b].cta, t.barriers[b].address}].push_back(b);
  }
  for (const auto& [place, all] : places)
    for (uint32_t b : all)
      for (uint32_t other : all)
        if (b != other) barriers[b].same_place.push_back(other);
}

// Warps 4k to 4k + 3 of a CTA are one warp group; an agent that stands for 128 threads or more is one alone.
void OrchestrationPlan::plan_registers(const Orchestration& program) {
  if (!uses_registers) return;
  const Trace& t = program.tables;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> numbers;
  for (uint32_t s = 0; s < program.strands.size(); ++s) {
    const AgentInfo& a = t.agents[s];
    const bool alone = a.threads >= 128;
    const std::tuple<uint32_t, uint32_t, uint32_t> key{a.cta, alone ? 1u : 0u, alone ? s : a.warp / 4u};
    const auto [at, fresh] = numbers.try_emplace(key, static_cast<uint32_t>(register_groups.size()));
    if (fresh) register_groups.push_back({a.cta, 0, {}});
    RegisterGroupInfo& group = register_groups[at->second];
    const uint32_t warp = alone ? 0 : a.warp % 4u;
    group.members |= 1u << warp;
    group.strands.push_back(s);
    register_group_of.push_back(at->second);
    register_warp_of.push_back(warp);
  }
}

}  // namespace turnstile
