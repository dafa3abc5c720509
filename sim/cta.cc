// SPDX-License-Identifier: Apache-2.0
#include "sim/cta.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/must.h"
#include "sim/copy.h"
#include "sim/execution_log.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/origin.h"
#include "sim/position_tracker.h"
#include "sim/unknown_guard.h"

namespace turnstile::sim {

namespace {

/// Values of special registers; only those that the launch determines are known (ptx.md 7.18).
void fill_special(Warp& warp, uint32_t reg, const std::string& name, const Program& program,
                  const Launch& launch, Dim3 position, uint32_t rank) {
  const Dim3 cluster = program.cluster;
  const uint32_t cluster_size = cluster[0] * cluster[1] * cluster[2];
  const Dim3 block = launch.block;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const uint32_t thread = warp.index * warp_size + lane;
    const uint32_t tid[3] = {thread % block[0], thread / block[0] % block[1], thread / (block[0] * block[1])};
    auto axis = [&](std::string_view prefix) -> int {
      if (name.size() != prefix.size() + 2 || name.compare(0, prefix.size(), prefix) != 0 ||
          name[prefix.size()] != '.')
        return -1;
      const char c = name.back();
      return c >= 'x' && c <= 'z' ? c - 'x' : -1;
    };
    auto set = [&](uint64_t v) { warp.regs.set(reg, lane, v & 0xffffffff); };
    if (int a = axis("%tid"); a >= 0) set(tid[a]);
    if (int a = axis("%ntid"); a >= 0) set(block[static_cast<size_t>(a)]);
    if (int a = axis("%ctaid"); a >= 0) set(position[static_cast<size_t>(a)]);
    if (int a = axis("%nctaid"); a >= 0) set(launch.grid[static_cast<size_t>(a)]);
    if (int a = axis("%clusterid"); a >= 0)
      set(position[static_cast<size_t>(a)] / cluster[static_cast<size_t>(a)]);
    if (int a = axis("%nclusterid"); a >= 0)
      set(launch.grid[static_cast<size_t>(a)] / cluster[static_cast<size_t>(a)]);
    if (int a = axis("%cluster_ctaid"); a >= 0)
      set(position[static_cast<size_t>(a)] % cluster[static_cast<size_t>(a)]);
    if (int a = axis("%cluster_nctaid"); a >= 0) set(cluster[static_cast<size_t>(a)]);
    if (name == "%laneid") set(lane);
    if (name == "%warpid") set(warp.index);
    if (name == "%nwarpid") set(64);
    if (name == "WARP_SZ") set(warp_size);
    if (name == "%cluster_ctarank") set(rank);
    if (name == "%cluster_nctarank") set(cluster_size);
    if (name == "%is_explicit_cluster")
      set(program.explicit_cluster ? 1 : 0);  // a predicate, held like every register
    if (name == "%lanemask_eq") set(1u << lane);
    if (name == "%lanemask_lt") set((1u << lane) - 1);
    if (name == "%lanemask_le") set((2u << lane) - 1u);
    if (name == "%lanemask_gt") set(~((2u << lane) - 1u));
    if (name == "%lanemask_ge") set(~((1u << lane) - 1u));
    if (name == "%dynamic_smem_size") set(launch.dynamic_shared_bytes);
  }
}

std::string role_of(const Launch& launch, uint32_t warp) {
  auto it = launch.warp_roles.find(warp);
  return it == launch.warp_roles.end() ? std::string() : it->second;
}

}  // namespace

