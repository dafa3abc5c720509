// SPDX-License-Identifier: Apache-2.0
#include "sim/position_tracker.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/tickets.h"

namespace turnstile::sim {

namespace {

/// The axis of "%ctaid.y" or "%clusterid.y"; -1: another register.
int axis_of(std::string_view name, std::string_view prefix) {
  if (name.size() != prefix.size() + 2 || name.substr(0, prefix.size()) != prefix ||
      name[prefix.size()] != '.')
    return -1;
  const char c = name.back();
  return c >= 'x' && c <= 'z' ? c - 'x' : -1;
}

/// What can be computed again for another position.
bool can_be_replayed(const Decoded& d) {
  constexpr std::array<Handler, 4> kinds = {exec_to_window, exec_from_window, exec_is_canceled,
                                            exec_first_ctaid};
  return computes_only(d) || std::find(kinds.begin(), kinds.end(), d.run) != kinds.end();
}

bool is_map_operation(const Decoded& d) {
  return d.run == exec_tensormap_replace || d.run == exec_tensormap_publish || d.run == exec_tensormap_fence;
}

/// Whether each of these lanes names a buffer that gives no values, with an address of whatever kind.
bool goes_to_opaque(const Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes) {
  if (d.space != AddressSpace::global && d.space != AddressSpace::generic) return false;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const uint64_t address = warp.regs.get(d.src[0], static_cast<unsigned>(std::countr_zero(rest))) +
                             static_cast<uint64_t>(d.offsets[0]);
    const uint64_t number = address / AddressMap::window_bytes;
    if (number == 0 || number > cta.global.buffer_count() ||
        cta.global.gives_values(static_cast<uint32_t>(number - 1)))
      return false;
  }
  return true;
}

Hash128 hash_of(const TapeOperand& o, std::span<const uint64_t> constants) {
  Hash128 h = hash_number(50, uint64_t{o.slot} << 32 | o.moving);
  h = combine(h, hash_number(51, o.known));
  for (const uint64_t c : constants) h = combine(h, hash_number(52, c));
  return h;
}

}  // namespace

PositionTracker::PositionTracker(const Program& program, const Launch& launch, bool with_names)
    : program_(program), with_names_(with_names) {
  tape_->names = with_names;
  opaque_ = program.variables.empty() && std::none_of(launch.buffers.begin(), launch.buffers.end(),
                                                      [](const Buffer& b) { return b.control_data; });
}

void PositionTracker::start(Cta& cta) {
  for (const auto& [reg, name] : program_.specials) {
    const int cta_axis = axis_of(name, "%ctaid"), cluster_axis = axis_of(name, "%clusterid");
    if (cta_axis < 0 && cluster_axis < 0) continue;
    TapeNode node;
    node.kind = TapeNode::Kind::position;
    node.cta = cta.rank;
    node.of_cluster = cta_axis < 0;
    node.axis = static_cast<uint8_t>(std::max(cta_axis, cluster_axis));
    LaneValues values;
    std::copy_n(std::as_const(cta.warps.front()->regs).lanes(reg), warp_size, values.begin());
    const uint32_t slot = new_slot(32, values);
    node.results.push_back({slot, all_lanes});
    add_node(std::move(node));
    for (const auto& warp : cta.warps) {
      tracks(cta, *warp)[reg] = {slot, all_lanes};
      give_names(cta, *warp, reg, all_lanes);
    }
  }
  cta.shared.mark_bytes();
}

std::vector<PositionTracker::Track>& PositionTracker::tracks(const Cta& cta, const Warp& warp) {
  if (tracks_.size() <= cta.index) tracks_.resize(size_t{cta.index} + 1);
  std::vector<std::vector<Track>>& warps = tracks_[cta.index];
  if (warps.size() <= warp.index) warps.resize(cta.warps.size());
  if (warps[warp.index].empty()) warps[warp.index].resize(program_.register_count);
  return warps[warp.index];
}

PositionTracker::Track PositionTracker::track(const Cta& cta, const Warp& warp, uint32_t reg) const {
  if (reg == Decoded::none) return {};
  if (tracks_.size() <= cta.index || tracks_[cta.index].size() <= warp.index) return {};
  const std::vector<Track>& all = tracks_[cta.index][warp.index];
  if (all.empty() || all[reg].lanes == 0) return {};
  Track t = all[reg];
  t.lanes &= warp.regs.known(reg);
  return t.lanes == 0 ? Track{} : t;
}

