// SPDX-License-Identifier: Apache-2.0
#include "sim/position_names.h"

#include <bit>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

/// What an instruction does with its operands. Two instructions of one meaning may share it, but need not.
Hash128 meaning_of(const Decoded& d) {
  if (d.run == exec_pure) return combine(d.key_name, hash_number(60, d.negated));
  return hash_number(61, d.index);
}

}  // namespace

PositionNames::Sum& PositionNames::at(uint32_t slot, unsigned lane) {
  if (sums_.size() <= slot) sums_.resize(size_t{slot} + 1);
  if (sums_[slot].empty()) sums_[slot].resize(warp_size);
  return sums_[slot][lane];
}

Hash128 PositionNames::name(const PositionTape& tape, uint32_t slot, unsigned lane, uint64_t delta) const {
  const Sum& sum = sums_[slot][lane];
  return combine(sum.base, hash_number(62, (sum.offset + delta) & width_mask(tape.bits[slot])));
}

Hash128 PositionNames::operand(const Program& program, const PositionTape& tape, const TapeNode& node,
                               size_t source, unsigned lane) const {
  const TapeOperand& o = node.sources[source];
  const uint64_t constant = o.uniform ? o.constant : tape.constants[static_cast<size_t>(o.constant)][lane];
  const uint64_t mask = width_mask(program.register_bits[node.instruction->src[source]]);
  if (((o.moving >> lane) & 1) == 0) return hash_number(63, constant & mask);
  return combine(hash_number(64, mask), name(tape, o.slot, lane, constant));
}

void PositionNames::add(const Program& program, const PositionTape& tape, const TapeNode& node) {
  if (node.kind == TapeNode::Kind::position) {
    const Hash128 leaf = combine(hash_number(65, uint64_t{node.cta} << 8 | node.axis),
                                 hash_number(66, node.of_cluster ? 1 : 0));
    for (unsigned lane = 0; lane < warp_size; ++lane) at(node.results.front().slot, lane) = {leaf, 0};
    return;
  }
  if (node.kind == TapeNode::Kind::gather) {
    const uint32_t slot = node.results.front().slot;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const TapeNode::Lane& from = node.from[lane];
      if (from.slot == 0) continue;
      // The same width: a constant added to a sum is a sum.
      if (tape.bits[from.slot] == node.bits)
        at(slot, lane) = {sums_[from.slot][from.lane].base,
                          sums_[from.slot][from.lane].offset + from.constant};
      else
        at(slot, lane) = {combine(hash_number(67, node.bits), name(tape, from.slot, from.lane, 0)),
                          from.constant};
    }
    return;
  }
  const Hash128 meaning = meaning_of(*node.instruction);
  for (size_t i = 0; i < node.results.size(); ++i) {
    const TapeResult& result = node.results[i];
    if (result.slot == 0) continue;
    for (LaneMask rest = result.known; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      Hash128 h = combine(meaning, hash_number(68, i));
      bool all_known = true;
      for (size_t s = 0; s < node.sources.size(); ++s) {
        all_known = all_known && ((node.sources[s].known >> lane) & 1) != 0;
        if (all_known) h = combine(h, operand(program, tape, node, s, lane));
      }
      // Known though a source is not: nothing is said but that it is this result of this step.
      if (!all_known) h = hash_number(69, uint64_t{result.slot} << 8 | lane);
      at(result.slot, lane) = {h, 0};
    }
  }
}

}  // namespace turnstile::sim
