// SPDX-License-Identifier: Apache-2.0
// Instructions in which the lanes of a warp act together. Only bar.warp.sync orders memory (M15).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

/// Runs `body(member lanes)` for each member mask that the executing lanes name, once every running lane of
/// the mask is here. Lanes whose partners are not wait, the others go on: parts of a warp may work in groups
/// of their own.
template <typename Body>
Step by_member_mask(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, uint32_t mask_register,
                    Body body) {
  if ((warp.regs.known(mask_register) & lanes) != lanes)
    return cta.unknown(
        d, fmt::format("the member mask of '{}' depends on a value that this launch does not give",
                       d.text->mnemonic));
  LaneMask ready = 0, absent = 0;
  bool one_group = true;  // lanes that met here go on together
  for (LaneMask rest = lanes; rest != 0;) {
    const auto mask =
        static_cast<LaneMask>(warp.regs.get(mask_register, static_cast<unsigned>(std::countr_zero(rest))));
    LaneMask members = 0;
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if ((rest >> lane) & 1 && static_cast<LaneMask>(warp.regs.get(mask_register, lane)) == mask)
        members |= LaneMask{1} << lane;
    rest &= ~members;
    if ((members & ~mask) != 0)
      return cta.fault(warp, members & ~mask, d, "M15",
                       fmt::format("'{}' is executed by a lane that its member mask 0x{:08x} leaves out",
                                   d.text->mnemonic, mask),
                       "name every executing lane in the mask");
    if (const LaneMask missing = warp.live() & mask & ~members; missing != 0) {
      absent |= missing;
      continue;
    }
    if (const Step step = body(members); step != Step::next) return step;
    one_group = ready == 0;
    ready |= members;
  }
  const uint32_t family = ready != 0 && one_group ? ++warp.families : 0;
  if (ready == lanes) {
    cta.fragment_at(warp, lanes).family = family;
    return Step::next;
  }
  if (ready == 0) return cta.wait_for_lanes(warp, lanes, absent);
  Fragment& f = cta.fragment_at(warp, lanes);
  f.lanes &= ~ready;
  cta.wait_for_lanes(warp, f.lanes, absent);
  f.blocked = true;
  warp.fragments.push_back({d.index + 1, ready, false, {}, family});
  return Step::moved;
}

}  // namespace

Step exec_elect(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return by_member_mask(cta, warp, d, lanes, d.src[0], [&](LaneMask members) {
    cta.order_strands(warp, members, d.index);
    // Which lane leads is a fixed function of the mask; the documents do not say which. On the H200 it is the
    // lowest (Q11, probe P13).
    const auto leader = static_cast<unsigned>(std::countr_zero(members));
    if (d.dst[0] != Decoded::none) warp.regs.set_lanes(d.dst[0], members, leader);
    if (d.dst[1] != Decoded::none) {
      warp.regs.set_lanes(d.dst[1], members, 0);
      warp.regs.set(d.dst[1], leader, 1);
    }
    return Step::next;
  });
}

namespace {

/// Which lane each lane reads, and whether that lane is in its segment (PTX ISA 9.7.9.6, shfl.sync).
struct ShuffleSource {
  unsigned lane;
  bool in_range;
};

ShuffleSource shuffle_source(uint8_t mode, unsigned lane, uint64_t b_operand, uint64_t c_operand) {
  const auto b = static_cast<unsigned>(b_operand & 31);
  const auto segment = static_cast<unsigned>(c_operand >> 8 & 31),
             clamp = static_cast<unsigned>(c_operand & 31);
  const unsigned low = lane & segment, high = low | (clamp & ~segment & 31);
  unsigned j = lane;
  bool inside = false;
  switch (mode) {
    case 0:  // idx
      j = low | (b & ~segment & 31);
      inside = j <= high;
      break;
    case 1:  // up
      inside = static_cast<int>(lane) - static_cast<int>(b) >= static_cast<int>(high);
      j = lane - b;
      break;
    case 2:  // down
      j = lane + b;
      inside = j <= high;
      break;
    default:  // bfly
      j = lane ^ b;
      inside = j <= high;
      break;
  }
  return inside ? ShuffleSource{j, true} : ShuffleSource{lane, false};
}

}  // namespace

unsigned shuffle_source_lane(const Warp& warp, const Decoded& d, unsigned lane) {
  return shuffle_source(d.variant, lane, warp.regs.get(d.src[1], lane), warp.regs.get(d.src[2], lane)).lane;
}

