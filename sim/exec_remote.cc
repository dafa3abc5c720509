// SPDX-License-Identifier: Apache-2.0
// Asynchronous writes to the shared memory of another CTA of the cluster: bulk copies and reductions from the
// own shared memory (BF2), st.async and red.async (DX1). Each completes bytes on a barrier beside its
// destination.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/barrier_operand.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

/// A write that is under way.
struct RemoteWrite {
  uint32_t op = 0;
  Cta* target = nullptr;
  uint64_t offset = 0;  ///< in the target's window
  BarrierObject* barrier = nullptr;
  bool from_shared = false;  ///< source is the own shared memory at `source`, read when it lands; else `data`
  uint64_t source = 0, bytes = 0;
  ByteRun data;
  Reduction reduction;
};

void land(Cta& cta, RemoteWrite& w) {
  const AgentId issuer = cta.recorder.trace().ops[w.op].issuer;
  const uint32_t place = cta.recorder.trace().ops[w.op].place;
  if (w.target->ended()) {
    cta.recorder.fault(
        issuer, place, "D5",
        fmt::format("an asynchronous write lands in shared memory of the CTA of rank {}, which has ended",
                    w.target->rank),
        "let the destination CTA wait for the write before it ends");
    return cta.halt();
  }
  auto access = [&](uint32_t footprint, uint8_t flags) {
    Event& e = cta.recorder.add(EventKind::async_access, issuer, place);
    e.object = w.op;
    e.footprint = footprint;
    e.flags = flags;
  };
  const bool reduces = w.reduction.kind != Reduction::Kind::none;
  if (w.from_shared) {
    const ByteRange range{w.source, w.source + w.bytes, 0, 1};
    access(cta.shared_footprint({&range, 1}), 0);
    w.data.resize(w.bytes, cta.provenance());
    cta.shared.read(w.source, w.bytes, w.data);
  }
  const ByteRange range{w.offset, w.offset + w.bytes, 0, 1};
  access(w.target->shared_footprint({&range, 1}),
         static_cast<uint8_t>(Event::write | (reduces ? Event::atomic : 0)));
  if (reduces) {
    Event& e = cta.recorder.trace().events.back();
    e.scope = Scope::gpu;  // BK7; red.async: .cluster, which reaches all that can touch this memory
    e.count = static_cast<uint32_t>(element_bytes(w.reduction.type));
    ByteRun old;
    old.resize(w.bytes, cta.provenance());
    w.target->shared.read(w.offset, w.bytes, old);
    reduce_run(w.reduction, old, 0, w.data, 0, w.bytes);
    forget_order(cta, old);
    w.data = std::move(old);
  }
  w.target->shared.write(w.offset, 0, w.bytes, w.data);
  cta.recorder.add(EventKind::async_complete, issuer, place).object = w.op;
  const Mbarrier::Outcome outcome = w.barrier->state.complete_tx(w.bytes);
  if (const std::string_view rule = broken_rule(outcome); !rule.empty()) {
    cta.recorder.fault(
        issuer, place, std::string(rule),
        outcome_text(outcome, cta.recorder.trace().barriers[w.barrier->number].name, w.barrier->state),
        outcome_help(outcome));
    cta.halt();
  }
}

/// Fills target and barrier in; false after a recorded fault. `other_only`: the own CTA is no destination.
bool aim(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane, uint64_t to, uint64_t barrier,
         bool other_only, RemoteWrite& w) {
  const LaneMask bit = LaneMask{1} << lane;
  w.target = cta.owner_of(to);
  if (w.target == nullptr) {
    cta.fault(warp, bit, d, "DX3",
              fmt::format("'{}' names a CTA that is not in the cluster", d.text->mnemonic),
              "map the address to a rank of the cluster (mapa)");
    return false;
  }
  if (w.target == &cta && other_only) {
    cta.fault(warp, bit, d, d.run == exec_peer_copy ? "BF2" : "DX1",
              fmt::format(
                  "'{}' writes the shared memory of its own CTA: this form is for another CTA of the cluster",
                  d.text->mnemonic),
              "map the address to another rank (mapa), or store directly");
    return false;
  }
  if (cta.machine.cluster_size() == 1) {
    cta.fault(warp, bit, d, "DX1", fmt::format("'{}' in a launch without clusters", d.text->mnemonic),
              "launch with a cluster of at least two CTAs");
    return false;
  }
  if (w.target != &cta && w.target->ended()) {
    cta.fault(warp, bit, d, "D2",
              fmt::format("'{}' to the CTA of rank {}, which has ended", d.text->mnemonic, w.target->rank),
              "keep every CTA alive until its peers are done with it: a cluster barrier before the exit");
    return false;
  }
  w.offset = w.target->shared_offset(to);
  if (w.offset < AddressMap::shared_static_base || !w.target->shared.contains(w.offset, w.bytes)) {
    cta.fault(warp, bit, d, "memory",
              fmt::format("'{}' writes {} bytes at shared 0x{:x}, outside shared memory", d.text->mnemonic,
                          w.bytes, w.offset),
              "check the address arithmetic");
    return false;
  }
  if (writes_a_barrier(cta, warp, d, lane, *w.target, w.offset, w.bytes)) return false;
  if (cta.owner_of(barrier) != w.target) {
    cta.fault(warp, bit, d, "DX1",
              fmt::format("'{}' completes on a barrier of another CTA than the one that it writes",
                          d.text->mnemonic),
              "map data and barrier to the same rank");
    return false;
  }
  w.barrier = w.target->barrier_at(w.target->shared_offset(barrier));
  if (w.barrier == nullptr || !w.barrier->state.valid()) {
    cta.fault(
        warp, bit, d, "MB10",
        fmt::format("'{}' completes on {} of the CTA of rank {}, which is not an initialised mbarrier",
                    d.text->mnemonic, cta.shared_name(w.target->shared_offset(barrier)), w.target->rank),
        "mbarrier.init, fence.mbarrier_init and a cluster barrier before the first write");
    return false;
  }
  return true;
}

