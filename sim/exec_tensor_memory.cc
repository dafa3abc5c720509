// SPDX-License-Identifier: Apache-2.0
// tcgen05: allocation of tensor memory, its loads and stores, waits and fences (semantics.md 9.2, 9.4).
// In the domain of bits, words of tensor memory are kept (tensor_values.h); loads bring them when they land.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "sim/exec_tensor.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/tensor_area.h"
#include "sim/tensor_values.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

/// A whole warp executes it, with one value of each operand (TC4, TC12). Nothing = go on.
std::optional<Step> not_one_warp(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, const char* rule,
                                 size_t operands) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  if (lanes != all_lanes)
    return cta.fault(warp, lanes, d, rule,
                     fmt::format("'{}' is executed by lanes 0x{:08x} of warp {}: it takes a full warp",
                                 d.text->mnemonic, lanes, warp.index),
                     "let no lane of the warp leave the kernel before it, and no branch split the warp");
  for (size_t i = 0; i < operands; ++i) {
    if (warp.regs.known(d.src[i]) != all_lanes) return unknown_operand(cta, d);
    if (!warp.regs.same_in(d.src[i], lanes))
      return cta.fault(
          warp, lanes, d, rule,
          fmt::format("the lanes of warp {} give different operands to '{}'", warp.index, d.text->mnemonic),
          "one address and one count for the whole warp");
  }
  return std::nullopt;
}

/// Lowest gap between the allocations; nothing: no gap is wide enough. Where the hardware puts an allocation
/// is not specified.
std::optional<uint32_t> gap_for(const TensorMemory& memory, uint32_t count) {
  uint32_t at = 0;
  for (const TensorMemory::Allocation& a : memory.allocations()) {
    if (a.first >= at + count) return at;
    at = std::max(at, a.first + a.count);
  }
  return at + count <= TensorMemory::columns ? std::optional(at) : std::nullopt;
}

Step tensor_fault(Cta& cta, Warp& warp, LaneMask lanes, const Decoded& d, TensorMemory::Outcome outcome,
                  uint32_t count) {
  std::string text, help;
  switch (outcome) {
    case TensorMemory::Outcome::ok:
      return Step::next;
    case TensorMemory::Outcome::bad_count:
      text = fmt::format("{} columns of tensor memory: an allocation has 32, 64, 128, 256 or 512", count);
      help = "round the number of columns up to a power of two";
      break;
    case TensorMemory::Outcome::increasing:
      text = fmt::format("an allocation of {} columns after one of {}: sizes may not grow", count,
                         cta.tensor.memory.last_count());
      help = "allocate the largest part first";
      break;
    case TensorMemory::Outcome::relinquished:
      text = "an allocation of tensor memory after tcgen05.relinquish_alloc_permit";
      help = "give up the permit after the last allocation";
      break;
    case TensorMemory::Outcome::mixed_groups:
      text = "tcgen05 instructions with cta_group::1 and cta_group::2 in one kernel";
      help = "use one cta_group for all of them";
      break;
    case TensorMemory::Outcome::not_allocated:
      text = fmt::format("{} columns of tensor memory are freed that were not allocated like this", count);
      help = "free each allocation once, with its address and its number of columns";
      break;
  }
  return cta.fault(warp, lanes, d, std::string(broken_rule(outcome)), std::move(text), std::move(help));
}

TensorState::WarpQueue& warp_queue(Cta& cta, const Warp& warp, bool stores) {
  TensorState::WarpQueue& q = (stores ? cta.tensor.stores : cta.tensor.loads)[warp.index];
  if (q.queue == TensorState::none)
    q.queue =
        cta.recorder.add_queue({.kind = stores ? QueueInfo::Kind::tensor_store : QueueInfo::Kind::tensor_load,
                                .cta = cta.index,
                                .warp = warp.index});
  return q;
}

/// The cells behind register i of a thread: one word, or the low halves of two neighbours.
struct AccessPlaces {
  std::string shape;
  uint32_t lane, column;
  bool packed;