namespace {

Step shuffle(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (size_t i : {1u, 2u})
    if ((warp.regs.known(d.src[i]) & lanes) != lanes)
      return cta.unknown(d, "the lane number of a shuffle depends on a value that this launch does not give");
  cta.order_strands(warp, lanes, d.index);
  // All lanes read before any writes. A lane that does not take part gives an undefined value.
  const bool expresses = cta.writes_expressions(d);
  if (!expresses && (warp.regs.known(d.src[0]) & lanes) == 0 &&
      (d.dst.size() < 2 || d.dst[1] == Decoded::none)) {
    if (d.dst[0] != Decoded::none) warp.regs.forget(d.dst[0], lanes);
    return Step::next;
  }
  std::array<uint64_t, warp_size> value{};
  std::array<Cells, warp_size> cells{};
  LaneMask known = 0, in_range = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const ShuffleSource from =
        shuffle_source(d.variant, lane, warp.regs.get(d.src[1], lane), warp.regs.get(d.src[2], lane));
    if (from.in_range) in_range |= LaneMask{1} << lane;
    value[lane] = warp.regs.get(d.src[0], from.lane) & 0xffffffff;
    const bool takes_part = ((lanes >> from.lane) & 1) != 0;
    if (takes_part && warp.regs.known(d.src[0], from.lane)) known |= LaneMask{1} << lane;
    if (!expresses) continue;
    for (unsigned i = 0; i < 8; ++i)
      cells[lane][i] = takes_part ? warp.regs.byte(d.src[0], from.lane, i) : undefined_byte;
  }
  if (d.dst[0] != Decoded::none) {
    const bool same = known == all_lanes &&
                      std::all_of(value.begin(), value.end(), [&](uint64_t v) { return v == value[0]; });
    if (same) warp.regs.set_all(d.dst[0], value[0]);
    for (unsigned lane = 0; lane < warp_size && !same; ++lane) {
      if (((lanes >> lane) & 1) == 0) continue;
      if ((known >> lane) & 1) {
        warp.regs.set(d.dst[0], lane, value[lane]);
      } else {
        warp.regs.forget(d.dst[0], LaneMask{1} << lane);
        if (expresses) warp.regs.cells(d.dst[0], lane) = cells[lane];
      }
    }
  }
  if (d.dst.size() > 1 && d.dst[1] != Decoded::none) {
    warp.regs.set_lanes(d.dst[1], lanes & in_range, 1);
    warp.regs.set_lanes(d.dst[1], lanes & ~in_range, 0);
  }
  return Step::next;
}

/// The result is unknown, and the same in all lanes: an expression of what each of them gave.
void set_of_all_lanes(const Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, unsigned bytes) {
  if (!cta.names_values()) return warp.regs.forget(d.dst[0], lanes);
  Hash128 h = combine(d.key_name, hash_number(47, uint64_t{lanes} << 8 | (d.negated & 1)));
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    h = combine(h, warp.regs.expression(d.src[0], static_cast<unsigned>(std::countr_zero(rest)), bytes));
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    warp.regs.set_expression(d.dst[0], static_cast<unsigned>(std::countr_zero(rest)),
                             (d.dst_bits[0] + 7u) / 8u, h);
}

/// As above, but each lane has a result of its own, and there may be a predicate too.
void name_matches(const Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  Hash128 all = combine(d.key_name, hash_number(54, lanes));
  if (cta.names_values())
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
      all = combine(all,
                    warp.regs.expression(d.src[0], static_cast<unsigned>(std::countr_zero(rest)), d.bytes));
  for (size_t r = 0; r < d.dst.size(); ++r) {
    if (d.dst[r] == Decoded::none) continue;
    warp.regs.forget(d.dst[r], lanes);
    if (!cta.names_values()) continue;
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t which = d.variant == 1 ? r : uint64_t{2} + lane;  // match.all: one answer for all lanes
      warp.regs.set_expression(d.dst[r], lane, (d.dst_bits[r] + 7u) / 8u,
                               combine(all, hash_number(55, which)));
    }
  }
}

