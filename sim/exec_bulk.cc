// SPDX-License-Identifier: Apache-2.0
// Bulk and tensor copies and their groups (semantics.md section 6). An issue makes a Copy in flight; copy.cc
// lands it.
#include <fmt/format.h>

#include <bit>

#include "sim/barrier_operand.h"
#include "sim/exec_tensormap.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/position_tracker.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

enum : uint8_t { load = 0, store = 1 };

/// A CTA that a load writes, and the barrier that it completes on there.
struct Destination {
  Cta* cta = nullptr;
  BarrierObject* barrier = nullptr;
};

/// Where a load goes: the CTA that the destination address names, or with .multicast::cluster each CTA of the
/// mask (MB30). The barrier lies in the same CTA; with .cta_group::2 in that CTA or its peer, whichever has
/// the parity of the CTA that the barrier's address names. Empty after a recorded fault.
std::vector<Destination> destinations(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane,
                                      uint64_t address, uint64_t barrier_address) {
  const LaneMask bit = LaneMask{1} << lane;
  const uint32_t size = cta.machine.cluster_size();
  std::vector<Destination> out;
  Cta* named = cta.owner_of(address);
  const Cta* barrier_owner = cta.owner_of(barrier_address);
  uint64_t mask = named == nullptr ? 0 : uint64_t{1} << named->rank;
  if (d.shape[1] != 0) mask = warp.regs.get(d.src.back(), lane) & 0xffff;
  if (named == nullptr || barrier_owner == nullptr || mask == 0 || mask >> size != 0) {
    cta.fault(warp, bit, d, "DX3",
              d.shape[1] != 0
                  ? fmt::format("a multicast to the CTAs of mask 0x{:x} in a cluster of {}", mask, size)
                  : fmt::format("a bulk copy names a CTA that is not in its cluster of {}", size),
              "name CTAs of the cluster; does the launch have clusters?");
    return {};
  }
  const bool pair = d.shape[2] == 2;
  if (d.shape[1] == 0 && !pair && barrier_owner != named) {
    cta.fault(warp, bit, d, "DX1",
              "a bulk copy completes on a barrier of another CTA than the one that it writes",
              "pass the barrier of the destination CTA (mapa)");
    return {};
  }
  const uint64_t offset = barrier_owner->shared_offset(barrier_address);
  if (offset % 8 != 0) {
    cta.fault(
        warp, bit, d, "BS3",
        fmt::format("a bulk copy completes on shared 0x{:x}: an mbarrier is aligned to 8 bytes", offset),
        "declare the barrier as a 64-bit word");
    return {};
  }
  for (uint32_t r = 0; r < size; ++r) {
    if ((mask >> r & 1) == 0) continue;
    Destination to;
    to.cta = cta.machine.ctas[cta.cluster * size + r].get();
    const uint32_t at = !pair ? r : (r & ~1u) | (barrier_owner->rank & 1u);
    const std::string where = to.cta == &cta ? "" : fmt::format(" of the CTA of rank {}", at);
    if (to.cta != &cta && to.cta->ended()) {
      cta.fault(warp, bit, d, "D2", fmt::format("a bulk copy to the CTA of rank {}, which has ended", r),
                "keep every CTA alive until its peers are done with it: a cluster barrier before the exit");
      return {};
    }
    to.barrier = at < size ? cta.machine.ctas[cta.cluster * size + at]->barrier_at(offset) : nullptr;
    if (to.barrier == nullptr || !to.barrier->state.valid()) {
      cta.fault(warp, bit, d, "MB10",
                fmt::format("a bulk copy completes on {}{}, which is not an initialised mbarrier",
                            cta.shared_name(offset), where),
                where.empty()
                    ? "mbarrier.init, then a CTA barrier, before the first copy"
                    : "mbarrier.init, fence.mbarrier_init and a cluster barrier before the first copy");
      return {};
    }
    out.push_back(to);
  }
  return out;
}

