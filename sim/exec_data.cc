// SPDX-License-Identifier: Apache-2.0
// Instructions that only compute: everything in the table of sim/alu, and moves of whole or packed registers.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

template <typename Body>
void for_each_lane(LaneMask lanes, Body body) {
  if (lanes == all_lanes) {
    for (unsigned lane = 0; lane < warp_size; ++lane) body(lane);
    return;
  }
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    body(static_cast<unsigned>(std::countr_zero(rest)));
}

/// A signed result narrower than its register is sign-extended into it.
uint64_t widened(const Decoded& d, uint64_t value) {
  if (!d.pure.result_is_signed || d.dst_bits[0] <= d.pure.result_bits) return value;
  const uint64_t sign = uint64_t{1} << (d.pure.result_bits - 1);
  return ((value ^ sign) - sign) & width_mask(d.dst_bits[0]);
}

/// Expression of a result: the operation applied to its operands' expressions. Commutative operations sort
/// their first two, so that a+b and b+a are one expression (bit for bit the same value).
Hash128 expression_of(const Decoded& d, std::array<Hash128, 6> operands) {
  if (d.pure.commutative && (operands[1].lo < operands[0].lo ||
                             (operands[1].lo == operands[0].lo && operands[1].hi < operands[0].hi)))
    std::swap(operands[0], operands[1]);
  Hash128 h = d.key_name;
  for (size_t i = 0; i < d.pure.inputs; ++i) h = combine(h, operands[i]);
  return h;
}

Hash128 expression_of(const Warp& warp, const Decoded& d, unsigned lane) {
  std::array<Hash128, 6> operands;
  for (size_t i = 0; i < d.pure.inputs; ++i) {
    operands[i] = warp.regs.expression(d.src[i], lane, (d.pure.input_bits[i] + 7u) / 8u);
    if ((d.negated >> i) & 1) operands[i] = combine(hash_number(36, 0), operands[i]);
  }
  return expression_of(d, operands);
}

/// Operations on two numbers side by side, each by itself: add.f32x2, min.u16x2.
bool works_by_halves(const Decoded& d) {
  return d.key.ends_with("x2") && !d.key.starts_with("cvt") && d.dst.size() == 1 && d.negated == 0 &&
         d.pure.result_bits >= 32 &&
         std::all_of(d.pure.input_bits.begin(), d.pure.input_bits.begin() + d.pure.inputs,
                     [&](auto bits) { return bits == d.pure.result_bits; });
}

/// One half of such an operation (0: the low one).
Hash128 expression_of_half(const Warp& warp, const Decoded& d, unsigned lane, unsigned half) {
  const unsigned bytes = d.pure.result_bits / 16u;
  std::array<Hash128, 6> operands;
  for (size_t i = 0; i < d.pure.inputs; ++i) {
    std::array<Hash128, 4> parts;
    for (unsigned b = 0; b < bytes; ++b) parts[b] = warp.regs.byte(d.src[i], lane, half * bytes + b);
    operands[i] = value_of({parts.data(), bytes});
  }
  return expression_of(d, operands);
}

}  // namespace

namespace {

/// The lanes whose sources are all known, one result: the common case, with the number of sources a constant.
template <size_t inputs>
void run_lanes(Warp& warp, const Decoded& d, LaneMask lanes) {
  const PureOp& op = d.pure;
  const LaneFunction run = op.run;
  const uint64_t* sources[inputs];
  uint64_t masks[inputs], flips[inputs];
  for (size_t i = 0; i < inputs; ++i) {
    sources[i] = std::as_const(warp.regs).lanes(d.src[i]);
    masks[i] = width_mask(op.input_bits[i]);
    flips[i] = (d.negated >> i) & 1;
  }
  uint64_t* out = warp.regs.lanes(d.dst[0]);
  for_each_lane(lanes, [&](unsigned lane) {
    uint64_t in[inputs];
    for (size_t i = 0; i < inputs; ++i) in[i] = (sources[i][lane] & masks[i]) ^ flips[i];
    out[lane] = widened(d, run(op.config, in));
  });
}

/// The rare rest: two results, or many sources.
void run_lanes_general(Warp& warp, const Decoded& d, LaneMask lanes) {
  const PureOp& op = d.pure;
  for_each_lane(lanes, [&](unsigned lane) {
    uint64_t in[6];
    for (size_t i = 0; i < op.inputs; ++i)
      in[i] = (warp.regs.get(d.src[i], lane) & width_mask(op.input_bits[i])) ^ ((d.negated >> i) & 1);
    // Both results are computed before either is written: a destination may be a source.
    const uint64_t first = widened(d, op.run(op.config, in));
    const uint64_t second = d.dst.size() > 1 ? op.run_second(op.config, in) : 0;
    if (d.dst[0] != Decoded::none) warp.regs.lanes(d.dst[0])[lane] = first;
    if (d.dst.size() > 1 && d.dst[1] != Decoded::none) warp.regs.lanes(d.dst[1])[lane] = second;
  });
}

/// Results whose sources are not all known, as expressions.
void set_expressions(Warp& warp, const Decoded& d, LaneMask lanes) {
  if (works_by_halves(d)) {
    const unsigned bytes = d.pure.result_bits / 16u;
    for_each_lane(lanes, [&](unsigned lane) {
      const Hash128 low = expression_of_half(warp, d, lane, 0), high = expression_of_half(warp, d, lane, 1);
      if (d.dst[0] == Decoded::none) return;
      warp.regs.set_expression(d.dst[0], lane, 2 * bytes, low);
      Cells& cells = warp.regs.cells(d.dst[0], lane);
      for (unsigned i = 0; i < bytes; ++i) {
        cells[i] = byte_of(low, i);
        cells[bytes + i] = byte_of(high, i);
      }
    });
    return;
  }
  for_each_lane(lanes, [&](unsigned lane) {
    const Hash128 h = expression_of(warp, d, lane);
    if (d.dst[0] != Decoded::none)
      warp.regs.set_expression(d.dst[0], lane, (d.pure.result_bits + 7u) / 8u, h);
    if (d.dst.size() > 1 && d.dst[1] != Decoded::none)
      warp.regs.set_expression(d.dst[1], lane, 1, combine(hash_number(37, 0), h));
  });
}

}  // namespace