/// One value of all lanes (redux.sync).
Step reduce_lanes(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  cta.order_strands(warp, lanes, d.index);
  if (d.dst[0] == Decoded::none) return Step::next;
  if (d.opaque || (warp.regs.known(d.src[0]) & lanes) != lanes) {
    if (cta.provenance() && !cta.names_values())
      return cta.unknown(d, "a reduction over values that are expressions: it combines all lanes at once");
    set_of_all_lanes(cta, warp, d, lanes, 4);
    return Step::next;
  }
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  auto result = static_cast<uint32_t>(warp.regs.get(d.src[0], first));
  for (LaneMask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const auto value =
        static_cast<uint32_t>(warp.regs.get(d.src[0], static_cast<unsigned>(std::countr_zero(rest))));
    const bool less =
        d.is_signed ? static_cast<int32_t>(value) < static_cast<int32_t>(result) : value < result;
    switch (static_cast<ReduxForm>(d.variant)) {
      case redux_add:
        result += value;
        break;
      case redux_min:
        result = less ? value : result;
        break;
      case redux_max:
        result = less ? result : value;
        break;
      case redux_and:
        result &= value;
        break;
      case redux_or:
        result |= value;
        break;
      case redux_xor:
        result ^= value;
        break;
    }
  }
  warp.regs.set_lanes(d.dst[0], lanes, result);
  return Step::next;
}

Step vote(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  cta.order_strands(warp, lanes, d.index);
  if (d.dst[0] == Decoded::none) return Step::next;
  if ((warp.regs.known(d.src[0]) & lanes) != lanes) {
    if (cta.provenance() && !cta.names_values())
      return cta.unknown(d, "a vote over values that are expressions: it decides with all lanes at once");
    set_of_all_lanes(cta, warp, d, lanes, 1);
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
  warp.regs.set_lanes(d.dst[0], lanes, result);
  return Step::next;
}

/// Lanes that gave the same value, or (variant 1) all of them or none (match.sync).
Step match_lanes(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  cta.order_strands(warp, lanes, d.index);
  const bool all = d.variant == 1;
  const unsigned bytes = d.bytes;
  if ((warp.regs.known(d.src[0]) & lanes) != lanes) {
    if (cta.provenance() && !cta.names_values())
      return cta.unknown(d, "a match over values that are expressions: it compares all lanes at once");
    name_matches(cta, warp, d, lanes);
    return Step::next;
  }
  std::array<LaneMask, warp_size> same{};  // the destination may be the source
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (LaneMask others = lanes; others != 0; others &= others - 1) {
      const auto other = static_cast<unsigned>(std::countr_zero(others));
      const uint64_t difference = warp.regs.get(d.src[0], lane) ^ warp.regs.get(d.src[0], other);
      if ((difference & width_mask(8 * bytes)) == 0) same[lane] |= LaneMask{1} << other;
    }
  }
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const bool equal = same[lane] == lanes;
    if (d.dst[0] != Decoded::none) warp.regs.set(d.dst[0], lane, all && !equal ? 0 : same[lane]);
    if (d.dst.size() > 1 && d.dst[1] != Decoded::none) warp.regs.set(d.dst[1], lane, equal ? 1 : 0);
  }
  return Step::next;
}

}  // namespace

Step exec_match(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return by_member_mask(cta, warp, d, lanes, d.src[1],
                        [&](LaneMask members) { return match_lanes(cta, warp, d, members); });
}

// Which lanes run together is the GPU's choice once a branch has parted them (PTX ISA 9.7.13.7: no
// synchronisation is implied): the mask is then unknown.
Step exec_active_mask(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const uint32_t family = cta.fragment_at(warp, lanes).family;
  const bool together =
      family != 0 && std::all_of(warp.fragments.begin(), warp.fragments.end(), [&](const Fragment& f) {
        return f.lanes == lanes || f.family != family || f.pc == d.index + 1;  // there: its guard was false
      });
  if (together) {
    warp.regs.set_lanes(d.dst[0], lanes, lanes);
    return Step::next;
  }
  if (cta.provenance() && !cta.names_values())
    return cta.unknown(d,
                       "which lanes run together here is not determined: a branch has parted them and "
                       "nothing has synchronised them since");
  warp.regs.forget(d.dst[0], lanes);
  return Step::next;
}

Step exec_shuffle(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return by_member_mask(cta, warp, d, lanes, d.src[3],
                        [&](LaneMask members) { return shuffle(cta, warp, d, members); });
}

Step exec_vote(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return by_member_mask(cta, warp, d, lanes, d.src[1],
                        [&](LaneMask members) { return vote(cta, warp, d, members); });
}

Step exec_redux(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return by_member_mask(cta, warp, d, lanes, d.src[1],
                        [&](LaneMask members) { return reduce_lanes(cta, warp, d, members); });
}

Step exec_warp_sync(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return by_member_mask(cta, warp, d, lanes, d.src[0], [&](LaneMask members) {
    cta.join_strands(warp, members, d.index);
    return Step::next;
  });
}

}  // namespace turnstile::sim
