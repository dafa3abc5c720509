// SPDX-License-Identifier: Apache-2.0
//
// Operations in flight, and what ends: strands, CTAs and their shared memory.
#include <algorithm>

#include "model/must.h"
#include "model/protocol/orchestration_machine.h"
#include "model/protocol/orchestration_plan.h"

namespace turnstile {

void OrchestrationMachine::step_issue(const Event& event, Faults& faults) {
  const AsyncOp& op = program_->tables.ops[event.object];
  const OrchestrationPlan::Op& plan = plan_->ops[event.object];
  AsyncGroups::Operation* o = flights_.find(event.object);
  if (o == nullptr) {
    flights_.issue(event.object, op.queue, op.group, plan.order != QueueOrder::free);
    o = flights_.find(event.object);
  }
  ++o->phase;
  // MB20: cp.async.mbarrier.arrive without .noinc announces its arrival when it is executed.
  if (op.kind == AsyncOp::Kind::cp_async && op.barrier != AsyncOp::none && op.bytes == 1)
    note_barrier(barriers_[op.barrier].raise_pending(), op.barrier, event, faults);
}

void OrchestrationMachine::take_operation(uint32_t op, Event& event, Faults& faults) {
  AsyncGroups::Operation* o = flights_.find(op);
  must(o != nullptr, "a step of an operation in flight");
  const OrchestrationPlan::Op& plan = plan_->ops[op];
  event = program_->operations[op][o->phase - plan.issues];
  ++o->phase;
  const bool last = o->phase == plan.phases;
  const bool was_stopped = stopped_;
  stopped_ = false;
  if (event.kind == EventKind::async_access)
    note_access(event, cta_of(program_->tables.ops[op].issuer.v), faults);
  else
    land_on_barrier(op, event, faults);
  if (last || stopped_) flights_.remove(op);
  stopped_ |= was_stopped;
}

void OrchestrationMachine::land_on_barrier(uint32_t op, const Event& event, Faults& faults) {
  const AsyncOp& info = program_->tables.ops[op];
  if (info.barrier == AsyncOp::none) return;
  const uint16_t home = program_->tables.barriers[info.barrier].cta;
  if (dead(home)) {
    // A local completion that nobody waits for any more harms nobody (trap T9); the bytes of a copy are
    // judged when the CTA ends (D5).
    if (home != cta_of(info.issuer.v))
      stop(faults, event, "D2", barrier_name(info.barrier),
           "an asynchronous operation completes on " + barrier_name(info.barrier) +
               " of a CTA that has exited",
           "keep the CTA alive until everything that targets it has arrived");
    return;
  }
  Mbarrier& b = barriers_[info.barrier];
  switch (info.kind) {
    case AsyncOp::Kind::tensor_commit:  // TC24
    case AsyncOp::Kind::cp_async:       // CA8, semantics.md 2.4
      return note_barrier(b.arrive(1), info.barrier, event, faults);
    case AsyncOp::Kind::bulk_load:
    case AsyncOp::Kind::bulk_store:
    case AsyncOp::Kind::wgmma:
    case AsyncOp::Kind::remote_store:
    case AsyncOp::Kind::tensor_mma:
    case AsyncOp::Kind::tensor_copy:
    case AsyncOp::Kind::tensor_load:
    case AsyncOp::Kind::tensor_store:
    case AsyncOp::Kind::clc_query:
    case AsyncOp::Kind::lds_read:
      // MB28: a copy of no bytes completes nothing.
      if (info.bytes > 0) note_barrier(b.complete_tx(info.bytes), info.barrier, event, faults);
      return;
  }
}

// D2: shared and tensor memory live as long as their CTA. A CTA's own strands cannot outlive it, its own
// operations are judged when it ends.
void OrchestrationMachine::note_access(const Event& event, uint16_t cta, Faults& faults) {
  const Footprint& f = program_->tables.footprints[event.footprint];
  if (f.space == Space::global || f.allocation == cta || !dead(f.allocation)) return;
  stop(faults, event, "D2", memory_name(event.footprint),
       "an access to memory of CTA " + std::to_string(f.allocation) + ", which has exited",
       "keep the CTA alive until its peers are done: end with a cluster barrier");
}

// Exits that a barrier notices say how many threads leave (Event::count): the end of a role of a .mimw text
// does not (it stands for "goes on with something else").
void OrchestrationMachine::leave(uint32_t strand, const Event& exit, Faults& faults) {
  if (exit.count == 0) return;
  if (clusters_[cluster_of(strand)].leave(exit.count, seats_[strand] == ClusterBarrier::Seat::arrived))
    release_seats(cluster_of(strand));  // C5
  seats_[strand] = ClusterBarrier::Seat::out;
  for (uint32_t n = 0; n < named_.size(); ++n)
    if (plan_->named[n].object / 16 == cta_of(strand)) release_for_exited(n, strand, exit, faults);
}

// N8: a barrier without a thread count that waits only for threads that have exited is released. `leaving` is
// about to.
void OrchestrationMachine::release_for_exited(uint32_t named, uint32_t leaving, const Event& event,
                                              Faults& faults) {
  if (!named_[named].releasable()) return;
  const OrchestrationPlan::Named& info = plan_->named[named];
  const uint32_t cta = info.object / 16;
  for (uint32_t s = 0; s < pc_.size(); ++s) {
    if (s == leaving || cta_of(s) != cta) continue;
    const std::vector<Event>& events = program_->strands[s].events;
    if (has_next(s)) {
      if (at(s).kind == EventKind::fork && at(s).object == s) continue;  // not there: its lanes are elsewhere
    } else if (!events.empty()) {
      const Event& last = events.back();
      if (last.kind == EventKind::exit && last.count != 0) continue;
      if (last.kind == EventKind::join && last.object == s) continue;
    }
    const auto seat = std::lower_bound(info.participants.begin(), info.participants.end(), s);
    if (seat == info.participants.end() || *seat != s) return;
    if (!contributions_[info.first + static_cast<size_t>(seat - info.participants.begin())].any()) return;
  }
  if (named_[named].release()) complete_named(named, event, faults);
}

void OrchestrationMachine::end_strand(uint32_t strand, const Event& last, Faults& faults) {
  if (!program_->strands[strand].whole) return;
  --unended_;
  const uint32_t cta = cta_of(strand);
  if (plan_->uses_registers) {
    const uint32_t g = plan_->register_group_of[strand];
    uint32_t live = 0;
    for (uint32_t s : plan_->register_groups[g].strands)
      if (!strand_ended(s)) live |= 1u << plan_->register_warp_of[s];
    register_groups_[g].settle(registers_[cta], live);
  }
  if (ctas_[cta].end_one()) end_cta(cta, last, faults);
  if (unended_ != 0) return;
  for (uint32_t p = 0; p < pools_.size(); ++p)
    if (const PoolInfo& info = program_->tables.pools[p];
        info.must_return && pools_[p].units() != info.initial)
      remark(faults, last, "TC6", info.name, info.name + " is not full again at the end",
             "give back what was taken");
}

void OrchestrationMachine::end_cta(uint32_t cta, const Event& last, Faults& faults) {
  for (const AsyncGroups::Operation& o : flights_.all()) {
    const AsyncOp& op = program_->tables.ops[o.op];
    const OrchestrationPlan::Op& plan = plan_->ops[o.op];
    Event issue = last;
    issue.agent = op.issuer;
    issue.place = op.place;
    if (op.kind == AsyncOp::Kind::bulk_store && cta_of(op.issuer.v) == cta && o.phase < plan.reads_done)
      remark(faults, issue, "BK6", memory_name(program_->operations[o.op].front().footprint),
             "a bulk store still reads shared memory when its CTA exits",
             "wait for the group (cp.async.bulk.wait_group.read 0) before the exit");
    if (op.kind != AsyncOp::Kind::bulk_load && op.kind != AsyncOp::Kind::clc_query) continue;
    for (const Event& e : program_->operations[o.op]) {
      if (e.kind != EventKind::async_access || !e.has(Event::write)) continue;
      const Footprint& f = program_->tables.footprints[e.footprint];
      if (f.space != Space::shared || f.allocation != cta) continue;
      remark(faults, issue, "D5", memory_name(e.footprint),
             "a copy into shared memory is in flight when the CTA exits",
             "wait for the copy before the exit");
      break;
    }
  }
  if (cta < tensor_memory_.size() && tensor_memory_[cta].leaks())
    remark(faults, last, "TC6", "tensor memory", "tensor memory is still allocated when its CTA exits",
           "tcgen05.dealloc every allocation");
}

}  // namespace turnstile