bool PositionTracker::any_followed(const Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes) const {
  return std::any_of(d.src.begin(), d.src.end(),
                     [&](uint32_t r) { return (track(cta, warp, r).lanes & lanes) != 0; });
}

uint32_t PositionTracker::new_slot(uint8_t bits, const LaneValues& values) {
  tape_->values.push_back(values);
  tape_->pinned.push_back(0);
  tape_->bits.push_back(bits);
  return static_cast<uint32_t>(tape_->values.size() - 1);
}

void PositionTracker::pin(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes) {
  const Track t = track(cta, warp, reg);
  tape_->pinned[t.slot] |= t.slot == 0 ? 0 : t.lanes & lanes;
}

/// Bytes that follow a position were read by something that does not follow them.
void PositionTracker::pin_cells(Cta& cta) {
  for (auto& other : cta.machine.ctas) {
    for (const uint32_t cell : other->shared.marks_read())
      tape_->pinned[cells_[cell].slot] |= LaneMask{1} << cells_[cell].lane;
    other->shared.forget_marks_read();
  }
}

void PositionTracker::guard(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes) {
  pin(cta, warp, reg, lanes);
}

void PositionTracker::add_node(TapeNode node) {
  if (with_names_) names_.add(program_, *tape_, node);
  tape_->nodes.push_back(std::move(node));
}

/// Names for these lanes of a register, which follow a slot.
void PositionTracker::give_names(const Cta& cta, Warp& warp, uint32_t reg, LaneMask lanes) {
  if (!with_names_) return;
  const Track t = track(cta, warp, reg);
  const bool expressed = warp.regs.has_cells(reg);
  const unsigned bytes = (program_.register_bits[reg] + 7u) / 8u;
  for (LaneMask rest = t.lanes & lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t delta = warp.regs.get(reg, lane) - tape_->values[t.slot][lane];
    warp.regs.name_known(reg, lane, bytes, expressed ? names_.name(*tape_, t.slot, lane, delta) : Hash128{});
  }
}

/// From now on these lanes of a register follow a slot (0: none).
void PositionTracker::follow(const Cta& cta, Warp& warp, uint32_t reg, LaneMask lanes, uint32_t slot) {
  if (reg == Decoded::none) return;
  Track& t = tracks(cta, warp)[reg];
  if (slot == 0 && t.lanes == 0) return;
  const LaneMask rest = t.lanes & ~lanes & warp.regs.known(reg);
  if (rest == 0 || slot == 0 || t.slot == slot) {
    t.lanes = rest | (slot == 0 ? 0 : lanes);
    if (slot != 0) t.slot = slot;
    if (slot != 0) give_names(cta, warp, reg, lanes);
    return;
  }
  TapeNode node;  // lanes of two slots in one register
  node.kind = TapeNode::Kind::gather;
  node.bits = program_.register_bits[reg];
  node.from.resize(warp_size);
  LaneValues values{};
  for (LaneMask both = rest | lanes; both != 0; both &= both - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(both));
    const uint32_t source = ((rest >> lane) & 1) != 0 ? t.slot : slot;
    values[lane] = warp.regs.get(reg, lane);
    node.from[lane] = {source, lane, values[lane] - tape_->values[source][lane]};
  }
  t = {new_slot(node.bits, values), rest | lanes};
  node.results.push_back({t.slot, t.lanes});
  add_node(std::move(node));
  give_names(cta, warp, reg, lanes);
}

