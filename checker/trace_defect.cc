// SPDX-License-Identifier: Apache-2.0
//
// A trace is input like any other: before it is replayed, every index in it is looked at once.
#include "checker/trace_defect.h"

#include "checker/run_state.h"

namespace turnstile::checker {

namespace {

/// What only some kinds have to keep. Null: no defect.
const char* kind_defect(const Event& e) {
  switch (e.kind) {
    case EventKind::fork:
    case EventKind::join:
      return e.object == e.agent.v ? "an event names an object that is not there" : nullptr;
    case EventKind::named_barrier_arrive:
      return e.bytes > 0xffffffff ? "a named barrier gets more threads than there are" : nullptr;
    case EventKind::tensor_alloc:
    case EventKind::tensor_dealloc:
      return e.generation > 0xffffffff || e.bytes > 2 ? "tensor memory that does not exist" : nullptr;
    default:
      return nullptr;
  }
}

/// Of which kind the queue of an operation has to be; none: it needs no queue.
bool queue_fits(const AsyncOp& op, const std::vector<QueueInfo>& queues) {
  using Kind = AsyncOp::Kind;
  using Queue = QueueInfo::Kind;
  const auto in = [&](Queue kind) { return op.queue < queues.size() && queues[op.queue].kind == kind; };
  switch (op.kind) {
    case Kind::bulk_load:
    case Kind::remote_store:
    case Kind::clc_query:
      return op.queue == AsyncOp::none || op.queue < queues.size();
    case Kind::bulk_store:
      return in(Queue::bulk);
    case Kind::wgmma:
      return in(Queue::wgmma);
    case Kind::cp_async:
      return in(Queue::cp_async);
    case Kind::tensor_mma:
    case Kind::tensor_copy:
    case Kind::tensor_commit:
      return in(Queue::tensor);
    case Kind::tensor_load:
      return in(Queue::tensor_load);
    case Kind::tensor_store:
      return in(Queue::tensor_store);
    case Kind::lds_read:
      return in(Queue::lds_read);
  }
  return false;
}

/// Null: none.
const char* op_defect(const Trace& t, const AsyncOp& op) {
  const bool needs_barrier = delivers_bytes(op) || arrives_when_done(op);
  if (needs_barrier ? op.barrier >= t.barriers.size() : op.barrier != AsyncOp::none)
    return "an asynchronous operation names a barrier that is not there";
  if (!queue_fits(op, t.queues)) return "an asynchronous operation is in no queue of its kind";
  if (op.issuer.v >= t.agents.size() || op.place >= t.places.size())
    return "an asynchronous operation names a strand or a place that is not there";
  return nullptr;
}

}  // namespace

EventDefects::EventDefects(const Trace& trace)
    : bounds_(trace), agents_(trace.agents.size()), places_(trace.places.size()) {}

const char* EventDefects::find(std::span<const Event> events) const {
  for (const Event& e : events) {
    if (e.agent.v >= agents_ || e.place >= places_)
      return "an event names a strand or a place that is not there";
    if (!bounds_.hold(e)) return "an event names an object that is not there";
    if (const char* defect = kind_defect(e)) return defect;
  }
  return nullptr;
}

std::string trace_defect(const Trace& trace) {
  if (std::string defect = table_defect(trace); !defect.empty()) return defect;
  const char* defect = EventDefects(trace).find(trace.events);
  return defect == nullptr ? std::string() : defect;
}

std::string table_defect(const Trace& t) {
  if (t.events.size() >= 0xffffffff || t.ops.size() >= 0xffffffff) return "the trace is too long";
  if (t.warps > 1u << 20) return "more warps than a GPU has";
  for (const Footprint& f : t.footprints)
    if (uint64_t{f.first_range} + f.range_count > t.ranges.size())
      return "a footprint names ranges that are not there";
  for (const ByteRange& r : t.ranges)
    if (r.end < r.begin || (r.count > 1 && r.stride > (uint64_t{1} << 62) / r.count) ||
        r.end > uint64_t{1} << 62)
      return "a byte range wraps around";
  for (const AsyncOp& op : t.ops)
    if (const char* defect = op_defect(t, op)) return defect;
  for (const Blocked& b : t.blocked) {
    const size_t objects = b.on == Blocked::On::mbarrier ? t.barriers.size()
                           : b.on == Blocked::On::group  ? t.queues.size()
                           : b.on == Blocked::On::signal ? t.signals.size()
                           : b.on == Blocked::On::pool   ? t.pools.size()
                                                         : size_t{0xffffffff};
    if (b.agent.v >= t.agents.size() || b.place >= t.places.size() || b.object >= objects)
      return "a blocked strand names something that is not there";
  }
  for (const Fault& f : t.faults)
    if (f.agent.v >= t.agents.size() || f.place >= t.places.size())
      return "a fault names a strand or a place that is not there";
  for (const AgentId a : t.live_pollers)
    if (a.v >= t.agents.size()) return "a polling strand is not there";
  const uint64_t owners = t.agents.size() + 2 * t.barriers.size() + 64 + 3 * uint64_t{t.clusters};
  if (owners * (t.agents.size() + t.barriers.size() + 2 * t.queues.size() + 64) > uint64_t{1} << 26)
    return "more strands, barriers and queues than the checker keeps clocks for";
  return {};
}

}  // namespace turnstile::checker
