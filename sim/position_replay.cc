// SPDX-License-Identifier: Apache-2.0
//
// The main loop is replay(): slot after slot gets the value that it has at the other position, by the very
// functions that executed the instructions in the first run, until a pinned value differs.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <tuple>

#include "sim/copy.h"
#include "sim/launch_control.h"
#include "sim/machine.h"
#include "sim/position_tape.h"
#include "sim/tape_parts.h"
#include "sim/tickets.h"

namespace turnstile::sim {

struct PositionReplay::State {
  State(const Program& p, const Launch& l, const TicketCounter* t, GlobalMemory g)
      : program(p),
        launch(l),
        tickets(t),
        global(std::move(g)),
        machine(p, l, global, options, ctas_of_cluster(p, l, 0)) {
    options.every_cancel_count = true;
  }

  const Program& program;
  const Launch& launch;
  const TicketCounter* tickets;
  GlobalMemory global;
  RunOptions options;
  Machine machine;  ///< its first warp lends its registers
  std::vector<LaneValues> values;
  std::optional<uint64_t> drawn;  ///< what an answer is, instead of a cluster
  std::vector<uint8_t> same;      ///< by slot: the values are those of the run of the tape
  std::vector<uint8_t> uniform;   ///< by slot: one value in all lanes. A hint: 0 is always right

  void start(const PositionTape& tape) {
    values.resize(tape.values.size());
    same.assign(tape.values.size(), 0);
    uniform.assign(tape.values.size(), 0);
  }
  void take_over(const PositionTape& tape, uint32_t slot) {
    values[slot] = tape.values[slot];
    same[slot] = 1;
    uniform[slot] = std::equal(values[slot].begin() + 1, values[slot].end(), values[slot].begin()) ? 1 : 0;
  }
  /// Whether this slot is none, or as in the run of the tape.
  bool unmoved(uint32_t slot) const { return slot == 0 || same[slot] != 0; }