/// Records the issue and puts the copy in flight.
void issue(Cta& cta, Warp& warp, const Decoded& d, AgentId agent, unsigned lane, Copy copy, uint64_t bytes,
           const Destination& to = {}) {
  BarrierObject* barrier = to.barrier;
  copy.target = to.cta;
  AsyncOp op;
  op.kind = copy.to_shared ? AsyncOp::Kind::bulk_load : AsyncOp::Kind::bulk_store;
  op.issuer = agent;
  op.place = d.index;
  op.bytes = bytes;
  if (barrier != nullptr) {
    op.barrier = barrier->number;
    copy.barrier = barrier;
  } else {
    BulkQueue& q = cta.bulk_queue(warp, lane);
    ++q.in_flight;
    copy.queue = &q;
    op.queue = q.queue;
    op.group = q.committed + 1;
  }
  copy.op = cta.recorder.add_op(op);
  cta.recorder.add(EventKind::async_issue, agent, d.index).object = copy.op;
  cta.copies.push_back(copy);
}

}  // namespace

// Operand registers: load: [dst], [map], coordinates, [mbarrier]; store: [map], coordinates, [src].
Step exec_tensor_copy(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  const bool is_load = d.variant == load;
  const size_t rank = d.shape[0];
  const size_t map_at = is_load ? 1 : 0;
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if (((s.lanes >> lane) & 1) == 0) continue;
      const LaneMask bit = LaneMask{1} << lane;
      const uint64_t map_address =
          warp.regs.get(d.src[map_at], lane) + static_cast<uint64_t>(d.offsets[map_at]);
      auto found = cta.program.tensor_map_at.find(map_address - AddressMap::param_window);
      std::optional<MadeMap> made;
      if (found == cta.program.tensor_map_at.end()) {
        made = map_made_at(cta, map_address);
        if (!made)
          return cta.fault(
              warp, bit, d, "PE10",
              fmt::format("0x{:x} is not the address of a tensor map of this launch", map_address),
              "pass the map as a __grid_constant__ parameter and name it in [[params]]");
        if (made->map == nullptr)
          return cta.unknown(
              d, fmt::format("a copy with a tensor map in global memory: {}", made->problem),
              "let the kernel make the map with tensormap.replace and tensormap.cp_fenceproxy");
        if (!made->violation.empty())
          return cta.fault(warp, bit, d, made->violation.substr(0, made->violation.find(':')),
                           "a copy with a tensor map made by the kernel, " + made->violation,
                           "replace all fields that differ from those of the map that was copied");
      }
      const TensorMap& map = made ? *made->map : cta.launch.tensor_maps[found->second];
      if (map.dims.size() != (d.four_rows ? 2 : rank))
        return cta.fault(warp, bit, d, "BS5",
                         fmt::format("a {}-d copy with tensor map '{}' of rank {}", d.four_rows ? 2 : rank,
                                     map.name, map.dims.size()),
                         "use a map of the same rank");
      if (d.four_rows && map.box[1] != 1)
        return cta.unknown(
            d,
            fmt::format("'{}' with tensor map '{}', whose box has {} rows: it takes rows one by one",
                        d.text->mnemonic, map.name, map.box[1]),
            "encode the map with a box of one row");
      const uint64_t box_bytes = map.box_bytes() * (d.four_rows ? 4 : 1);
      const auto elements = map.box[0] * element_bytes(map.type);
      const uint64_t span = map.swizzle == Swizzle::b128 ? 128 : map.swizzle == Swizzle::b64 ? 64 : 32;
      bool strided = false;
      for (uint32_t e : map.element_strides) strided = strided || e != 1;
      if (map.interleave != Interleave::none || strided || (map.swizzle != Swizzle::none && elements != span))
        return cta.unknown(d,
                           fmt::format("tensor map '{}' uses interleave, element strides or a box narrower "
                                       "than its swizzle, which the simulator has no model of",
                                       map.name),
                           "use a plain or fully swizzled box");
      Copy copy;
      copy.to_shared = is_load;
      copy.reduction = {d.reduction.kind, map.type};
      if (d.reduction.kind != Reduction::Kind::none && !reduction_is_defined(copy.reduction))
        return cta.fault(
            warp, bit, d, "BK7",
            fmt::format("'{}' with the element type of tensor map '{}'", d.text->mnemonic, map.name),
            "use a map whose element type has this reduction");
      if (made) {
        copy.made_map = made->map;
        copy.map_footprint = made->footprint;
      } else {
        copy.map = found->second;
      }
      copy.bytes = box_bytes;
      copy.coordinate_count = rank;
      for (size_t i = 0; i < rank; ++i)
        copy.coordinates[i] = static_cast<int32_t>(warp.regs.get(d.src[map_at + 1 + i], lane));
      if (const int64_t bytes = copy.coordinates[0] * static_cast<int64_t>(element_bytes(map.type));
          bytes % 16 != 0)
        return cta.fault(
            warp, bit, d, "BS15",
            fmt::format("the innermost coordinate {} of a tensor copy is {} bytes, no multiple of 16",
                        copy.coordinates[0], bytes),
            "start tiles at multiples of 16 bytes along the innermost dimension");
      if (cta.machine.positions != nullptr)
        copy.position_use = cta.machine.positions->use_of_box(cta, warp, d, lane, copy);
      const size_t shared_at = is_load ? 0 : 1 + rank;
      const int64_t shared_offset = d.offsets[is_load ? 0 : 1];
      const uint64_t shared = warp.regs.get(d.src[shared_at], lane) + static_cast<uint64_t>(shared_offset);
      const Cta* owner = is_load ? cta.owner_of(shared) : &cta;
      copy.shared = (owner == nullptr ? cta : *owner).shared_offset(shared);
      if (copy.shared % 128 != 0)
        return cta.fault(warp, bit, d, "BS2",
                         fmt::format("shared address {} of a tensor copy is not 128-byte aligned",
                                     cta.shared_name(copy.shared)),
                         "align the stage to 128 bytes (1024 with SWIZZLE_128B)");
      if (!cta.shared.contains(copy.shared, box_bytes) || copy.shared < AddressMap::shared_static_base)
        return cta.fault(
            warp, bit, d, "memory",
            fmt::format(
                "a tensor copy of {} bytes at shared address 0x{:x} leaves the {} bytes of shared memory",
                box_bytes, copy.shared, cta.shared.size()),
            "raise dynamic_shared_memory, or lower the number of stages");
      for (size_t i = 0; i < rank && !is_load; ++i) {
        if (copy.coordinates[i] >= 0) continue;
        if (d.four_rows)
          return cta.unknown(d, fmt::format("'{}' with row or column {}: whether a store may name one that "
                                            "does not exist is not said",
                                            d.text->mnemonic, copy.coordinates[i]));
        return cta.fault(
            warp, bit, d, "BS14",
            fmt::format("a tensor store starts at the negative coordinate {}", copy.coordinates[i]),
            "clip the tile before the store");
      }
      if (!is_load) {
        issue(cta, warp, d, s.agent, lane, copy, box_bytes);
        continue;
      }
      const uint64_t barrier = warp.regs.get(d.src[2 + rank], lane) + static_cast<uint64_t>(d.offsets[2]);
      const std::vector<Destination> to = destinations(cta, warp, d, lane, shared, barrier);
      if (to.empty()) return Step::stop;
      for (const Destination& one : to) {
        if (writes_a_barrier(cta, warp, d, lane, *one.cta, copy.shared, box_bytes)) return Step::stop;
        issue(cta, warp, d, s.agent, lane, copy, box_bytes, one);
      }
    }
  }
  return Step::next;
}