TapeOperand PositionTracker::operand(const Cta& cta, const Warp& warp, uint32_t reg, LaneMask lanes) {
  TapeOperand out;
  const Track t = track(cta, warp, reg);
  out.slot = t.slot;
  out.moving = t.lanes & lanes;
  if (out.moving == 0) out.slot = 0;
  out.known = warp.regs.known(reg) & lanes;
  LaneValues constants{};
  for (LaneMask rest = out.known; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    constants[lane] = warp.regs.get(reg, lane);
    if (((out.moving >> lane) & 1) != 0) constants[lane] -= tape_->values[t.slot][lane];
  }
  const auto first = static_cast<size_t>(out.known == 0 ? 0 : std::countr_zero(out.known));
  out.uniform = true;
  for (LaneMask rest = out.known; rest != 0; rest &= rest - 1)
    out.uniform = out.uniform && constants[static_cast<size_t>(std::countr_zero(rest))] == constants[first];
  if (out.uniform) {
    out.constant = constants[first];
    return out;
  }
  out.constant = tape_->constants.size();
  tape_->constants.push_back(constants);
  return out;
}

/// Whether the result of an instruction is one followed source and something that does not move, added, in
/// one width: then it follows the same slot.
bool PositionTracker::same_but_shifted(const Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes,
                                       Track& out) const {
  if (d.dst.size() != 1 || d.dst[0] == Decoded::none) return false;
  const unsigned width = d.dst_bits[0];
  const auto whole = [&](const Track& t, uint32_t reg) {
    return (t.lanes & lanes) == lanes && program_.register_bits[reg] == width && tape_->bits[t.slot] == width;
  };
  if (d.run == exec_move || d.run == exec_to_window || d.run == exec_from_window) {
    out = track(cta, warp, d.src[0]);
    return whole(out, d.src[0]);
  }
  const std::string_view name = d.text->mnemonic;
  const bool adds = name.starts_with("add."), subtracts = name.starts_with("sub.");
  if (d.run != exec_pure || (!adds && !subtracts) || d.pure.is_float || d.pure.inputs != 2 ||
      d.pure.result_bits != width || d.pure.input_bits[0] != width || d.pure.input_bits[1] != width ||
      name.find(".sat") != std::string_view::npos || name.find(".cc") != std::string_view::npos ||
      name.find("x2") != std::string_view::npos || d.negated != 0)
    return false;
  const Track a = track(cta, warp, d.src[0]), b = track(cta, warp, d.src[1]);
  const auto fixed = [&](const Track& t, uint32_t reg) {
    return (t.lanes & lanes) == 0 && (warp.regs.known(reg) & lanes) == lanes;
  };
  if (whole(a, d.src[0]) && fixed(b, d.src[1])) {
    out = a;
    return true;
  }
  out = b;
  return adds && whole(b, d.src[1]) && fixed(a, d.src[0]);
}

/// The addresses of an access to global memory, if all of its lanes follow one slot there; otherwise what
/// they follow is pinned, and the access does not move.
uint32_t PositionTracker::use_of_address(const Cta& cta, const Warp& warp, const Decoded& d, size_t source,
                                         LaneMask lanes, uint32_t alignment) {
  const Track t = track(cta, warp, d.src[source]);
  if ((t.lanes & lanes) == 0) return PositionTape::fixed_use;
  bool follows = (t.lanes & lanes) == lanes;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t number = warp.regs.get(d.src[source], lane) / AddressMap::window_bytes;
    follows = follows && number != 0 && number <= cta.global.buffer_count() &&
              (d.run == exec_load || is_map_operation(d) ||
               !cta.global.gives_values(static_cast<uint32_t>(number - 1)));
  }
  if (!follows) {
    pin(cta, warp, d.src[source], lanes);
    return PositionTape::fixed_use;
  }
  for (uint32_t u = static_cast<uint32_t>(tape_->uses.size()); u-- > 1;) {
    const PositionUse& known = tape_->uses[u];
    if (!known.is_box && known.slot == t.slot && known.lanes == lanes && known.alignment == alignment)
      return u;
    if (tape_->uses.size() - u > 64) break;  // near ones only: a second use of the same costs little
  }
  PositionUse use;
  use.slot = t.slot;
  use.lanes = lanes;
  use.alignment = alignment;
  tape_->uses.push_back(std::move(use));
  return static_cast<uint32_t>(tape_->uses.size() - 1);
}

