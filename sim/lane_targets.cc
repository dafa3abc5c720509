// SPDX-License-Identifier: Apache-2.0
#include "sim/lane_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/exec_tensormap.h"
#include "sim/machine.h"
#include "sim/origin.h"
#include "sim/position_tracker.h"

namespace turnstile::sim {

namespace {

/// The own shared memory, or with a shared::cluster or generic address that of another CTA (D1).
Target shared_target(const Cta& cta, bool any_cta, uint64_t address) {
  const uint32_t own = cta.shared_offset(address);
  if (!any_cta || own < cta.shared.size()) return {Target::Where::shared, own, 0};
  const Cta* owner = cta.owner_of(address);
  if (owner == nullptr) return {};
  if (owner == &cta) return {Target::Where::shared, own, 0};
  return {Target::Where::remote, owner->shared_offset(address), owner->index};
}

/// Resolves an address of the instruction's space; generic addresses by window (PE6, PE8).
Target resolve(const Cta& cta, const Decoded& d, uint64_t address) {
  const AddressSpace space = d.space;
  if (space == AddressSpace::shared) return shared_target(cta, d.any_cta, address);
  if (space == AddressSpace::local) return {Target::Where::local, address, 0};
  if (space == AddressSpace::param) return {Target::Where::param, address, 0};
  const uint64_t window = address / AddressMap::window_bytes * AddressMap::window_bytes;
  const uint64_t offset = address - window;
  if (space == AddressSpace::generic) {
    if (window == AddressMap::shared_window) return shared_target(cta, true, offset);
    if (window == AddressMap::local_window) return {Target::Where::local, offset, 0};
    if (window == AddressMap::param_window) return {Target::Where::param, offset, 0};
  }
  const uint64_t number = address / AddressMap::window_bytes;
  if (number == 0 || number > cta.global.buffer_count()) return {};
  return {Target::Where::global, offset, static_cast<uint32_t>(number - 1)};
}

}  // namespace

Target target_of(const Cta& cta, const Decoded& d, uint64_t address) {
  return resolve(cta, d, d.space == AddressSpace::shared ? address & 0xffffffff : address);
}

namespace {

bool within(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

/// An address before a buffer lies at the end of the window below it. Empty: this one does not.
std::string before_a_buffer(const Cta& cta, uint64_t address) {
  const uint64_t next = address / AddressMap::window_bytes, offset = address % AddressMap::window_bytes;
  if (offset < AddressMap::window_bytes / 2 || next >= cta.global.buffer_count()) return {};
  return fmt::format("address 0x{:x} is {} bytes before buffer '{}'", address,
                     AddressMap::window_bytes - offset, cta.recorder.trace().allocation_names[next]);
}

/// Checks one lane's access; empty = fine, else the fault text.
std::string problem(const Cta& cta, const Target& t, uint64_t address, uint64_t bytes) {
  if (address % bytes != 0)
    return fmt::format("address 0x{:x} is not aligned to the {} bytes of the access", address, bytes);
  switch (t.where) {
    case Target::Where::remote:
      return problem(*cta.machine.ctas[t.buffer], {Target::Where::shared, t.offset, 0}, address, bytes);
    case Target::Where::shared:
      if (!cta.shared.contains(t.offset, bytes)) {
        if (const Cta* owner = cta.owner_of(address); owner != nullptr && owner != &cta)
          return fmt::format(
              "it is in the shared memory of the CTA of rank {}, and this form reaches its own only (MB8)",
              owner->rank);
        return fmt::format("shared address 0x{:x} is outside the {} bytes of shared memory of this launch",
                           t.offset, cta.shared.size());
      }
      if (t.offset < AddressMap::shared_static_base)
        return fmt::format("shared address 0x{:x} is below the first variable", t.offset);
      if (cta.overlaps_barrier(t.offset, bytes))
        return fmt::format("an ordinary access to the live mbarrier object at {} (MB9)",
                           cta.shared_name(t.offset));
      return {};
    case Target::Where::global:
      if (within(t.offset, bytes, cta.global.bytes_of(t.buffer))) return {};
      if (std::string text = before_a_buffer(cta, address); !text.empty()) return text;
      return fmt::format("byte {} of buffer '{}' is beyond its {} bytes", t.offset,
                         cta.recorder.trace().allocation_names[t.buffer], cta.global.bytes_of(t.buffer));
    case Target::Where::local:
      return within(t.offset, bytes, cta.program.local_bytes)
                 ? std::string()
                 : fmt::format("local address 0x{:x} is outside the thread's local memory", t.offset);
    case Target::Where::param:
      return within(t.offset, bytes, cta.program.params.size())
                 ? std::string()
                 : fmt::format("parameter offset {} is outside the parameter block", t.offset);
    case Target::Where::nowhere:
      if (std::string text = before_a_buffer(cta, address); !text.empty()) return text;
      return fmt::format("address 0x{:x} is in no buffer of this launch", address);
  }
  return {};
}

/// Whether all lanes access plain shared memory at good addresses: the common case, decided at once.
bool all_plain_shared(const Cta& cta, const LaneTargets& targets, LaneMask lanes, uint64_t bytes) {
  uint64_t low = ~uint64_t{0}, high = 0, bits = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const Target& t = targets.at[static_cast<size_t>(std::countr_zero(rest))];
    if (t.where != Target::Where::shared) return false;
    low = std::min(low, t.offset);
    high = std::max(high, t.offset);
    bits |= t.offset;
  }
  return bits % bytes == 0 && low >= AddressMap::shared_static_base && cta.shared.contains(high, bytes) &&
         !cta.overlaps_barrier(low, high + bytes - low);
}

}  // namespace

std::string thread_name(const Warp& warp, unsigned lane) {
  return fmt::format("thread {} (warp {}, lane {})", warp.index * 32 + lane, warp.index, lane);
}

Step resolve_lanes(Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes, std::string_view verb,
                   LaneTargets& out) {
  const uint32_t base = d.src[0];
  if ((warp.regs.known(base) & lanes) != lanes) {
    std::string text = fmt::format("the address of '{}' depends on a value that this launch does not give{}",
                                   d.text->mnemonic, origin_of_unknown(cta, warp, base, lanes));
    return cta.unknown(d, std::move(text), help_for_unknown(cta));
  }
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  std::array<uint64_t, warp_size> address;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t full = warp.regs.get(base, lane) + static_cast<uint64_t>(d.offsets[0]);
    address[lane] = d.space == AddressSpace::shared ? full & 0xffffffff : full;
    out.at[lane] = resolve(cta, d, address[lane]);
    const Target::Where where = out.at[lane].where;
    if (where == Target::Where::shared || where == Target::Where::remote || where == Target::Where::global)
      out.visible |= LaneMask{1} << lane;
  }
  if (all_plain_shared(cta, out, lanes, total)) return Step::next;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (out.at[lane].where == Target::Where::remote && cta.machine.ctas[out.at[lane].buffer]->ended())
      return cta.fault(
          warp, LaneMask{1} << lane, d, "D2",
          fmt::format("{} {} shared memory of the CTA of rank {}, which has ended", thread_name(warp, lane),
                      verb, cta.machine.ctas[out.at[lane].buffer]->rank),
          "keep every CTA alive until its peers are done with it: a cluster barrier before the exit");
    if (const std::string why = problem(cta, out.at[lane], address[lane], total); !why.empty())
      return cta.fault(
          warp, LaneMask{1} << lane, d, why.find("(MB9)") != std::string::npos ? "MB9" : "memory",
          fmt::format("{} {} {} bytes at a bad address: {}", thread_name(warp, lane), verb, total, why),
          "check the index arithmetic against the sizes in the launch file");
  }
  return Step::next;
}

