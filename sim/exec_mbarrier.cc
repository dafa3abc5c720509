// SPDX-License-Identifier: Apache-2.0
// mbarriers (semantics.md section 2): operands and their checks here, the phases in model/protocol/mbarrier.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "sim/barrier_operand.h"
#include "sim/handlers.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

/// Calls body(strand agent, lane) for every active lane, strand by strand.
template <typename Body>
Step for_lanes(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, Body body) {
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if ((s.lanes >> lane) & 1)
        if (const Step step = body(s.agent, lane); step != Step::next) return step;
  return Step::next;
}

/// An mbarrier state in a register. It is opaque: only what every schedule agrees on is in the bits of a
/// state that no .noComplete form made.
uint64_t state_bits(const Mbarrier::State& s) {
  return s.generation << 21 | (s.no_complete ? uint64_t{1} << 20 | s.pending : 0);
}
Mbarrier::State state_of(uint64_t bits) {
  return {bits >> 21, static_cast<uint32_t>(bits & 0xfffff), (bits >> 20 & 1) != 0};
}

/// MB22 in other schedules: an arrive.noComplete is never the last of its phase only if its own thread still
/// has to arrive. `thread` arrived in phase `generation`.
void note_order(Cta& cta, const Decoded& d, BarrierObject& b, uint64_t thread, bool no_complete,
                uint64_t generation) {
  if (no_complete) {
    if (b.no_complete_place == BarrierObject::nowhere) b.no_complete_thread = thread;
    if (b.no_complete_thread != thread) b.no_complete_thread = BarrierObject::several;
    b.no_complete_place = d.index;
    return;
  }
  const bool all_arrived = b.state.generation() != generation || b.state.pending() == 0;
  if (!all_arrived || b.no_complete_place == BarrierObject::nowhere) return;
  if (b.no_complete_thread != thread)
    cta.recorder.unknown(
        b.no_complete_place,
        "an arrive.noComplete whose thread does not make the last arrival of the phase itself: in "
        "another order it would complete the phase, which has no defined result (MB22)",
        "let the same thread end the phase with an arrive that may complete it");
  b.no_complete_place = BarrierObject::nowhere;
}

/// LF1: other schedules may do other work.
void other_work(Cta& cta, uint32_t place) {
  cta.recorder.unknown(place,
                       "what follows a poll of an mbarrier that fails is other work than polling again",
                       "wait in a loop that does nothing else");
}

/// A peek answers "not yet", which it always may (W3), so that its wait is executed. That it can pass as soon
/// as it is reached is told by a strand of its own, which waits with what is known here.
void note_peek(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, bool by_state) {
  cta.drop_peeks(warp, lanes, d.index, d.index);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const uint64_t operand = warp.regs.get(d.src[1], lane);
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Peek p;
    p.place = d.index;
    p.lanes = s.lanes;
    p.barrier = find_barrier(cta, warp, d, lane)->number;
    p.phase = by_state ? state_of(operand).generation : operand;
    const AgentInfo info = cta.recorder.trace().agents[s.agent.v];
    p.strand = cta.recorder.take_agent(info.cta, info.warp, info.role);
    cta.recorder.add(EventKind::fork, s.agent, d.index).object = p.strand.v;
    warp.peeks.push_back(p);
  }
  warp.regs.set_lanes(d.dst[0], lanes, 0);
}

/// The wait that a peek announced has passed, for the strand `s`; its event is the last one.
void end_peeks(Cta& cta, Warp& warp, const Decoded& d, const Strand& s, bool alike, uint64_t phase) {
  const Event wait = cta.recorder.trace().events.back();
  for (size_t i = 0; i < warp.peeks.size();) {
    const Peek p = warp.peeks[i];
    const std::vector<uint32_t>& waits = cta.program.peeks.at(p.place);
    if ((p.lanes & s.lanes) == 0 || std::find(waits.begin(), waits.end(), d.index) == waits.end()) {
      ++i;
      continue;
    }
    if (!alike || (p.lanes & ~s.lanes) != 0 || p.barrier != wait.object || p.phase != phase) {
      other_work(cta, p.place);
    } else {
      Event& poll = cta.recorder.add(EventKind::mbarrier_wait, p.strand, p.place);
      poll.object = wait.object;
      poll.count = wait.count;
      poll.generation = wait.generation;
      poll.scope = wait.scope;
      poll.flags = wait.flags;
    }
    cta.absorb(s.agent, p.strand, d.index);
    warp.peeks.erase(warp.peeks.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

Step exec_mbarrier_init(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes) || !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, "the address or count");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    const std::optional<BarrierPlace> at = barrier_place(cta, warp, d, lane);
    if (!at)
      return cta.fault(warp, LaneMask{1} << lane, d, "BS3",
                       "an mbarrier must lie in shared memory, 8-byte aligned",
                       "align the barrier to 8 bytes");
    auto [it, fresh] = cta.barriers.try_emplace(at->offset);
    if (fresh)
      it->second.number = cta.recorder.add_barrier(
          {.cta = cta.index, .address = at->offset, .name = cta.shared_name(at->offset)});
    const auto count = static_cast<uint32_t>(warp.regs.get(d.src[1], lane));
    Event& e = cta.recorder.add(EventKind::mbarrier_init, agent, d.index);
    e.object = it->second.number;
    e.count = count;
    const Mbarrier::Outcome outcome = it->second.state.init(count);
    return check_outcome(cta, warp, d, lane, outcome, it->second);
  });
}

Step exec_mbarrier_inval(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes)) return unknown_operand(cta, d, "the address");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    cta.recorder.add(EventKind::mbarrier_inval, agent, d.index).object = b->number;
    b->state.inval();
    return Step::next;
  });
}