Step exec_pure(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const PureOp& op = d.pure;
  LaneMask known = op.run != nullptr ? lanes : 0;
  bool uniform = d.dst.size() == 1 && d.dst[0] != Decoded::none;
  for (size_t i = 0; i < op.inputs; ++i) {
    known &= warp.regs.known(d.src[i]);
    uniform = uniform && warp.regs.uniform(d.src[i]);
  }
  if (uniform && known == lanes) {
    uint64_t in[6];
    for (size_t i = 0; i < op.inputs; ++i)
      in[i] = (warp.regs.get(d.src[i], 0) & width_mask(op.input_bits[i])) ^ ((d.negated >> i) & 1);
    warp.regs.set_lanes(d.dst[0], lanes, widened(d, op.run(op.config, in)));
    return Step::next;
  }
  const LaneMask unknown = lanes & ~known;
  const bool expresses = cta.writes_expressions(d);
  if (unknown != 0 && expresses) set_expressions(warp, d, unknown);
  if (known != 0) {
    const bool single = d.dst.size() == 1 && d.dst[0] != Decoded::none;
    if (single && op.inputs == 1)
      run_lanes<1>(warp, d, known);
    else if (single && op.inputs == 2)
      run_lanes<2>(warp, d, known);
    else if (single && op.inputs == 3)
      run_lanes<3>(warp, d, known);
    else
      run_lanes_general(warp, d, known);
  }
  for (uint32_t r : d.dst) {
    if (r == Decoded::none) continue;
    if (unknown != 0 && !expresses) warp.regs.forget(r, unknown);
    warp.regs.set_known(r, known);
  }
  return Step::next;
}

Step exec_pack_pair(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.writes_expressions(d)) return exec_pure(cta, warp, d, lanes);
  const LaneMask known = lanes & warp.regs.known(d.src[0]) & warp.regs.known(d.src[1]);
  const LaneMask unknown = lanes & ~known;
  if (known != 0) exec_pure(cta, warp, d, known);
  // Each half depends on its own source only; the first source goes to the high half.
  const unsigned half = d.pure.result_bits / 16u;
  for_each_lane(unknown, [&](unsigned lane) {
    const Hash128 high =
        combine(d.key_name, warp.regs.expression(d.src[0], lane, (d.pure.input_bits[0] + 7u) / 8u));
    const Hash128 low =
        combine(d.key_name, warp.regs.expression(d.src[1], lane, (d.pure.input_bits[1] + 7u) / 8u));
    warp.regs.set_expression(d.dst[0], lane, 2 * half, low);
    Cells& cells = warp.regs.cells(d.dst[0], lane);
    for (unsigned i = 0; i < half; ++i) {
      cells[i] = byte_of(low, i);
      cells[half + i] = byte_of(high, i);
    }
  });
  return Step::next;
}

