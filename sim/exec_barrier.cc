// SPDX-License-Identifier: Apache-2.0
// mbarriers, named barriers, fences and the register pool: instructions that go through the state machines of
// model/protocol.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

/// Shared-window address of the barrier operand in one lane, or nothing if it is not in shared memory.
std::optional<uint64_t> barrier_address(const Warp& warp, const Decoded& d, unsigned lane) {
  uint64_t address = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
  if (d.space == AddressSpace::shared) return address & 0xffffffff;
  if (address / AddressMap::window_bytes * AddressMap::window_bytes != AddressMap::shared_window)
    return std::nullopt;
  return address - AddressMap::shared_window;
}

Step unknown_operand(Cta& cta, const Decoded& d, std::string_view what) {
  return cta.unknown(
      d,
      fmt::format("the {} of '{}' depends on a value that this launch does not give", what, d.text->mnemonic),
      "give the buffer it was loaded from `control_data = true` and its values");
}

/// The live barrier object that one lane names; null: a fault was recorded.
BarrierObject* find_barrier(Cta& cta, Warp& warp, const Decoded& d, unsigned lane) {
  const LaneMask bit = LaneMask{1} << lane;
  const std::optional<uint64_t> address = barrier_address(warp, d, lane);
  if (!address || *address % 8 != 0 || !cta.shared.contains(*address, 8)) {
    cta.fault(warp, bit, d, "BS3",
              fmt::format("'{}' names 0x{:x}, which is no 8-byte aligned address in shared memory",
                          d.text->mnemonic, warp.regs.get(d.src[0], lane)),
              "pass the shared-memory address of the barrier");
    return nullptr;
  }
  BarrierObject* object = cta.barrier_at(*address);
  if (object == nullptr || !object->state.valid()) {
    cta.fault(
        warp, bit, d, "MB10",
        fmt::format("'{}' uses {}, which is not initialised", d.text->mnemonic, cta.shared_name(*address)),
        "mbarrier.init, then a CTA barrier, before the first use");
    return nullptr;
  }
  return object;
}

std::string outcome_text(Mbarrier::Outcome outcome, const std::string& name, const Mbarrier& b) {
  switch (outcome) {
    case Mbarrier::Outcome::over_arrival:
      return fmt::format("one arrival too many on {}: phase {} expects {}, {} still pending", name,
                         b.generation(), b.expected(), b.pending());
    case Mbarrier::Outcome::bad_count:
      return fmt::format("an arrival count out of range on {}", name);
    case Mbarrier::Outcome::tx_overflow:
      return fmt::format("the transaction count of {} leaves its range of +-(2^20 - 1) bytes", name);
    case Mbarrier::Outcome::already_valid:
      return fmt::format("{} is initialised again while it is live", name);
    case Mbarrier::Outcome::invalid_object:
      return fmt::format("{} is not initialised", name);
    case Mbarrier::Outcome::ok:
    case Mbarrier::Outcome::completed:
      return {};
  }
  return {};
}

const char* outcome_help(Mbarrier::Outcome outcome) {
  switch (outcome) {
    case Mbarrier::Outcome::over_arrival:
      return "if several threads arrive here, count them all in the barrier's init; if one thread came round "
             "the ring, let "
             "it wait until the stage is free (its empty barrier) before it arrives again";
    case Mbarrier::Outcome::bad_count:
      return "give a count between 1 and 2^20 - 1";
    case Mbarrier::Outcome::tx_overflow:
      return "expect fewer bytes a phase: split the copy over more stages";
    case Mbarrier::Outcome::already_valid:
      return "initialise a barrier once, or mbarrier.inval it first";
    case Mbarrier::Outcome::invalid_object:
    case Mbarrier::Outcome::ok:
    case Mbarrier::Outcome::completed:
      return "initialise the barrier, then a CTA barrier, before its first use";
  }
  return "";
}

Step check_outcome(Cta& cta, Warp& warp, const Decoded& d, unsigned lane, Mbarrier::Outcome outcome,
                   const BarrierObject& b) {
  const std::string_view rule = broken_rule(outcome);
  if (rule.empty()) return Step::next;
  return cta.fault(warp, LaneMask{1} << lane, d, std::string(rule),
                   outcome_text(outcome, cta.recorder.trace().barriers[b.number].name, b.state),
                   outcome_help(outcome));
}