  TensorPlace of(uint32_t thread, uint32_t i, uint32_t half) const {
    const TensorPlace at = *tensor_access_place(shape, thread, packed ? 2 * i + half : i);
    return {lane + at.lane, column + at.column};
  }
};

/// What a load or store of known shape does to bits when it lands; of others, and of packed ones but for
/// 32x32b, what it writes becomes unknown. A store has its registers from now.
std::function<void(Cta&)> access_effect(const Warp& warp, const Decoded& d, uint64_t address,
                                        const std::vector<TensorArea>& areas) {
  const bool stores = d.variant == 1;
  const AccessPlaces places{d.text->modifiers[4], tensor_lane(address), tensor_column(address), d.is_signed};
  if (d.opaque || (places.packed && places.shape != "32x32b")) {
    if (!stores) return nullptr;
    return [areas](Cta& c) {
      for (const TensorArea& a : areas) c.tensor.contents.forget_columns(a.column, a.columns);
    };
  }
  if (!stores)
    return [places, w = warp.index, registers = d.dst](Cta& c) {
      RegisterFile& regs = c.warps[w]->regs;
      for (uint32_t i = 0; i < registers.size(); ++i)
        for (uint32_t thread = 0; thread < warp_size; ++thread) {
          uint32_t word = 0;
          bool known = registers[i] != Decoded::none;
          for (uint32_t half = 0; known && half < (places.packed ? 2u : 1u); ++half) {
            const TensorPlace at = places.of(thread, i, half);
            known = c.tensor.contents.known(at.lane, at.column);
            if (!known) break;
            const uint32_t cell = c.tensor.contents.get(at.lane, at.column);
            word |= places.packed ? (cell & 0xffff) << (16 * half) : cell;
          }
          if (known) regs.set(registers[i], thread, word);
        }
    };
  struct Cell {
    uint64_t word;
    bool known;
  };
  const size_t first = d.src.size() - tensor_access_registers(places.shape, d.shape[2]);
  std::vector<Cell> cells;
  for (size_t i = first; i < d.src.size(); ++i)
    for (uint32_t thread = 0; thread < warp_size; ++thread)
      cells.push_back({warp.regs.get(d.src[i], thread), warp.regs.known(d.src[i], thread)});
  return [places, stored = std::move(cells)](Cta& c) {
    for (size_t n = 0; n < stored.size(); ++n)
      for (uint32_t half = 0; half < (places.packed ? 2u : 1u); ++half) {
        const TensorPlace at =
            places.of(static_cast<uint32_t>(n % warp_size), static_cast<uint32_t>(n / warp_size), half);
        const auto word =
            static_cast<uint32_t>(places.packed ? stored[n].word >> (16 * half) & 0xffff : stored[n].word);
        if (stored[n].known)
          c.tensor.contents.set(at.lane, at.column, word);
        else
          c.tensor.contents.forget(at.lane, at.column);
      }
  };
}

}  // namespace

Cta* tensor_peer(Cta& cta) {
  const uint32_t size = cta.machine.cluster_size();
  return size % 2 != 0 ? nullptr : cta.machine.ctas[cta.cluster * size + (cta.rank ^ 1u)].get();
}

std::optional<Step> wrong_cta_group(Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes,
                                    bool alive) {
  const uint32_t group = d.shape[1];
  if (cta.tensor.cta_group != 0 && cta.tensor.cta_group != group)
    return cta.fault(warp, lanes, d, "TC8",
                     fmt::format("'{}' after tcgen05 instructions of cta_group::{}", d.text->mnemonic,
                                 cta.tensor.cta_group),
                     "use one cta_group for all tcgen05 instructions of a kernel");
  cta.tensor.cta_group = group;
  if (group == 1) return std::nullopt;
  const Cta* peer = tensor_peer(cta);
  if (peer == nullptr)
    return cta.fault(warp, lanes, d, "TC9",
                     fmt::format("'{}' in a cluster of {} CTAs: cta_group::2 is for pairs", d.text->mnemonic,
                                 cta.machine.cluster_size()),
                     "launch clusters of an even number of CTAs");
  if (alive && peer->ended())
    return cta.fault(warp, lanes, d, "TC9",
                     fmt::format("'{}' while the other CTA of the pair has ended", d.text->mnemonic),
                     "a cluster barrier before the end of both CTAs");
  return std::nullopt;
}

