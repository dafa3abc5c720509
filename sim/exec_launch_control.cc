// SPDX-License-Identifier: Apache-2.0
// Dependent launch (semantics.md section 11) and cluster launch control (section 10).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/barrier_operand.h"
#include "sim/handlers.h"
#include "sim/launch_control.h"
#include "sim/machine.h"
#include "sim/position_tracker.h"

namespace turnstile::sim {

namespace {

/// Where one CTA of the cluster receives the answer.
struct Receiver {
  uint32_t op = 0;
  Cta* cta = nullptr;
  uint64_t offset = 0;
  BarrierObject* barrier = nullptr;
};

/// What a request was answered.
struct Answer {
  uint64_t bits = 0;
  uint32_t handover = 0;  ///< how many have succeeded, with this one; 0: it failed
  size_t request = 0;     ///< PositionTape::requests
};

void land(Cta& issuer, const Receiver& to, const Answer& answer) {
  const AgentId agent = issuer.recorder.trace().ops[to.op].issuer;
  const uint32_t place = issuer.recorder.trace().ops[to.op].place;
  if (to.cta->ended()) {
    issuer.recorder.fault(agent, place, "CL3", "the answer to a try_cancel lands in a CTA that has ended",
                          "let every CTA of the cluster wait for its answer before it ends");
    return issuer.halt();
  }
  ByteRun run;
  run.resize(16, issuer.provenance());
  for (size_t i = 0; i < 16; ++i) {
    run.value[i] = i < 8 ? static_cast<uint8_t>(answer.bits >> (8 * i)) : uint8_t{0};
    run.known[i] = 1;
  }
  to.cta->shared.write(to.offset, 0, 16, run);
  if (PositionTracker* positions = issuer.machine.positions.get(); positions != nullptr)
    positions->note_answer(*to.cta, to.offset, answer.bits, answer.handover, answer.request,
                           {to.op, to.barrier->number, to.barrier->state.generation()});
  const ByteRange range{to.offset, to.offset + 16, 0, 1};
  const uint32_t footprint = to.cta->shared_footprint({&range, 1});
  Event& e = issuer.recorder.add(EventKind::async_access, agent, place);
  e.object = to.op;
  e.footprint = footprint;
  e.flags = Event::write;
  issuer.recorder.add(EventKind::async_complete, agent, place).object = to.op;
  const Mbarrier::Outcome outcome = to.barrier->state.complete_tx(16);
  if (const std::string_view rule = broken_rule(outcome); !rule.empty()) {
    issuer.recorder.fault(
        agent, place, std::string(rule),
        outcome_text(outcome, issuer.recorder.trace().barriers[to.barrier->number].name, to.barrier->state),
        outcome_help(outcome));
    issuer.halt();
  }
}

/// Takes a cluster that has not started: the last of the grid first, without those that run here. What is
/// handed out is a choice of the run (RunOptions::clusters_to_cancel), the order is not specified (CL7).
uint64_t take_cluster(Cta& cta) {
  Machine& machine = cta.machine;
  if (cta.options.hand_over) machine.look_for_narrow_atomics();
  const bool more = cta.options.hand_over ? cta.options.hand_over(machine)
                                          : machine.cancelled < cta.options.clusters_to_cancel;
  if (!more) return answer_bits(false, {});
  const Dim3 c = cta.program.cluster;
  Dim3 across;
  for (size_t i = 0; i < 3; ++i) across[i] = cta.launch.grid[i] / c[i];
  uint64_t number = uint64_t{across[0]} * across[1] * across[2];
  const auto runs_here = [&](uint64_t cluster) {
    return std::any_of(machine.ctas.begin(), machine.ctas.end(), [&](const auto& running) {
      const Dim3 at = running->position;
      return cluster == at[0] / c[0] + across[0] * (at[1] / c[1] + uint64_t{across[1]} * (at[2] / c[2]));
    });
  };
  if (const std::vector<uint32_t>& turns = cta.options.clusters_in_turn; !turns.empty()) {
    if (machine.cancelled >= turns.size()) return answer_bits(false, {});
    number = turns[machine.cancelled];
  } else {
    uint64_t left = uint64_t{machine.cancelled} + 1;  // to go down, over those that have started
    while (left > 0) {
      if (number == 0) return answer_bits(false, {});
      if (!runs_here(--number)) --left;
    }
  }
  ++machine.cancelled;
  return answer_bits(true, {static_cast<uint32_t>(number % across[0]) * c[0],
                            static_cast<uint32_t>(number / across[0] % across[1]) * c[1],
                            static_cast<uint32_t>(number / across[0] / across[1]) * c[2]});
}

}  // namespace

// variant: the kind of event.
Step exec_grid_dependency(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    cta.recorder.add(static_cast<EventKind>(d.variant), s.agent, d.index);
  return Step::next;
}

// Sources: [answer], [mbarrier]. variant 1: to every CTA of the cluster, at the same offsets, each with its
// own barrier (CL2).
Step exec_try_cancel(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (uint32_t r : d.src)
    if ((warp.regs.known(r) & lanes) != lanes)
      return cta.unknown(d,
                         fmt::format("an operand of '{}' depends on a value that this launch does not give",
                                     d.text->mnemonic));
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const LaneMask bit = LaneMask{1} << lane;
      if (cta.cancel_failed)
        return cta.fault(warp, bit, d, "CL4",
                         "a try_cancel after this CTA has seen one fail: the answer has no defined meaning",
                         "leave the loop at the first answer that is not a cancelled cluster");
      const BarrierObject* own = find_barrier(cta, warp, d, lane, 1);
      if (own == nullptr) return Step::stop;
      const uint64_t offset =
          cta.shared_offset(warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]));
      if (offset % 16 != 0 || !cta.shared.contains(offset, 16) || offset < AddressMap::shared_static_base)
        return cta.fault(
            warp, bit, d, "memory",
            fmt::format("the answer of a try_cancel goes to 0x{:x}, which is no 16-byte aligned address "
                        "in shared memory",
                        offset),
            "give it 16 bytes of shared memory, aligned to 16");
      std::vector<Receiver> receivers;
      const uint64_t at = cta.recorder.trace().barriers[own->number].address;
      const uint32_t size = cta.machine.cluster_size();
      for (uint32_t r = 0; r < size; ++r) {
        Cta* target = cta.machine.ctas[cta.cluster * size + r].get();
        if (d.variant == 0 && target != &cta) continue;
        if (target->ended())
          return cta.fault(
              warp, bit, d, "CL3",
              fmt::format("a try_cancel with .multicast::cluster::all while the CTA of rank {} has ended", r),
              "keep all CTAs of the cluster in the loop until the answer says that it is over");
        BarrierObject* barrier = target->barrier_at(at);
        if (barrier == nullptr || !barrier->state.valid())
          return cta.fault(
              warp, bit, d, "MB10",
              fmt::format("the answer of a try_cancel completes on {} of the CTA of rank {}, which is not "
                          "an initialised mbarrier",
                          cta.shared_name(at), r),
              "initialise it in every CTA, then a cluster barrier, before the first try_cancel");
        if (writes_a_barrier(cta, warp, d, lane, *target, offset, 16)) return Step::stop;
        AsyncOp op;
        op.kind = AsyncOp::Kind::clc_query;
        op.issuer = s.agent;
        op.place = d.index;
        op.barrier = barrier->number;
        op.bytes = 16;
        const uint32_t number = cta.recorder.add_op(op);
        cta.recorder.add(EventKind::async_issue, s.agent, d.index).object = number;
        receivers.push_back({number, target, offset, barrier});
      }
      Answer answer;
      if (PositionTracker* positions = cta.machine.positions.get(); positions != nullptr)
        answer.request = positions->note_request();
      answer.bits = take_cluster(cta);
      if (answer.bits != 0) answer.handover = cta.machine.cancelled;
      for (const Receiver& to : receivers)
        cta.flights.push_back({to.op, [to, answer](Cta& c) { land(c, to, answer); }});
    }
  return Step::next;
}

