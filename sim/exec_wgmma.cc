// SPDX-License-Identifier: Apache-2.0
// wgmma: one asynchronous operation of four warps (semantics.md section 7). It runs when the last of them has
// issued it.
#include <fmt/format.h>

#include <algorithm>

#include "sim/handlers.h"
#include "sim/matrix.h"

namespace turnstile::sim {

namespace {

WarpGroup& group_of(Cta& cta, const Warp& warp) {
  WarpGroup& g = cta.groups[warp.index / 4];
  if (g.queue == AsyncOp::none)
    g.queue =
        cta.recorder.add_queue({QueueInfo::Kind::wgmma, 0, static_cast<uint16_t>(warp.index / 4 * 4), 0});
  return g;
}

void mark_in_flight(Warp& warp, const std::vector<uint32_t>& regs, uint64_t group) {
  for (uint32_t r : regs) {
    if (r == Decoded::none) continue;
    if (warp.in_flight[r] == 0) ++warp.in_flight_count;
    warp.in_flight[r] = group;
  }
}

/// First thing that is wrong with a descriptor, or empty.
std::string descriptor_problem(const Cta& cta, uint64_t descriptor, uint32_t rows, uint32_t row_bytes) {
  const OperandView v = decode_descriptor(descriptor);
  if (v.base_offset != 0) return "a matrix base offset, which the simulator has no model of";
  const std::vector<ByteRange> ranges = operand_ranges(v, rows, row_bytes);
  if (ranges.front().begin < AddressMap::shared_static_base ||
      !cta.shared.contains(ranges.back().begin, ranges.back().end - ranges.back().begin))
    return fmt::format("an operand at shared 0x{:x} to 0x{:x}, outside shared memory", ranges.front().begin,
                       ranges.back().end);
  return {};
}

}  // namespace

// Sources: A descriptor (or four A registers), B descriptor, scale-d.
Step exec_wgmma(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes) || lanes != all_lanes) return cta.wait_for_lanes(warp, lanes);  // WG6
  WarpGroup& group = group_of(cta, warp);
  const uint32_t w = warp.index % 4;
  const bool a_in_registers = d.variant == 1;
  const size_t b_at = a_in_registers ? 4 : 1;
  for (size_t i = a_in_registers ? 4 : 0; i < d.src.size(); ++i)
    if (warp.regs.known(d.src[i]) != all_lanes)
      return cta.unknown(d,
                         "a matrix descriptor or scale-d depends on a value that this launch does not give");
  const uint64_t a = a_in_registers ? 0 : warp.regs.get(d.src[0], 0);
  const uint64_t b = warp.regs.get(d.src[b_at], 0);
  const auto scale = static_cast<uint32_t>((warp.regs.get(d.src[b_at + 1], 0) ^ (d.negated >> 8)) & 1);

  const uint64_t number = group.issued[w];
  const uint64_t bulk_group = group.committed[w] + 1;
  if (number == group.ops.size()) {
    for (const auto& [descriptor, rows] : {std::pair{a, 64u}, std::pair{b, d.shape[1]}}) {
      if (descriptor == 0 && a_in_registers) continue;
      if (const std::string why = descriptor_problem(cta, descriptor, rows, d.shape[2] * 2); !why.empty())
        return cta.fault(warp, lanes, d, "WG2", fmt::format("'{}' has {}", d.text->mnemonic, why),
                         "check the descriptor: start address >> 4, stride >> 4, swizzle mode");
    }
    AsyncOp op;
    op.kind = AsyncOp::Kind::wgmma;
    op.issuer = cta.any_strand(warp, lanes);
    op.place = d.index;
    op.queue = group.queue;
    op.group = bulk_group;
    group.ops.push_back({cta.recorder.add_op(op), &d, a, b, scale, 0, bulk_group});
  }
  WarpGroupOp& op = group.ops[number];
  if (op.text->text->mnemonic != d.text->mnemonic || op.a != a || op.b != b || op.scale_d != scale ||
      op.group != bulk_group)
    return cta.fault(
        warp, lanes, d, "WG2",
        fmt::format("warp {} issues another wgmma than the warps of its group before it", warp.index),
        "all four warps of a warp group must execute the same wgmma with the same descriptors");
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    cta.recorder.add(EventKind::async_issue, s.agent, d.index).object = op.op;
    cta.recorder.trace().ops[op.op].issuer = s.agent;
  }
  mark_in_flight(warp, d.dst, bulk_group);
  if (a_in_registers) mark_in_flight(warp, {d.src.begin(), d.src.begin() + 4}, bulk_group);
  ++group.issued[w];
  ++op.warps_issued;
  cta.run_ready_matrix_ops(group);
  return Step::next;
}

void Cta::run_ready_matrix_ops(WarpGroup& group) {
  while (group.executed < group.ops.size() && group.ops[group.executed].warps_issued == 4) {
    run_matrix_op(*this, group, group.ops[group.executed]);
    ++group.executed;
  }
}

Step exec_wgmma_fence(Cta& cta, Warp& warp, const Decoded&, LaneMask lanes) {
  return cta.converged(warp, lanes) ? Step::next : cta.wait_for_lanes(warp, lanes);
}

Step exec_wgmma_commit(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  WarpGroup& group = group_of(cta, warp);
  const uint64_t number = ++group.committed[warp.index % 4];
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Event& e = cta.recorder.add(EventKind::group_commit, s.agent, d.index);
    e.object = group.queue;
    e.generation = number;
  }
  return Step::next;
}

Step exec_wgmma_wait(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  WarpGroup& group = group_of(cta, warp);
  const uint64_t newest = warp.regs.get(d.src[0], 0);
  const uint64_t committed = group.committed[warp.index % 4];
  const uint64_t covered = committed > newest ? committed - newest : 0;
  for (size_t i = group.executed; i < group.ops.size(); ++i)
    if (group.ops[i].group <= covered) {
      cta.fragment_at(warp, lanes).wait = {false, Blocked::On::group, group.queue,
                                           static_cast<uint32_t>(newest), covered};
      return Step::blocked;
    }
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Event& e = cta.recorder.add(EventKind::group_wait, s.agent, d.index);
    e.object = group.queue;
    e.generation = covered;
  }
  if (warp.in_flight_count != 0)
    for (uint64_t& g : warp.in_flight)
      if (g != 0 && g <= covered) {
        g = 0;
        --warp.in_flight_count;
      }
  return Step::next;
}

}  // namespace turnstile::sim
