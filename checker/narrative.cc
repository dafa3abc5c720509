// SPDX-License-Identifier: Apache-2.0
#include "checker/narrative.h"

#include <algorithm>
#include <cstdio>

#include "checker/run_state.h"

namespace turnstile::checker {

namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

std::string Names::warp(AgentId strand) const {
  const AgentInfo& info = trace_.agents[strand.v];
  std::string text = "warp " + std::to_string(info.warp);
  if (trace_.cluster_ctas > 1 || trace_.clusters > 1) text += " of CTA " + std::to_string(info.cta);
  if (!info.role.empty()) text += " (" + info.role + ")";
  return text;
}

std::string Names::warp_number(uint32_t key) const {
  for (uint32_t a = 0; a < trace_.agents.size(); ++a)
    if (warp_key(trace_.agents[a]) == key) return warp(AgentId{static_cast<uint16_t>(a)});
  return "warp " + std::to_string(key & 0xffff);
}

std::string Names::barrier(uint32_t b) const {
  const BarrierInfo& info = trace_.barriers[b];
  return info.name.empty() ? "mbarrier at shared+" + hex(info.address) : info.name;
}

std::string Names::named_barrier(uint32_t object) const {
  return "named barrier " + std::to_string(object % 16) + (object % 16 == 0 ? " (__syncthreads)" : "");
}

std::string Names::named_id(uint32_t object) const { return "id" + std::to_string(object % 16); }

std::string Names::holder(Space space, uint32_t allocation, uint64_t begin) const {
  if (space == Space::global) {
    const bool named =
        allocation < trace_.allocation_names.size() && !trace_.allocation_names[allocation].empty();
    return named ? trace_.allocation_names[allocation] : "buffer " + std::to_string(allocation);
  }
  const bool several = trace_.cluster_ctas > 1 || trace_.clusters > 1;
  const std::string of_cta = several ? " of CTA " + std::to_string(allocation) : "";
  for (const auto& [range, name, named] : trace_.shared_names)  // a .mimw text says the CTA itself: "@1.full"
    if (named == space && begin >= range.begin && begin < range.end)
      return name.find('@') == std::string::npos ? name + of_cta : name;
  return (space == Space::tensor ? "tensor memory" : "shared") + of_cta;
}

std::string Names::object_of(const Event& e) const {
  switch (e.kind) {
    case EventKind::mbarrier_init:
    case EventKind::mbarrier_inval:
    case EventKind::mbarrier_arrive:
    case EventKind::mbarrier_expect_tx:
    case EventKind::mbarrier_wait:
      return barrier(e.object);
    case EventKind::named_barrier_arrive:
    case EventKind::named_barrier_pass:
      return named_id(e.object);
    case EventKind::signal_add:
    case EventKind::signal_set:
    case EventKind::signal_wait:
      return trace_.signals[e.object].name;
    case EventKind::pool_acquire:
    case EventKind::pool_release:
      return trace_.pools[e.object].name;
    case EventKind::access:
    case EventKind::async_access: {
      const Footprint& f = trace_.footprints[e.footprint];
      return holder(f.space, f.allocation, f.range_count == 0 ? 0 : trace_.ranges[f.first_range].begin);
    }
    case EventKind::async_issue:
    case EventKind::async_complete:
      return trace_.ops[e.object].barrier == AsyncOp::none ? "" : barrier(trace_.ops[e.object].barrier);
    case EventKind::cluster_arrive:
    case EventKind::cluster_wait:
      return "cluster barrier";
    case EventKind::registers_release:
    case EventKind::registers_acquire:
    case EventKind::register_hazard:
      return "registers";
    case EventKind::tensor_alloc:
    case EventKind::tensor_dealloc:
    case EventKind::tensor_relinquish:
      return "tensor memory";
    case EventKind::fork:
    case EventKind::join:
    case EventKind::fence_proxy_async:
    case EventKind::fence:
    case EventKind::fence_mbarrier_init:
    case EventKind::fence_tensormap:
    case EventKind::group_commit:
    case EventKind::group_wait:
    case EventKind::tensor_fence_before:
    case EventKind::tensor_fence_after:
    case EventKind::dependents_launch:
    case EventKind::dependency_wait:
    case EventKind::exit:
      break;
  }
  return {};
}

std::string Names::bytes(Space space, uint32_t allocation, uint64_t begin, uint64_t end) const {
  const std::string base = holder(space, allocation, begin);
  if (space != Space::global)
    for (const auto& [range, name, named] : trace_.shared_names)
      if (named == space && begin >= range.begin && begin < range.end) {
        begin -= range.begin;
        end = std::min(end, range.end) - range.begin;
        break;
      }
  return base + "[" + std::to_string(begin) + ".." + std::to_string(end == begin ? begin : end - 1) + "]";
}

SourcePosition Names::position(uint32_t place) const {
  const Place& p = trace_.places[place];
  SourcePosition at;
  at.file = p.file.empty() ? p.ptx_file : p.file;
  at.line = p.file.empty() ? p.ptx_line : p.line;
  at.column = p.file.empty() ? 0 : p.column;
  at.ptx_line = p.ptx_line;
  at.instruction = p.instruction;
  return at;
}

std::string Names::line(uint32_t place) const {
  const SourcePosition at = position(place);
  return at.file.substr(at.file.find_last_of('/') + 1) + ":" + std::to_string(at.line);
}

std::string Names::action(const Event& access) const {
  const bool writes = access.has(Event::write);
  if (access.kind != EventKind::async_access) {
    if (access.has(Event::atomic)) return "atomic updates";
    return writes ? "generic store writes" : "generic load reads";
  }
  const char* verb = writes ? " writes" : " reads";
  if (access.has(Event::tensormap)) return "tensor map of a copy is read";
  switch (trace_.ops[access.object].kind) {
    case AsyncOp::Kind::bulk_load:
      return std::string("TMA load") + verb;
    case AsyncOp::Kind::bulk_store:
      return std::string("TMA store") + verb;
    case AsyncOp::Kind::wgmma:
      return std::string("wgmma") + verb;
    case AsyncOp::Kind::cp_async:
      return std::string("cp.async") + verb;
    case AsyncOp::Kind::remote_store:
      return std::string("st.async") + verb;
    case AsyncOp::Kind::tensor_mma:
      return std::string("tcgen05.mma") + verb;
    case AsyncOp::Kind::tensor_copy:
      return std::string("tcgen05.cp") + verb;
    case AsyncOp::Kind::tensor_load:
      return std::string("tcgen05.ld") + verb;
    case AsyncOp::Kind::tensor_store:
      return std::string("tcgen05.st") + verb;
    case AsyncOp::Kind::tensor_commit:
      return std::string("tcgen05.commit") + verb;
    case AsyncOp::Kind::clc_query:
      return std::string("clusterlaunchcontrol.try_cancel") + verb;
    case AsyncOp::Kind::lds_read:
      return std::string("LDS load") + verb;
  }
  return verb;
}

std::string Names::phase(uint64_t generation) {
  return "phase " + std::to_string(generation) + " (parity " + std::to_string(generation & 1) + ")";
}

History::History(const Trace& trace)
    : trace_(trace), entries_(trace.barriers.size()), machines_(trace.barriers.size()) {
  std::vector<size_t> issued(trace.ops.size(), 0);
  for (size_t b = 0; b < machines_.size(); ++b)
    if (trace.barriers[b].initial_count != 0) machines_[b].init(trace.barriers[b].initial_count);
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const auto add = [&](uint32_t b, Kind kind, size_t event) {
      entries_[b].push_back({kind, event, machines_[b].generation()});
    };
    if (e.kind == EventKind::mbarrier_init) machines_[e.object].init(e.count);
    if (e.kind == EventKind::mbarrier_inval) machines_[e.object].inval();
    if (e.kind == EventKind::mbarrier_wait) add(e.object, Kind::wait, i);
    if (e.kind == EventKind::async_issue) {
      issued[e.object] = i;
      if (raises_pending(trace.ops[e.object])) machines_[trace.ops[e.object].barrier].raise_pending();
    }
    if (e.kind == EventKind::mbarrier_expect_tx) {
      add(e.object, Kind::expect, i);
      machines_[e.object].expect_tx(e.bytes);
    }
    if (e.kind == EventKind::mbarrier_arrive) {
      add(e.object, Kind::arrive, i);
      if (e.has(Event::expects_bytes))
        machines_[e.object].arrive_expect_tx(e.bytes, e.has(Event::drops));
      else if (e.has(Event::drops))
        machines_[e.object].arrive_drop(e.count);
      else
        machines_[e.object].arrive(e.count);
    }
    if (e.kind != EventKind::async_complete) continue;
    const AsyncOp& op = trace.ops[e.object];
    if (delivers_bytes(op)) {
      add(op.barrier, Kind::bytes, issued[e.object]);
      machines_[op.barrier].complete_tx(op.bytes);
    } else if (arrives_when_done(op)) {
      add(op.barrier, Kind::arrive, issued[e.object]);
      machines_[op.barrier].arrive(1);
    }
  }
}