// Whether the request succeeded; the failure ends the requests of this CTA (CL4).
Step exec_is_canceled(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const LaneMask known = lanes & warp.regs.known(d.src[0]);
  if (!cta.options.every_cancel_count)
    cta.recorder.unknown(
        d.index,
        "whether a cluster is handed over to this one depends on the schedule; this run is one "
        "of several",
        "check with other numbers of clusters to hand over");
  for (LaneMask rest = known; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const bool canceled = (warp.regs.get(d.src[0], lane) & 1) != 0;
    if (!canceled) cta.cancel_failed = true;
    if (d.dst[0] != Decoded::none) warp.regs.set(d.dst[0], lane, canceled ? 1 : 0);
  }
  if (d.dst[0] != Decoded::none) warp.regs.forget(d.dst[0], lanes & ~known);
  return Step::next;
}

// variant: 0 to 2: one coordinate of the first CTA of the cancelled cluster; 3: all, in a vector of four.
Step exec_first_ctaid(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const LaneMask known = lanes & warp.regs.known(d.src[0]);
  for (LaneMask rest = known; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t answer = warp.regs.get(d.src[0], lane);
    if ((answer & 1) == 0)
      return cta.fault(warp, LaneMask{1} << lane, d, "CL9",
                       "the first CTA of an answer that says 'failed' is asked for",
                       "ask is_canceled first, and leave the loop if it is false");
    for (size_t i = 0; i < d.dst.size() && i < 3; ++i)
      if (d.dst[i] != Decoded::none)
        warp.regs.set(d.dst[i], lane,
                      answered_cta(answer, d.variant == 3 ? static_cast<unsigned>(i) : d.variant));
  }
  for (size_t i = 0; i < d.dst.size(); ++i)
    if (d.dst[i] != Decoded::none) warp.regs.forget(d.dst[i], i < 3 ? lanes & ~known : lanes);
  return Step::next;
}

}  // namespace turnstile::sim