Cta::Cta(Machine& m, uint16_t number, Dim3 where)
    : machine(m),
      program(m.program),
      launch(m.launch),
      global(m.global),
      options(m.options),
      position(where),
      index(number),
      rank(static_cast<uint16_t>(number % m.cluster_size())),
      cluster(static_cast<uint16_t>(number / m.cluster_size())),
      window_tag(m.cluster_size() > 1 ? uint32_t{rank} << AddressMap::rank_shift : 0),
      recorder(m.recorder),
      shared(m.program.shared_bytes, provenance()) {
  const Program& p = program;
  const uint32_t threads = launch.threads();
  const uint32_t warp_count = (threads + warp_size - 1) / warp_size;
  groups.resize((warp_count + 3) / 4);
  for (uint32_t w = 0; w < warp_count; ++w) {
    auto warp = std::make_unique<Warp>(static_cast<uint16_t>(w), p.register_count, provenance(),
                                       names_values() ? &machine.names : nullptr,
                                       options.slice == nullptr ? nullptr : &options.slice->registers);
    const uint32_t lanes = std::min(warp_size, threads - w * warp_size);
    warp->started = lanes == warp_size ? all_lanes : (LaneMask{1} << lanes) - 1;
    warp->fragments.push_back({0, warp->started, false, {}, warp->families});
    warp->strands.push_back(
        {warp->started, recorder.take_agent(index, static_cast<uint16_t>(w), role_of(launch, w))});
    warp->owned_registers = p.registers_per_thread;
    for (auto [reg, value] : p.constants) warp->regs.set_all(reg, value);
    for (auto [reg, offset] : p.shared_addresses) warp->regs.set_all(reg, offset + window_tag);
    for (const auto& [reg, name] : p.specials) fill_special(*warp, reg, name, p, launch, where, rank);
    if (p.local_bytes != 0) warp->local.assign(warp_size, WindowMemory(p.local_bytes, provenance()));
    warps.push_back(std::move(warp));
  }
}

bool Cta::run_warps() {
  bool moved = false;
  for (auto& warp : warps) {
    moved |= run_warp(*warp);
    if (machine.halted()) break;
  }
  return moved;
}

void Cta::halt() { machine.halt(); }

Cta* Cta::owner_of(uint64_t address) const {
  if (window_tag == 0 && machine.cluster_size() == 1) return machine.ctas[index].get();
  const uint64_t wanted = (address & 0xffffffff) >> AddressMap::rank_shift;
  return wanted < machine.cluster_size() ? machine.ctas[cluster * machine.cluster_size() + wanted].get()
                                         : nullptr;
}

bool Cta::ended() const {
  return std::all_of(warps.begin(), warps.end(), [](const auto& w) { return w->live() == 0; });
}

uint32_t Cta::oldest_in_flight() const {
  uint32_t oldest = AsyncOp::none;
  if (!flights.empty()) oldest = flights.front().op;
  if (!copies.empty()) oldest = std::min(oldest, copies.front().op);
  return oldest;
}

