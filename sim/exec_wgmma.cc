// SPDX-License-Identifier: Apache-2.0
// wgmma: one asynchronous operation of four warps (semantics.md section 7). It runs when the last of them has
// issued it.
#include <fmt/format.h>

#include <algorithm>

#include "sim/execution_log.h"
#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/matrix.h"

namespace turnstile::sim {

namespace {

WarpGroup& group_of(Cta& cta, const Warp& warp) {
  WarpGroup& g = cta.groups[warp.index / 4];
  if (g.queue == AsyncOp::none)
    g.queue = cta.recorder.add_queue({.kind = QueueInfo::Kind::wgmma,
                                      .cta = cta.index,
                                      .warp = static_cast<uint16_t>(warp.index / 4 * 4)});
  return g;
}

/// All four warps of the group, with all lanes, execute what is .sync.aligned for the warp group (WG6).
/// Nothing = go on.
std::optional<Step> not_a_warp_group(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  if (lanes == all_lanes && warp.index / 4u * 4u + 4 <= cta.warps.size()) return std::nullopt;
  return cta.fault(warp, lanes, d, "WG6",
                   fmt::format("'{}' needs four full warps, of which the first has a number divisible by 4; "
                               "warp {} executes it with lanes 0x{:08x} in a CTA of {} warps",
                               d.text->mnemonic, warp.index, lanes, cta.warps.size()),
                   "execute it with whole warp groups only");
}

/// A fragment that another operation in flight writes, or an accumulator that one still reads as A (WG3).
/// Accumulating on results in flight is what the instruction is for; so is reading A registers twice.
bool touches_in_flight(const Warp& warp, const Decoded& d, uint64_t& group) {
  if (warp.in_flight.empty()) return false;
  group = 0;
  auto look = [&](uint32_t reg, bool as_result) {
    const InFlight use = warp.in_flight.of(reg);
    if (use.group != 0 && use.is_result != as_result) group = std::max(group, use.group);
  };
  if (warp.in_flight.any_fragment())
    for (uint32_t r : d.dst) look(r, true);
  for (size_t i = 0; d.variant == 1 && i < 4; ++i) look(d.src[i], false);
  return group != 0;
}

}  // namespace

// Sources: A descriptor (or four A registers), B descriptor, scale-d {, sparse metadata}. The stored half of
// a sparse A is as large as a dense one; of B there is twice as much.
Step exec_wgmma(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_a_warp_group(cta, warp, d, lanes)) return *step;
  WarpGroup& group = group_of(cta, warp);
  const uint32_t w = warp.index % 4;
  const bool a_in_registers = d.variant == 1;
  const size_t b_at = a_in_registers ? 4 : 1;
  for (size_t i = a_in_registers ? 4 : 0; i < b_at + 2; ++i)
    if (warp.regs.known(d.src[i]) != all_lanes)
      return cta.unknown(d,
                         "a matrix descriptor or scale-d depends on a value that this launch does not give");
  const uint64_t a = a_in_registers ? 0 : warp.regs.get(d.src[0], 0);
  const uint64_t b = warp.regs.get(d.src[b_at], 0);
  const auto scale = static_cast<uint32_t>((warp.regs.get(d.src[b_at + 1], 0) ^ (d.negated >> 8)) & 1);

  if ((group.fenced >> w & 1) ==
      0)  // undefined by the letter; ptxas repairs simple cases and says so (C7519)
    cta.recorder.unknown(
        d.index,
        "a wgmma before any wgmma.fence of its warp: whether its registers are ready is left to what "
        "ptxas repairs (WG1)",
        "wgmma.fence.sync.aligned before the first wgmma of a sequence");
  const bool touched =
      std::any_of(d.dst.begin(), d.dst.end(), [&](uint32_t r) { return warp.touched.has(r); }) ||
      (a_in_registers &&
       std::any_of(d.src.begin(), d.src.begin() + 4, [&](uint32_t r) { return warp.touched.has(r); }));
  if (touched)
    cta.recorder.unknown(d.index,
                         "registers of this wgmma were used by other instructions since the last wgmma.fence "
                         "of its warp: whether "
                         "they are ready is left to what ptxas repairs (WG1)",
                         "wgmma.fence.sync.aligned between other uses of the registers and the wgmma");
  const uint64_t number = group.issued[w];
  const uint64_t bulk_group = group.committed[w] + 1;
  if (number == group.ops.size()) {
    for (const bool is_b : {false, true}) {
      if (!is_b && a_in_registers) continue;
      const OperandFootprint& operand =
          operand_footprint(cta, is_b ? b : a, is_b ? d.shape[1] : 64, (d.mn_major & (is_b ? 2 : 1)) != 0,
                            is_b && d.sparse ? 2 * wgmma_k_bytes : wgmma_k_bytes);
      if (!operand.unmodelled.empty())
        return cta.unknown(d, fmt::format("'{}' has {}, which the simulator has no model of",
                                          d.text->mnemonic, operand.unmodelled));
      if (!operand.problem.empty())
        return cta.fault(warp, lanes, d, "WG2", fmt::format("'{}' has {}", d.text->mnemonic, operand.problem),
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
  if (uint64_t pending = 0; touches_in_flight(warp, d, pending)) cta.hazard(warp, lanes, d, pending);
  for (uint32_t r : d.dst) warp.in_flight.mark(r, {bulk_group, true});
  for (size_t i = 0; a_in_registers && i < 4; ++i) warp.in_flight.mark(d.src[i], {bulk_group, false});
  ++group.issued[w];
  ++op.warps_issued;
  cta.run_ready_matrix_ops(group);
  return Step::next;
}

void Cta::run_ready_matrix_ops(WarpGroup& group) {
  while (group.executed < group.ops.size() && group.ops[group.executed].warps_issued == 4) {
    if (machine.log != nullptr)
      machine.log->matrix_operation(*this, group.ops[group.executed],
                                    static_cast<uint32_t>(&group - groups.data()) * 4);
    run_matrix_op(*this, group, group.ops[group.executed]);
    ++group.executed;
  }
}

Step exec_wgmma_fence(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_a_warp_group(cta, warp, d, lanes)) return *step;
  cta.groups[warp.index / 4].fenced |= static_cast<uint8_t>(1u << warp.index % 4);
  warp.touched.clear();
  return Step::next;
}

Step exec_wgmma_commit(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (auto step = not_a_warp_group(cta, warp, d, lanes)) return *step;
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
  if (auto step = not_a_warp_group(cta, warp, d, lanes)) return *step;
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
  warp.in_flight.release(covered);
  return Step::next;
}

}  // namespace turnstile::sim
