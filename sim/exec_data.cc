// SPDX-License-Identifier: Apache-2.0
// Instructions that only compute: everything in the table of sim/alu, and moves of whole or packed registers.
#include <array>
#include <utility>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

template <typename Body>
void for_each_lane(LaneMask lanes, Body body) {
  for (unsigned lane = 0; lane < warp_size; ++lane)
    if ((lanes >> lane) & 1) body(lane);
}

/// A signed result narrower than its register is sign-extended into it.
uint64_t widened(const Decoded& d, uint64_t value) {
  if (!d.pure.result_is_signed || d.dst_bits[0] <= d.pure.result_bits) return value;
  const uint64_t sign = uint64_t{1} << (d.pure.result_bits - 1);
  return ((value ^ sign) - sign) & width_mask(d.dst_bits[0]);
}

/// Expression of a result: the operation applied to its operands' expressions. Commutative operations sort
/// their first two, so that a+b and b+a are one expression (bit for bit the same value).
Hash128 expression_of(const Warp& warp, const Decoded& d, std::string_view operation, unsigned lane) {
  std::array<Hash128, 6> operands;
  for (size_t i = 0; i < d.pure.inputs; ++i)
    operands[i] = warp.regs.expression(d.src[i], lane, (d.pure.input_bits[i] + 7u) / 8u);
  if (d.pure.commutative && (operands[1].lo < operands[0].lo ||
                             (operands[1].lo == operands[0].lo && operands[1].hi < operands[0].hi)))
    std::swap(operands[0], operands[1]);
  Hash128 h = hash_text(operation);
  for (size_t i = 0; i < d.pure.inputs; ++i) h = combine(h, operands[i]);
  return h;
}

}  // namespace

Step exec_pure(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const PureOp& op = d.pure;
  LaneMask known = lanes;
  for (size_t i = 0; i < op.inputs; ++i) known &= warp.regs.known(d.src[i]);
  uint64_t inputs[6];
  const uint64_t* sources[6];
  uint64_t masks[6];
  for (size_t i = 0; i < op.inputs; ++i) {
    sources[i] = std::as_const(warp.regs).lanes(d.src[i]);
    masks[i] = width_mask(op.input_bits[i]);
  }
  const LaneMask unknown = lanes & ~known;
  bool uniform = known == all_lanes && d.dst.size() == 1;
  for (size_t i = 0; i < op.inputs; ++i) uniform = uniform && warp.regs.uniform(d.src[i]);
  if (uniform) {
    for (size_t i = 0; i < op.inputs; ++i) inputs[i] = (sources[i][0] & masks[i]) ^ ((d.negated >> i) & 1);
    if (d.dst[0] != Decoded::none) warp.regs.set_all(d.dst[0], widened(d, op.run(op.config, inputs)));
    return Step::next;
  }
  // Both results are computed before either is written: a destination may be a source.
  for_each_lane(known, [&](unsigned lane) {
    for (size_t i = 0; i < op.inputs; ++i) {
      inputs[i] = sources[i][lane] & masks[i];
      if ((d.negated >> i) & 1) inputs[i] ^= 1;
    }
    const uint64_t second =
        op.run_second != nullptr && d.dst.size() > 1 ? op.run_second(op.config, inputs) : 0;
    if (d.dst[0] != Decoded::none) warp.regs.lanes(d.dst[0])[lane] = widened(d, op.run(op.config, inputs));
    if (d.dst.size() > 1 && d.dst[1] != Decoded::none) warp.regs.lanes(d.dst[1])[lane] = second;
  });
  if (unknown != 0 && cta.provenance() && d.dst[0] != Decoded::none && op.result_bits > 1) {
    for_each_lane(unknown, [&](unsigned lane) {
      warp.regs.set_expression(d.dst[0], lane, (op.result_bits + 7u) / 8u,
                               expression_of(warp, d, d.key, lane));
    });
  }
  for (uint32_t r : d.dst) {
    if (r == Decoded::none) continue;
    warp.regs.forget(r, unknown);
    warp.regs.set_known(r, known);
  }
  return Step::next;
}

