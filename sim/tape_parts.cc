// SPDX-License-Identifier: Apache-2.0
//
// Every slot gets a definition: the hash of the computation that made it from the id of its part. Two slots
// of one definition have the same value for the same id, in whatever run and part they are.
#include "sim/tape_parts.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace turnstile::sim {

namespace {

constexpr uint32_t no_part = FootprintName::nobody, several_parts = FootprintName::several;

uint32_t joined(uint32_t a, uint32_t b) {
  if (a == no_part || a == b) return b;
  return b == no_part ? a : several_parts;
}

Hash128 with(Hash128 h, uint64_t value) { return combine(h, hash_number(60, value)); }

Hash128 hash_of_map(const TensorMap& m) {
  Hash128 h = hash_number(65, m.buffer);
  h = with(h, m.offset);
  h = with(h, static_cast<uint64_t>(m.type));
  for (const uint64_t v : m.dims) h = with(h, v);
  for (const uint64_t v : m.strides) h = with(h, v);
  for (const uint64_t v : m.box) h = with(h, v);
  for (const uint64_t v : m.element_strides) h = with(h, v);
  return h;
}

/// Of an access by address: its ranges seen from there. A box is given by its coordinates.
Hash128 shape_of(const PositionTape& tape, const Trace& trace, uint32_t footprint, const PositionUse& u) {
  const Footprint& f = trace.footprints[footprint];
  Hash128 h = hash_number(63, f.allocation);
  if (u.is_box) return h;
  const uint64_t origin = tape.values[u.slot][static_cast<size_t>(std::countr_zero(u.lanes))];
  for (uint32_t r = f.first_range; r < f.first_range + f.range_count; ++r) {
    const ByteRange& range = trace.ranges[r];
    for (const uint64_t v : {range.begin - origin, range.end - origin, range.stride, uint64_t{range.count}})
      h = with(h, v);
  }
  return h;
}

Hash128 set_of(std::vector<Hash128>& members) {
  const auto less = [](const Hash128& a, const Hash128& b) {
    return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
  };
  std::sort(members.begin(), members.end(), less);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  Hash128 h = hash_number(66, members.size());
  for (const Hash128& m : members) h = combine(h, m);
  return h;
}

/// An instruction that computed this slot, or what it was gathered from.
uint32_t maker_of(const PositionTape& tape, uint32_t slot) {
  for (size_t n = tape.nodes.size(); n-- > 0;) {
    const TapeNode& node = tape.nodes[n];
    if (std::none_of(node.results.begin(), node.results.end(),
                     [&](const TapeResult& r) { return r.slot == slot; }))
      continue;
    if (node.instruction != nullptr) return node.instruction->index;
    for (const TapeNode::Lane& from : node.from)
      if (from.slot != 0) slot = from.slot;
  }
  return 0;
}

uint32_t maker_of(const PositionTape& tape, const PositionUse& u) {
  if (u.slot != 0) return maker_of(tape, u.slot);
  for (const TapeOperand& o : u.coordinates)
    if (o.slot != 0) return maker_of(tape, o.slot);
  return 0;
}

}  // namespace

void TapeSplitter::touch(uint32_t part) { changed_[part] = true; }

void TapeSplitter::update(const PositionTape& tape, const Trace& trace, uint32_t handovers) {
  out_.parts.resize(std::max(out_.parts.size(), size_t{handovers} + 1));
  changed_.resize(out_.parts.size(), true);
  owner_.resize(tape.values.size(), no_part);
  defined_.resize(tape.values.size());
  pinned_.resize(tape.values.size());
  out_.names.resize(trace.footprints.size());
  named_.resize(trace.footprints.size());
  for (auto n = static_cast<uint32_t>(nodes_.size()); n < tape.nodes.size(); ++n) take_node(tape, n);
  for (uint32_t slot = 1; slot < pinned_.size(); ++slot) {
    if (pinned_[slot] == tape.pinned[slot]) continue;
    pinned_[slot] = tape.pinned[slot];
    if (owner_[slot] == several_parts && !out_.mixed) out_.mixed = maker_of(tape, slot);
    if (owner_[slot] < out_.parts.size()) touch(owner_[slot]);
  }
  for (; accesses_ < tape.accesses.size(); ++accesses_)
    take_access(tape, trace, tape.accesses[accesses_].first, tape.accesses[accesses_].second);
  if (empty_boxes_ == tape.empty_boxes.size()) return;
  empty_boxes_ = tape.empty_boxes.size();
  for (TapePart& part : out_.parts) part.empty_boxes.clear();
  for (const uint32_t u : tape.empty_boxes) {
    const uint32_t part = owner_of(tape.uses[u]);
    if (part == several_parts && !out_.mixed) out_.mixed = maker_of(tape, tape.uses[u]);
    if (part >= out_.parts.size()) continue;
    out_.parts[part].empty_boxes.push_back(u);
    touch(part);
  }
}