// variant: bits of ArriveForm. Lanes may lead to a CTA of their own each.
Step exec_mbarrier_arrive(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const bool expects = (d.variant & arrive_expects) != 0, drops = (d.variant & arrive_drops) != 0;
  const bool no_complete = (d.variant & arrive_no_complete) != 0;
  const bool has_operand = d.src.size() > 1;
  if (!known_in(warp, d.src[0], lanes)) return unknown_operand(cta, d, "the address");
  if (has_operand && !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, expects ? "the byte count" : "the arrival count");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    const uint64_t operand = has_operand ? warp.regs.get(d.src[1], lane) & 0xffffffff : 1;
    Event& e = cta.recorder.add(EventKind::mbarrier_arrive, agent, d.index);
    e.object = b->number;
    e.scope = d.scope;
    e.count = expects ? 1 : static_cast<uint32_t>(operand);
    e.bytes = expects ? operand : 0;
    e.flags = static_cast<uint8_t>((d.is_signed ? 0 : Event::release) | (expects ? Event::expects_bytes : 0) |
                                   (drops ? Event::drops : 0));
    const auto count = e.count;
    Mbarrier::State state = b->state.state();
    const Mbarrier::Outcome outcome = expects       ? b->state.arrive_expect_tx(operand, drops)
                                      : no_complete ? b->state.arrive_no_complete(count)
                                      : drops       ? b->state.arrive_drop(count)
                                                    : b->state.arrive(count);
    note_order(cta, d, *b, uint64_t{warp.index} * warp_size + lane, no_complete, state.generation);
    if (no_complete) state = b->state.state(true);
    if (!d.dst.empty() && d.dst[0] != Decoded::none) warp.regs.set(d.dst[0], lane, state_bits(state));
    return check_outcome(cta, warp, d, lane, outcome, *b);
  });
}

// The explicit form of what a copy does when it lands (relaxed: HB5).
Step exec_mbarrier_complete(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes) || !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, "the address or byte count");
  return for_lanes(cta, warp, d, lanes, [&](AgentId agent, unsigned lane) {
    BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    AsyncOp op;  // a copy of nothing: it tells the trace of bytes that complete, and publishes no other
    op.kind = AsyncOp::Kind::bulk_load;
    op.issuer = agent;
    op.place = d.index;
    op.barrier = b->number;
    op.bytes = warp.regs.get(d.src[1], lane) & 0xffffffff;
    const uint32_t number = cta.recorder.add_op(op);
    cta.recorder.add(EventKind::async_issue, agent, d.index).object = number;
    cta.recorder.add(EventKind::async_complete, agent, d.index).object = number;
    return check_outcome(cta, warp, d, lane, b->state.complete_tx(op.bytes), *b);
  });
}

// How many are pending depends on the order of the arrivals: the count is not known to the program's control.
Step exec_mbarrier_pending(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes)) return unknown_operand(cta, d, "the state");
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    uint32_t count = 0;
    if (!Mbarrier::pending_count(state_of(warp.regs.get(d.src[0], lane)), count))
      return cta.fault(warp, LaneMask{1} << lane, d, "MB22",
                       "mbarrier.pending_count of a state that no arrive.noComplete returned",
                       "ask for the count of a state of a .noComplete form only");
  }
  if (d.dst[0] != Decoded::none) warp.regs.forget(d.dst[0], lanes);
  return Step::next;
}

Step exec_mbarrier_expect(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes) || !known_in(warp, d.src[1], lanes))
    return unknown_operand(cta, d, "the address or byte count");
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
    return unknown_operand(cta, d, by_state ? "the state" : "the address or parity");
  LaneMask ready = 0;
  WaitState wait;
  const bool alike = warp.regs.same_in(d.src[0], lanes) && warp.regs.same_in(d.src[1], lanes);
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const LaneMask bit = LaneMask{1} << lane;
    const BarrierObject* b = find_barrier(cta, warp, d, lane);
    if (b == nullptr) return Step::stop;
    const uint64_t operand = warp.regs.get(d.src[1], lane);
    if (!by_state && operand > 1)
      return cta.fault(warp, bit, d, "W5", fmt::format("a wait for parity {}: only 0 and 1 exist", operand),
                       "pass phase & 1");
    const Mbarrier::State asked = state_of(operand);
    if (by_state && b->state.ready(asked) == Mbarrier::StateAnswer::too_old)
      return cta.fault(
          warp, bit, d, "W1",
          fmt::format("a wait for the phase of state {} of {}, whose open phase is {}: only the "
                      "open phase and the one before it can be asked for",
                      asked.generation, cta.recorder.trace().barriers[b->number].name, b->state.generation()),
          "wait with the state that the last arrive returned");
    if (by_state ? b->state.ready(asked) == Mbarrier::StateAnswer::ready
                 : b->state.ready(static_cast<uint32_t>(operand)))
      ready |= alike ? lanes : bit;
    else
      wait = {false, Blocked::On::mbarrier, b->number,
              static_cast<uint32_t>((by_state ? asked.generation : operand) & 1), 0};
    if (alike) break;
  }
  if (!loop && alike && cta.program.peeks.contains(d.index)) {
    note_peek(cta, warp, d, lanes, by_state);
    return Step::next;
  }
  if (!loop) other_work(cta, d.index);
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
      const uint64_t operand = warp.regs.get(d.src[1], lane);
      e.count = static_cast<uint32_t>(by_state ? state_of(operand).generation & 1 : operand);
      e.generation = b->state.generation();
      e.scope = d.scope;
      if (!d.is_signed) e.flags = Event::acquire;
      if (d.shape[2] != 0)
        end_peeks(cta, warp, d, s, alike, by_state ? state_of(operand).generation : operand);
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

}  // namespace turnstile::sim