bool Cta::run_warp(Warp& warp) {
  for (Fragment& f : warp.fragments) f.blocked = false;
  bool moved = false;
  while (true) {
    if (!warp.bodies.empty()) close_optional_bodies(warp);
    // Lanes with equal counters run together; the lowest counter runs first.
    Fragment* next = nullptr;
    for (size_t i = 0; i < warp.fragments.size(); ++i) {
      Fragment& f = warp.fragments[i];
      for (size_t j = warp.fragments.size() - 1; j > i; --j) {
        if (warp.fragments[j].pc != f.pc || warp.fragments[j].wait.entered || f.wait.entered) continue;
        f.lanes |= warp.fragments[j].lanes;
        f.blocked = false;
        if (f.family != warp.fragments[j].family) f.family = 0;
        warp.fragments.erase(warp.fragments.begin() + static_cast<ptrdiff_t>(j));
      }
      // At the end of what its lanes might have jumped over, it waits for the rest of them.
      const OpenBody* open = warp.bodies.empty() ? nullptr : open_body(warp, f.lanes);
      if (open != nullptr && open->body->end == f.pc) continue;
      if (!f.blocked && (next == nullptr || f.pc < next->pc)) next = &f;
    }
    if (next == nullptr) return moved;

    if (++steps > options.step_limit || recorder.full()) {
      recorder.unknown(std::min(next->pc, last_place()),
                       steps > options.step_limit ? "the step limit was reached before the CTA ended"
                                                  : "the event limit was reached before the CTA ended",
                       "a loop may never end; a smaller case of the launch may decide it");
      recorder.trace().live_pollers.push_back(any_strand(warp, next->lanes));
      halt();
      return true;
    }
    if (next->pc >= program.code.size()) {  // falling off the end is ret
      exit_lanes(warp, next->lanes, last_place());
      moved = true;
      continue;
    }
    const Decoded& d = program.code[next->pc];
    LaneMask active = next->lanes;
    if (d.guard != Decoded::none) {
      if (machine.positions != nullptr) machine.positions->guard(*this, warp, d.guard, active);
      const LaneMask unknown_lanes = active & ~warp.regs.known(d.guard);
      if (unknown_lanes != 0 && (pass_unknown_guard(warp, *next, unknown_lanes) ||
                                 enter_optional_body(warp, *next, unknown_lanes))) {
        moved = true;
        continue;
      }
      if (unknown_lanes != 0) {
        std::string text =
            fmt::format("the guard of '{}' depends on a value that this launch does not give{}",
                        d.text->mnemonic, origin_of_unknown(*this, warp, d.guard, unknown_lanes));
        unknown(d, std::move(text), help_for_unknown(*this));
        halt();
        return true;
      }
      LaneMask truth = 0;
      const uint64_t* bits = std::as_const(warp.regs).lanes(d.guard);
      for (unsigned lane = 0; lane < warp_size; ++lane)
        truth |= static_cast<LaneMask>(bits[lane] & 1) << lane;
      active &= d.guard_negated ? ~truth : truth;
    }
    if (active == 0) {
      ++next->pc;
      moved = true;
      continue;
    }
    if (active != next->lanes) {
      // Lanes whose guard is false go on alone, so that they never wait for those that execute.
      Fragment skipped{next->pc + 1, next->lanes & ~active, false, {}, next->family};
      next->lanes = active;
      if (d.run == exec_branch || d.run == exec_branch_indexed) {
        skipped.family = warp.part_of_family(next->family);
        next->family = warp.part_of_family(next->family);
      }
      warp.fragments.push_back(skipped);
    }
    if (!warp.in_flight.empty() && !check_in_flight(warp, d, active)) {
      Fragment& f = fragment_at(warp, active);
      f.blocked = true;
      f.wait = {false, Blocked::On::group, groups[warp.index / 4].queue, 0, 0};
      continue;
    }
    if (d.uses_fragments) note_touched(warp, d);
    const LaneMask lanes = active;
    if (machine.positions != nullptr) machine.positions->before(*this, warp, d, lanes);
    const AgentId worker = machine.work.empty() ? AgentId{} : any_strand(warp, lanes);
    if (machine.log != nullptr) machine.log->before(*this, warp, d, lanes);
    const Step step = d.run(*this, warp, d, lanes);
    if (!machine.work.empty() && step != Step::blocked) recorder.work(worker, machine.work[d.index]);
    if (machine.log != nullptr) machine.log->after(*this, warp, d, lanes, step);
    if (machine.positions != nullptr) machine.positions->after(*this, warp, d, lanes, step);
    switch (step) {
      case Step::next: {
        Fragment& f = fragment_at(warp, lanes);
        f.wait = {};
        ++f.pc;
        // Lanes that poll may get different answers, here one for all.
        if (d.run == exec_mbarrier_wait || d.poll != Decoded::none) f.family = 0;
        moved = true;
        break;
      }
      case Step::moved:
        moved = true;
        break;
      case Step::blocked:
        fragment_at(warp, lanes).blocked = true;
        break;
      case Step::stop:
        halt();
        return true;
    }
  }
}

bool Cta::pass_unknown_guard(Warp& warp, Fragment& fragment, LaneMask lanes) {
  if (with_data()) return false;
  const auto [known, fresh] = meetings_.try_emplace(fragment.pc);
  if (fresh) known->second = meeting_of_ways(program, fragment.pc);
  if (!known->second) return false;
  const Meeting& ways = *known->second;
  const auto in_flight = [&](uint32_t reg) {
    return reg != Decoded::none && warp.in_flight.of(reg).group != 0;
  };
  for (const uint32_t i : ways.between) {  // whether a pending wgmma meets them would depend on the guard
    const Decoded& d = program.code[i];
    if (std::any_of(d.src.begin(), d.src.end(), in_flight) ||
        std::any_of(d.dst.begin(), d.dst.end(), in_flight))
      return false;
  }
  std::vector<uint32_t> written;
  for (const uint32_t i : ways.between) {
    const Decoded& d = program.code[i];
    if (d.uses_fragments) note_touched(warp, d);
    for (uint32_t r : d.dst)
      if (r != Decoded::none) written.push_back(r);
  }
  const auto expressed = [&](uint32_t r) { return warp.regs.has_cells(r); };
  if (names_values() && std::any_of(written.begin(), written.end(), expressed)) {
    name_results(warp, fragment.pc, ways, written, lanes);
  } else {
    for (const uint32_t r : written) warp.regs.forget(r, lanes);
  }
  if (fragment.lanes == lanes) {
    fragment.pc = ways.at;
    fragment.family = 0;
    return true;
  }
  fragment.lanes &= ~lanes;
  fragment.family = warp.part_of_family(fragment.family);
  warp.fragments.push_back({ways.at, lanes, false, {}});
  return true;
}