bool known_in(const Warp& warp, uint32_t reg, LaneMask lanes) {
  return (warp.regs.known(reg) & lanes) == lanes;
}

/// Calls body(strand agent, lane) for every active lane, strand by strand.
template <typename Body>
Step for_lanes(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, Body body) {
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if ((s.lanes >> lane) & 1)
        if (const Step step = body(s.agent, lane); step != Step::next) return step;
  return Step::next;
}

}  // namespace

Step exec_mbarrier_init(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes) || !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, "address or count");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    const std::optional<uint64_t> address = barrier_address(warp, d, lane);
    if (!address || *address % 8 != 0 || !cta.shared.contains(*address, 8))
      return cta.fault(warp, LaneMask{1} << lane, d, "BS3",
                       "an mbarrier must lie in shared memory, 8-byte aligned",
                       "align the barrier to 8 bytes");
    auto [it, fresh] = cta.barriers.try_emplace(*address);
    if (fresh) it->second.number = cta.recorder.add_barrier({0, *address, cta.shared_name(*address)});
    const auto count = static_cast<uint32_t>(warp.regs.get(d.src[1], lane));
    Event& e = cta.recorder.add(EventKind::mbarrier_init, agent, d.index);
    e.object = it->second.number;
    e.count = count;
    const Mbarrier::Outcome outcome = it->second.state.init(count);
    return check_outcome(cta, warp, d, lane, outcome, it->second);
  });
}

Step exec_mbarrier_inval(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes)) return unknown_operand(cta, d, "address");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    cta.recorder.add(EventKind::mbarrier_inval, agent, d.index).object = b->number;
    b->state.inval();
    return Step::next;
  });
}

Step exec_mbarrier_arrive(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const bool expects = d.variant == 1;
  const bool has_operand = d.src.size() > 1;
  if (!known_in(warp, d.src[0], lanes)) return unknown_operand(cta, d, "address");
  if (has_operand && !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, expects ? "byte count" : "arrival count");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    const uint64_t operand = has_operand ? warp.regs.get(d.src[1], lane) & 0xffffffff : 1;
    Event& e = cta.recorder.add(EventKind::mbarrier_arrive, agent, d.index);
    e.object = b->number;
    e.count = expects ? 1 : static_cast<uint32_t>(operand);
    e.bytes = expects ? operand : 0;
    e.flags = static_cast<uint8_t>((d.is_signed ? 0 : Event::release) | (expects ? Event::expects_bytes : 0));
    if (!d.dst.empty() && d.dst[0] != Decoded::none) warp.regs.set(d.dst[0], lane, b->state.generation());
    const Mbarrier::Outcome outcome =
        expects ? b->state.arrive_expect_tx(operand) : b->state.arrive(static_cast<uint32_t>(operand));
    return check_outcome(cta, warp, d, lane, outcome, *b);
  });
}

Step exec_mbarrier_expect(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes) || !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, "address or byte count");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    Event& e = cta.recorder.add(EventKind::mbarrier_expect_tx, agent, d.index);
    e.object = b->number;
    e.bytes = warp.regs.get(d.src[1], lane) & 0xffffffff;
    return check_outcome(cta, warp, d, lane, b->state.expect_tx(e.bytes), *b);
  });
}