// Operand registers: load: [dst], [src], bytes, [mbarrier]; store: [dst], [src], bytes {, byte mask}.
Step exec_plain_copy(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  const bool is_load = d.variant == load;
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if (((s.lanes >> lane) & 1) == 0) continue;
      const LaneMask bit = LaneMask{1} << lane;
      Copy copy;
      copy.to_shared = is_load;
      copy.tensor = false;
      copy.reduction = d.reduction;
      const uint64_t first = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
      const uint64_t second = warp.regs.get(d.src[1], lane) + static_cast<uint64_t>(d.offsets[1]);
      const Cta* owner = is_load ? cta.owner_of(first) : &cta;
      copy.shared = (owner == nullptr ? cta : *owner).shared_offset(is_load ? first : second);
      const uint64_t global = is_load ? second : first;
      copy.bytes = warp.regs.get(d.src[2], lane) & 0xffffffff;
      if (copy.bytes == 0) {  // MB28: the text does not forbid it, nor say that it completes anything
        cta.recorder.unknown(d.index, "a bulk copy of 0 bytes: PTX does not say what it does",
                             "skip the copy, and the bytes that are expected of it");
        continue;
      }
      if (copy.bytes % 16 != 0 || copy.shared % 16 != 0 || global % 16 != 0)
        return cta.fault(warp, bit, d, "BS1",
                         fmt::format("a bulk copy of {} bytes between shared 0x{:x} and global 0x{:x}: sizes "
                                     "and addresses must be multiples of 16",
                                     copy.bytes, copy.shared, global),
                         "pad the row to 16 bytes");
      const uint64_t number = global / AddressMap::window_bytes;
      if (number == 0 || number > cta.global.buffer_count())
        return cta.fault(warp, bit, d, "memory",
                         fmt::format("address 0x{:x} of a bulk copy is in no buffer of this launch", global));
      copy.buffer = static_cast<uint32_t>(number - 1);
      copy.offset = global % AddressMap::window_bytes;
      if (copy.offset + copy.bytes > cta.global.bytes_of(copy.buffer) ||
          !cta.shared.contains(copy.shared, copy.bytes))
        return cta.fault(warp, bit, d, "memory",
                         fmt::format("a bulk copy of {} bytes leaves buffer '{}' or shared memory",
                                     copy.bytes, cta.recorder.trace().allocation_names[copy.buffer]),
                         "check the size against the launch file");
      if (!is_load) {
        if (d.byte_mask) copy.byte_mask = static_cast<uint16_t>(warp.regs.get(d.src[3], lane));
        issue(cta, warp, d, s.agent, lane, copy, copy.bytes);
        continue;
      }
      const uint64_t barrier = warp.regs.get(d.src[3], lane) + static_cast<uint64_t>(d.offsets[2]);
      const std::vector<Destination> to = destinations(cta, warp, d, lane, first, barrier);
      if (to.empty()) return Step::stop;
      for (const Destination& one : to) {
        if (writes_a_barrier(cta, warp, d, lane, *one.cta, copy.shared, copy.bytes)) return Step::stop;
        issue(cta, warp, d, s.agent, lane, copy, copy.bytes, one);
      }
    }
  }
  return Step::next;
}