// A function of all registers that the ways read or write.
void Cta::name_results(Warp& warp, uint32_t guarded, const Meeting& ways,
                       const std::vector<uint32_t>& written, LaneMask lanes) {
  const auto bytes_of = [&](uint32_t r) { return std::min(8u, (program.register_bits[r] + 7u) / 8u); };
  std::vector<uint32_t> inputs = written;
  for (const uint32_t i : ways.between) {
    const Decoded& d = program.code[i];
    inputs.insert(inputs.end(), d.src.begin(), d.src.end());
    inputs.push_back(d.guard);
  }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  if (!inputs.empty() && inputs.back() == Decoded::none) inputs.pop_back();
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Hash128 all = hash_number(49, guarded);
    for (const uint32_t r : inputs) all = combine(all, warp.regs.expression(r, lane, bytes_of(r)));
    for (const uint32_t r : written)
      warp.regs.set_expression(r, lane, bytes_of(r), combine(all, hash_number(50, r)));
  }
}

/// A register that a pending wgmma still writes (WG3). PTX of nvcc copies accumulators with mov between a
/// wgmma and its wait; those moves are renames that ptxas removes, so they carry the hazard to the copy
/// instead of being one. Their value is there only once all four warps have issued the operation: false =
/// wait for that.
bool Cta::check_in_flight(Warp& warp, const Decoded& d, LaneMask lanes) {
  if (d.is_wgmma) return true;
  uint64_t group = 0;
  auto look = [&](uint32_t reg) {
    if (reg != Decoded::none) group = std::max(group, warp.in_flight.of(reg).group);
  };
  for (uint32_t r : d.src) look(r);
  for (uint32_t r : d.dst) look(r);
  if (group == 0) return true;

  const bool rename =
      d.is_move && d.dst[0] != Decoded::none && warp.in_flight.of(d.src[0]).group != 0 && lanes == all_lanes;
  if (rename) {
    const InFlight use = warp.in_flight.of(d.src[0]);
    const WarpGroup& wg = groups[warp.index / 4];
    for (size_t i = wg.executed; i < wg.ops.size(); ++i)
      if (wg.ops[i].group <= use.group && wg.ops[i].warps_issued < 4) return false;
    warp.in_flight.mark(d.dst[0], use);
    return true;
  }
  hazard(warp, lanes, d, group);
  for (uint32_t r : d.src) warp.in_flight.clear(r);
  for (uint32_t r : d.dst)
    if (r != Decoded::none) warp.in_flight.clear(r);
  return true;
}

void Cta::note_touched(Warp& warp, const Decoded& d) {
  if (d.is_rename) {
    const bool computed =
        std::any_of(d.src.begin(), d.src.end(), [&](uint32_t r) { return warp.touched.has(r); });
    for (uint32_t r : d.dst) {
      if (r == Decoded::none) continue;
      if (computed)
        warp.touched.note(r);
      else
        warp.touched.take_back(r);
    }
    return;
  }
  for (uint32_t r : d.src) warp.touched.note(r);
  for (uint32_t r : d.dst)
    if (r != Decoded::none) warp.touched.note(r);
}