// Sources: [where the address goes], columns. The address is stored like by a weak store of the warp (TC4).
Step exec_tensor_alloc(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_one_warp(cta, warp, d, lanes, "TC4", 2)) return *step;
  if (auto step = wrong_cta_group(cta, warp, d, lanes, true)) return *step;
  const auto count = static_cast<uint32_t>(warp.regs.get(d.src[1], 0));
  uint64_t address = warp.regs.get(d.src[0], 0) + static_cast<uint64_t>(d.offsets[0]);
  const uint64_t offset = cta.shared_offset(address);
  if (offset % 4 != 0 || !cta.shared.contains(offset, 4) || offset < AddressMap::shared_static_base)
    return cta.fault(
        warp, lanes, d, "memory",
        fmt::format("the address of the allocation goes to 0x{:x}, outside shared memory", address),
        "pass the address of four bytes of shared memory");
  TensorMemory& memory = cta.tensor.memory;
  TensorMemory trial = memory;
  if (const auto outcome = trial.allocate(0, count, d.shape[1]); outcome != TensorMemory::Outcome::ok)
    return tensor_fault(cta, warp, lanes, d, outcome, count);
  Fragment& f = cta.fragment_at(warp, lanes);
  if (d.shape[1] == 2 && !f.wait.entered) ++cta.tensor.pair_allocations;
  const uint64_t turn = f.wait.entered ? f.wait.target : cta.tensor.pair_allocations;
  f.wait = {d.shape[1] == 2, Blocked::On::tensor_alloc, 0, count, turn};
  if (!memory.can_allocate(count)) return Step::blocked;
  if (d.shape[1] == 2 && tensor_peer(cta)->tensor.pair_allocations < turn) return Step::blocked;  // TC9
  const std::optional<uint32_t> first = gap_for(memory, count);
  if (!first)
    return cta.unknown(
        d,
        "whether this allocation finds its columns side by side depends on where the hardware put the others",
        "free in the reverse order of allocation");
  memory.allocate(*first, count, d.shape[1]);
  cta.tensor.contents.forget_columns(*first, count);
  const AgentId agent = cta.join_strands(warp, lanes, d.index);
  Event& e = cta.recorder.add(EventKind::tensor_alloc, agent, d.index);
  e.count = count;
  e.bytes = d.shape[1];
  e.generation = *first;
  const ByteRange range{offset, offset + 4, 0, 1};
  const uint32_t footprint = cta.shared_footprint({&range, 1});
  Event& store = cta.recorder.add(EventKind::access, agent, d.index);
  store.footprint = footprint;
  store.flags = Event::write;
  ByteRun& run = cta.scratch;
  run.resize(4, cta.provenance());
  for (unsigned i = 0; i < 4; ++i) {
    run.value[i] = static_cast<uint8_t>(*first >> (8 * i));
    run.known[i] = 1;
  }
  cta.shared.write(offset, 0, 4, run);
  return Step::next;
}

// Sources: address, columns. Whether the paired form waits for the peer is not specified (TC9): here it does
// not.
Step exec_tensor_dealloc(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_one_warp(cta, warp, d, lanes, "TC4", 2)) return *step;
  if (auto step = wrong_cta_group(cta, warp, d, lanes, false)) return *step;
  const uint32_t first = tensor_column(warp.regs.get(d.src[0], 0));
  const auto count = static_cast<uint32_t>(warp.regs.get(d.src[1], 0));
  if (const auto outcome = cta.tensor.memory.free(first, count, d.shape[1]);
      outcome != TensorMemory::Outcome::ok)
    return tensor_fault(cta, warp, lanes, d, outcome, count);
  Event& e = cta.recorder.add(EventKind::tensor_dealloc, cta.join_strands(warp, lanes, d.index), d.index);
  e.count = count;
  e.bytes = d.shape[1];
  e.generation = first;
  return Step::next;
}