Step exec_move(Cta&, Warp& warp, const Decoded& d, LaneMask lanes) {
  const unsigned bytes = (d.dst_bits[0] + 7u) / 8u;
  const uint32_t to = d.dst[0], from = d.src[0];
  if (to == Decoded::none) return Step::next;
  if ((warp.regs.known(from) & lanes) == lanes) {
    const uint64_t mask = width_mask(d.dst_bits[0]);
    const uint64_t* source = std::as_const(warp.regs).lanes(from);
    if (warp.regs.uniform(from)) {
      warp.regs.set_lanes(to, lanes, source[0] & mask);
      return Step::next;
    }
    uint64_t* target = warp.regs.lanes(to);
    for_each_lane(lanes, [&](unsigned lane) { target[lane] = source[lane] & mask; });
    warp.regs.set_known(to, lanes);
    return Step::next;
  }
  if (!warp.regs.has_cells(to) && (warp.regs.known(from) & lanes) == 0) {
    warp.regs.forget(to, lanes);
    return Step::next;
  }
  for_each_lane(lanes, [&](unsigned lane) { warp.regs.copy(to, from, lane, 0, bytes); });
  return Step::next;
}

Step exec_move_wide(Cta&, Warp& warp, const Decoded& d, LaneMask lanes) {
  for_each_lane(lanes, [&](unsigned lane) {
    if (d.dst[0] != Decoded::none) warp.regs.copy(d.dst[0], d.src[0], lane, 0, 8);
  });
  if (d.dst.size() > 1 && d.dst[1] != Decoded::none) warp.regs.forget(d.dst[1], lanes);
  return Step::next;
}

namespace {

/// The lanes in which all of these registers are known.
LaneMask known_in_all(const Warp& warp, std::span<const uint32_t> registers, LaneMask lanes) {
  for (const uint32_t r : registers) lanes &= warp.regs.known(r);
  return lanes;
}

}  // namespace

Step exec_pack(Cta&, Warp& warp, const Decoded& d, LaneMask lanes) {
  const unsigned bytes = d.dst_bits[0] / 8u / static_cast<unsigned>(d.src.size());
  const LaneMask known = known_in_all(warp, d.src, lanes);
  if (known != 0) {
    std::array<uint64_t, warp_size> packed{};  // a source may be the destination
    for (size_t i = 0; i < d.src.size(); ++i) {
      const uint64_t* from = std::as_const(warp.regs).lanes(d.src[i]);
      for_each_lane(known, [&](unsigned lane) {
        packed[lane] |= (from[lane] & width_mask(8 * bytes)) << (8 * bytes * i);
      });
    }
    uint64_t* to = warp.regs.lanes(d.dst[0]);
    for_each_lane(known, [&](unsigned lane) { to[lane] = packed[lane]; });
  }
  std::vector<Cells> packed_cells(warp.regs.has_cells(d.dst[0]) && known != lanes ? warp_size : 0);
  for_each_lane(packed_cells.empty() ? 0 : lanes & ~known, [&](unsigned lane) {
    for (size_t i = 0; i < d.src.size(); ++i)
      for (unsigned b = 0; b < bytes; ++b)
        packed_cells[lane][i * bytes + b] = warp.regs.byte(d.src[i], lane, b);
  });
  warp.regs.forget(d.dst[0], lanes & ~known);
  for_each_lane(packed_cells.empty() ? 0 : lanes & ~known,
                [&](unsigned lane) { warp.regs.cells(d.dst[0], lane) = packed_cells[lane]; });
  warp.regs.set_known(d.dst[0], known);
  return Step::next;
}

Step exec_unpack(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const unsigned bytes = d.bytes;
  const LaneMask known = warp.regs.known(d.src[0]) & lanes, unknown = lanes & ~known;
  // A destination may be the source itself: read everything first.
  std::array<uint64_t, warp_size> values{};
  if (known != 0) std::copy_n(std::as_const(warp.regs).lanes(d.src[0]), warp_size, values.begin());
  std::vector<Cells> sources;
  if (unknown != 0 && cta.writes_expressions(d))
    for (unsigned lane = 0; lane < warp_size; ++lane)
      sources.push_back(std::as_const(warp.regs).cells(d.src[0], lane));
  for (size_t i = 0; i < d.dst.size(); ++i) {
    if (d.dst[i] == Decoded::none) continue;
    if (known != 0) {
      uint64_t* to = warp.regs.lanes(d.dst[i]);
      for_each_lane(known, [&](unsigned lane) {
        to[lane] = (values[lane] >> (8 * bytes * i)) & width_mask(8 * bytes);
      });
    }
    warp.regs.forget(d.dst[i], unknown);
    warp.regs.set_known(d.dst[i], known);
    if (sources.empty() || !warp.regs.has_cells(d.dst[i])) continue;
    for_each_lane(unknown, [&](unsigned lane) {
      Cells& out = warp.regs.cells(d.dst[i], lane);
      for (unsigned b = 0; b < out.size(); ++b)
        out[b] = b < bytes ? sources[lane][i * bytes + b] : hash_constant_byte(0);
    });
  }
  return Step::next;
}

