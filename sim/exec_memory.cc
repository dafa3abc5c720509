// SPDX-License-Identifier: Apache-2.0
// Loads and stores of single threads, in every state space. Those that order memory, or wait for a value, go
// on in exec_atomic.cc.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/flag_access.h"
#include "sim/handlers.h"
#include "sim/lane_targets.h"
#include "sim/machine.h"

namespace turnstile::sim {

namespace {

uint64_t sign_extend(uint64_t value, unsigned bytes, unsigned bits) {
  if (bytes >= 8) return value;
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  return ((value ^ sign) - sign) & width_mask(bits);
}

/// One element of a vector load into its register, of one lane or (`everywhere`) of all.
void load_element(Warp& warp, const Decoded& d, unsigned v, unsigned lane, bool everywhere,
                  const ByteRun& run) {
  const uint32_t to = d.dst[v];
  if (to == Decoded::none) return;
  uint64_t value = 0;
  bool known = true;
  for (unsigned i = 0; i < d.bytes; ++i) {
    value |= uint64_t{run.value[v * d.bytes + i]} << (8 * i);
    known = known && run.known[v * d.bytes + i] != 0;
  }
  const LaneMask lanes = everywhere ? all_lanes : LaneMask{1} << lane;
  if (known) {
    warp.regs.set_lanes(to, lanes, d.is_signed ? sign_extend(value, d.bytes, d.dst_bits[v]) : value);
    return;
  }
  warp.regs.forget(to, lanes);
  if (!warp.regs.has_cells(to)) return;
  Cells& cells = warp.regs.cells(to, lane);
  for (unsigned i = 0; i < cells.size(); ++i) {
    const size_t at = v * d.bytes + i;
    cells[i] = i >= d.bytes    ? hash_constant_byte(0)
               : run.known[at] ? hash_constant_byte(run.value[at])
                               : run.cells[at];
  }
  if (!d.is_signed || d.dst_bits[v] <= 8u * d.bytes) return;
  const Hash128 sign = combine(hash_number(48, d.bytes), value_of({cells.data(), d.bytes}));
  for (unsigned i = d.bytes; i < cells.size() && 8 * i < d.dst_bits[v]; ++i) cells[i] = byte_of(sign, i);
}

/// Two strong loads of one word may read different values in another schedule: no name says that they are
/// equal.
void name_each(Warp& warp, const Decoded& d, LaneMask lanes) {
  for (uint32_t reg : d.dst)
    if (reg != Decoded::none) warp.regs.forget(reg, lanes & ~warp.regs.known(reg));
}

/// Whether no lane stores anything known: results of matrix operations in a run without data.
bool nothing_known(const Warp& warp, const Decoded& d, LaneMask lanes) {
  LaneMask known = 0;
  for (unsigned v = 0; v < d.vector; ++v) known |= warp.regs.known(d.src[1 + v]);
  return (known & lanes) == 0;
}

/// Loads of what nobody knows: tiles that matrix operations or copies left, in a run without data.
bool loads_nothing_known(const Cta& cta, const Decoded& d, const LaneTargets& targets, LaneMask lanes,
                         uint64_t bytes) {
  if (cta.with_data() || cta.writes_expressions(d)) return false;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const Target& t = targets.at[static_cast<size_t>(std::countr_zero(rest))];
    if (t.where != Target::Where::shared || !cta.shared.nothing_known(t.offset, bytes)) return false;
  }
  return true;
}

}  // namespace

Step exec_load(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  LaneTargets targets;  // destinations may hold the address: every lane is resolved first
  if (const Step step = resolve_lanes(cta, warp, d, lanes, "loads", targets); step != Step::next) return step;
  if (d.poll != Decoded::none) return wait_for_flag(cta, warp, d, lanes, targets);
  record_access(cta, warp, d, targets, lanes, d.order != 0 ? uint8_t{Event::atomic} : uint8_t{0});
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  if (d.order == 0 && loads_nothing_known(cta, d, targets, lanes, total)) {
    for (const uint32_t to : d.dst)
      if (to != Decoded::none) warp.regs.forget(to, lanes);
    return Step::next;
  }
  ByteRun& run = cta.scratch;
  run.resize(total, cta.provenance());
  const bool everywhere = lanes == all_lanes && !cta.provenance() && warp.regs.uniform(d.src[0]) &&
                          targets.at[0].where != Target::Where::local;
  for (LaneMask rest = everywhere ? 1u : lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    read_target(cta, warp, targets.at[lane], lane, total, run);
    for (unsigned v = 0; v < d.vector; ++v) load_element(warp, d, v, lane, everywhere, run);
  }
  if (d.order != 0) forget_contended(cta, warp, d, lanes, targets);
  if (d.order != 0 && cta.names_values()) name_each(warp, d, lanes);
  return Step::next;
}

Step exec_store(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  LaneTargets targets;
  if (const Step step = resolve_lanes(cta, warp, d, lanes, "stores", targets); step != Step::next)
    return step;
  for (LaneMask rest = lanes & ~targets.visible; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (targets.at[lane].where == Target::Where::param)
      return cta.fault(warp, LaneMask{1} << lane, d, "memory",
                       fmt::format("{} stores to a kernel parameter", thread_name(warp, lane)),
                       "parameters are constant");
  }
  record_access(cta, warp, d, targets, lanes,
                d.order != 0 ? uint8_t{Event::write | Event::atomic} : uint8_t{Event::write});
  if (Cta::open_body(warp, lanes) != nullptr) {  // perhaps nothing was stored
    if (cta.machine.flags.any())
      return cta.unknown(d,
                         "whether this store is executed depends on a value that this launch does not give, "
                         "and other threads may wait for what it writes");
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
      forget_target(cta, warp, targets.at[static_cast<size_t>(std::countr_zero(rest))],
                    static_cast<unsigned>(std::countr_zero(rest)), uint64_t{d.bytes} * d.vector);
    return Step::next;
  }
  if (d.order != 0 || cta.machine.flags.any()) note_flag_stores(cta, warp, d, lanes, targets);
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  if (!cta.with_data() && !cta.reads_expressions(d) && nothing_known(warp, d, lanes)) {
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
      forget_target(cta, warp, targets.at[static_cast<size_t>(std::countr_zero(rest))],
                    static_cast<unsigned>(std::countr_zero(rest)), total);
    return Step::next;
  }
  ByteRun& run = cta.scratch;
  run.resize(total, cta.provenance());
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned v = 0; v < d.vector; ++v) {
      const uint32_t from = d.src[1 + v];
      // A buffer whose contents nobody knows takes names only.
      const bool known = warp.regs.known(from, lane) &&
                         !(targets.at[lane].where == Target::Where::global && warp.regs.has_name(from, lane));
      const uint64_t value = warp.regs.get(from, lane);
      const size_t at = size_t{v} * d.bytes;
      for (unsigned i = 0; i < d.bytes; ++i) run.value[at + i] = static_cast<uint8_t>(value >> (8 * i));
      std::fill_n(run.known.begin() + static_cast<ptrdiff_t>(at), d.bytes, known ? uint8_t{1} : uint8_t{0});
      if (cta.provenance() && !known)
        std::copy_n(std::as_const(warp.regs).cells(from, lane).begin(), d.bytes,
                    run.cells.begin() + static_cast<ptrdiff_t>(at));
    }
    write_target(cta, warp, targets.at[lane], lane, total, run, d.index);
  }
  return Step::next;
}

}  // namespace turnstile::sim