  bool evaluate(const PositionTape& tape, const TapeNode& node, const std::vector<uint32_t>& ctas);
  bool compute(const PositionTape& tape, const TapeNode& node);
  uint64_t read(const PositionTape& tape, const TapeOperand& operand, unsigned lane) const;
  bool same_pins(const PositionTape& tape, uint32_t slot) const;
  /// Evaluates a node; whether all that is pinned of it has the value of the run of the tape.
  bool holds(const PositionTape& tape, const TapeNode& node, const std::vector<uint32_t>& ctas) {
    return evaluate(tape, node, ctas) &&
           std::all_of(node.results.begin(), node.results.end(),
                       [&](const TapeResult& r) { return unmoved(r.slot) || same_pins(tape, r.slot); });
  }
  /// Whether the boxes of these uses, which lay outside of their tensors, do so here.
  template <typename Uses>
  bool stay_empty(const PositionTape& tape, const Uses& uses) const {
    return std::all_of(uses.begin(), uses.end(), [&](uint32_t use) {
      const auto ranges = box(tape, tape.uses[use]);
      return ranges && ranges->empty();
    });
  }
  bool same_clipping(const PositionTape& tape, const PositionUse& use, const TensorMap& map,
                     std::span<const int64_t> coordinates) const;
  std::optional<std::vector<ByteRange>> box(const PositionTape& tape, const PositionUse& use) const;
  std::optional<std::vector<ByteRange>> moved(const PositionTape& tape, const PositionUse& use,
                                              const Footprint& footprint,
                                              std::span<const ByteRange> ranges) const;
};

uint64_t PositionReplay::State::read(const PositionTape& tape, const TapeOperand& operand,
                                     unsigned lane) const {
  const uint64_t constant =
      operand.uniform ? operand.constant : tape.constants[static_cast<size_t>(operand.constant)][lane];
  return ((operand.moving >> lane) & 1) != 0 ? values[operand.slot][lane] + constant : constant;
}

bool PositionReplay::State::compute(const PositionTape& tape, const TapeNode& node) {
  const Decoded& d = *node.instruction;
  // Most of what a cluster computes from its position is what its neighbour does.
  if (std::all_of(node.sources.begin(), node.sources.end(),
                  [&](const TapeOperand& o) { return o.moving == 0 || unmoved(o.slot); })) {
    for (const TapeResult& result : node.results)
      if (result.slot != 0) take_over(tape, result.slot);
    return true;
  }
  Cta& cta = *machine.ctas.front();
  Warp& warp = *cta.warps.front();
  for (size_t i = 0; i < node.sources.size(); ++i) {
    const TapeOperand& operand = node.sources[i];
    const uint64_t mask = width_mask(program.register_bits[d.src[i]]);
    warp.regs.forget(d.src[i], all_lanes);
    const LaneMask known = operand.known & node.lanes;
    if (known == all_lanes && operand.uniform &&
        (operand.moving == 0 || (operand.moving == all_lanes && uniform[operand.slot] != 0))) {
      warp.regs.set_all(d.src[i], read(tape, operand, 0) & mask);
      continue;
    }
    for (LaneMask rest = known; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      warp.regs.set(d.src[i], lane, read(tape, operand, lane) & mask);
    }
  }
  for (uint32_t r : d.dst)
    if (r != Decoded::none && std::find(d.src.begin(), d.src.end(), r) == d.src.end())
      warp.regs.forget(r, all_lanes);
  const Step step = d.run(cta, warp, d, node.lanes);
  machine.recorder.trace().events.clear();  // of loads
  if (step != Step::next) return false;
  for (size_t i = 0; i < node.results.size(); ++i) {
    const TapeResult& result = node.results[i];
    if (result.slot == 0) continue;
    if ((warp.regs.known(d.dst[i]) & node.lanes) != result.known) return false;
    if (result.known == all_lanes && warp.regs.uniform(d.dst[i])) {
      values[result.slot].fill(warp.regs.get(d.dst[i], 0));
      uniform[result.slot] = 1;
      same[result.slot] = values[result.slot] == tape.values[result.slot] ? 1 : 0;
      continue;
    }
    bool as_before = true;
    for (LaneMask rest = result.known; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      values[result.slot][lane] = warp.regs.get(d.dst[i], lane);
      as_before = as_before && values[result.slot][lane] == tape.values[result.slot][lane];
    }
    same[result.slot] = as_before ? 1 : 0;
  }
  return true;
}

bool PositionReplay::State::evaluate(const PositionTape& tape, const TapeNode& node,
                                     const std::vector<uint32_t>& ctas) {
  if (node.kind == TapeNode::Kind::compute) return compute(tape, node);
  LaneValues& out = values[node.results.front().slot];
  if (node.kind == TapeNode::Kind::position) {
    const uint32_t number = ctas[node.cta];
    const Dim3& grid = launch.grid;
    const uint32_t at[3] = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
    const uint32_t value = node.of_cluster ? at[node.axis] / program.cluster[node.axis] : at[node.axis];
    out.fill(value);
    uniform[node.results.front().slot] = 1;
    same[node.results.front().slot] = out == tape.values[node.results.front().slot] ? 1 : 0;
    return true;
  }
  if (node.kind == TapeNode::Kind::answer || node.kind == TapeNode::Kind::refusal) {
    if (drawn) {
      out.fill(*drawn);
      return true;
    }
    const uint32_t number = ctas.front();
    const Dim3& grid = launch.grid;
    out.fill(answer_bits(true, {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]}));
    return true;
  }
  if (std::all_of(node.from.begin(), node.from.end(),
                  [&](const TapeNode::Lane& from) { return unmoved(from.slot); })) {
    take_over(tape, node.results.front().slot);
    return true;
  }
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const TapeNode::Lane& from = node.from[lane];
    if (from.slot != 0) out[lane] = (values[from.slot][from.lane] + from.constant) & width_mask(node.bits);
  }
  return true;
}

bool PositionReplay::State::same_pins(const PositionTape& tape, uint32_t slot) const {
  for (LaneMask rest = tape.pinned[slot]; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (values[slot][lane] != tape.values[slot][lane]) return false;
  }
  return true;
}

