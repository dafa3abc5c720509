// SPDX-License-Identifier: Apache-2.0
//
// Everything that OrchestrationMachine takes for granted, checked once. Traces and texts are input.
#include <vector>

#include "model/event_object.h"
#include "model/protocol/mbarrier.h"
#include "model/protocol/orchestration_machine.h"

namespace turnstile {

namespace {

constexpr size_t kMaxEvents = size_t{1} << 31;

std::string table_defect(const Orchestration& program) {
  const Trace& t = program.tables;
  if (program.strands.size() != t.agents.size()) return "the strands are not those of the agent table";
  if (program.operations.size() != t.ops.size()) return "the operations are not those of the table";
  if (t.ops.size() >= kMaxEvents) return "too many operations";
  for (const BarrierInfo& b : t.barriers)
    if (b.initial_count > Mbarrier::max_count) return b.name + " counts more arrivals than a barrier can";
  for (const Footprint& f : t.footprints)
    if (uint64_t{f.first_range} + f.range_count > t.ranges.size())
      return "a footprint names ranges that are not there";
  for (const AsyncOp& op : t.ops) {
    if (op.issuer.v >= t.agents.size() || op.place >= t.places.size())
      return "an operation names a strand or a place that is not there";
    if ((op.barrier != AsyncOp::none && op.barrier >= t.barriers.size()) ||
        (op.queue != AsyncOp::none && op.queue >= t.queues.size()))
      return "an operation names a barrier or a queue that is not there";
  }
  return {};
}

std::string event_defect(const Trace& t, const EventBounds& bounds, const Event& e, uint32_t strand) {
  if (e.agent.v != strand) return "an event lies in the list of another strand";
  if (e.place >= t.places.size()) return "an event names a place that is not there";
  if (e.kind == EventKind::async_access || e.kind == EventKind::async_complete)
    return "a strand executes what an operation does when it lands";
  if (object_of(e.kind) == EventObject::named_barrier && e.bytes > 0xffffffff)
    return "a named barrier gets more threads than there are";
  return bounds.hold(e) ? "" : "an event names an object that is not there";
}

std::string landing_defect(const Trace& t, const std::vector<Event>& events, uint32_t op) {
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& e = events[i];
    if (e.object != op) return "an operation lands with the events of another one";
    if (e.agent.v >= t.agents.size() || e.place >= t.places.size())
      return "an event names a strand or a place that is not there";
    const bool last = i + 1 == events.size();
    if (e.kind != (last ? EventKind::async_complete : EventKind::async_access))
      return "the events of an operation are its accesses, then its completion";
    if (!last && e.footprint >= t.footprints.size()) return "an access names a footprint that is not there";
  }
  return {};
}

/// One operation that several strands issue: the four warps of a wgmma (WG6), the lanes of a warp that have
/// come apart before a tcgen05.ld or st (TC12).
bool issued_by_several(AsyncOp::Kind kind) {
  return kind == AsyncOp::Kind::wgmma || kind == AsyncOp::Kind::tensor_load ||
         kind == AsyncOp::Kind::tensor_store;
}

}  // namespace

std::string orchestration_defect(const Orchestration& program) {
  if (std::string defect = table_defect(program); !defect.empty()) return defect;
  const Trace& t = program.tables;
  size_t total = 0;
  const EventBounds bounds(t);
  std::vector<uint32_t> issued_by(t.ops.size(), AsyncOp::none);
  for (uint32_t s = 0; s < program.strands.size(); ++s) {
    const std::vector<Event>& events = program.strands[s].events;
    total += events.size();
    for (const Event& e : events) {
      if (std::string defect = event_defect(t, bounds, e, s); !defect.empty()) return defect;
      if (e.kind != EventKind::async_issue) continue;
      const bool again = issued_by[e.object] != AsyncOp::none &&
                         (!issued_by_several(t.ops[e.object].kind) || issued_by[e.object] == s);
      if (again) return "an operation is issued twice";
      issued_by[e.object] = s;
    }
  }
  for (uint32_t o = 0; o < program.operations.size(); ++o) {
    total += program.operations[o].size();
    if (std::string defect = landing_defect(t, program.operations[o], o); !defect.empty()) return defect;
  }
  return total < kMaxEvents ? "" : "too many events";
}

}  // namespace turnstile
