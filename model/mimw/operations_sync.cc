// SPDX-License-Identifier: Apache-2.0
// Operations of synchronisation: each becomes the events that model/trace.h has for its mechanism.
#include "fmt/format.h"
#include "model/mimw/agent_run.h"

namespace turnstile::mimw {
namespace {

constexpr int64_t kMostCount = (int64_t{1} << 20) - 1;  // MB2, MB3
constexpr int64_t kMostBytes = kMostCount;
constexpr int64_t kMostUnits = 0xffffffff;
constexpr int64_t kMostThreads = 0xffff;
constexpr uint32_t kNamedBarriers = 16;  // of a CTA (N1)
constexpr int64_t kMostColumns = 512;    // TC1
constexpr int64_t kPairColumns = 32;     // TC4: the least, where the text does not say

}  // namespace

Event AgentRun::event(EventKind kind, const Statement& s) const {
  Event e;
  e.kind = kind;
  e.place = builder_->place(s, text_->place_file_);
  return e;
}

bool AgentRun::plain(EventKind kind, const Statement& s, uint8_t flags) {
  Event e = event(kind, s);
  e.flags = flags;
  return emit(e, s);
}

bool AgentRun::wait(const Statement& s) {
  const std::optional<uint32_t> b = barrier(s.targets[0]);
  if (!b) return false;
  const std::optional<int64_t> parity = text_->evaluator_.number(s.values[0], scope_);
  if (!parity) return false;
  if (*parity != 0 && *parity != 1)
    return problems_->fail(text_->evaluator_.start_of(s.values[0]),
                           fmt::format("a parity is 0 or 1, not {}; take the last bit: '(..)&1'", *parity));
  Event e = event(EventKind::mbarrier_wait, s);
  e.flags = Event::acquire;
  e.scope = builder_->ctas() > 1 ? Scope::cluster : Scope::cta;
  e.object = *b;
  e.count = static_cast<uint32_t>(*parity);
  return emit(e, s);
}

bool AgentRun::arrive(const Statement& s) {
  const std::optional<uint32_t> b = barrier(s.targets[0]);
  if (!b) return false;
  const bool bytes = s.op == Operation::arrive_tx || s.op == Operation::expect_tx;
  const std::optional<int64_t> n = number(s, 0, 1, bytes ? 0 : 1, bytes ? kMostBytes : kMostCount,
                                          bytes ? "the bytes" : "the arrival count");
  if (!n) return false;
  Event e =
      event(s.op == Operation::expect_tx ? EventKind::mbarrier_expect_tx : EventKind::mbarrier_arrive, s);
  e.object = *b;
  e.scope = builder_->tables().barriers[*b].cta == strand_.cta ? Scope::cta : Scope::cluster;
  if (s.op != Operation::expect_tx) {
    e.flags = Event::release;
    e.count = bytes ? 1 : static_cast<uint32_t>(*n);
  }
  if (s.op == Operation::arrive_tx) e.flags |= Event::expects_bytes;
  if (s.op == Operation::arrive_drop) e.flags |= Event::drops;
  if (bytes) e.bytes = static_cast<uint64_t>(*n);
  return emit(e, s);
}

bool AgentRun::place_barrier(const Statement& s, uint32_t barrier) {
  const Ref& slot = s.targets[1];
  const std::optional<uint32_t> at = footprint(slot);
  if (!at) return false;
  BarrierInfo& info = builder_->tables().barriers[barrier];
  const Footprint& f = builder_->tables().footprints[*at];
  if (f.space != Space::shared || f.allocation != info.cta)
    return problems_->fail(slot.at, fmt::format("'{}' is not in the shared memory of CTA {}, where '{}' is",
                                                slot.text, info.cta, info.name));
  const uint64_t address = builder_->memory().address(*at);
  if (builder_->barrier_placed[barrier] && info.address != address)
    return problems_->fail(
        slot.at, fmt::format("'{}' lies in another slot already; a barrier has one place", info.name));
  info.address = address;
  builder_->barrier_placed[barrier] = true;
  return true;
}

bool AgentRun::init(const Statement& s) {
  const std::optional<uint32_t> b = barrier(s.targets[0]);
  if (!b) return false;
  Event e = event(EventKind::mbarrier_inval, s);
  e.object = *b;
  if (s.op == Operation::mbar_init) {
    if (!place_barrier(s, *b)) return false;
    e.kind = EventKind::mbarrier_init;
    e.count = builder_->barrier_count[*b];
  }
  return emit(e, s);
}

bool AgentRun::named_barrier(const Statement& s) {
  const std::optional<int64_t> id = number(s, 0, 0, 0, kNamedBarriers - 1, "the id of a named barrier");
  const std::optional<int64_t> threads = id ? number(s, 1, 0, 1, kMostThreads, "the number of threads") : id;
  if (!threads) return false;
  Event e = event(EventKind::named_barrier_arrive, s);
  e.object = strand_.cta * kNamedBarriers + static_cast<uint32_t>(*id);
  e.count = static_cast<uint32_t>(*threads);
  e.bytes = strand_.threads;
  if (s.op == Operation::bar_arrive) return emit(e, s);
  e.flags = Event::waits;
  if (!emit(e, s)) return false;
  Event pass = event(EventKind::named_barrier_pass, s);
  pass.object = e.object;
  return emit(pass, s);
}

bool AgentRun::cluster(const Statement& s) {
  if (builder_->tables().cluster_barrier_count == 0)
    return problems_->fail(s.at,
                           "the cluster barrier has no number of participants; declare it: 'cluster N'");
  if (s.op != Operation::cluster_wait) {
    Event e = event(EventKind::cluster_arrive, s);
    e.flags = Event::release;
    e.scope = Scope::cluster;
    e.count = 1;
    if (!emit(e, s)) return false;
  }
  if (s.op == Operation::cluster_arrive) return true;
  Event e = event(EventKind::cluster_wait, s);
  e.flags = Event::acquire;
  e.scope = Scope::cluster;
  return emit(e, s);
}

bool AgentRun::signal(const Statement& s) {
  const std::optional<uint32_t> v = variable(s.targets[0]);
  if (!v) return false;
  int64_t value = 1;
  if (!s.values.empty()) {
    const std::optional<int64_t> given = text_->evaluator_.number(s.values[0], scope_);
    if (!given) return false;
    value = *given;
  }
  Event e = event(EventKind::signal_add, s);
  e.object = *v;
  e.bytes = static_cast<uint64_t>(value);
  e.scope = Scope::gpu;
  switch (s.op) {
    case Operation::inc:
      e.flags = Event::release;
      break;
    case Operation::set:
      e.kind = EventKind::signal_set;
      e.flags = Event::release;
      break;
    case Operation::spin_ge:
      e.kind = EventKind::signal_wait;
      e.flags = Event::acquire;
      break;
    case Operation::spin_eq:
      e.kind = EventKind::signal_wait;
      e.flags = Event::acquire | Event::equal;
      break;
    default:  // inc_relaxed
      break;
  }
  return emit(e, s);
}

bool AgentRun::use_pool(const Statement& s) {
  const std::optional<uint32_t> p = pool(s.targets[0]);
  if (!p) return false;
  const std::optional<int64_t> units = number(s, 0, 0, 0, kMostUnits, "the number of units");
  if (!units) return false;
  Event e = event(s.op == Operation::acquire ? EventKind::pool_acquire : EventKind::pool_release, s);
  e.object = *p;
  e.count = static_cast<uint32_t>(*units);
  return emit(e, s);
}

bool AgentRun::tensor_memory(const Statement& s) {
  const bool pair = s.op == Operation::pair_alloc || s.op == Operation::pair_free;
  const bool free = s.op == Operation::tmem_free || s.op == Operation::pair_free;
  const std::optional<int64_t> columns = number(s, 0, kPairColumns, 1, kMostColumns, "the columns");
  if (!columns) return false;
  Event e = event(free ? EventKind::tensor_dealloc : EventKind::tensor_alloc, s);
  e.count = static_cast<uint32_t>(*columns);
  e.bytes = pair ? 2 : 1;
  if (free) {
    // What another agent allocated has no number here; the first column stands for it.
    for (size_t i = strand_.columns.size(); i-- > 0;) {
      if (strand_.columns[i].count != e.count) continue;
      e.generation = strand_.columns[i].first;
      strand_.columns.erase(strand_.columns.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    return emit(e, s);
  }
  uint32_t& next = builder_->next_column[strand_.cta];
  if (next + e.count > kMostColumns) next = 0;
  e.generation = next;
  strand_.columns.push_back({next, e.count});
  next += e.count;
  return emit(e, s);
}

bool AgentRun::fence_tensormap(const Statement& s) {
  for (const std::string& name : text_->descriptors_) {
    const std::optional<uint32_t> object = builder_->memory().find(Space::global, 0, name, s.at);
    if (!object) return false;
    for (const uint8_t flags : {uint8_t{Event::release}, uint8_t{0}}) {
      Event e = event(EventKind::fence_tensormap, s);
      e.flags = flags;
      e.scope = Scope::gpu;
      e.footprint = builder_->memory().extent_so_far(*object);
      if (!emit(e, s)) return false;
    }
  }
  return true;
}

bool AgentRun::access(const Statement& s) {
  for (const Ref& ref : s.targets) {
    const std::optional<uint32_t> f = footprint(ref);
    const std::optional<uint64_t> g = f ? generation(ref) : std::nullopt;
    if (!g) return false;
    Event e = event(EventKind::access, s);
    if (s.op == Operation::write) e.flags = Event::write;
    if (s.op == Operation::atomic) e.flags = Event::write | Event::atomic;
    e.footprint = *f;
    e.generation = *g;
    if (!emit(e, s)) return false;
  }
  return true;
}

bool AgentRun::operation(const Statement& s) {
  switch (s.op) {
    case Operation::wait:
      return wait(s);
    case Operation::arrive:
    case Operation::arrive_tx:
    case Operation::expect_tx:
    case Operation::arrive_drop:
      return arrive(s);
    case Operation::mbar_init:
    case Operation::mbar_inval:
      return init(s);
    case Operation::init_fence:
      return plain(EventKind::fence_mbarrier_init, s);
    case Operation::bar_sync:
    case Operation::bar_arrive:
      return named_barrier(s);
    case Operation::cluster_sync:
    case Operation::cluster_arrive:
    case Operation::cluster_wait:
      return cluster(s);
    case Operation::inc:
    case Operation::inc_relaxed:
    case Operation::set:
    case Operation::spin_ge:
    case Operation::spin_eq:
      return signal(s);
    case Operation::acquire:
    case Operation::release:
      return use_pool(s);
    case Operation::read:
    case Operation::write:
    case Operation::atomic:
      return access(s);
    case Operation::fence: {
      Event e = event(EventKind::fence, s);
      e.flags = Event::fence_release | Event::fence_acquire;  // M7
      e.scope = Scope::gpu;
      return emit(e, s);
    }
    case Operation::proxy_fence:
      return plain(EventKind::fence_proxy_async, s, Event::shared_space | Event::global_space);
    case Operation::tensormap_fence:
      return fence_tensormap(s);
    case Operation::tc_fence_before:
      return plain(EventKind::tensor_fence_before, s);
    case Operation::tc_fence_after:
      return plain(EventKind::tensor_fence_after, s);
    case Operation::tmem_alloc:
    case Operation::tmem_free:
    case Operation::pair_alloc:
    case Operation::pair_free:
      return tensor_memory(s);
    case Operation::tmem_relinquish:
      return plain(EventKind::tensor_relinquish, s);
    case Operation::pdl_launch:
      return plain(EventKind::dependents_launch, s);
    case Operation::pdl_wait:
      return plain(EventKind::dependency_wait, s);
    case Operation::tma_load:
      return copy_to_barrier(s, AsyncOp::Kind::bulk_load);
    case Operation::remote_store:
      return copy_to_barrier(s, AsyncOp::Kind::remote_store);
    case Operation::clc_query:
      return copy_to_barrier(s, AsyncOp::Kind::clc_query);
    case Operation::tma_store:
      return queued(s, AsyncOp::Kind::bulk_store, QueueInfo::Kind::bulk);
    case Operation::wgmma:
      return queued(s, AsyncOp::Kind::wgmma, QueueInfo::Kind::wgmma);
    case Operation::mma:
      return queued(s, AsyncOp::Kind::tensor_mma, QueueInfo::Kind::tensor);
    case Operation::tmem_copy:
      return queued(s, AsyncOp::Kind::tensor_copy, QueueInfo::Kind::tensor);
    case Operation::tmem_ld:
      return queued(s, AsyncOp::Kind::tensor_load, QueueInfo::Kind::tensor_load);
    case Operation::tmem_st:
      return queued(s, AsyncOp::Kind::tensor_store, QueueInfo::Kind::tensor_store);
    case Operation::lds_read:
      return queued(s, AsyncOp::Kind::lds_read, QueueInfo::Kind::lds_read);
    case Operation::async_copy:
      return queued(s, AsyncOp::Kind::cp_async, QueueInfo::Kind::cp_async);
    case Operation::mma_commit:
      return commit_tensor(s);
    case Operation::bulk_commit:
      return commit_group(s, QueueInfo::Kind::bulk);
    case Operation::wg_commit:
      return commit_group(s, QueueInfo::Kind::wgmma);
    case Operation::copy_commit:
      return commit_group(s, QueueInfo::Kind::cp_async);
    case Operation::bulk_wait_read:
      return wait_groups(s, QueueInfo::Kind::bulk, Event::read_only);
    case Operation::bulk_wait:
      return wait_groups(s, QueueInfo::Kind::bulk, 0);
    case Operation::wg_wait:
      return wait_groups(s, QueueInfo::Kind::wgmma, 0);
    case Operation::copy_wait:
      return wait_groups(s, QueueInfo::Kind::cp_async, 0);
    case Operation::tmem_wait_ld:
      return wait_issued(s, QueueInfo::Kind::tensor_load);
    case Operation::tmem_wait_st:
      return wait_issued(s, QueueInfo::Kind::tensor_store);
    case Operation::wait_lds:
      return wait_issued(s, QueueInfo::Kind::lds_read);
    case Operation::wait_async:
      return wait_issued(s, QueueInfo::Kind::cp_async);
    case Operation::exit:
      return exit(builder_->place(s, text_->place_file_), s.at);
    case Operation::enter:        // a CTA is there once an agent of it has done anything
    case Operation::wgmma_fence:  // WG1 is about registers, which a text does not have
    case Operation::nop:
      return true;
  }
  return false;
}

}  // namespace turnstile::mimw