uint64_t fingerprint(const Cta& cta, const Warp& warp, const Decoded& d, const LaneTargets& targets,
                     LaneMask lanes) {
  const auto value = [&](unsigned lane, unsigned v) {
    const uint32_t from = d.src[1 + v];
    return cta.provenance() ? warp.regs.expression(from, lane, d.bytes)
                            : hash_number(41, warp.regs.get(from, lane) & width_mask(8u * d.bytes));
  };
  std::array<std::pair<uint64_t, unsigned>, warp_size> by_offset;
  size_t count = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned v = 0; v < d.vector; ++v)
      if (!cta.provenance() && !warp.regs.known(d.src[1 + v], lane)) return 0;
    by_offset[count++] = {targets.at[lane].offset, lane};
  }
  std::sort(by_offset.begin(), by_offset.begin() + static_cast<std::ptrdiff_t>(count));
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto [offset, lane] = by_offset[i];
    const bool again = i > 0 && by_offset[i - 1].first == offset;
    if (i > 0 && !again && by_offset[i - 1].first + total > offset) return 0;
    for (unsigned v = 0; v < d.vector; ++v) {
      const Hash128 here = value(lane, v);
      if (cta.names_values() && here.foreign()) return 0;  // nothing says what it is
      if (again && !(here == value(by_offset[i - 1].second, v))) return 0;
      if (!again) sum += combine(hash_number(42, offset + uint64_t{v} * d.bytes), here).hi;
    }
  }
  return sum == 0 ? 1 : sum;
}

namespace {

/// What lanes that go to one memory touch there.
std::vector<ByteRange> ranges_of_lanes(const LaneTargets& targets, LaneMask lanes, uint64_t bytes) {
  std::vector<ByteRange> ranges;
  ranges.reserve(warp_size);
  for (; lanes != 0; lanes &= lanes - 1) {
    const Target& t = targets.at[static_cast<size_t>(std::countr_zero(lanes))];
    if (!ranges.empty() && ranges.back().end == t.offset)
      ranges.back().end += bytes;
    else if (ranges.empty() || ranges.back().begin != t.offset || ranges.back().end != t.offset + bytes)
      ranges.push_back({t.offset, t.offset + bytes, 0, 1});
  }
  normalise(ranges);
  return ranges;
}

/// The same in the own shared memory, as a footprint.
uint32_t shared_footprint_of_lanes(Cta& cta, const LaneTargets& targets, LaneMask lanes, uint64_t bytes) {
  std::array<uint64_t, warp_size + 1> key;  // of matrix rows: its low byte is not 0
  size_t count = 0;
  key[count++] = bytes << 8;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    key[count++] = targets.at[static_cast<size_t>(std::countr_zero(rest))].offset;
  return cta.row_footprints.get({key.data(), count},
                                [&] { return cta.shared_footprint(ranges_of_lanes(targets, lanes, bytes)); });
}

}  // namespace