uint32_t PositionTracker::use_of_box(Cta& cta, const Warp& warp, const Decoded& d, unsigned lane,
                                     const Copy& copy) {
  const size_t first =
      d.variant == 0 ? 2 : 1;  // operands: load: [dst], [map], coordinates; store: [map], ...
  const size_t rank = d.shape[0];
  const LaneMask bit = LaneMask{1} << lane;
  bool moves = false;
  for (size_t i = 0; i < rank; ++i) moves = moves || (track(cta, warp, d.src[first + i]).lanes & bit) != 0;
  if (!moves) return PositionTape::fixed_use;
  const TensorMap& map = copy.made_map ? *copy.made_map : cta.launch.tensor_maps[copy.map];
  if (cta.global.gives_values(map.buffer)) {
    for (size_t i = 0; i < rank; ++i) pin(cta, warp, d.src[first + i], bit);
    return PositionTape::fixed_use;
  }
  PositionUse use;
  use.is_box = true;
  use.is_load = d.variant == 0;
  use.map = copy.map;
  use.made_map = copy.made_map;
  for (size_t i = 0; i < rank; ++i) {
    TapeOperand o = operand(cta, warp, d.src[first + i], bit);  // of one lane: its constant is uniform
    if (o.slot != 0 && lane != 0) {                             // the replay reads lane 0
      TapeNode node;
      node.kind = TapeNode::Kind::gather;
      node.bits = program_.register_bits[d.src[first + i]];
      node.from.resize(warp_size);
      LaneValues values{};
      values[0] = warp.regs.get(d.src[first + i], lane);
      node.from[0] = {o.slot, lane, o.constant};
      o = {new_slot(node.bits, values), 1, 1, true, 0};
      node.results.push_back({o.slot, 1});
      add_node(std::move(node));
    }
    use.coordinates.push_back(o);
  }
  tape_->uses.push_back(std::move(use));
  return static_cast<uint32_t>(tape_->uses.size() - 1);
}

void PositionTracker::before(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  use_ = PositionTape::fixed_use;
  stores_position_ = computes_ = false;
  shifted_ = {};
  operands_.clear();
  const bool plain = d.order == 0 && d.poll == Decoded::none && !cta.machine.flags.any();
  if ((d.run == exec_load || d.run == exec_store) && d.space == AddressSpace::shared)
    for (unsigned lane = 0; lane < warp_size; ++lane)
      addresses_[lane] = (warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0])) & 0xffffffff;
  if (!any_followed(cta, warp, d, lanes)) return;

  size_t address = d.src.size();  // the source that may move
  uint32_t alignment = 1;
  LaneMask free = 0;  // bit i: source i need not be pinned
  if (can_be_replayed(d)) {
    computes_ = true;
    if (same_but_shifted(cta, warp, d, lanes, shifted_)) return;
    shifted_ = {};
    for (const uint32_t r : d.src) operands_.push_back(operand(cta, warp, r, lanes));
    return;
  }
  if ((d.run == exec_load || d.run == exec_store) && plain &&
      (d.space == AddressSpace::global || d.space == AddressSpace::generic)) {
    address = 0;
    alignment = uint32_t{d.bytes} * d.vector;
  } else if (d.run == exec_cp_async) {
    address = 1;
    alignment = d.bytes;
  } else if (d.run == exec_tensor_copy) {
    for (size_t i = 0; i < d.shape[0]; ++i) free |= LaneMask{1} << (i + (d.variant == 0 ? 2 : 1));
    address = d.variant == 0 ? 1 : 0;  // a map that the kernel made, in global memory
    alignment = 64;
  } else if (is_map_operation(d) && d.space != AddressSpace::shared) {
    address = 0;
    alignment = 128;
  } else if (d.run == exec_tensor_access) {
    for (size_t i = 1; i < d.src.size() && i < 32; ++i) free |= LaneMask{1} << i;  // values, which end there
  }
  if (address < d.src.size()) {
    free |= LaneMask{1} << address;
    use_ = use_of_address(cta, warp, d, address, lanes, alignment);
    // A load computes too: from its address, with the contents of memory as they were before the launch.
    computes_ = d.run == exec_load && use_ != PositionTape::fixed_use;
    if (computes_) operands_.push_back(operand(cta, warp, d.src[0], lanes));
  }
  if (d.run == exec_store)
    for (size_t v = 1; v < d.src.size(); ++v) {
      if ((track(cta, warp, d.src[v]).lanes & lanes) == 0) continue;
      stores_position_ = true;
      tape_->loses_values = tape_->loses_values || !with_names_;
      // What is stored in shared memory is followed there; nothing comes back out of an opaque buffer.
      if (plain && (d.space == AddressSpace::shared || goes_to_opaque(cta, warp, d, lanes)))
        free |= LaneMask{1} << v;
    }
  for (size_t i = 0; i < d.src.size(); ++i)
    if (i >= 32 || ((free >> i) & 1) == 0) pin(cta, warp, d.src[i], lanes);
}

