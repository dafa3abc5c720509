// SPDX-License-Identifier: Apache-2.0
//
// Steps of strands: each hands its event to the state machine of its mechanism and turns a broken rule into a
// Fault.
#include <algorithm>

#include "model/must.h"
#include "model/protocol/orchestration_machine.h"
#include "model/protocol/orchestration_plan.h"

namespace turnstile {

void OrchestrationMachine::take_strand(uint32_t strand, Event& event, Faults& faults) {
  must(has_next(strand), "a step of a strand that has one left");
  event = at(strand);
  const bool was_stopped = stopped_;
  stopped_ = false;
  switch (event.kind) {
    case EventKind::fork:
      if (has_next(event.object) && at(event.object).kind == EventKind::fork &&
          at(event.object).object == event.object) {
        seats_[event.object] = seats_[strand];  // C2: the lanes of both have arrived, or have not
        if (++pc_[event.object]; !has_next(event.object)) end_strand(event.object, event, faults);
      }
      break;
    case EventKind::join:
      if (++pc_[event.object]; !has_next(event.object)) end_strand(event.object, event, faults);
      break;
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
    case EventKind::mbarrier_arrive:
    case EventKind::mbarrier_expect_tx:
    case EventKind::mbarrier_wait:
      step_mbarrier(strand, event, faults);
      break;
    case EventKind::named_barrier_arrive:
    case EventKind::named_barrier_pass:
      step_named(strand, event, faults);
      break;
    case EventKind::access:
      note_access(event, cta_of(strand), faults);
      break;
    case EventKind::async_issue:
      step_issue(event, faults);
      break;
    case EventKind::registers_release:
    case EventKind::registers_acquire:
      step_registers(strand, event, faults);
      break;
    case EventKind::cluster_arrive:
    case EventKind::cluster_wait:
      step_cluster(strand, event, faults);
      break;
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::signal_wait:
      step_signal(event);
      break;
    case EventKind::pool_acquire:
      pools_[event.object].acquire(event.count);
      break;
    case EventKind::pool_release:
      pools_[event.object].release(event.count);
      break;
    case EventKind::tensor_alloc:
    case EventKind::tensor_dealloc:
    case EventKind::tensor_relinquish:
      step_tensor(strand, event, faults);
      break;
    case EventKind::exit:
      leave(strand, event, faults);
      break;
    case EventKind::fence_proxy_async:  // these order memory, which is not looked at here
    case EventKind::fence:
    case EventKind::fence_mbarrier_init:
    case EventKind::fence_tensormap:
    case EventKind::tensor_fence_before:
    case EventKind::tensor_fence_after:
    case EventKind::register_hazard:
    case EventKind::group_commit:       // CA2, BK2: the group of an operation is known when it is issued
    case EventKind::group_wait:         // CA3: enabled means passed
    case EventKind::dependents_launch:  // PD1: allows another grid to start, which is not part of this
    case EventKind::dependency_wait:
    case EventKind::async_access:
    case EventKind::async_complete:
      break;
  }
  if (stopped_) {
    faulted_[strand] = 1;
    return;
  }
  stopped_ = was_stopped;
  if (++pc_[strand]; !has_next(strand)) end_strand(strand, event, faults);
}

void OrchestrationMachine::note_barrier(Mbarrier::Outcome outcome, uint32_t barrier, const Event& event,
                                        Faults& faults) {
  if (broken_rule(outcome).empty()) return;
  const std::string name = barrier_name(barrier);
  const Mbarrier& b = barriers_[barrier];
  std::string message, help;
  switch (outcome) {
    case Mbarrier::Outcome::ok:
    case Mbarrier::Outcome::completed:
      return;
    case Mbarrier::Outcome::invalid_object:
      message = name + " is used while it is not initialised";
      help = "initialise the barrier, then synchronise, before its first use";
      break;
    case Mbarrier::Outcome::already_valid:
      message = name + " is initialised while a barrier lives at that address";
      help = "initialise a barrier once, or mbarrier.inval it first";
      break;
    case Mbarrier::Outcome::bad_count:
      message = "a count out of range on " + name;
      help = "give a count between 1 and 2^20 - 1";
      break;
    case Mbarrier::Outcome::over_arrival:
      message = "more arrivals on " + name + " than phase " + std::to_string(b.generation()) +
                " allows: " + std::to_string(b.pending()) + " of " + std::to_string(b.expected()) +
                " pending";
      help =
          "count everybody who arrives in the barrier's init; who comes round the ring must first wait until "
          "the stage is free";
      break;
    case Mbarrier::Outcome::tx_overflow:
      message = "the transaction count of " + name + " leaves its range of +-(2^20 - 1) bytes";
      help = "expect fewer bytes a phase: split the copy over more stages";
      break;
    case Mbarrier::Outcome::pending_overflow:
      message = "the pending count of " + name + " leaves its range";
      help = "use cp.async.mbarrier.arrive.noinc, and count its arrivals in the barrier's init";
      break;
    case Mbarrier::Outcome::dropped_to_zero:
      message = "the last participant of " + name + " drops out: later phases expect nobody";
      help = "invalidate the barrier instead, or keep one participant";
      break;
    case Mbarrier::Outcome::completes:
      message = "an arrive.noComplete completes a phase of " + name;
      help = "let the last arrival of a phase be a plain mbarrier.arrive";
      break;
  }
  stop(faults, event, std::string(broken_rule(outcome)), name, std::move(message), std::move(help));
}

void OrchestrationMachine::step_mbarrier(uint32_t strand, Event& event, Faults& faults) {
  const uint32_t object = event.object;
  const uint16_t home = program_->tables.barriers[object].cta;
  Mbarrier& b = barriers_[object];
  const bool remote = home != cta_of(strand);
  if (remote && (event.kind == EventKind::mbarrier_init || event.kind == EventKind::mbarrier_inval))
    return stop(faults, event, "MB7", barrier_name(object),
                barrier_name(object) + " of another CTA is initialised or invalidated",
                "only a thread of its own CTA may do that");
  if (remote && event.kind == EventKind::mbarrier_wait)
    return stop(faults, event, "MB8", barrier_name(object),
                "a wait on " + barrier_name(object) + ", which lies in another CTA",
                "arrive on a barrier of the CTA that waits");
  if (remote && dead(home))
    return stop(faults, event, "D3", barrier_name(object),
                "an arrival on " + barrier_name(object) + " of a CTA that has exited",
                "let the CTA wait for all arrivals, or end with a cluster barrier");
  Mbarrier::Outcome outcome = Mbarrier::Outcome::ok;
  switch (event.kind) {
    case EventKind::mbarrier_init: {
      const std::vector<uint32_t>& others = plan_->barriers[object].same_place;
      const bool taken =
          std::any_of(others.begin(), others.end(), [&](uint32_t o) { return barriers_[o].valid(); });
      outcome = taken ? Mbarrier::Outcome::already_valid : b.init(event.count);  // MB9
      break;
    }
    case EventKind::mbarrier_inval:
      outcome = b.inval();  // MB10
      break;
    case EventKind::mbarrier_arrive:
      if (event.has(Event::expects_bytes))
        outcome = b.arrive_expect_tx(event.bytes, event.has(Event::drops));
      else
        outcome = event.has(Event::drops) ? b.arrive_drop(event.count) : b.arrive(event.count);
      break;
    case EventKind::mbarrier_expect_tx:
      outcome = b.expect_tx(event.bytes);
      break;
    default:  // mbarrier_wait
      if (!b.valid())
        outcome = Mbarrier::Outcome::invalid_object;
      else if (event.count > 1)
        return stop(faults, event, "W5", barrier_name(object),
                    "a wait for parity " + std::to_string(event.count), "the parity is 0 or 1");
      event.generation = b.generation();
      break;
  }
  note_barrier(outcome, object, event, faults);
}

void OrchestrationMachine::step_named(uint32_t strand, Event& event, Faults& faults) {
  const uint32_t n = plan_->named_at[event.object];
  const OrchestrationPlan::Named& info = plan_->named[n];
  NamedBarrier& b = named_[n];
  if (event.kind == EventKind::named_barrier_pass) {
    passes_[strand] = 0;
    event.generation = instance_[strand];
    return;
  }
  const auto seat = std::lower_bound(info.participants.begin(), info.participants.end(), strand);
  Contribution& own = contributions_[info.first + static_cast<size_t>(seat - info.participants.begin())];
  const bool waits = event.has(Event::waits);
  instance_[strand] = b.instance() + 1;
  passes_[strand] = 0;
  const uint32_t arrived = b.arrived();
  switch (b.contribute(event.count, static_cast<uint32_t>(event.bytes), event.has(Event::whole_cta))) {
    // Q6: nothing says what becomes of a contribution that does not fit. The H200 stops with an illegal
    // instruction (P8); here it counts for nothing, and who waits with it waits for ever.
    case NamedBarrier::Outcome::count_mismatch:
      return remark(faults, event, "NX1", named_id(event.object),
                    named_name(event.object) + ": " + std::to_string(event.count) +
                        " threads here, the first to come said " + std::to_string(b.expected()),
                    "use one thread count for all that meet at a barrier");
    case NamedBarrier::Outcome::over_arrival:
      return remark(faults, event, "NX3", named_id(event.object),
                    named_name(event.object) + ": more threads arrive than the count that it was given",
                    "count every warp that arrives, or use another id");
    case NamedBarrier::Outcome::bad_count:
      return stop(faults, event, "N1", named_id(event.object),
                  named_name(event.object) + ": a thread count that is no positive multiple of 32",
                  "count whole warps");
    case NamedBarrier::Outcome::ok:
    case NamedBarrier::Outcome::completed:
      break;
  }
  if (own.add(waits) == Contribution::Misuse::twice)
    remark(faults, event, "N7", named_id(event.object),
           "the same warps contribute twice to one instance of " + named_name(event.object),
           "wait for the instance before contributing to the next");
  if (b.arrived() > arrived) {  // still open
    if (plan_->exits_leave) release_for_exited(n, OrchestrationPlan::none, event, faults);
    if (waits && b.arrived() == 0) passes_[strand] = 1;
    return;
  }
  if (waits) passes_[strand] = 1;
  complete_named(n, event, faults);
}

void OrchestrationMachine::complete_named(uint32_t named, const Event& event, Faults& faults) {
  const OrchestrationPlan::Named& info = plan_->named[named];
  bool waited = false;
  for (uint32_t i = 0; i < info.participants.size(); ++i) {
    Contribution& c = contributions_[info.first + i];
    const uint32_t s = info.participants[i];
    if (c.waited()) {
      waited = true;
      // N3: its waiters go on, whenever they are next scheduled.
      if (has_next(s) && at(s).kind == EventKind::named_barrier_pass && at(s).object == info.object)
        passes_[s] = 1;
    }
    c.clear();
  }
  if (!waited)
    remark(faults, event, "C4", named_id(info.object),
           named_name(info.object) + " completes by arrivals only: nobody waits in this instance",
           "one side must bar.sync");
}

void OrchestrationMachine::step_cluster(uint32_t strand, Event& event, Faults& faults) {
  if (event.kind == EventKind::cluster_wait) {
    seats_[strand] = ClusterBarrier::Seat::out;
    event.generation = clusters_[cluster_of(strand)].generation();
    return;
  }
  switch (clusters_[cluster_of(strand)].arrive(seats_[strand], event.count)) {
    case ClusterBarrier::Outcome::arrived_already:
      return stop(faults, event, "C1", "cluster barrier",
                  "a second arrival at the cluster barrier before it completes", "wait between two arrivals");
    case ClusterBarrier::Outcome::over_arrival:
      return stop(faults, event, "C1", "cluster barrier", "more arrivals at the cluster barrier than members",
                  "every thread of the cluster arrives once");
    case ClusterBarrier::Outcome::ok:
      seats_[strand] = ClusterBarrier::Seat::arrived;
      return;
    case ClusterBarrier::Outcome::completed:
      seats_[strand] = ClusterBarrier::Seat::arrived;
      release_seats(cluster_of(strand));
      return;
  }
}

void OrchestrationMachine::release_seats(uint32_t cluster) {
  for (uint32_t s = 0; s < seats_.size(); ++s)
    if (seats_[s] == ClusterBarrier::Seat::arrived && cluster_of(s) == cluster)
      seats_[s] = ClusterBarrier::Seat::released;
}

void OrchestrationMachine::step_registers(uint32_t strand, const Event& event, Faults& faults) {
  const uint32_t g = plan_->register_group_of[strand];
  const uint32_t warp = plan_->register_warp_of[strand];
  const OrchestrationPlan::RegisterGroupInfo& info = plan_->register_groups[g];
  const uint64_t threads = program_->tables.agents[strand].threads;
  const bool takes = event.kind == EventKind::registers_acquire;
  if (takes ? !RegisterGroup::legal_acquire(event.bytes, event.count)
            : !RegisterGroup::legal_release(event.bytes, event.count))
    return stop(faults, event, "RG2", "registers",
                "setmaxnreg for " + std::to_string(event.count) + " registers by a warp that owns " +
                    std::to_string(event.bytes),
                "inc only upwards, dec only downwards");
  uint32_t live = 0, present = 0;
  uint64_t need = 0;
  for (uint32_t s : info.strands) {
    if (strand_ended(s)) continue;
    const uint32_t bit = 1u << plan_->register_warp_of[s];
    live |= bit;
    if (!has_next(s) || at(s).kind != EventKind::registers_acquire) continue;
    present |= bit;
    if (at(s).count > at(s).bytes) need += (at(s).count - at(s).bytes) * program_->tables.agents[s].threads;
  }
  if (takes)
    register_groups_[g].acquire(registers_[info.cta], warp, present, need);
  else
    register_groups_[g].release(registers_[info.cta], warp, (event.bytes - event.count) * threads, live);
}

void OrchestrationMachine::step_signal(Event& event) {
  Signal& s = signals_[event.object];
  if (event.kind == EventKind::signal_add)
    s.add(static_cast<int64_t>(event.bytes));
  else if (event.kind == EventKind::signal_set)
    s.set(static_cast<int64_t>(event.bytes));
  else
    event.generation = s.writes();
}

// TC9: a pair of CTAs allocates and frees together. Whether the hardware waits for the peer is not
// specified, so a checker must not rely on it: the peer has to be there, and to have allocated, by the
// program's own synchronisation (TC10, orchestration_bugs.md F6, F7).
void OrchestrationMachine::step_tensor(uint32_t strand, const Event& event, Faults& faults) {
  const uint16_t cta = cta_of(strand);
  TensorMemory& m = tensor_memory_[cta];
  const auto group = static_cast<uint32_t>(event.bytes);
  const uint32_t peer = cta ^ 1u;
  TensorMemory::Outcome outcome = TensorMemory::Outcome::ok;
  if (event.kind == EventKind::tensor_relinquish) {
    m.relinquish();
  } else if (event.kind == EventKind::tensor_alloc) {
    outcome = m.allocate(static_cast<uint32_t>(event.generation), event.count, group);
    if (group == 2 && !started(peer))
      remark(faults, event, "TC9", "tensor memory",
             "tensor memory is allocated for a pair of CTAs, one of which may not run yet",
             "cluster barrier before tcgen05.alloc.cta_group::2");
  } else {
    outcome = m.free(static_cast<uint32_t>(event.generation), event.count, group);
    if (group == 2 && peer < tensor_memory_.size() && tensor_memory_[peer].paired() < m.paired())
      remark(faults, event, "TC10", "tensor memory",
             "tensor memory of a pair of CTAs is freed before the allocation of the peer is done",
             "cluster barrier between the last allocation and the first tcgen05.dealloc");
  }
  if (const std::string_view rule = broken_rule(outcome); !rule.empty())
    stop(faults, event, std::string(rule), "tensor memory",
         "a tensor memory operation on " + std::to_string(event.count) + " columns that is not allowed here",
         "allocate powers of two from 32 to 512, not increasing, before relinquishing; free what was "
         "allocated");
}

}  // namespace turnstile
