// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/waits.h"

#include <algorithm>

namespace turnstile::sim {

Meetings::Meetings(const Trace& trace)
    : mbarriers_(trace.barriers.size()), signals_(trace.signals.size()), queues_(trace.queues.size()) {
  for (size_t b = 0; b < mbarriers_.size(); ++b)
    if (trace.barriers[b].initial_count != 0) mbarriers_[b].state.init(trace.barriers[b].initial_count);
}

void Meetings::mbarrier_init(const Event& e) {
  mbarriers_[e.object] = {};
  mbarriers_[e.object].state.init(e.count);
}

void Meetings::arrive(const Event& e, Moment when) {
  MbarrierPhases& b = mbarriers_[e.object];
  b.phases.open.later_of(when);
  const Mbarrier::Outcome outcome = e.has(Event::expects_bytes)
                                        ? b.state.arrive_expect_tx(e.bytes, e.has(Event::drops))
                                    : e.has(Event::drops) ? b.state.arrive_drop(e.count)
                                                          : b.state.arrive(e.count);
  if (outcome == Mbarrier::Outcome::completed) b.phases.close();
}

void Meetings::expect(const Event& e) {
  MbarrierPhases& b = mbarriers_[e.object];
  if (b.state.expect_tx(e.bytes) == Mbarrier::Outcome::completed) b.phases.close();
}

void Meetings::complete(const AsyncOp& op, Moment when) {
  if (op.barrier == AsyncOp::none) return;
  MbarrierPhases& b = mbarriers_[op.barrier];
  b.phases.open.later_of(when);
  const bool arrives = op.kind == AsyncOp::Kind::cp_async || op.kind == AsyncOp::Kind::tensor_commit;
  if ((arrives ? b.state.arrive(1) : b.state.complete_tx(op.bytes)) == Mbarrier::Outcome::completed)
    b.phases.close();
}

Moment Meetings::phase(const Event& wait) const {
  const std::vector<Moment>& complete = mbarriers_[wait.object].phases.complete;
  return wait.generation == 0 || wait.generation > complete.size() ? Moment{} : complete[wait.generation - 1];
}

void Meetings::named_arrive(const Event& e, Moment when) {
  NamedPhases& b = named_[e.object];
  b.phases.open.later_of(when);
  if (b.state.contribute(e.count, static_cast<uint32_t>(e.bytes), e.has(Event::whole_cta)) ==
      NamedBarrier::Outcome::completed)
    b.phases.close();
}

/// An instance that nobody's arrival completed (threads have left: N8, C5) is complete when the first of its
/// waits passes.
Moment Meetings::instance(Phases& phases, uint64_t generation) {
  if (generation == 0) return {};
  if (phases.complete.size() < generation) phases.close();
  return generation <= phases.complete.size() ? phases.complete[generation - 1] : Moment{};
}

Moment Meetings::named_pass(const Event& e) {
  NamedPhases& b = named_[e.object];
  if (b.phases.complete.size() < e.generation) b.state.release();
  return instance(b.phases, e.generation);
}

void Meetings::cluster_arrive(const Event& e, Moment when) { clusters_[e.object].open.later_of(when); }

// All arrivals of an instance stand before its first wait, and none of the next one does.
Moment Meetings::cluster_pass(const Event& e) { return instance(clusters_[e.object], e.generation); }

Moment Meetings::signal_read(const Event& e) const {
  const std::vector<Moment>& writes = signals_[e.object];
  return e.generation == 0 || e.generation > writes.size() ? Moment{} : writes[e.generation - 1];
}

void Meetings::queue_op(const AsyncOp& op, Moment done, Moment read) {
  if (op.queue == AsyncOp::none) return;
  std::vector<QueueEntry>& queue = queues_[op.queue];
  QueueEntry entry{op.group, done, read};
  if (!queue.empty()) {
    entry.group = std::max(entry.group, queue.back().group);
    entry.done.later_of(queue.back().done);
    entry.read.later_of(queue.back().read);
  }
  queue.push_back(entry);
}

Moment Meetings::queue_done(uint32_t queue, uint64_t group, bool read_only) const {
  const std::vector<QueueEntry>& entries = queues_[queue];
  const auto end = std::upper_bound(entries.begin(), entries.end(), group,
                                    [](uint64_t g, const QueueEntry& e) { return g < e.group; });
  if (end == entries.begin()) return {};
  return read_only ? std::prev(end)->read : std::prev(end)->done;
}

}  // namespace turnstile::sim
