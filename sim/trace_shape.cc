// SPDX-License-Identifier: Apache-2.0
#include "sim/trace_shape.h"

#include <algorithm>

namespace turnstile::sim {

namespace {

Hash128 with_number(Hash128 h, uint64_t value) { return combine(h, hash_number(70, value)); }

bool has_footprint(const Event& e) {
  return e.kind == EventKind::access || e.kind == EventKind::async_access ||
         e.kind == EventKind::fence_tensormap;
}

bool names_op(const Event& e) {
  return e.kind == EventKind::async_issue || e.kind == EventKind::async_access ||
         e.kind == EventKind::async_complete;
}

/// What a loop over tiles consists of: the proof of docs/theory.md is about these.
bool may_repeat(EventKind kind) {
  switch (kind) {
    case EventKind::fork:
    case EventKind::join:
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
    case EventKind::mbarrier_arrive:
    case EventKind::mbarrier_expect_tx:
    case EventKind::mbarrier_wait:
    case EventKind::named_barrier_arrive:
    case EventKind::named_barrier_pass:
    case EventKind::fence_proxy_async:
    case EventKind::fence:
    case EventKind::fence_mbarrier_init:
    case EventKind::access:
    case EventKind::async_issue:
    case EventKind::async_access:
    case EventKind::async_complete:
    case EventKind::group_commit:
    case EventKind::group_wait:
    case EventKind::cluster_arrive:
    case EventKind::cluster_wait:
    case EventKind::tensor_fence_before:
    case EventKind::tensor_fence_after:
    case EventKind::fence_tensormap:
      return true;
    case EventKind::registers_release:
    case EventKind::registers_acquire:
    case EventKind::register_hazard:
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::signal_wait:
    case EventKind::pool_acquire:
    case EventKind::pool_release:
    case EventKind::tensor_alloc:
    case EventKind::tensor_dealloc:
    case EventKind::tensor_relinquish:
    case EventKind::dependents_launch:
    case EventKind::dependency_wait:
    case EventKind::exit:
      return false;
  }
  return false;
}

Hash128 ranges_of(const Trace& trace, const Footprint& f) {
  Hash128 h = hash_number(71, uint64_t{f.allocation} << 8 | static_cast<uint64_t>(f.space));
  for (uint32_t r = f.first_range; r < f.first_range + f.range_count; ++r) {
    const ByteRange& range = trace.ranges[r];
    for (const uint64_t v : {range.begin, range.end, range.stride, uint64_t{range.count}})
      h = with_number(h, v);
  }
  return h;
}

}  // namespace

void add_written(const Trace& trace, size_t begin, size_t end, std::vector<uint32_t>& written) {
  for (size_t i = begin; i < end; ++i) {
    const Event& e = trace.events[i];
    if ((e.kind != EventKind::access && e.kind != EventKind::async_access) || !e.has(Event::write)) continue;
    const Footprint& f = trace.footprints[e.footprint];
    if (f.space != Space::global) continue;
    const auto at = std::lower_bound(written.begin(), written.end(), f.allocation);
    if (at == written.end() || *at != f.allocation) written.insert(at, f.allocation);
  }
}

/// What counts up, as differences; and notes it as seen.
TraceShape::Numbers TraceShape::numbers_of(const Event& e) {
  Numbers n;
  const auto step = [](uint64_t& last, uint64_t now) {
    const auto difference = static_cast<int64_t>(now - last);
    last = now;
    return difference;
  };
  if (e.kind == EventKind::mbarrier_wait || e.kind == EventKind::named_barrier_pass ||
      e.kind == EventKind::cluster_wait)
    n.generation = step(generations_[{e.kind, e.object}], e.generation);
  else if (e.kind == EventKind::group_commit || e.kind == EventKind::group_wait)
    n.group = step(groups_[e.object], e.generation);
  else
    n.generation = static_cast<int64_t>(e.generation);
  n.bytes = e.bytes;
  // Of stored values only it counts which are equal: how many stores of the same place ago.
  if (leave_the_same(e, e)) {
    const uint64_t now = ++stores_[e.footprint];
    uint64_t& equal = last_equal_[{e.footprint, e.bytes}];
    n.bytes = equal == 0 ? ~uint64_t{0} : now - equal;
    equal = now;
  }
  if (!names_op(e)) return n;
  ops_ = std::max(ops_, uint64_t{e.object} + 1);
  n.op = static_cast<int64_t>(ops_ - e.object);
  const AsyncOp& op = trace_->ops[e.object];
  if (e.kind == EventKind::async_issue && op.queue != AsyncOp::none)
    n.own_group = step(groups_[op.queue], op.group);
  return n;
}

Hash128 TraceShape::ranges(uint32_t footprint) {
  if (ranges_.size() <= footprint) ranges_.resize(trace_->footprints.size());
  std::optional<Hash128>& known = ranges_[footprint];
  if (!known) known = ranges_of(*trace_, trace_->footprints[footprint]);
  return *known;
}

Hash128 TraceShape::event(const Event& e, std::span<const FootprintName> names,
                          std::span<const uint32_t> written, uint32_t handed, bool& named) {
  const Numbers n = numbers_of(e);
  Hash128 h = hash_number(72, static_cast<uint64_t>(e.kind) | uint64_t{e.flags} << 8 |
                                  static_cast<uint64_t>(e.scope) << 16 | uint64_t{e.agent.v} << 24);
  h = with_number(h, uint64_t{e.place} << 32 | e.count);
  h = with_number(h, names_op(e) ? static_cast<uint64_t>(n.op) : uint64_t{e.object} | uint64_t{1} << 63);
  if (n.bytes != 0) h = with_number(h, n.bytes);
  if (n.generation != 0 || n.group != 0)
    h = with_number(with_number(h, static_cast<uint64_t>(n.generation)), static_cast<uint64_t>(n.group));
  if (e.kind == EventKind::async_issue) {
    const AsyncOp& op = trace_->ops[e.object];
    h = with_number(h,
                    static_cast<uint64_t>(op.kind) | uint64_t{op.issuer.v} << 8 | uint64_t{op.place} << 32);
    h = with_number(h, uint64_t{op.barrier} << 32 | op.queue);
    h = with_number(with_number(h, op.bytes), static_cast<uint64_t>(n.own_group));
    if (op.queue == AsyncOp::none) h = with_number(h, op.group);
  }
  if (!has_footprint(e)) return h;
  const Footprint& f = trace_->footprints[e.footprint];
  if (f.space != Space::global) return combine(h, ranges(e.footprint));
  if (!std::binary_search(written.begin(), written.end(), f.allocation) &&
      e.kind != EventKind::fence_tensormap)
    return with_number(h, f.allocation);
  const FootprintName& name = names[e.footprint];
  if (name.part == FootprintName::several) named = false;
  if (name.part == FootprintName::nobody) return combine(h, ranges(e.footprint));
  // The own cluster stays what it is; the others by how long ago they were handed over.
  return combine(with_number(h, name.part == 0 ? ~uint64_t{0} : uint64_t{handed} - name.part), name.place);
}

void TraceShape::pass(size_t end) {
  for (; at_ < end; ++at_) numbers_of(trace_->events[at_]);
}

std::optional<Hash128> TraceShape::piece(size_t end, std::span<const FootprintName> names,
                                         std::span<const uint32_t> written, uint32_t handed) {
  Hash128 h = hash_number(73, end - at_);
  bool named = true;
  for (; at_ < end; ++at_) {
    named = named && may_repeat(trace_->events[at_].kind);
    h = combine(h, event(trace_->events[at_], names, written, handed, named));
  }
  if (!named) return std::nullopt;
  return h;
}

std::optional<Hash128> TraceShape::rest(std::span<const FootprintName> names,
                                        std::span<const uint32_t> written, uint32_t handed) {
  Hash128 h = hash_number(74, trace_->events.size() - at_);
  bool named = true;
  for (; at_ < trace_->events.size(); ++at_)
    h = combine(h, event(trace_->events[at_], names, written, handed, named));
  if (!named || trace_->cut_short || !trace_->faults.empty() || !trace_->unknowns.empty() ||
      !trace_->live_pollers.empty() || !trace_->signals.empty() || !trace_->pools.empty())
    return std::nullopt;
  for (const Blocked& b : trace_->blocked) {
    h = with_number(h, uint64_t{b.agent.v} << 32 | b.place);
    h = with_number(h, static_cast<uint64_t>(b.on) << 32 | b.object);
    h = with_number(h, b.count);
  }
  h = with_number(h, trace_->agents.size());
  for (const AgentInfo& a : trace_->agents) h = with_number(h, uint64_t{a.cta} << 32 | a.warp);
  h = with_number(h, trace_->barriers.size());
  for (const BarrierInfo& b : trace_->barriers) h = with_number(with_number(h, b.cta), b.address);
  h = with_number(h, trace_->queues.size());
  for (const QueueInfo& q : trace_->queues)
    h = with_number(h, static_cast<uint64_t>(q.kind) | uint64_t{q.cta} << 8 | uint64_t{q.warp} << 24 |
                           uint64_t{q.lane} << 40);
  for (const uint32_t w : written) h = with_number(h, w);
  return with_number(h, trace_->cluster_barrier_count);
}

}  // namespace turnstile::sim