/// A select between a value and an unknown one by a predicate that follows the position: elsewhere it may be
/// the other way round, so that it is unknown here too. Gives these lanes.
LaneMask PositionTracker::forget_undecided(Warp& warp, const Decoded& d) {
  if (d.run != exec_select || operands_.size() != 3) return 0;
  const LaneMask undecided = operands_[2].moving & (operands_[0].known ^ operands_[1].known);
  if (undecided == 0) return 0;
  warp.regs.forget(d.dst[0], undecided & warp.regs.known(d.dst[0]));  // with names, it is unknown already
  tape_->loses_values = true;
  return undecided;
}

/// Results of an instruction that only computes: the node of the same instruction on the same operands, of
/// another warp perhaps, or a new one.
void PositionTracker::follow_results(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (shifted_.slot != 0) return follow(cta, warp, d.dst[0], lanes, shifted_.slot);
  Hash128 h = hash_number(53, uint64_t{d.index} << 32 | lanes);
  for (const TapeOperand& o : operands_) {
    const std::span<const uint64_t> constants =
        o.uniform ? std::span<const uint64_t>(&o.constant, 1)
                  : std::span<const uint64_t>(tape_->constants[static_cast<size_t>(o.constant)]);
    h = combine(h, hash_of(o, constants));
  }
  std::vector<uint32_t>& same = nodes_by_hash_[h.lo ^ h.hi];
  const auto results_equal = [&](const TapeNode& node) {
    for (size_t i = 0; i < d.dst.size(); ++i) {
      const TapeResult& r = node.results[i];
      if (r.slot == 0) continue;
      if ((warp.regs.known(d.dst[i]) & lanes) != r.known) return false;
      for (LaneMask rest = r.known; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        if (warp.regs.get(d.dst[i], lane) != tape_->values[r.slot][lane]) return false;
      }
    }
    return true;
  };
  for (const uint32_t n : same) {
    const TapeNode& node = tape_->nodes[n];
    if (node.instruction != &d || node.lanes != lanes || node.results.size() != d.dst.size() ||
        !results_equal(node))
      continue;
    for (size_t i = 0; i < d.dst.size(); ++i) {
      const TapeResult r = node.results[i];
      follow(cta, warp, d.dst[i], lanes, 0);
      if (r.slot != 0) follow(cta, warp, d.dst[i], r.known, r.slot);
    }
    return;
  }
  TapeNode node;
  node.instruction = &d;
  node.lanes = lanes;
  node.sources = operands_;
  const bool nothing = std::all_of(d.dst.begin(), d.dst.end(), [&](uint32_t r) {
    return r == Decoded::none || (warp.regs.known(r) & lanes) == 0;
  });
  // Arithmetic on the unknown is unknown anywhere; what a select or a load gives may be known elsewhere.
  if (nothing && d.run != exec_select && !(d.run == exec_load && !opaque_)) {
    for (const uint32_t r : d.dst) follow(cta, warp, r, lanes, 0);
    return;
  }
  for (size_t i = 0; i < d.dst.size(); ++i) {
    TapeResult& r = node.results.emplace_back();
    if (d.dst[i] == Decoded::none) continue;
    r.known = warp.regs.known(d.dst[i]) & lanes;
    LaneValues values{};
    for (LaneMask rest = r.known; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      values[lane] = warp.regs.get(d.dst[i], lane);
    }
    r.slot = new_slot(d.dst_bits[i], values);
  }
  same.push_back(static_cast<uint32_t>(tape_->nodes.size()));
  add_node(node);
  for (size_t i = 0; i < d.dst.size(); ++i) {
    follow(cta, warp, d.dst[i], lanes, 0);
    if (node.results[i].known != 0) follow(cta, warp, d.dst[i], node.results[i].known, node.results[i].slot);
  }
}