Step exec_select(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const unsigned bytes = (d.dst_bits[0] + 7u) / 8u;
  const uint32_t to = d.dst[0];
  if ((warp.regs.known(d.src[0]) & warp.regs.known(d.src[1]) & warp.regs.known(d.src[2]) & lanes) == lanes) {
    const uint64_t *a = std::as_const(warp.regs).lanes(d.src[0]),
                   *b = std::as_const(warp.regs).lanes(d.src[1]),
                   *p = std::as_const(warp.regs).lanes(d.src[2]);
    const uint64_t flip = (d.negated >> 2) & 1, mask = width_mask(d.dst_bits[0]);
    if (warp.regs.uniform(d.src[0]) && warp.regs.uniform(d.src[1]) && warp.regs.uniform(d.src[2])) {
      warp.regs.set_lanes(to, lanes, (((p[0] ^ flip) & 1) != 0 ? a[0] : b[0]) & mask);
      return Step::next;
    }
    uint64_t* out = warp.regs.lanes(to);
    for_each_lane(
        lanes, [&](unsigned lane) { out[lane] = (((p[lane] ^ flip) & 1) != 0 ? a[lane] : b[lane]) & mask; });
    warp.regs.set_known(to, lanes);
    return Step::next;
  }
  const LaneMask either = warp.regs.known(d.src[0]) | warp.regs.known(d.src[1]);
  if (!warp.regs.has_cells(to) && (either & warp.regs.known(d.src[2]) & lanes) == 0) {
    warp.regs.forget(to, lanes);
    return Step::next;
  }
  const bool expresses = cta.writes_expressions(d);
  for_each_lane(lanes, [&](unsigned lane) {
    // Of a predicate that has a name, another cluster may have the other value.
    const bool both = warp.regs.known(d.src[0], lane) && warp.regs.known(d.src[1], lane);
    if (!warp.regs.known(d.src[2], lane) || (warp.regs.has_name(d.src[2], lane) && !both)) {
      const Hash128 h =
          expresses
              ? combine(combine(d.key_name, warp.regs.expression(d.src[0], lane, bytes)),
                        combine(warp.regs.expression(d.src[1], lane, bytes),
                                combine(hash_number(38, d.negated), warp.regs.expression(d.src[2], lane, 1))))
              : Hash128{};
      warp.regs.forget(d.dst[0], LaneMask{1} << lane);
      if (expresses) warp.regs.set_expression(d.dst[0], lane, bytes, h);
      return;
    }
    const bool first = ((warp.regs.get(d.src[2], lane) ^ (d.negated >> 2)) & 1) != 0;
    warp.regs.copy(d.dst[0], first ? d.src[0] : d.src[1], lane, 0, bytes);
  });
  return Step::next;
}

namespace {

uint64_t window_base(AddressSpace space) {
  switch (space) {
    case AddressSpace::shared:
      return AddressMap::shared_window;
    case AddressSpace::local:
      return AddressMap::local_window;
    case AddressSpace::param:
      return AddressMap::param_window;
    case AddressSpace::global:
    case AddressSpace::generic:
      return 0;
  }
  return 0;
}

Step shift_window(Warp& warp, const Decoded& d, LaneMask lanes, uint64_t add) {
  const LaneMask known = lanes & warp.regs.known(d.src[0]);
  const uint64_t mask = width_mask(d.dst_bits[0]);
  if (known == lanes && warp.regs.uniform(d.src[0])) {
    warp.regs.set_lanes(d.dst[0], lanes, (warp.regs.get(d.src[0], 0) + add) & mask);
    return Step::next;
  }
  const uint64_t* in = std::as_const(warp.regs).lanes(d.src[0]);
  uint64_t* out = warp.regs.lanes(d.dst[0]);
  for_each_lane(known, [&](unsigned lane) { out[lane] = (in[lane] + add) & mask; });
  warp.regs.set_known(d.dst[0], known);
  warp.regs.forget(d.dst[0], lanes & ~known);
  return Step::next;
}

}  // namespace

Step exec_to_window(Cta&, Warp& warp, const Decoded& d, LaneMask lanes) {
  return shift_window(warp, d, lanes, window_base(d.space));
}

Step exec_from_window(Cta&, Warp& warp, const Decoded& d, LaneMask lanes) {
  return shift_window(warp, d, lanes, ~window_base(d.space) + 1);
}

Step exec_nothing(Cta&, Warp&, const Decoded&, LaneMask) { return Step::next; }

bool computes_only(const Decoded& d) {
  constexpr std::array<Handler, 8> kinds = {exec_pure, exec_pack_pair, exec_move,   exec_move_wide,
                                            exec_pack, exec_unpack,    exec_select, exec_nothing};
  return std::find(kinds.begin(), kinds.end(), d.run) != kinds.end();
}

}  // namespace turnstile::sim