void Cta::hazard(Warp& warp, LaneMask lanes, const Decoded& d, uint64_t group) {
  for (const Strand& s : strands_of(warp, lanes, d.index)) {
    Event& e = recorder.add(EventKind::register_hazard, s.agent, d.index);
    e.object = groups[warp.index / 4].queue;
    e.generation = group;
  }
}

bool Cta::land_one() {
  if (!flights.empty() && (copies.empty() || flights.front().op < copies.front().op)) {
    const Flight flight = std::move(flights.front());
    flights.pop_front();
    if (machine.log != nullptr) machine.log->begin_landing(*this, recorder.trace().ops[flight.op].place);
    flight.land(*this);
    if (machine.log != nullptr) machine.log->end_landing();
    return true;
  }
  if (copies.empty()) return false;
  const Copy copy = copies.front();
  copies.pop_front();
  if (machine.log != nullptr) machine.log->begin_landing(*this, recorder.trace().ops[copy.op].place);
  land(copy);
  if (machine.log != nullptr) machine.log->end_landing();
  return true;
}

void Cta::land(const Copy& copy) {
  const AsyncOp& op = recorder.trace().ops[copy.op];
  const AgentId issuer = op.issuer;
  const uint32_t place = op.place;
  if (copy.to_shared && copy.target != this && copy.target->ended()) {
    recorder.fault(issuer, place, "D5",
                   fmt::format("a bulk copy lands in shared memory of the CTA of rank {}, which has ended",
                               copy.target->rank),
                   "let the destination CTA wait for the copy before it ends");
    halt();
    return;
  }
  if (machine.positions != nullptr) machine.positions->set_use(copy.position_use);
  CopyEffect effect = copy.tensor ? land_tensor_copy(*this, copy) : land_plain_copy(*this, copy);
  auto access = [&](uint32_t footprint, bool write) {
    Event& e = recorder.add(EventKind::async_access, issuer, place);
    e.object = copy.op;
    e.footprint = footprint;
    if (write) e.flags = Event::write;
    if (!write || copy.reduction.kind == Reduction::Kind::none) return;
    e.flags |= Event::atomic;
    e.scope = Scope::gpu;  // BK7
    e.count = static_cast<uint32_t>(element_bytes(copy.reduction.type));
  };
  if (copy.made_map) {
    access(copy.map_footprint, false);
    recorder.trace().events.back().flags = Event::tensormap;
  }
  for (uint32_t f : effect.reads) access(f, false);
  for (uint32_t f : effect.writes) access(f, true);
  Event& done = recorder.add(EventKind::async_complete, issuer, place);
  done.object = copy.op;
  if (!copy.to_shared) {
    --copy.queue->in_flight;
    return;
  }
  const Mbarrier::Outcome outcome = copy.barrier->state.complete_tx(op.bytes);
  if (const std::string_view rule = broken_rule(outcome); !rule.empty()) {
    recorder.fault(issuer, place, std::string(rule),
                   fmt::format("a bulk copy completes {} bytes on {}, which is {}", op.bytes,
                               recorder.trace().barriers[copy.barrier->number].name,
                               outcome == Mbarrier::Outcome::invalid_object ? "not a live barrier"
                                                                            : "out of its transaction range"),
                   "wait for the copy before the barrier is invalidated, and expect at most 1 MiB a phase");
    halt();
  }
}

void Cta::check_register_turns() {
  if (!ended() || !recorder.trace().faults.empty()) return;
  for (size_t g = 0; g < groups.size(); ++g) {
    const WarpGroup& group = groups[g];
    for (size_t w = 0; w < 4 && 4 * g + w < warps.size(); ++w) {
      if (group.register_turns[w] == group.register_turn.size()) continue;
      const Decoded& d = *group.register_turn[group.register_turns[w]];
      recorder.fault(group.register_agent, d.index, "RG1",
                     fmt::format("'{}' is executed by other warps of its group, but not by warp {}",
                                 d.text->mnemonic, 4 * g + w),
                     "all four warps of a warp group execute the same setmaxnreg");
      return;
    }
  }
}

bool Cta::in_flight(uint32_t queue, uint64_t group) const {
  const std::vector<AsyncOp>& ops = recorder.trace().ops;
  return std::any_of(flights.begin(), flights.end(),
                     [&](const Flight& f) { return ops[f.op].queue == queue && ops[f.op].group <= group; });
}

