// SPDX-License-Identifier: Apache-2.0
//
// The state of an orchestration as a short string of bits. Left out is what follows from the rest: who waits
// at a bar.sync (the position says it), which operations are done (issued, and not in flight), which strands
// and CTAs have ended; and of generations all but the parity (OrchestrationMachine::save).
#include <algorithm>

#include "model/protocol/bit_stream.h"
#include "model/protocol/orchestration_machine.h"
#include "model/protocol/orchestration_plan.h"
#include "model/protocol/orchestration_renaming.h"

namespace turnstile {

namespace {

struct OwnNames {
  static uint32_t strand(uint32_t i) { return i; }
  static uint32_t barrier(uint32_t i) { return i; }
  static uint32_t named(uint32_t i) { return i; }
  static uint32_t contribution(uint32_t i) { return i; }
  static uint32_t cta(uint32_t i) { return i; }
  static uint32_t register_group(uint32_t i) { return i; }
  static std::span<const AsyncGroups::Operation> in_flight(const AsyncGroups& all) { return all.all(); }
};

struct OtherNames {
  const OrchestrationRenaming& from;
  std::vector<AsyncGroups::Operation> flights;

  uint32_t strand(uint32_t i) const { return from.strand[i]; }
  uint32_t barrier(uint32_t i) const { return from.barrier[i]; }
  uint32_t named(uint32_t i) const { return from.named[i]; }
  uint32_t contribution(uint32_t i) const { return from.contribution[i]; }
  uint32_t cta(uint32_t i) const { return from.cta[i]; }
  uint32_t register_group(uint32_t i) const { return from.register_group[i]; }
  std::span<const AsyncGroups::Operation> in_flight(const AsyncGroups&) const { return flights; }
};

}  // namespace

void OrchestrationMachine::save(std::vector<uint8_t>& bytes) const {
  BitWriter w(bytes);
  save(w);
  w.finish();
}

void OrchestrationMachine::load(std::span<const uint8_t> bytes) {
  BitReader r(bytes);
  load(r);
}

void OrchestrationMachine::save(BitWriter& writer) const { write(writer, OwnNames{}); }

void OrchestrationMachine::save(BitWriter& writer, const OrchestrationRenaming& names) const {
  OtherNames other{names, {}};
  for (AsyncGroups::Operation o : flights_.all()) {
    for (const OrchestrationRenaming::Operations* step : names.operations) {
      o.op = step->op[o.op];
      if (o.queue != AsyncOp::none) o.queue = step->queue[o.queue];
    }
    // As AsyncGroups::issue would have put it: by queue, inside an unordered one by number.
    const bool ordered = plan_->ops[o.op].order != QueueOrder::free;
    const auto place =
        std::upper_bound(other.flights.begin(), other.flights.end(), o,
                         [&](const AsyncGroups::Operation& x, const AsyncGroups::Operation& y) {
                           return x.queue != y.queue ? x.queue < y.queue : !ordered && x.op < y.op;
                         });
    other.flights.insert(place, o);
  }
  write(writer, other);
}

template <typename Names>
void OrchestrationMachine::write(BitWriter& writer, const Names& names) const {
  BitWriter w = writer;
  for (uint32_t to = 0; to < pc_.size(); ++to) {
    const OrchestrationPlan::Strand& p = plan_->strands[to];
    const uint32_t s = names.strand(to);
    w.put(pc_[s], p.pc_bits);
    if (p.passes) w.put(passes_[s], 1);
    if (plan_->uses_cluster) w.put(static_cast<uint64_t>(seats_[s]), 2);
  }
  for (uint32_t to = 0; to < barriers_.size(); ++to) {
    const Mbarrier& b = barriers_[names.barrier(to)];
    const OrchestrationPlan::Barrier& p = plan_->barriers[to];
    if (p.lives) w.put(b.valid() ? 1 : 0, 1);
    if (!b.valid()) continue;
    w.put((b.generation() & 1) | uint64_t{b.pending()} << 1, 1 + p.count_bits);
    if (p.resizes) w.put(b.expected(), p.count_bits);
    if (p.counts_tx) w.put_signed(b.tx() == 0 ? 0 : static_cast<int32_t>(b.tx()) / p.tx_unit);  // mostly 0
  }
  for (uint32_t to = 0; to < named_.size(); ++to) {
    const OrchestrationPlan::Named& p = plan_->named[to];
    const NamedBarrier& n = named_[names.named(to)];
    w.put(n.arrived(), p.count_bits);
    if (n.arrived() == 0) continue;
    w.put(n.expected(), p.count_bits);
    if (plan_->exits_leave) w.put(n.releasable() ? 1 : 0, 1);
    for (uint32_t i = 0; i < p.participants.size(); ++i)
      w.put(contributions_[names.contribution(p.first + i)].bits(), 2);
  }
  if (plan_->uses_cluster) {
    for (const ClusterBarrier& c : clusters_) {
      w.put_small(c.members());
      w.put_small(c.arrived());
    }
  }
  const std::span<const AsyncGroups::Operation> flights = names.in_flight(flights_);
  w.put_small(flights.size());
  for (const AsyncGroups::Operation& o : flights) {
    w.put(o.op, plan_->op_bits);
    w.put(o.phase, plan_->phase_bits);
  }
  for (const Signal& s : signals_) w.put_signed(s.value());
  for (const Pool& p : pools_) w.put_signed(p.units());
  if (plan_->uses_registers) {
    for (uint32_t to = 0; to < registers_.size(); ++to) w.put_signed(registers_[names.cta(to)].units());
    for (uint32_t to = 0; to < register_groups_.size(); ++to) {
      const RegisterGroup& g = register_groups_[names.register_group(to)];
      w.put(g.released() | g.granted() << 4, 8);
      w.put_small(g.held_back());
    }
  }
  for (uint32_t to = 0; to < tensor_memory_.size(); ++to) {
    const TensorMemory& m = tensor_memory_[names.cta(to)];
    w.put(m.allocations().size(), 5);
    for (const TensorMemory::Allocation& a : m.allocations()) {
      w.put(a.first, 32);
      w.put(a.count, 10);
    }
    w.put(m.last_count(), 10);
    w.put(m.cta_group(), 2);
    w.put(m.relinquished() ? 1 : 0, 1);
    w.put_small(m.paired());
  }
  w.put(stopped_ ? 1 : 0, 1);
  if (stopped_)
    for (uint32_t to = 0; to < faulted_.size(); ++to) w.put(faulted_[names.strand(to)], 1);
  writer = w;
}

void OrchestrationMachine::load(BitReader& reader) {
  BitReader r = reader;
  unended_ = 0;
  for (CtaLifetime& c : ctas_) c.restore(0);
  for (uint32_t s = 0; s < pc_.size(); ++s) {
    const OrchestrationPlan::Strand& p = plan_->strands[s];
    pc_[s] = static_cast<uint32_t>(r.get(p.pc_bits));
    if (p.passes) passes_[s] = static_cast<uint8_t>(r.get(1));
    if (plan_->uses_cluster) seats_[s] = static_cast<ClusterBarrier::Seat>(r.get(2));
    if (pc_[s] >= p.length && p.whole) continue;
    ++unended_;
    ctas_[p.cta].restore(ctas_[p.cta].live() + 1);
  }
  for (uint32_t i = 0; i < barriers_.size(); ++i) {
    const OrchestrationPlan::Barrier& p = plan_->barriers[i];
    const uint32_t initial = program_->tables.barriers[i].initial_count;
    const bool valid = p.lives ? r.get(1) != 0 : initial != 0;
    if (!valid) {
      barriers_[i].restore(false, 0, 0, 0, 0);
      continue;
    }
    const uint64_t both = r.get(1 + p.count_bits);
    const uint64_t parity = both & 1;
    const auto pending = static_cast<uint32_t>(both >> 1);
    const auto expected = p.resizes ? static_cast<uint32_t>(r.get(p.count_bits)) : p.expected;
    const int64_t tx = p.counts_tx ? r.get_signed() * p.tx_unit : 0;
    barriers_[i].restore(true, expected, pending, tx, parity);
  }
  for (uint32_t n = 0; n < named_.size(); ++n) {
    const OrchestrationPlan::Named& p = plan_->named[n];
    const auto arrived = static_cast<uint32_t>(r.get(p.count_bits));
    const auto expected = arrived == 0 ? 0 : static_cast<uint32_t>(r.get(p.count_bits));
    const bool whole_cta = arrived != 0 && plan_->exits_leave && r.get(1) != 0;
    named_[n].restore(expected, arrived, 0, whole_cta);
    for (uint32_t i = 0; i < p.participants.size(); ++i)
      contributions_[p.first + i].restore(arrived == 0 ? 0 : static_cast<uint8_t>(r.get(2)));
  }
  if (plan_->uses_cluster) {
    for (ClusterBarrier& c : clusters_) {
      const auto members = static_cast<uint32_t>(r.get_small());
      c.restore(members, static_cast<uint32_t>(r.get_small()), 0);
    }
  }
  flights_.clear();
  for (uint64_t left = r.get_small(); left > 0; --left) {
    AsyncGroups::Operation o;
    o.op = static_cast<uint32_t>(r.get(plan_->op_bits));
    o.phase = static_cast<uint32_t>(r.get(plan_->phase_bits));
    o.queue = program_->tables.ops[o.op].queue;
    o.group = program_->tables.ops[o.op].group;
    flights_.restore(o);
  }
  for (Signal& s : signals_) s.restore(r.get_signed(), 0);
  for (Pool& p : pools_) p.restore(r.get_signed());
  if (plan_->uses_registers) {
    for (Pool& p : registers_) p.restore(r.get_signed());
    for (RegisterGroup& g : register_groups_) {
      const auto masks = static_cast<uint32_t>(r.get(8));
      g.restore(masks & 15, r.get_small(), masks >> 4);
    }
  }
  for (TensorMemory& m : tensor_memory_) {
    std::vector<TensorMemory::Allocation> allocations(r.get(5));
    for (TensorMemory::Allocation& a : allocations) {
      a.first = static_cast<uint32_t>(r.get(32));
      a.count = static_cast<uint32_t>(r.get(10));
    }
    const auto last = static_cast<uint32_t>(r.get(10));
    const auto group = static_cast<uint32_t>(r.get(2));
    const bool relinquished = r.get(1) != 0;
    m.restore(allocations, last, group, relinquished, static_cast<uint32_t>(r.get_small()));
  }
  stopped_ = r.get(1) != 0;
  for (uint8_t& f : faulted_) f = stopped_ ? static_cast<uint8_t>(r.get(1)) : uint8_t{0};
  reader = r;
}

}  // namespace turnstile