void record_access(Cta& cta, Warp& warp, const Decoded& d, const LaneTargets& targets, LaneMask lanes,
                   uint8_t flags) {
  if ((targets.visible & lanes) == 0) return;
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  for (const Strand& s : cta.strands_of(warp, targets.visible & lanes, d.index)) {
    for (LaneMask rest = s.lanes; rest != 0;) {
      // The lanes that go where the first of the rest goes.
      const Target& first = targets.at[static_cast<size_t>(std::countr_zero(rest))];
      LaneMask together = 0;
      for (LaneMask look = rest; look != 0; look &= look - 1) {
        const int lane = std::countr_zero(look);
        const Target& t = targets.at[static_cast<size_t>(lane)];
        if (t.where != first.where || t.buffer != first.buffer) continue;
        rest &= ~(LaneMask{1} << lane);
        together |= LaneMask{1} << lane;
      }
      // With names, what follows a position has one.
      const bool is_of_this_cluster =
          cta.machine.positions != nullptr && !cta.names_values() && cta.machine.positions->stores_position();
      const bool conditional = Cta::open_body(warp, together) != nullptr;
      const bool is_sure = !is_of_this_cluster && !conditional;
      const uint64_t stored = is_sure && (flags & (Event::write | Event::atomic)) == Event::write
                                  ? fingerprint(cta, warp, d, targets, together)
                                  : 0;
      uint32_t footprint = 0;
      if (first.where == Target::Where::shared) {
        footprint = shared_footprint_of_lanes(cta, targets, together, total);
      } else {
        const std::vector<ByteRange> ranges = ranges_of_lanes(targets, together, total);
        if ((flags & Event::write) != 0 && first.where == Target::Where::global &&
            !cta.machine.descriptors.empty())
          for (const ByteRange& r : ranges) forget_maps(cta.machine, first.buffer, r.begin, r.end);
        footprint = first.where == Target::Where::remote
                        ? cta.machine.ctas[first.buffer]->shared_footprint(ranges)
                        : cta.recorder.footprint(Space::global, first.buffer, ranges);
      }
      Event& e = cta.recorder.add(EventKind::access, s.agent, d.index);
      e.footprint = footprint;
      e.flags = conditional ? static_cast<uint8_t>(flags | Event::conditional) : flags;
      e.scope = d.scope;
      e.bytes = stored;
      if ((flags & Event::atomic) != 0) e.count = d.bytes;
    }
  }
}

void read_target(const Cta& cta, const Warp& warp, const Target& t, unsigned lane, uint64_t bytes,
                 ByteRun& run) {
  switch (t.where) {
    case Target::Where::shared:
      cta.shared.read(t.offset, bytes, run);
      break;
    case Target::Where::remote:
      cta.machine.ctas[t.buffer]->shared.read(t.offset, bytes, run);
      break;
    case Target::Where::global:
      cta.global.read(t.buffer, t.offset, bytes, run, 0);
      break;
    case Target::Where::local:
      warp.local[lane].read(t.offset, bytes, run);
      break;
    case Target::Where::param:
      for (uint64_t i = 0; i < bytes; ++i) {
        run.value[i] = static_cast<uint8_t>(cta.program.params[t.offset + i]);
        run.known[i] = cta.program.params_known[t.offset + i];
        // The bytes of a tensor map are the driver's: the same in every launch of this program.
        if (cta.provenance() && run.known[i] == 0) run.cells[i] = hash_number(35, t.offset + i);
      }
      break;
    case Target::Where::nowhere:
      break;
  }
}

void write_target(Cta& cta, Warp& warp, const Target& t, unsigned lane, uint64_t bytes, const ByteRun& run,
                  uint32_t place) {
  if (t.where == Target::Where::shared)
    cta.shared.write(t.offset, 0, bytes, run);
  else if (t.where == Target::Where::remote)
    cta.machine.ctas[t.buffer]->shared.write(t.offset, 0, bytes, run);
  else if (t.where == Target::Where::local)
    warp.local[lane].write(t.offset, 0, bytes, run);
  else if (t.where == Target::Where::global)
    cta.write_global(t.buffer, t.offset, bytes, run, 0, place);
}

void forget_target(Cta& cta, Warp& warp, const Target& t, unsigned lane, uint64_t bytes) {
  if (t.where == Target::Where::shared) cta.shared.forget(t.offset, bytes);
  if (t.where == Target::Where::remote) cta.machine.ctas[t.buffer]->shared.forget(t.offset, bytes);
  if (t.where == Target::Where::local) warp.local[lane].forget(t.offset, bytes);
  if (t.where == Target::Where::global) cta.global.forget(t.buffer, t.offset, bytes);
}

}  // namespace turnstile::sim