// A loop around try_wait that does nothing else is one wait: lanes whose phase is complete go on, the others
// stay (semantics.md E1: a wait is a poll). A poll whose failure leads to other work gives its answer at
// once; other schedules may then do other work (ALG-LF1), which the trace says.
Step exec_mbarrier_wait(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const bool by_state = d.variant == 1;
  const bool loop = d.shape[0] != 0;
  if (!known_in(warp, d.src[0], lanes) || !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, by_state ? "state" : "address or parity");
  LaneMask ready = 0;
  WaitState wait;
  const bool alike = warp.regs.same_in(d.src[0], lanes) && warp.regs.same_in(d.src[1], lanes);
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const LaneMask bit = LaneMask{1} << lane;
    const BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    const uint64_t operand = warp.regs.get(d.src[1], lane);
    const uint64_t open = b->state.generation();
    if (!by_state && operand > 1)
      return cta.fault(warp, bit, d, "W5", fmt::format("a wait for parity {}: only 0 and 1 exist", operand),
                       "pass phase & 1");
    if (by_state && (operand > open || operand + 1 < open))
      return cta.fault(warp, bit, d, "W1",
                       fmt::format("a wait for the phase of state {} of {}, whose open phase is {}: only the "
                                   "open phase and the one before it can be asked for",
                                   operand, cta.recorder.trace().barriers[b->number].name, open),
                       "wait with the state that the last arrive returned");
    if (by_state ? open > operand : b->state.ready(static_cast<uint32_t>(operand)))
      ready |= alike ? lanes : bit;
    else
      wait = {false, Blocked::On::mbarrier, b->number, static_cast<uint32_t>(operand & 1), 0};
    if (alike) break;
  }
  if (!loop)
    cta.recorder.unknown(d.index,
                         "what follows a poll of an mbarrier that fails is other work than polling again",
                         "wait in a loop that does nothing else");
  if (ready == 0 && loop) {
    cta.fragment_at(warp, lanes).wait = wait;
    return Step::blocked;
  }
  for (const Strand& s : cta.strands_of(warp, ready, d.index)) {
    std::vector<uint32_t> seen;
    bool seen_all = false;
    for (unsigned lane = 0; lane < warp_size && !seen_all; ++lane) {
      if (((s.lanes >> lane) & 1) == 0) continue;
      const BarrierObject* b = find_barrier(cta, warp, d, lane);
      if (std::find(seen.begin(), seen.end(), b->number) != seen.end()) continue;
      seen.push_back(b->number);
      if (alike) seen_all = true;
      Event& e = cta.recorder.add(EventKind::mbarrier_wait, s.agent, d.index);
      e.object = b->number;
      e.count =
          static_cast<uint32_t>(by_state ? warp.regs.get(d.src[1], lane) & 1 : warp.regs.get(d.src[1], lane));
      e.generation = b->state.generation();
      if (!d.is_signed) e.flags = Event::acquire;
    }
  }
  if (d.dst[0] != Decoded::none) {
    warp.regs.set_lanes(d.dst[0], ready, 1);
    warp.regs.set_lanes(d.dst[0], lanes & ~ready, 0);
  }
  if (!loop || ready == lanes) return Step::next;
  // Split: the lanes whose phase is complete leave the loop, the others poll again.
  Fragment& f = cta.fragment_at(warp, lanes);
  f.lanes &= ~ready;
  f.wait = wait;
  f.blocked = true;
  warp.fragments.push_back({d.index + 1, ready, false, {}});
  return Step::moved;
}

Step exec_named_barrier(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const bool waits = d.variant == 0;
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);  // N2, N5
  for (uint32_t r : d.src)
    if (!known_in(warp, r, lanes)) return unknown_operand(cta, d, "barrier or thread count");
  for (uint32_t r : d.src)
    if (!warp.regs.same_in(r, lanes))
      return cta.fault(warp, lanes, d, "N2",
                       fmt::format("the lanes of warp {} name different barriers or thread counts in '{}'",
                                   warp.index, d.text->mnemonic),
                       "the unit of a CTA barrier is the warp: give all its lanes one barrier and one count");
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const auto id = static_cast<uint32_t>(warp.regs.get(d.src[0], first));
  const uint32_t threads = (cta.launch.threads() + warp_size - 1) / warp_size * warp_size;
  const auto count = d.src.size() > 1 ? static_cast<uint32_t>(warp.regs.get(d.src[1], first)) : threads;
  if (id > 15)
    return cta.fault(warp, lanes, d, "N1", fmt::format("named barrier {}: only 0 to 15 exist", id),
                     "use an id below 16");
  Fragment& f = cta.fragment_at(warp, lanes);
  NamedBarrier& barrier = cta.named[id];
  if (f.wait.entered) {
    if (barrier.instance() < f.wait.target) return Step::blocked;
  } else {
    const AgentId agent = cta.join_strands(warp, lanes, d.index);
    Event& e = cta.recorder.add(EventKind::named_barrier_arrive, agent, d.index);
    e.object = id;
    e.count = count;
    e.bytes = warp_size;
    if (waits) e.flags = Event::waits;
    f.wait = {true, Blocked::On::named_barrier, id, count, barrier.instance() + 1};
    switch (barrier.contribute(count, warp_size)) {
      case NamedBarrier::Outcome::ok:
      case NamedBarrier::Outcome::completed:
        break;
      case NamedBarrier::Outcome::count_mismatch:
        return cta.fault(warp, lanes, d, "NX1",
                         fmt::format("named barrier {}: warp {} says {} threads, the warps before it said {}",
                                     id, warp.index, count, barrier.expected()),
                         "use one thread count for all warps that meet at a barrier");
      case NamedBarrier::Outcome::over_arrival:
        return cta.fault(
            warp, lanes, d, "NX3",
            fmt::format("named barrier {}: more threads arrive than the {} it counts", id, count),
            "count every warp that arrives, or use another id");
      case NamedBarrier::Outcome::bad_count:
        return cta.fault(
            warp, lanes, d, "N1",
            fmt::format("named barrier {}: a thread count of {} is no positive multiple of 32", id, count),
            "count whole warps");
    }
    if (waits && barrier.instance() < f.wait.target) return Step::blocked;
  }
  if (waits) {
    Event& e = cta.recorder.add(EventKind::named_barrier_pass, cta.any_strand(warp, lanes), d.index);
    e.object = id;
    e.generation = f.wait.target;
  }
  return Step::next;
}