Step exec_pack_pair(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.provenance()) return exec_pure(cta, warp, d, lanes);
  const LaneMask known = lanes & warp.regs.known(d.src[0]) & warp.regs.known(d.src[1]);
  const LaneMask unknown = lanes & ~known;
  if (known != 0) exec_pure(cta, warp, d, known);
  // Each half depends on its own source only; the first source goes to the high half.
  const unsigned half = d.pure.result_bits / 16u;
  for_each_lane(unknown, [&](unsigned lane) {
    const Hash128 high =
        combine(hash_text(d.key), warp.regs.expression(d.src[0], lane, (d.pure.input_bits[0] + 7u) / 8u));
    const Hash128 low =
        combine(hash_text(d.key), warp.regs.expression(d.src[1], lane, (d.pure.input_bits[1] + 7u) / 8u));
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
    if (lanes == all_lanes && warp.regs.uniform(from)) {
      warp.regs.set_all(to, (source[0] ^ (d.negated & 1)) & mask);
      return Step::next;
    }
    uint64_t* target = warp.regs.lanes(to);
    const uint64_t flip = d.negated & 1;
    for_each_lane(lanes, [&](unsigned lane) { target[lane] = (source[lane] ^ flip) & mask; });
    warp.regs.set_known(to, lanes);
    return Step::next;
  }
  for_each_lane(lanes, [&](unsigned lane) { warp.regs.copy(to, from, lane, 0, bytes); });
  return Step::next;
}

Step exec_pack(Cta&, Warp& warp, const Decoded& d, LaneMask lanes) {
  const unsigned bytes = d.dst_bits[0] / 8u / static_cast<unsigned>(d.src.size());
  for_each_lane(lanes, [&](unsigned lane) {
    uint64_t value = 0;
    bool known = true;
    Cells cells{};
    for (size_t i = 0; i < d.src.size(); ++i) {
      known = known && warp.regs.known(d.src[i], lane);
      value |= (warp.regs.get(d.src[i], lane) & width_mask(8 * bytes)) << (8 * bytes * i);
      if (warp.regs.has_cells())
        for (unsigned b = 0; b < bytes; ++b) cells[i * bytes + b] = warp.regs.byte(d.src[i], lane, b);
    }
    if (known) {
      warp.regs.set(d.dst[0], lane, value);
    } else {
      warp.regs.forget(d.dst[0], LaneMask{1} << lane);
      if (warp.regs.has_cells()) warp.regs.cells(d.dst[0], lane) = cells;
    }
  });
  return Step::next;
}

Step exec_unpack(Cta&, Warp& warp, const Decoded& d, LaneMask lanes) {
  const unsigned bytes = d.bytes;
  // A destination may be the source itself: read everything first.
  for_each_lane(lanes, [&](unsigned lane) {
    const bool known = warp.regs.known(d.src[0], lane);
    const uint64_t value = warp.regs.get(d.src[0], lane);
    const Cells cells = warp.regs.has_cells() ? warp.regs.cells(d.src[0], lane) : Cells{};
    for (size_t i = 0; i < d.dst.size(); ++i) {
      if (d.dst[i] == Decoded::none) continue;
      if (known) {
        warp.regs.set(d.dst[i], lane, (value >> (8 * bytes * i)) & width_mask(8 * bytes));
        continue;
      }
      warp.regs.forget(d.dst[i], LaneMask{1} << lane);
      if (!warp.regs.has_cells()) continue;
      Cells& out = warp.regs.cells(d.dst[i], lane);
      for (unsigned b = 0; b < out.size(); ++b)
        out[b] = b < bytes ? cells[i * bytes + b] : hash_constant_byte(0);
    }
  });
  return Step::next;
}

Step exec_select(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const unsigned bytes = (d.dst_bits[0] + 7u) / 8u;
  for_each_lane(lanes, [&](unsigned lane) {
    if (!warp.regs.known(d.src[2], lane)) {
      const Hash128 h = cta.provenance()
                            ? combine(combine(hash_text(d.key), warp.regs.expression(d.src[0], lane, bytes)),
                                      combine(warp.regs.expression(d.src[1], lane, bytes),
                                              warp.regs.expression(d.src[2], lane, 1)))
                            : Hash128{};
      warp.regs.forget(d.dst[0], LaneMask{1} << lane);
      if (cta.provenance()) warp.regs.set_expression(d.dst[0], lane, bytes, h);
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
  for_each_lane(known, [&](unsigned lane) {
    warp.regs.lanes(d.dst[0])[lane] = (warp.regs.get(d.src[0], lane) + add) & width_mask(d.dst_bits[0]);
  });
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

}  // namespace turnstile::sim