/// A load from the own shared memory brings back what was stored there; half a value is pinned instead.
void PositionTracker::follow_loads(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (cta.shared.marks_read().empty()) return;
  for (unsigned v = 0; v < d.vector; ++v) {
    if (d.dst[v] == Decoded::none) continue;
    TapeNode node;
    node.kind = TapeNode::Kind::gather;
    node.bits = std::min<uint8_t>(program_.register_bits[d.dst[v]], 64);  // .b128: its low half
    node.from.resize(warp_size);
    LaneValues values{};
    LaneMask moving = 0;
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t at = cta.shared_offset(addresses_[lane]) + uint64_t{v} * d.bytes;
      if (!warp.regs.known(d.dst[v], lane) || !cta.shared.contains(at, d.bytes)) continue;
      const uint32_t mark = cta.shared.mark(at);
      const Cell cell = cells_[mark];
      const uint64_t value = warp.regs.get(d.dst[v], lane);
      if (mark == 0 || cell.address != at || cell.bytes != d.bytes ||
          tape_->bits[cell.slot] != 8u * d.bytes || node.bits != 8u * d.bytes ||
          !cta.shared.all_marked(at, d.bytes, mark))
        continue;
      node.from[lane] = {cell.slot, cell.lane, value - tape_->values[cell.slot][cell.lane]};
      values[lane] = value;
      moving |= LaneMask{1} << lane;
    }
    if (moving == 0) continue;
    const uint32_t slot = new_slot(node.bits, values);
    node.results.push_back({slot, moving});
    add_node(std::move(node));
    follow(cta, warp, d.dst[v], moving, slot);
    // Followed: no longer a reason to pin.
    for (LaneMask rest = moving; rest != 0; rest &= rest - 1)
      cta.shared.forget_mark_read(
          cta.shared.mark(cta.shared_offset(addresses_[static_cast<size_t>(std::countr_zero(rest))]) +
                          uint64_t{v} * d.bytes));
  }
}

void PositionTracker::follow_stores(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned v = 0; v < d.vector; ++v) {
      const Track t = track(cta, warp, d.src[1 + v]);
      if (((t.lanes >> lane) & 1) == 0) continue;
      const uint64_t at = cta.shared_offset(addresses_[lane]) + uint64_t{v} * d.bytes;
      if (!cta.shared.contains(at, d.bytes) || tape_->bits[t.slot] != 8u * d.bytes ||
          program_.register_bits[d.src[1 + v]] != 8u * d.bytes) {
        pin(cta, warp, d.src[1 + v], LaneMask{1} << lane);  // in another CTA, or a part of the register
        continue;
      }
      cells_.push_back({t.slot, lane, at, d.bytes});
      cta.shared.set_mark(at, d.bytes, static_cast<uint32_t>(cells_.size() - 1));
    }
  }
}

size_t PositionTracker::note_request() {
  tape_->requests.emplace_back();
  return tape_->requests.size() - 1;
}

// That a cluster is handed over is the choice of the run; which one it is, is followed like the own position.
void PositionTracker::note_answer(Cta& cta, uint64_t offset, uint64_t bits, uint32_t handover, size_t request,
                                  const ClusterRequest::Answer& answer) {
  tape_->requests[request].answers.push_back(answer);
  if (handover == 0) return;
  const auto [at, fresh] = answer_slots_.try_emplace(handover, 0);
  if (fresh) {
    LaneValues values;
    values.fill(bits);
    at->second = new_slot(64, values);
    TapeNode node;
    node.kind = TapeNode::Kind::answer;
    node.handover = handover;
    node.results.push_back({at->second, all_lanes});
    add_node(std::move(node));
  }
  cells_.push_back({at->second, 0, offset, 8});  // the other eight bytes are zero for every cluster
  cta.shared.set_mark(offset, 8, static_cast<uint32_t>(cells_.size() - 1));
}