void Cta::note_blocked() {
  Trace& trace = recorder.trace();
  for (auto& warp : warps) {
    for (const Fragment& f : warp->fragments) {
      const uint32_t place = std::min(f.pc, last_place());
      for (const Strand& s : strands_of(*warp, f.lanes, place)) {
        Blocked b;
        b.agent = s.agent;
        b.place = place;
        b.on = f.wait.on;
        b.object = f.wait.object;
        b.count = f.wait.count;
        trace.blocked.push_back(b);
      }
    }
  }
}

std::vector<Strand> Cta::strands_of(Warp& warp, LaneMask lanes, uint32_t place) {
  std::vector<Strand> out;
  const size_t before = warp.strands.size();  // forked strands are appended and already in `out`
  for (size_t i = 0; i < before; ++i) {
    const LaneMask part = warp.strands[i].lanes & lanes;
    if (part == 0) continue;
    if (part != warp.strands[i].lanes) {
      const AgentId parent = warp.strands[i].agent;
      const std::string role = recorder.trace().agents[parent.v].role;
      const AgentId child = recorder.take_agent(index, warp.index, role);
      Event& e = recorder.add(EventKind::fork, parent, place);
      e.object = child.v;
      e.bytes = part;
      warp.strands[i].lanes &= ~part;
      warp.strands.push_back({part, child});
      out.push_back(warp.strands.back());
    } else {
      out.push_back(warp.strands[i]);
    }
  }
  return out;
}

AgentId Cta::join_strands(Warp& warp, LaneMask lanes, uint32_t place) {
  std::vector<Strand> parts = strands_of(warp, lanes, place);
  must(!parts.empty(), "no strand for these lanes");
  const Strand first = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    Event& e = recorder.add(EventKind::join, first.agent, place);
    e.object = parts[i].agent.v;
    e.flags = Event::memory;
    recorder.release_agent(parts[i].agent);
    std::erase_if(warp.strands, [&](const Strand& s) { return s.agent == parts[i].agent; });
  }
  for (Strand& s : warp.strands)
    if (s.agent == first.agent) s.lanes = lanes;
  return first.agent;
}

void Cta::order_strands(Warp& warp, LaneMask lanes, uint32_t place) {
  AgentId first{};
  bool have = false;
  // Twice around: after the first pass the first strand knows all, after the second all know it.
  for (int pass = 0; pass < 2; ++pass) {
    for (const Strand& s : warp.strands) {
      if ((s.lanes & lanes) == 0) continue;
      if (!have) {
        first = s.agent;
        have = true;
      } else if (!(s.agent == first)) {
        recorder.add(EventKind::join, first, place).object = s.agent.v;
      }
    }
  }
}

AgentId Cta::any_strand(const Warp& warp, LaneMask lanes) const {
  for (const Strand& s : warp.strands)
    if ((s.lanes & lanes) != 0) return s.agent;
  return warp.strands.front().agent;
}

Fragment& Cta::fragment_at(Warp& warp, LaneMask lanes) {
  for (Fragment& f : warp.fragments)
    if (f.lanes == lanes) return f;
  must(false, "the fragment of these lanes is gone");
  return warp.fragments.front();
}

Step Cta::fault(const Warp& warp, LaneMask lanes, const Decoded& d, std::string rule, std::string message,
                std::string help) {
  if (const OpenBody* open = open_body(warp, lanes); open != nullptr) {
    const Place& at = program.places[open->branch];
    return unknown(d,
                   fmt::format("{}, if the branch at {}:{} leads there; that depends on a value that this "
                               "launch does not give",
                               message, at.file.empty() ? at.ptx_file : at.file,
                               at.file.empty() ? at.ptx_line : at.line),
                   std::move(help));
  }
  recorder.fault(any_strand(warp, lanes), d.index, std::move(rule), std::move(message), std::move(help));
  return Step::stop;
}

Step Cta::unknown(const Decoded& d, std::string message, std::string help) {
  recorder.unknown(d.index, std::move(message), std::move(help));
  return Step::stop;
}

