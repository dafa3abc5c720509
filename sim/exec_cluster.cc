// SPDX-License-Identifier: Apache-2.0
// Clusters: addresses of other CTAs' shared memory, and the barrier of the cluster (semantics.md section 4).
#include <fmt/format.h>

#include <bit>

#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

constexpr uint64_t offset_mask = (uint64_t{1} << AddressMap::rank_shift) - 1;

bool in_shared_window(uint64_t generic) {
  return generic / AddressMap::window_bytes * AddressMap::window_bytes == AddressMap::shared_window;
}

template <typename Body>
Step until_a_lane_stops(LaneMask lanes, Body body) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    if (const Step step = body(static_cast<unsigned>(std::countr_zero(rest))); step != Step::next)
      return step;
  return Step::next;
}

}  // namespace

// Maps an address of the own or another CTA's shared memory to the same place in the CTA of rank b (DX3).
Step exec_mapa(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if ((warp.regs.known(d.src[0]) & warp.regs.known(d.src[1]) & lanes) != lanes)
    return unknown_operand(cta, d);
  return until_a_lane_stops(lanes, [&](unsigned lane) {
    const uint64_t address = warp.regs.get(d.src[0], lane);
    const uint64_t target = warp.regs.get(d.src[1], lane) & 0xffffffff;
    if (target >= cta.machine.cluster_size())
      return cta.fault(warp, LaneMask{1} << lane, d, "DX3",
                       fmt::format("'{}' asks for the CTA of rank {} in a cluster of {}", d.text->mnemonic,
                                   target, cta.machine.cluster_size()),
                       "ranks go from 0 to %cluster_nctarank - 1; does the launch have clusters?");
    const bool generic = d.space == AddressSpace::generic;
    if (generic && !in_shared_window(address))
      return cta.fault(
          warp, LaneMask{1} << lane, d, "DX3",
          fmt::format("'{}' of 0x{:x}, which is no address in shared memory", d.text->mnemonic, address),
          "pass the generic address of a shared variable");
    warp.regs.set(d.dst[0], lane,
                  (generic ? AddressMap::shared_window : 0) | (address & offset_mask) |
                      target << AddressMap::rank_shift);
    return Step::next;
  });
}

Step exec_getctarank(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes)) return unknown_operand(cta, d);
  return until_a_lane_stops(lanes, [&](unsigned lane) {
    const uint64_t address = warp.regs.get(d.src[0], lane);
    if (d.space == AddressSpace::generic && !in_shared_window(address))
      return cta.fault(
          warp, LaneMask{1} << lane, d, "DX3",
          fmt::format("'{}' of 0x{:x}, which is no address in shared memory", d.text->mnemonic, address),
          "pass the generic address of a shared variable");
    warp.regs.set(d.dst[0], lane, (address & 0xffffffff) >> AddressMap::rank_shift);
    return Step::next;
  });
}

Step exec_isspacep(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src[0], lanes)) return unknown_operand(cta, d);
  return until_a_lane_stops(lanes, [&](unsigned lane) {
    const uint64_t address = warp.regs.get(d.src[0], lane);
    const uint64_t window = address / AddressMap::window_bytes * AddressMap::window_bytes;
    bool inside = false;
    switch (d.space) {
      case AddressSpace::shared:
        inside = window == AddressMap::shared_window && (d.any_cta || cta.owner_of(address) == &cta);
        break;
      case AddressSpace::local:
        inside = window == AddressMap::local_window;
        break;
      case AddressSpace::param:
        inside = window == AddressMap::param_window;
        break;
      case AddressSpace::global:
      case AddressSpace::generic:
        inside = window < AddressMap::param_window;
        break;
    }
    if (d.dst[0] != Decoded::none) warp.regs.set(d.dst[0], lane, inside ? 1 : 0);
    return Step::next;
  });
}

// A warp arrives as one, when all its running lanes are here (C2). Lanes are not ordered by that: only the
// wait after it orders them, and only if both are not relaxed (C3).
Step exec_cluster_arrive(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  ClusterBarrier& barrier = cta.machine.barriers[cta.cluster];
  const ClusterBarrier::Seat seat = warp.cluster_seat(barrier.generation());
  if (seat == ClusterBarrier::Seat::arrived)
    return cta.fault(
        warp, lanes, d, "C1",
        fmt::format("warp {} arrives at the cluster barrier again before the others have arrived",
                    warp.index),
        "barrier.cluster.wait between two arrivals");
  cta.recorder.trace().cluster_barrier_count = cta.machine.cluster_size() * cta.launch.threads();
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Event& e = cta.recorder.add(EventKind::cluster_arrive, s.agent, d.index);
    e.object = cta.cluster;
    e.count = static_cast<uint32_t>(std::popcount(s.lanes));
    e.scope = Scope::cluster;
    if (!d.is_signed) e.flags = Event::release;
  }
  warp.cluster_arrivals = barrier.generation() + 1;
  warp.cluster_released = !d.is_signed;
  barrier.arrive(seat, static_cast<uint32_t>(std::popcount(lanes)));
  return Step::next;
}

// C2: a warp that has not arrived since it last waited waits for itself, for ever.
Step exec_cluster_wait(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  const ClusterBarrier& barrier = cta.machine.barriers[cta.cluster];
  if (!ClusterBarrier::passes(warp.cluster_seat(barrier.generation()))) {
    cta.recorder.trace().cluster_barrier_count = cta.machine.cluster_size() * cta.launch.threads();
    cta.fragment_at(warp, lanes).wait = {false, Blocked::On::cluster_barrier, cta.cluster, 0, 0};
    return Step::blocked;
  }
  warp.cluster_waits = warp.cluster_arrivals;
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Event& e = cta.recorder.add(EventKind::cluster_wait, s.agent, d.index);
    e.object = cta.cluster;
    e.generation = warp.cluster_arrivals;
    e.scope = Scope::cluster;
    e.flags = Event::acquire;
  }
  if (warp.cluster_released) cta.join_strands(warp, lanes, d.index);  // each lane knows all others now
  return Step::next;
}

}  // namespace turnstile::sim