void issue(Cta& cta, const Decoded& d, AgentId agent, AsyncOp::Kind kind, RemoteWrite w) {
  AsyncOp op;
  op.kind = kind;
  op.issuer = agent;
  op.place = d.index;
  op.barrier = w.barrier->number;
  op.bytes = w.bytes;
  w.op = cta.recorder.add_op(op);
  cta.recorder.add(EventKind::async_issue, agent, d.index).object = w.op;
  const uint32_t number = w.op;
  cta.flights.push_back({number, [w = std::move(w)](Cta& c) mutable { land(c, w); }});
}

}  // namespace

// Sources: [dst], [src], bytes, [mbarrier].
Step exec_peer_copy(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (uint32_t r : d.src)
    if (!known_in(warp, r, lanes)) return unknown_operand(cta, d);
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t to = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
      RemoteWrite w;
      w.from_shared = true;
      w.source = cta.shared_offset(warp.regs.get(d.src[1], lane) + static_cast<uint64_t>(d.offsets[1]));
      w.bytes = warp.regs.get(d.src[2], lane) & 0xffffffff;
      w.reduction = d.reduction;
      if (w.bytes == 0 || w.bytes % 16 != 0 || to % 16 != 0 || w.source % 16 != 0)
        return cta.fault(
            warp, LaneMask{1} << lane, d, "BS1",
            fmt::format("a bulk copy of {} bytes: sizes and addresses must be multiples of 16", w.bytes),
            "pad the row to 16 bytes");
      if (w.source < AddressMap::shared_static_base || !cta.shared.contains(w.source, w.bytes))
        return cta.fault(
            warp, LaneMask{1} << lane, d, "memory",
            fmt::format("a bulk copy of {} bytes from shared 0x{:x} leaves shared memory", w.bytes, w.source),
            "check the address arithmetic");
      const uint64_t barrier = warp.regs.get(d.src[3], lane) + static_cast<uint64_t>(d.offsets[2]);
      if (!aim(cta, warp, d, lane, to, barrier, true, w)) return Step::stop;
      issue(cta, d, s.agent, AsyncOp::Kind::bulk_load, std::move(w));
    }
  return Step::next;
}

// Sources: [dst], values, [mbarrier]. variant 1: red.async.
Step exec_store_async(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const size_t values = d.src.size() - 2;
  if (!known_in(warp, d.src.front(), lanes) || !known_in(warp, d.src.back(), lanes))
    return unknown_operand(cta, d);
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t to = warp.regs.get(d.src.front(), lane) + static_cast<uint64_t>(d.offsets[0]);
      const uint64_t barrier = warp.regs.get(d.src.back(), lane) + static_cast<uint64_t>(d.offsets[1]);
      RemoteWrite w;
      w.bytes = values * d.bytes;
      w.reduction = d.reduction;
      if (to % w.bytes != 0)
        return cta.fault(
            warp, LaneMask{1} << lane, d, "memory",
            fmt::format("'{}' at an address that is not aligned to its {} bytes", d.text->mnemonic, w.bytes),
            "align the destination");
      w.data.resize(w.bytes, cta.provenance());
      for (size_t v = 0; v < values; ++v)
        for (unsigned i = 0; i < d.bytes; ++i) {
          const uint32_t reg = d.src[1 + v];
          const size_t at = v * d.bytes + i;
          w.data.value[at] = static_cast<uint8_t>(warp.regs.get(reg, lane) >> (8 * i));
          w.data.known[at] = warp.regs.known(reg, lane) ? 1 : 0;
          if (cta.provenance()) w.data.cells[at] = warp.regs.byte(reg, lane, i);
        }
      if (!aim(cta, warp, d, lane, to, barrier, d.variant == 1, w)) return Step::stop;
      issue(cta, d, s.agent, AsyncOp::Kind::remote_store, std::move(w));
    }
  return Step::next;
}

}  // namespace turnstile::sim