Step Cta::wait_for_lanes(Warp& warp, LaneMask lanes, LaneMask missing) {
  fragment_at(warp, lanes).wait = {false, Blocked::On::warp_sync, lanes, missing, 0};
  return Step::blocked;
}

void Cta::absorb(AgentId agent, AgentId peek, uint32_t place) {
  Event& e = recorder.add(EventKind::join, agent, place);
  e.object = peek.v;
  e.flags = Event::memory;
  recorder.release_agent(peek);
}

void Cta::drop_peeks(Warp& warp, LaneMask lanes, uint32_t place, uint32_t peek) {
  std::erase_if(warp.peeks, [&](const Peek& p) {
    if ((p.lanes & lanes) == 0 || (peek != any_peek && p.place != peek)) return false;
    absorb(any_strand(warp, p.lanes & lanes), p.strand, place);
    return true;
  });
}

void Cta::exit_lanes(Warp& warp, LaneMask mask, uint32_t place) {
  if (!warp.peeks.empty()) drop_peeks(warp, mask, place, any_peek);
  for (const Strand& s : strands_of(warp, mask, place))
    recorder.add(EventKind::exit, s.agent, place).count = static_cast<uint32_t>(std::popcount(s.lanes));
  std::erase_if(warp.strands, [&](const Strand& s) { return (s.lanes & mask) != 0; });
  warp.exited |= mask;
  std::erase_if(warp.fragments, [&](const Fragment& f) { return f.lanes == mask; });
  ClusterBarrier& barrier = machine.barriers[cluster];
  barrier.leave(static_cast<uint32_t>(std::popcount(mask)),
                warp.cluster_seat(barrier.generation()) == ClusterBarrier::Seat::arrived);
}

BarrierObject* Cta::barrier_at(uint64_t address) {
  if (last_barrier_ != nullptr && last_barrier_address_ == address) return last_barrier_;
  auto it = barriers.find(address);
  if (it == barriers.end()) return nullptr;
  last_barrier_address_ = address;
  return last_barrier_ = &it->second;
}

bool Cta::overlaps_barrier(uint64_t offset, uint64_t bytes) const {
  auto it = barriers.upper_bound(offset + bytes - 1);
  while (it != barriers.begin()) {
    --it;
    if (it->first + 8 <= offset) return false;
    if (it->second.state.valid()) return true;
  }
  return false;
}

BulkQueue& Cta::bulk_queue(const Warp& warp, unsigned lane) {
  const uint32_t key = uint32_t{warp.index} * warp_size + lane;
  auto it = bulk_queues.find(key);
  if (it == bulk_queues.end()) {
    BulkQueue q;
    q.queue = recorder.add_queue({.kind = QueueInfo::Kind::bulk,
                                  .cta = index,
                                  .warp = warp.index,
                                  .lane = static_cast<uint8_t>(lane)});
    it = bulk_queues.emplace(key, q).first;
  }
  return it->second;
}

void Cta::write_global(uint32_t buffer, uint64_t offset, uint64_t bytes, const ByteRun& in, size_t from,
                       uint32_t place) {
  global.write(buffer, offset, bytes, in, from);
  if (options.domain != Domain::bits) return;
  const auto first = in.known.begin() + static_cast<ptrdiff_t>(from);
  if (std::find(first, first + static_cast<ptrdiff_t>(bytes), uint8_t{0}) ==
      first + static_cast<ptrdiff_t>(bytes))
    return;
  const Place& at = program.places[place];
  std::string text = fmt::format(
      "'{}' at {}:{} writes values to '{}' that have no defined bits (never written, or read from outside)",
      at.instruction, at.file.empty() ? at.ptx_file : at.file, at.file.empty() ? at.ptx_line : at.line,
      recorder.trace().allocation_names[buffer]);
  if (std::find(not_predicted.begin(), not_predicted.end(), text) == not_predicted.end())
    not_predicted.push_back(std::move(text));
}

std::string Cta::shared_name(uint64_t address) const {
  for (const auto& [range, name, space] : recorder.trace().shared_names)
    if (space == Space::shared && address >= range.begin && address < range.end) return name;
  return fmt::format("shared+0x{:x}", address);
}

}  // namespace turnstile::sim
