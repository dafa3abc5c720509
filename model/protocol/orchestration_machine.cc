// SPDX-License-Identifier: Apache-2.0
//
// Which step can happen, and the frame of taking one. What the steps of each mechanism do is in
// orchestration_steps.cc (strands) and orchestration_landing.cc (operations, ends of strands and CTAs).
#include "model/protocol/orchestration_machine.h"

#include <algorithm>

#include "model/must.h"
#include "model/protocol/orchestration_plan.h"

namespace turnstile {

OrchestrationMachine::OrchestrationMachine(const Orchestration& program)
    : program_(&program),
      plan_(std::make_shared<const OrchestrationPlan>(program)),
      pc_(program.strands.size(), 0),
      faulted_(program.strands.size(), 0),
      barriers_(program.tables.barriers.size()),
      passes_(program.strands.size(), 0),
      seats_(program.strands.size(), ClusterBarrier::Seat::out),
      named_(plan_->named.size()),
      contributions_(plan_->contributions),
      clusters_(std::max(1u, program.tables.clusters), ClusterBarrier(program.tables.cluster_barrier_count)),
      registers_(plan_->ctas),
      register_groups_(plan_->register_groups.size()),
      tensor_memory_(plan_->uses_tensor_memory ? plan_->ctas : 0),
      unended_(static_cast<uint32_t>(program.strands.size())),
      instance_(program.strands.size(), 0) {
  const Trace& t = program.tables;
  for (const uint32_t strands : plan_->strands_of_cta) ctas_.emplace_back(strands);
  for (uint32_t b = 0; b < barriers_.size(); ++b)
    if (t.barriers[b].initial_count != 0) barriers_[b].init(t.barriers[b].initial_count);
  for (const SignalInfo& s : t.signals) signals_.emplace_back(s.initial);
  for (const PoolInfo& p : t.pools) pools_.emplace_back(p.initial);
  for (uint32_t s = 0; s < pc_.size(); ++s)
    if (strand_ended(s)) {
      --unended_;
      ctas_[cta_of(s)].end_one();
    }
}

// What a search spends much of its time on: machines of the same program differ in little.
OrchestrationMachine& OrchestrationMachine::operator=(const OrchestrationMachine& other) {
  if (this == &other) return *this;
  const bool same_plan = plan_ == other.plan_;
  pc_ = other.pc_;
  faulted_ = other.faulted_;
  barriers_ = other.barriers_;
  flights_ = other.flights_;
  stopped_ = other.stopped_;
  unended_ = other.unended_;
  ctas_ = other.ctas_;
  if (same_plan && !plan_->has_rest) return *this;
  program_ = other.program_;
  plan_ = other.plan_;
  passes_ = other.passes_;
  seats_ = other.seats_;
  named_ = other.named_;
  contributions_ = other.contributions_;
  clusters_ = other.clusters_;
  signals_ = other.signals_;
  pools_ = other.pools_;
  registers_ = other.registers_;
  register_groups_ = other.register_groups_;
  tensor_memory_ = other.tensor_memory_;
  instance_ = other.instance_;
  return *this;
}

bool OrchestrationMachine::strand_ended(uint32_t strand) const {
  return !has_next(strand) && program_->strands[strand].whole;
}

uint32_t OrchestrationMachine::cluster_of(uint32_t strand) const {
  const uint32_t cluster = cta_of(strand) / std::max(1u, program_->tables.cluster_ctas);
  return std::min(cluster, static_cast<uint32_t>(clusters_.size() - 1));
}

bool OrchestrationMachine::dead(uint32_t cta) const { return cta < ctas_.size() && ctas_[cta].exited(); }

bool OrchestrationMachine::started(uint32_t cta) const {
  for (uint32_t s = 0; s < pc_.size(); ++s)
    if (cta_of(s) == cta && pc_[s] != 0) return true;
  return cta >= ctas_.size() || plan_->strands_of_cta[cta] == 0;
}

void OrchestrationMachine::enabled(std::vector<Step>& steps) const {
  steps.clear();
  for (uint32_t s = 0; s < pc_.size(); ++s)
    if (strand_enabled(s)) steps.push_back({Step::Kind::strand, s});
  for (const AsyncGroups::Operation& o : flights_.all())
    if (operation_enabled(o)) steps.push_back({Step::Kind::operation, o.op});
}

bool OrchestrationMachine::is_enabled(Step step) const {
  if (step.kind == Step::Kind::strand) return step.index < pc_.size() && strand_enabled(step.index);
  const AsyncGroups::Operation* o = flights_.find(step.index);
  return o != nullptr && operation_enabled(*o);
}

const Event* OrchestrationMachine::next(Step step) const {
  if (step.kind == Step::Kind::strand)
    return step.index < pc_.size() && has_next(step.index) ? &at(step.index) : nullptr;
  const AsyncGroups::Operation* o = flights_.find(step.index);
  if (o == nullptr) return nullptr;
  const OrchestrationPlan::Op& op = plan_->ops[o->op];
  return o->phase < op.issues || o->phase >= op.phases ? nullptr
                                                       : &program_->operations[o->op][o->phase - op.issues];
}

bool OrchestrationMachine::strand_enabled(uint32_t strand) const {
  if (!has_next(strand) || faulted_[strand] != 0) return false;
  const Event& e = at(strand);
  switch (e.kind) {
    case EventKind::fork:
      return forked(e);
    case EventKind::join: {
      if (e.object == strand || !has_next(e.object)) return false;
      const Event& other = at(e.object);
      return other.kind == EventKind::join && other.object == e.object && other.count == strand;
    }
    case EventKind::mbarrier_wait: {
      const Mbarrier& b = barriers_[e.object];
      const bool misuse =
          !b.valid() || e.count > 1 || program_->tables.barriers[e.object].cta != cta_of(strand);
      return misuse || b.ready(e.count);
    }
    case EventKind::named_barrier_pass:
      return passes_[strand] != 0;
    case EventKind::group_wait:
      return group_done(e);
    case EventKind::registers_acquire:
      return registers_granted(strand);
    case EventKind::cluster_wait:
      return ClusterBarrier::passes(seats_[strand]);
    case EventKind::signal_wait:
      return signals_[e.object].satisfies(static_cast<int64_t>(e.bytes), e.has(Event::equal));
    case EventKind::pool_acquire:
      return pools_[e.object].can_acquire(e.count);
    case EventKind::tensor_alloc:
      return tensor_memory_[cta_of(strand)].can_allocate(e.count);
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
    case EventKind::mbarrier_arrive:
    case EventKind::mbarrier_expect_tx:
    case EventKind::named_barrier_arrive:
    case EventKind::fence_proxy_async:
    case EventKind::fence:
    case EventKind::fence_mbarrier_init:
    case EventKind::access:
    case EventKind::async_issue:
    case EventKind::async_access:
    case EventKind::async_complete:
    case EventKind::group_commit:
    case EventKind::registers_release:
    case EventKind::register_hazard:
    case EventKind::cluster_arrive:
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::pool_release:
    case EventKind::tensor_fence_before:
    case EventKind::tensor_fence_after:
    case EventKind::tensor_dealloc:
    case EventKind::tensor_relinquish:
    case EventKind::fence_tensormap:
    case EventKind::dependents_launch:
    case EventKind::dependency_wait:  // PD2: the grid before this one is not part of the orchestration
    case EventKind::exit:
      return true;
  }
  return true;
}

// A fork whose object is its own strand marks where that strand begins: its parent's fork starts it.
bool OrchestrationMachine::forked(const Event& fork) const {
  if (fork.object == fork.agent.v) return false;
  if (!has_next(fork.object)) return true;
  const Event& child = at(fork.object);
  return pc_[fork.object] == 0 || (child.kind == EventKind::fork && child.object == fork.object);
}

bool OrchestrationMachine::group_done(const Event& wait) const {
  const bool reads_only = wait.has(Event::read_only);  // BK3
  for (const AsyncGroups::Operation& o : flights_.all())
    if (o.queue == wait.object && o.group <= wait.generation &&
        !(reads_only && o.phase >= plan_->ops[o.op].reads_done))
      return false;
  return true;
}

bool OrchestrationMachine::registers_granted(uint32_t strand) const {
  const uint32_t g = plan_->register_group_of[strand];
  const OrchestrationPlan::RegisterGroupInfo& info = plan_->register_groups[g];
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
  return register_groups_[g].can_acquire(registers_[info.cta], plan_->register_warp_of[strand], present, live,
                                         need);
}

bool OrchestrationMachine::operation_enabled(const AsyncGroups::Operation& o) const {
  const OrchestrationPlan::Op& op = plan_->ops[o.op];
  if (o.phase < op.issues || o.phase >= op.phases) return false;  // WG6: all four warps have to issue a wgmma
  if (op.order == QueueOrder::free) return true;
  const std::span<const AsyncGroups::Operation> earlier = flights_.before(o.op);
  switch (op.order) {
    case QueueOrder::free:
      return true;
    case QueueOrder::strict:
      return earlier.empty();
    case QueueOrder::complete_by_group: {
      if (program_->operations[o.op][o.phase - op.issues].kind != EventKind::async_complete) return true;
      // An arrival of cp.async comes after all earlier copies of its thread, committed or not (HB2).
      const bool arrival = program_->tables.ops[o.op].kind == AsyncOp::Kind::cp_async &&
                           program_->tables.ops[o.op].barrier != AsyncOp::none;
      return std::none_of(earlier.begin(), earlier.end(),
                          [&](const auto& e) { return arrival || e.group < o.group; });
    }
    case QueueOrder::pipelined:
      return std::none_of(earlier.begin(), earlier.end(), [&](const auto& e) {
        return tensor_pipelined(plan_->ops[e.op].tensor, op.tensor);
      });
  }
  return true;
}

std::vector<Fault> OrchestrationMachine::take(Step step, Event& event) {
  Faults faults;
  if (step.kind == Step::Kind::strand)
    take_strand(step.index, event, faults);
  else
    take_operation(step.index, event, faults);
  return faults;
}

bool OrchestrationMachine::beyond_knowledge() const {
  for (uint32_t s = 0; s < pc_.size(); ++s) {
    if (!has_next(s)) {
      if (!program_->strands[s].whole) return true;
    } else if (at(s).kind == EventKind::signal_wait && at(s).has(Event::polled_once) && !strand_enabled(s)) {
      return true;
    }
  }
  return false;
}

std::vector<Blocked> OrchestrationMachine::blocked() const {
  std::vector<Blocked> all;
  for (uint32_t s = 0; s < pc_.size(); ++s) {
    if (!has_next(s) || faulted_[s] != 0) continue;
    const Event& e = at(s);
    Blocked b{e.agent, e.place, Blocked::On::mbarrier, e.object, e.count};
    switch (e.kind) {
      case EventKind::mbarrier_wait:
        break;
      case EventKind::named_barrier_pass:
        b.on = Blocked::On::named_barrier;
        if (pc_[s] > 0) b.count = program_->strands[s].events[pc_[s] - 1].count;  // threads that it named
        break;
      case EventKind::group_wait:
        b.on = Blocked::On::group;
        b.count = 0;
        break;
      case EventKind::registers_acquire:
        b.on = Blocked::On::registers;
        b.object = 0;
        break;
      case EventKind::cluster_wait:
        b.on = Blocked::On::cluster_barrier;
        break;
      case EventKind::signal_wait:
        if (e.has(Event::polled_once)) continue;
        b.on = Blocked::On::signal;
        b.count = e.has(Event::equal) ? 1 : 0;
        break;
      case EventKind::pool_acquire:
        b.on = Blocked::On::pool;
        break;
      case EventKind::tensor_alloc:
        b.on = Blocked::On::tensor_alloc;
        break;
      case EventKind::join:
        b.on = Blocked::On::warp_sync;
        b.object = b.count = 0;
        break;
      default:
        continue;  // not forked yet, or it can go on
    }
    all.push_back(b);
  }
  return all;
}

void OrchestrationMachine::stop(Faults& faults, const Event& event, std::string rule, std::string subject,
                                std::string message, std::string help) {
  remark(faults, event, std::move(rule), std::move(subject), std::move(message), std::move(help));
  stopped_ = true;
}

void OrchestrationMachine::remark(Faults& faults, const Event& event, std::string rule, std::string subject,
                                  std::string message, std::string help) {
  faults.push_back(
      {event.agent, event.place, std::move(rule), std::move(message), std::move(help), std::move(subject)});
}

std::string OrchestrationMachine::barrier_name(uint32_t barrier) const {
  const BarrierInfo& b = program_->tables.barriers[barrier];
  return b.name.empty() ? "mbarrier " + std::to_string(barrier) : b.name;
}

std::string OrchestrationMachine::named_name(uint32_t object) {
  return "named barrier " + std::to_string(object % 16);
}

std::string OrchestrationMachine::memory_name(uint32_t footprint) const {
  const Trace& t = program_->tables;
  const Footprint& f = t.footprints[footprint];
  if (f.space == Space::global)
    return f.allocation < t.allocation_names.size() ? t.allocation_names[f.allocation] : std::string();
  if (f.range_count == 0) return {};
  const uint64_t at = t.ranges[f.first_range].begin;
  for (const auto& [range, name, space] : t.shared_names)
    if (space == f.space && range.begin <= at && at < range.end) return name;
  return {};
}

std::string OrchestrationMachine::named_id(uint32_t object) { return "id" + std::to_string(object % 16); }

}  // namespace turnstile