std::vector<History::Contribution> History::named(uint32_t object, NamedBarrier& machine) const {
  std::vector<Contribution> all;
  for (size_t i = 0; i < trace_.events.size(); ++i) {
    const Event& e = trace_.events[i];
    if (e.kind != EventKind::named_barrier_arrive || e.object != object) continue;
    all.push_back({i, machine.instance()});
    machine.contribute(e.count, static_cast<uint32_t>(e.bytes), e.has(Event::whole_cta));
  }
  return all;
}

std::vector<uint32_t> History::arrivers(uint32_t barrier) const {
  std::vector<uint32_t> warps;
  for (const Entry& entry : entries_[barrier])
    if (entry.kind == Kind::arrive)
      warps.push_back(warp_key(trace_.agents[trace_.events[entry.event].agent.v]));
  std::sort(warps.begin(), warps.end());
  warps.erase(std::unique(warps.begin(), warps.end()), warps.end());
  return warps;
}

size_t History::last_wait_before(uint32_t key, size_t event) const {
  for (size_t i = std::min(event, trace_.events.size()); i-- > 0;)
    if (trace_.events[i].kind == EventKind::mbarrier_wait &&
        warp_key(trace_.agents[trace_.events[i].agent.v]) == key)
      return i;
  return trace_.events.size();
}

}  // namespace turnstile::checker