Step exec_tensor_relinquish(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_one_warp(cta, warp, d, lanes, "TC4", 0)) return *step;
  if (auto step = wrong_cta_group(cta, warp, d, lanes, false)) return *step;
  cta.tensor.memory.relinquish();
  Event& e = cta.recorder.add(EventKind::tensor_relinquish, cta.join_strands(warp, lanes, d.index), d.index);
  e.bytes = d.shape[1];
  return Step::next;
}

// variant 1: store. Sources: [address] (store: then the registers); a split distance is in shape[0].
Step exec_tensor_access(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const bool stores = d.variant == 1;
  if (auto step = not_one_warp(cta, warp, d, lanes, "TC12", 1)) return *step;
  const uint64_t address = warp.regs.get(d.src[0], 0) + static_cast<uint64_t>(d.offsets[0]);
  const std::vector<TensorArea> areas =
      tensor_access_areas(d.text->modifiers[4], d.shape[2], d.is_signed, address, d.shape[0]);
  const uint32_t quarter = warp.index % 4u * 32;
  for (const TensorArea& a : areas)
    if (a.lane < quarter || a.lane + a.lanes > quarter + 32)
      return cta.fault(
          warp, lanes, d, "TC1",
          fmt::format("warp {} touches lanes {} to {} of tensor memory: it reaches lanes {} to {} only",
                      warp.index, a.lane, a.lane + a.lanes - 1, quarter, quarter + 31),
          "add 32 * (warp number modulo 4) to the lane of the address");
  if (const std::string why = tensor_area_problem(cta, areas); !why.empty())
    return cta.fault(warp, lanes, d, "TC3", why,
                     "allocate the columns first, and stay inside the allocation");
  if (!stores && cta.provenance() && !cta.names_values())
    return cta.unknown(
        d, "what tcgen05.ld brings is not followed: expressions of tensor memory have no model yet");
  TensorState::WarpQueue& q = warp_queue(cta, warp, stores);
  AsyncOp op;
  op.kind = stores ? AsyncOp::Kind::tensor_store : AsyncOp::Kind::tensor_load;
  op.issuer = cta.any_strand(warp, lanes);
  op.place = d.index;
  op.queue = q.queue;
  op.group = ++q.issued;
  const uint32_t number = cta.recorder.add_op(op);
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    cta.recorder.add(EventKind::async_issue, s.agent, d.index).object = number;
  const uint32_t footprint = tensor_footprint(cta, areas);
  const std::function<void(Cta&)> effect =
      cta.options.domain == Domain::bits ? access_effect(warp, d, address, areas) : nullptr;
  for (uint32_t r : d.dst)
    if (r != Decoded::none) warp.regs.forget(r, lanes);
  cta.flights.push_back({number, [number, footprint, stores, effect](Cta& c) {
                           if (effect) effect(c);
                           land_tensor(c, number, {{footprint, stores}});
                         }});
  return Step::next;
}

// variant 1: of the stores. What this warp issued is over (TC17, TC18, TC23).
Step exec_tensor_wait(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_one_warp(cta, warp, d, lanes, "TC12", 0)) return *step;
  TensorState::WarpQueue& q = warp_queue(cta, warp, d.variant == 1);
  if (cta.in_flight(q.queue, q.issued)) {
    cta.fragment_at(warp, lanes).wait = {false, Blocked::On::group, q.queue, 0, q.issued};
    return Step::blocked;
  }
  q.waited = q.issued;
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Event& e = cta.recorder.add(EventKind::group_wait, s.agent, d.index);
    e.object = q.queue;
    e.generation = q.issued;
  }
  return Step::next;
}

void land_tensor(Cta& cta, uint32_t op, const std::vector<TensorTouch>& touches) {
  const AgentId issuer = cta.recorder.trace().ops[op].issuer;
  const uint32_t place = cta.recorder.trace().ops[op].place;
  for (const TensorTouch& t : touches) {
    Event& e = cta.recorder.add(EventKind::async_access, issuer, place);
    e.object = op;
    e.footprint = t.footprint;
    if (t.write) e.flags = Event::write;
  }
  cta.recorder.add(EventKind::async_complete, issuer, place).object = op;
}

}  // namespace turnstile::sim