void PositionTracker::follow_ticket(Cta& cta, Warp& warp, const Decoded& d) {
  LaneValues values;
  values.fill(warp.regs.get(d.dst[0], ticket_.lane));
  TapeNode node;
  node.kind = ticket_.refused ? TapeNode::Kind::refusal : TapeNode::Kind::answer;
  node.handover = ticket_.handover;
  const LaneMask bit = LaneMask{1} << ticket_.lane;
  const uint32_t slot = new_slot(program_.register_bits[d.dst[0]], values);
  node.results.push_back({slot, bit});
  add_node(std::move(node));
  follow(cta, warp, d.dst[0], bit, slot);
  ticket_ = {};
}

void PositionTracker::note_footprint(uint32_t footprint) {
  lost_ = lost_ || use_ == nobody;
  if (tape_->moved.insert({footprint, use_}).second) tape_->accesses.emplace_back(footprint, use_);
}

void PositionTracker::note_empty_box(uint32_t use) {
  if (use != PositionTape::fixed_use) tape_->empty_boxes.insert(use);
}

void PositionTracker::after(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes, Step step) {
  use_ = nobody;
  if (step == Step::blocked || step == Step::stop) return;
  if (computes_) {
    follow_results(cta, warp, d, lanes & ~forget_undecided(warp, d));
    return pin_cells(cta);
  }
  for (const uint32_t r : d.dst) follow(cta, warp, r, lanes, 0);
  const bool shared = d.space == AddressSpace::shared;
  if (d.run == exec_load && shared && d.poll == Decoded::none) follow_loads(cta, warp, d, lanes);
  if (d.run == exec_store && shared && stores_position_) follow_stores(cta, warp, d, lanes);
  if (ticket_.handover != 0) follow_ticket(cta, warp, d);
  pin_cells(cta);
}

namespace {

/// Whether memory whose values count was written: what a load of another cluster finds there is then not what
/// the launch file says.
bool changes_known_memory(const Machine& machine) {
  const Trace& trace = machine.recorder.trace();
  const TicketCounter* tickets = machine.options.tickets;
  const auto has_values = [&](const Footprint& f) {
    if (f.space != Space::global || !machine.global.gives_values(f.allocation)) return false;
    // Nobody but those who draw looks at the counter (note_other_accesses).
    return tickets == nullptr || f.allocation != tickets->buffer ||
           !tickets->is_whole(std::span(trace.ranges).subspan(f.first_range, f.range_count));
  };
  // Far fewer than events.
  if (std::none_of(trace.footprints.begin(), trace.footprints.end(), has_values)) return false;
  return std::any_of(trace.events.begin(), trace.events.end(), [&](const Event& e) {
    if ((e.kind != EventKind::access && e.kind != EventKind::async_access) || !e.has(Event::write))
      return false;
    return has_values(trace.footprints[e.footprint]);
  });
}

/// Keeps the nodes on which something pinned, or an access, depends.
void drop_unused(PositionTape& tape) {
  std::vector<bool> used(tape.values.size());
  for (size_t slot = 0; slot < used.size(); ++slot) used[slot] = tape.pinned[slot] != 0;
  for (const PositionUse& use : tape.uses) {
    used[use.slot] = true;
    for (const TapeOperand& o : use.coordinates) used[o.slot] = true;
  }
  std::vector<TapeNode> kept;
  for (size_t i = tape.nodes.size(); i-- > 0;) {
    TapeNode& node = tape.nodes[i];
    if (std::none_of(node.results.begin(), node.results.end(),
                     [&](const TapeResult& r) { return r.slot != 0 && used[r.slot]; }))
      continue;
    for (const TapeOperand& o : node.sources) used[o.slot] = true;
    for (const TapeNode::Lane& from : node.from) used[from.slot] = true;
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  tape.nodes = std::move(kept);
}

}  // namespace

std::shared_ptr<const PositionTape> PositionTracker::finish(Machine& machine) {
  const Trace& trace = machine.recorder.trace();
  pin_cells(*machine.ctas.front());
  tape_->whole = !lost_ && !machine.halted() && trace.faults.empty() && trace.unknowns.empty() &&
                 trace.live_pollers.empty() && trace.signals.empty() &&
                 (opaque_ || !changes_known_memory(machine));
  if (!machine.options.hand_over) drop_unused(*tape_);  // whoever decides there reads the tape as it grows
  return tape_;
}

}  // namespace turnstile::sim