Step exec_bulk_commit(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if (((s.lanes >> lane) & 1) == 0) continue;
      BulkQueue& q = cta.bulk_queue(warp, lane);
      Event& e = cta.recorder.add(EventKind::group_commit, s.agent, d.index);
      e.object = q.queue;
      e.generation = ++q.committed;
    }
  return Step::next;
}

// Waits for groups of the executing thread only: another thread's wait covers nothing (BK2).
Step exec_bulk_wait(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const uint64_t newest = warp.regs.get(d.src[0], static_cast<unsigned>(std::countr_zero(lanes)));
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const BulkQueue& q = cta.bulk_queue(warp, lane);
    const uint64_t covered = q.committed > newest ? q.committed - newest : 0;
    for (const Copy& c : cta.copies)
      if (c.queue == &q && cta.recorder.trace().ops[c.op].group <= covered) {
        cta.fragment_at(warp, lanes).wait = {false, Blocked::On::group, q.queue,
                                             static_cast<uint32_t>(newest), covered};
        return Step::blocked;
      }
  }
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if (((s.lanes >> lane) & 1) == 0) continue;
      const BulkQueue& q = cta.bulk_queue(warp, lane);
      Event& e = cta.recorder.add(EventKind::group_wait, s.agent, d.index);
      e.object = q.queue;
      e.generation = q.committed > newest ? q.committed - newest : 0;
      if (d.variant == 1) e.flags = Event::read_only;
    }
  return Step::next;
}

}  // namespace turnstile::sim