Step exec_fence(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Event& e = cta.recorder.add(static_cast<EventKind>(d.variant), s.agent, d.index);
    e.flags = d.bytes;
  }
  return Step::next;
}

// The pool belongs to the CTA; a warp group gives and takes as one, when its last running warp has arrived at
// the instruction (RG1).
Step exec_setmaxnreg(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  const auto wanted = static_cast<uint32_t>(
      warp.regs.get(d.src[0], static_cast<unsigned>(std::countr_zero(lanes))));  // an immediate
  const bool takes = d.variant == 1;
  if (cta.program.registers_per_thread == 0) {
    cta.recorder.unknown(d.index, "setmaxnreg, but the registers per thread at entry are not known (RG10)",
                         "set registers_per_thread in [launch]");
    return Step::next;
  }
  if (takes ? wanted < warp.owned_registers : wanted > warp.owned_registers)
    return cta.fault(warp, lanes, d, "RG2",
                     fmt::format("warp {} owns {} registers a thread and asks setmaxnreg.{} for {}",
                                 warp.index, warp.owned_registers, takes ? "inc" : "dec", wanted),
                     "inc only upwards, dec only downwards");
  WarpGroup& group = cta.groups[warp.index / 4];
  const uint32_t first = warp.index / 4u * 4u;
  uint32_t live = 0;
  for (uint32_t w = first; w < std::min<size_t>(first + 4, cta.warps.size()); ++w)
    if (cta.warps[w]->live() != 0) live |= 1u << (w - first);
  const uint32_t bit = 1u << (warp.index - first);

  if (!takes) {
    Event& e =
        cta.recorder.add(EventKind::registers_release, cta.join_strands(warp, lanes, d.index), d.index);
    e.count = wanted;
    e.bytes = warp.owned_registers;
    group.register_release |= bit;
    group.release_total += (warp.owned_registers - wanted) * warp_size;
    warp.owned_registers = wanted;
    if ((group.register_release & live) == live) {
      cta.free_registers += group.release_total;
      group.register_release = group.release_total = 0;
    }
    return Step::next;
  }
  if ((group.register_grant & bit) == 0) {
    group.register_request |= bit;
    uint64_t need = 0;
    for (uint32_t w = first; w < std::min<size_t>(first + 4, cta.warps.size()); ++w)
      if ((live >> (w - first)) & 1)
        need += uint64_t{wanted - std::min(wanted, cta.warps[w]->owned_registers)} * warp_size;
    if ((group.register_request & live) != live || cta.free_registers < static_cast<int64_t>(need)) {
      cta.fragment_at(warp, lanes).wait = {false, Blocked::On::registers, 0, wanted, 0};
      return Step::blocked;
    }
    cta.free_registers -= static_cast<int64_t>(need);
    group.register_grant = group.register_request;
    group.register_request = 0;
  }
  group.register_grant &= ~bit;
  Event& e = cta.recorder.add(EventKind::registers_acquire, cta.join_strands(warp, lanes, d.index), d.index);
  e.count = wanted;
  e.bytes = warp.owned_registers;
  warp.owned_registers = wanted;
  return Step::next;
}

}  // namespace turnstile::sim
