// SPDX-License-Identifier: Apache-2.0
// Instructions in which the lanes of a warp act together. Only bar.warp.sync orders memory (M15).
#include <fmt/format.h>

#include <array>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

/// Waits until every running lane of the member mask is here; nullopt: the instruction can run.
std::optional<Step> gather(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, uint32_t mask_register) {
  if ((warp.regs.known(mask_register) & lanes) != lanes)
    return cta.unknown(
        d, fmt::format("the member mask of '{}' depends on a value that this launch does not give",
                       d.text->mnemonic));
  const auto mask =
      static_cast<LaneMask>(warp.regs.get(mask_register, static_cast<unsigned>(std::countr_zero(lanes))));
  if ((lanes & ~mask) != 0)
    return cta.fault(warp, lanes & ~mask, d, "M15",
                     fmt::format("'{}' is executed by a lane that its member mask 0x{:08x} leaves out",
                                 d.text->mnemonic, mask),
                     "name every executing lane in the mask");
  if ((warp.live() & mask & ~lanes) != 0) return cta.wait_for_lanes(warp, lanes);
  return std::nullopt;
}

}  // namespace

Step exec_elect(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = gather(cta, warp, d, lanes, d.src[0])) return *step;
  cta.order_strands(warp, lanes, d.index);
  // The leader is a fixed function of the mask (Q11); which lane is not documented.
  const auto leader = static_cast<unsigned>(std::countr_zero(lanes));
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    if (d.dst[0] != Decoded::none) warp.regs.set(d.dst[0], lane, leader);
    if (d.dst[1] != Decoded::none) warp.regs.set(d.dst[1], lane, lane == leader ? 1 : 0);
  }
  return Step::next;
}

Step exec_shuffle(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = gather(cta, warp, d, lanes, d.src[3])) return *step;
  for (size_t i : {1u, 2u})
    if ((warp.regs.known(d.src[i]) & lanes) != lanes)
      return cta.unknown(d, "the lane number of a shuffle depends on a value that this launch does not give");
  cta.order_strands(warp, lanes, d.index);
  std::array<unsigned, warp_size> from{};
  LaneMask in_range = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const auto b = static_cast<unsigned>(warp.regs.get(d.src[1], lane) & 31);
    const auto c = static_cast<unsigned>(warp.regs.get(d.src[2], lane));
    const unsigned segment = (c >> 8) & 31, clamp = c & 31;
    const unsigned low = lane & segment, high = low | (clamp & ~segment & 31);
    unsigned j = lane;
    bool inside = false;
    switch (d.variant) {
      case 0:
        j = low | (b & ~segment & 31), inside = j <= high;
        break;  // idx
      case 1:
        inside = static_cast<int>(lane) - static_cast<int>(b) >= static_cast<int>(high), j = lane - b;
        break;  // up
      case 2:
        j = lane + b, inside = j <= high;
        break;  // down
      default:
        j = lane ^ b, inside = j <= high;
        break;  // bfly
    }
    from[lane] = inside ? j : lane;
    if (inside) in_range |= LaneMask{1} << lane;
  }
  // All lanes read before any writes. A lane that does not take part gives an undefined value.
  std::array<uint64_t, warp_size> value{};
  std::array<Cells, warp_size> cells{};
  LaneMask known = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const unsigned source = from[lane];
    value[lane] = warp.regs.get(d.src[0], source) & 0xffffffff;
    const bool takes_part = ((lanes >> source) & 1) != 0;
    if (takes_part && warp.regs.known(d.src[0], source)) known |= LaneMask{1} << lane;
    if (warp.regs.has_cells()) cells[lane] = warp.regs.cells(d.src[0], source);
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    if (d.dst[0] != Decoded::none) {
      if ((known >> lane) & 1) {
        warp.regs.set(d.dst[0], lane, value[lane]);
      } else {
        warp.regs.forget(d.dst[0], LaneMask{1} << lane);
        if (warp.regs.has_cells()) warp.regs.cells(d.dst[0], lane) = cells[lane];
      }
    }
    if (d.dst.size() > 1 && d.dst[1] != Decoded::none) warp.regs.set(d.dst[1], lane, (in_range >> lane) & 1);
  }
  return Step::next;
}

Step exec_vote(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = gather(cta, warp, d, lanes, d.src[1])) return *step;
  cta.order_strands(warp, lanes, d.index);
  if ((warp.regs.known(d.src[0]) & lanes) != lanes) {
    if (d.dst[0] != Decoded::none) warp.regs.forget(d.dst[0], lanes);
    return Step::next;
  }
  LaneMask truth = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane)
    if ((lanes >> lane) & 1 && ((warp.regs.get(d.src[0], lane) ^ d.negated) & 1) != 0)
      truth |= LaneMask{1} << lane;
  uint64_t result = truth;                                    // ballot
  if (d.variant == 0) result = truth == lanes;                // all
  if (d.variant == 1) result = truth != 0;                    // any
  if (d.variant == 2) result = truth == 0 || truth == lanes;  // uni
  for (unsigned lane = 0; lane < warp_size; ++lane)
    if ((lanes >> lane) & 1 && d.dst[0] != Decoded::none) warp.regs.set(d.dst[0], lane, result);
  return Step::next;
}

Step exec_warp_sync(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = gather(cta, warp, d, lanes, d.src[0])) return *step;
  cta.join_strands(warp, lanes, d.index);
  return Step::next;
}

}  // namespace turnstile::sim