/// Whether the tensor's edges cut the same elements off the box, so that each byte of the box comes from a
/// place that moves with the others. Which bytes are equal rests on that.
bool PositionReplay::State::same_clipping(const PositionTape& tape, const PositionUse& use,
                                          const TensorMap& map, std::span<const int64_t> coordinates) const {
  for (size_t i = 0; i < use.coordinates.size(); ++i) {
    const TapeOperand& o = use.coordinates[i];
    const auto before =
        static_cast<int32_t>((o.moving & 1) != 0 ? tape.values[o.slot][0] + o.constant : o.constant);
    if (before == coordinates[i]) continue;
    if (i >= map.dims.size() || map.element_strides[i] != 1) return false;
    const auto extent = static_cast<int64_t>(map.dims[i]), reach = static_cast<int64_t>(map.box[i]);
    const auto low = [&](int64_t c) { return std::max<int64_t>(0, -c); };
    const auto high = [&](int64_t c) { return std::max<int64_t>(0, c + reach - extent); };
    if (low(before) != low(coordinates[i]) || high(before) != high(coordinates[i])) return false;
  }
  return true;
}

/// The box of a copy at its new coordinates; nothing: it breaks a rule there that it kept in the first run.
std::optional<std::vector<ByteRange>> PositionReplay::State::box(const PositionTape& tape,
                                                                 const PositionUse& use) const {
  const TensorMap& map = use.made_map ? *use.made_map : launch.tensor_maps[use.map];
  int64_t coordinates[5] = {0, 0, 0, 0, 0};
  for (size_t i = 0; i < use.coordinates.size(); ++i)
    coordinates[i] = static_cast<int32_t>(read(tape, use.coordinates[i], 0));
  if (coordinates[0] * static_cast<int64_t>(element_bytes(map.type)) % 16 != 0) return std::nullopt;  // BS15
  if (!use.is_load && *std::min_element(std::begin(coordinates), std::end(coordinates)) < 0)
    return std::nullopt;  // BS14
  if (tape.names && !same_clipping(tape, use, map, coordinates)) return std::nullopt;
  return box_ranges(map, {coordinates, use.coordinates.size()});
}

std::optional<std::vector<ByteRange>> PositionReplay::State::moved(const PositionTape& tape,
                                                                   const PositionUse& use,
                                                                   const Footprint& footprint,
                                                                   std::span<const ByteRange> ranges) const {
  if (use.is_box) return box(tape, use);
  std::vector<ByteRange> out(ranges.begin(), ranges.end());
  if (unmoved(use.slot)) return out;
  const uint64_t limit = global.bytes_of(footprint.allocation);
  const auto first = static_cast<unsigned>(std::countr_zero(use.lanes));
  const uint64_t distance = values[use.slot][first] - tape.values[use.slot][first];
  for (LaneMask rest = use.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (values[use.slot][lane] - tape.values[use.slot][lane] != distance) return std::nullopt;
  }
  if (distance % use.alignment != 0) return std::nullopt;
  for (ByteRange& r : out) {
    r.begin += distance;
    r.end += distance;
    if (r.begin >= r.end || r.begin > limit || r.stride * (r.count - 1) + r.end > limit) return std::nullopt;
  }
  return out;
}