void TapeSplitter::take_node(const PositionTape& tape, uint32_t n) {
  const TapeNode& node = tape.nodes[n];
  uint32_t of_node = no_part;
  if (node.kind == TapeNode::Kind::position) of_node = 0;
  if (node.kind == TapeNode::Kind::answer || node.kind == TapeNode::Kind::refusal) of_node = node.handover;
  Hash128 h = hash_number(61, static_cast<uint64_t>(node.kind));
  h = with(h, node.instruction == nullptr ? ~uint64_t{0} : node.instruction->index);
  h = with(h, uint64_t{node.lanes} << 32 | uint64_t{node.cta} << 8 | node.axis);
  h = with(h, uint64_t{node.of_cluster} << 8 | node.bits);
  for (const TapeOperand& o : node.sources) {
    if (o.slot != 0 && o.moving != 0) of_node = joined(of_node, owner_[o.slot]);
    h = combine(h, operand(tape, o));
  }
  for (const TapeNode::Lane& from : node.from) {
    if (from.slot != 0) of_node = joined(of_node, owner_[from.slot]);
    h = with(combine(h, defined_[from.slot]), from.lane);
    h = with(h, from.constant);
  }
  for (const TapeResult& r : node.results) h = with(h, uint64_t{r.slot != 0} << 32 | r.known);
  nodes_.push_back(h);
  for (size_t i = 0; i < node.results.size(); ++i) {
    const uint32_t slot = node.results[i].slot;
    if (slot == 0) continue;
    owner_[slot] = of_node;
    defined_[slot] = with(with(h, i), tape.bits[slot]);
  }
  if (of_node >= out_.parts.size()) return;  // of several: it matters if anything needs it
  out_.parts[of_node].nodes.push_back(n);
  touch(of_node);
}

void TapeSplitter::take_access(const PositionTape& tape, const Trace& trace, uint32_t footprint,
                               uint32_t use_number) {
  const PositionUse& u = tape.uses[use_number];
  const uint32_t part = owner_of(u);
  FootprintName& name = out_.names[footprint];
  const bool first = !named_[footprint];
  named_[footprint] = true;
  if (part == several_parts && !out_.mixed) out_.mixed = maker_of(tape, u);
  if (part >= out_.parts.size()) {
    if (!first && name.part != no_part) name.part = several_parts;
    return;
  }
  out_.parts[part].moved.emplace_back(footprint, use_number);
  touch(part);
  if (first)
    name = {part, combine(use(tape, u), shape_of(tape, trace, footprint, u))};
  else if (name.part != part)
    name.part = several_parts;
}

/// All that the part asks of its id, as a set: pins, places, and what leads to them.
Hash128 TapeSplitter::kind_of(const PositionTape& tape, const Trace& trace, const TapePart& part) const {
  std::vector<Hash128> asks;
  std::unordered_set<uint32_t> used;
  const auto note_use = [&](const PositionUse& u) {
    used.insert(u.slot);
    for (const TapeOperand& o : u.coordinates) used.insert(o.slot);
  };
  for (const auto& [footprint, u] : part.moved) {
    note_use(tape.uses[u]);
    asks.push_back(combine(use(tape, tape.uses[u]), shape_of(tape, trace, footprint, tape.uses[u])));
  }
  for (const uint32_t u : part.empty_boxes) {
    note_use(tape.uses[u]);
    asks.push_back(with(use(tape, tape.uses[u]), 1));
  }
  for (size_t i = part.nodes.size(); i-- > 0;) {
    const TapeNode& node = tape.nodes[part.nodes[i]];
    bool needed = false;
    for (const TapeResult& r : node.results) {
      if (r.slot == 0) continue;
      needed = needed || tape.pinned[r.slot] != 0 || used.contains(r.slot);
      if (tape.pinned[r.slot] == 0) continue;
      Hash128 pin = with(defined_[r.slot], tape.pinned[r.slot]);
      for (LaneMask rest = tape.pinned[r.slot]; rest != 0; rest &= rest - 1)
        pin = with(pin, tape.values[r.slot][static_cast<size_t>(std::countr_zero(rest))]);
      asks.push_back(pin);
    }
    if (!needed) continue;
    asks.push_back(nodes_[part.nodes[i]]);
    for (const TapeOperand& o : node.sources) used.insert(o.slot);
    for (const TapeNode::Lane& from : node.from) used.insert(from.slot);
  }
  return set_of(asks);
}

Hash128 TapeSplitter::operand(const PositionTape& tape, const TapeOperand& o) const {
  Hash128 h = hash_number(64, uint64_t{o.moving} << 32 | o.known);
  h = with(combine(h, defined_[o.slot]), o.uniform ? 1 : 0);
  if (o.uniform) return with(h, o.constant);
  for (const uint64_t c : tape.constants[static_cast<size_t>(o.constant)]) h = with(h, c);
  return h;
}

Hash128 TapeSplitter::use(const PositionTape& tape, const PositionUse& u) const {
  Hash128 h = combine(hash_number(62, u.lanes), defined_[u.slot]);
  h = with(h, uint64_t{u.alignment} << 32 | uint64_t{u.is_box} << 1 | uint64_t{u.is_load});
  h = with(h, u.map);
  if (u.made_map) h = combine(h, hash_of_map(*u.made_map));
  for (const TapeOperand& o : u.coordinates) h = combine(h, operand(tape, o));
  return h;
}

uint32_t TapeSplitter::owner_of(const PositionUse& u) const {
  uint32_t out = u.slot == 0 ? no_part : owner_[u.slot];
  for (const TapeOperand& o : u.coordinates)
    if (o.slot != 0 && o.moving != 0) out = joined(out, owner_[o.slot]);
  return out;
}

const TapeParts& TapeSplitter::parts(const PositionTape& tape, const Trace& trace) {
  for (size_t p = 0; p < out_.parts.size(); ++p) {
    if (!changed_[p]) continue;
    out_.parts[p].kind = kind_of(tape, trace, out_.parts[p]);
    changed_[p] = false;
  }
  return out_;
}

TapeParts parts_of(const PositionTape& tape, const Trace& trace, uint32_t handovers) {
  TapeSplitter splitter;
  splitter.update(tape, trace, handovers);
  TapeParts parts = splitter.parts(tape, trace);
  for (TapePart& part : parts.parts) std::sort(part.moved.begin(), part.moved.end());
  return parts;
}

}  // namespace turnstile::sim
