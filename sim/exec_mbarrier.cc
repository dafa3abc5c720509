// SPDX-License-Identifier: Apache-2.0
// mbarriers (semantics.md section 2): operands and their checks here, the phases in model/protocol/mbarrier.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "sim/barrier_operand.h"
#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

Step unknown_operand(Cta& cta, const Decoded& d, std::string_view what) {
  return cta.unknown(
      d,
      fmt::format("the {} of '{}' depends on a value that this launch does not give", what, d.text->mnemonic),
      "give the buffer it was loaded from `control_data = true` and its values");
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
    const std::optional<BarrierPlace> at = barrier_place(cta, warp, d, lane);
    if (!at)
      return cta.fault(warp, LaneMask{1} << lane, d, "BS3",
                       "an mbarrier must lie in shared memory, 8-byte aligned",
                       "align the barrier to 8 bytes");
    auto [it, fresh] = cta.barriers.try_emplace(at->offset);
    if (fresh) it->second.number = cta.recorder.add_barrier(
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
    e.scope = d.scope;
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
      e.scope = d.scope;
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

}  // namespace turnstile::sim