namespace {

/// Accesses that were of the same bytes and no longer are: two footprints, unless they are reads that nobody
/// can conflict with in this cluster. Then it is enough to know all bytes that are read.
bool add_place(std::vector<ByteRange>& all, std::vector<ByteRange>&& here, bool only_read) {
  if (here == all) return true;
  if (!only_read) return false;
  all.insert(all.end(), here.begin(), here.end());
  return true;
}

void drop_repeated(std::vector<ByteRange>& ranges) {
  const auto key = [](const ByteRange& r) { return std::tuple(r.begin, r.end, r.stride, r.count); };
  std::sort(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
}

}  // namespace

std::optional<MovedFootprints> PositionReplay::replay(const PositionTape& tape, const MovedFootprints& before,
                                                      std::span<const uint32_t> exact, uint32_t cluster) {
  State& s = *state_;
  if (!tape.whole) return std::nullopt;
  const std::vector<uint32_t> ctas = ctas_of_cluster(s.program, s.launch, cluster);
  s.start(tape);
  // Each cluster is refused with a value of its own.
  s.drawn.reset();
  if (s.tickets != nullptr) s.drawn = s.tickets->value(s.tickets->count + cluster);
  for (const TapeNode& node : tape.nodes)
    if (node.kind == TapeNode::Kind::answer || !s.holds(tape, node, ctas)) return std::nullopt;
  if (!s.stay_empty(tape, tape.empty_boxes)) return std::nullopt;

  MovedFootprints out;
  out.footprints = before.footprints;
  out.ranges.reserve(before.ranges.size());
  auto use = tape.moved.begin();
  for (uint32_t f = 0; f < before.footprints.size(); ++f) {
    Footprint& footprint = out.footprints[f];
    const std::span<const ByteRange> old(before.ranges.data() + footprint.first_range, footprint.range_count);
    std::optional<std::vector<ByteRange>> after;
    if (footprint.space == Space::global) {
      // Which reads are of equal values rests on where they are; an access that does not move may be an
      // atomic.
      const bool only_read = !tape.names && use != tape.moved.end() &&
                             use->second != PositionTape::fixed_use &&
                             !std::binary_search(exact.begin(), exact.end(), footprint.allocation);
      for (; use != tape.moved.end() && use->first == f; ++use) {
        auto here = s.moved(tape, tape.uses[use->second], footprint, old);
        if (!here || here->empty()) return std::nullopt;
        if (!after)
          after = std::move(here);
        else if (!add_place(*after, std::move(*here), only_read))
          return std::nullopt;
      }
      if (!after) return std::nullopt;
      if (only_read) drop_repeated(*after);
    }
    footprint.first_range = static_cast<uint32_t>(out.ranges.size());
    if (!after) {
      out.ranges.insert(out.ranges.end(), old.begin(), old.end());
      continue;
    }
    footprint.range_count = static_cast<uint32_t>(after->size());
    out.ranges.insert(out.ranges.end(), after->begin(), after->end());
  }
  return out;
}

std::optional<std::vector<MovedFootprint>> PositionReplay::replay_part(const PositionTape& tape,
                                                                       const TapePart& part,
                                                                       const MovedFootprints& before,
                                                                       uint32_t cluster,
                                                                       std::optional<uint64_t> drawn) {
  State& s = *state_;
  s.drawn = drawn;
  differs_at_.reset();
  if (!tape.whole) return std::nullopt;
  const std::vector<uint32_t> ctas = ctas_of_cluster(s.program, s.launch, cluster);
  s.start(tape);
  for (const uint32_t n : part.nodes) {
    const TapeNode& node = tape.nodes[n];
    if (node.instruction != nullptr) differs_at_ = node.instruction->index;
    if (!s.holds(tape, node, ctas)) return std::nullopt;
  }
  differs_at_.reset();
  if (!s.stay_empty(tape, part.empty_boxes)) return std::nullopt;
  std::vector<MovedFootprint> out;
  for (const auto& [f, use] : part.moved) {
    const Footprint& footprint = before.footprints[f];
    const std::span<const ByteRange> old(before.ranges.data() + footprint.first_range, footprint.range_count);
    auto here = s.moved(tape, tape.uses[use], footprint, old);
    if (!here || here->empty()) return std::nullopt;
    if (out.empty() || out.back().number != f)
      out.push_back({f, std::move(*here)});
    else if (*here != out.back().ranges)
      return std::nullopt;  // as in replay()
  }
  return out;
}

Result<PositionReplay> PositionReplay::create(const Program& program, const Launch& launch,
                                              const TicketCounter* tickets) {
  Result<GlobalMemory> global = GlobalMemory::create(launch, program.variables, Domain::control, {});
  if (!global) return tl::unexpected<Error>(global.error());
  return PositionReplay(std::make_unique<State>(program, launch, tickets, std::move(*global)));
}

PositionReplay::PositionReplay(std::unique_ptr<State> state) : state_(std::move(state)) {}
PositionReplay::PositionReplay(PositionReplay&&) noexcept = default;
PositionReplay& PositionReplay::operator=(PositionReplay&&) noexcept = default;
PositionReplay::~PositionReplay() = default;

}  // namespace turnstile::sim
