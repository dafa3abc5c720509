// SPDX-License-Identifier: Apache-2.0
// Loads and stores of single threads, in every state space.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

struct Target {
  enum class Where : uint8_t { shared, global, local, param, nowhere } where = Where::nowhere;
  uint64_t offset = 0;
  uint32_t buffer = 0;
};

/// Resolves an address of the instruction's space; generic addresses by window (PE6, PE8).
Target resolve(const Cta& cta, AddressSpace space, uint64_t address) {
  if (space == AddressSpace::shared) return {Target::Where::shared, cta.shared_offset(address), 0};
  if (space == AddressSpace::local) return {Target::Where::local, address, 0};
  if (space == AddressSpace::param) return {Target::Where::param, address, 0};
  const uint64_t window = address / AddressMap::window_bytes * AddressMap::window_bytes;
  const uint64_t offset = address - window;
  if (space == AddressSpace::generic) {
    if (window == AddressMap::shared_window) return {Target::Where::shared, cta.shared_offset(offset), 0};
    if (window == AddressMap::local_window) return {Target::Where::local, offset, 0};
    if (window == AddressMap::param_window) return {Target::Where::param, offset, 0};
  }
  const uint64_t number = address / AddressMap::window_bytes;
  if (number == 0 || number > cta.global.buffer_count()) return {};
  return {Target::Where::global, offset, static_cast<uint32_t>(number - 1)};
}

std::string thread_name(const Warp& warp, unsigned lane) {
  return fmt::format("thread {} (warp {}, lane {})", warp.index * 32 + lane, warp.index, lane);
}

bool overlaps_barrier(const Cta& cta, uint64_t offset, uint64_t bytes) {
  auto it = cta.barriers.upper_bound(offset + bytes - 1);
  while (it != cta.barriers.begin()) {
    --it;
    if (it->first + 8 <= offset) return false;
    if (it->second.state.valid()) return true;
  }
  return false;
}

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
    case Target::Where::shared:
      if (!cta.shared.contains(t.offset, bytes))
        return fmt::format("shared address 0x{:x} is outside the {} bytes of shared memory of this launch",
                           t.offset, cta.shared.size());
      if (t.offset < AddressMap::shared_static_base)
        return fmt::format("shared address 0x{:x} is below the first variable", t.offset);
      if (overlaps_barrier(cta, t.offset, bytes))
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

uint64_t sign_extend(uint64_t value, unsigned bytes, unsigned bits) {
  if (bytes >= 8) return value;
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  return ((value ^ sign) - sign) & width_mask(bits);
}

/// Where each active lane's access goes.
struct LaneTargets {
  std::array<Target, warp_size> at;
  LaneMask visible = 0;  ///< lanes that touch shared or global memory
};

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
         !overlaps_barrier(cta, low, high + bytes - low);
}

/// Resolves and checks the addresses of all lanes before any of them acts; a fault stops.
Step resolve_lanes(Cta& cta, const Warp& warp, const Decoded& d, LaneMask lanes, std::string_view verb,
                   LaneTargets& out) {
  const uint32_t base = d.src[0];
  if ((warp.regs.known(base) & lanes) != lanes)
    return cta.unknown(d,
                       fmt::format("the address of '{}' depends on a value that this launch does not give",
                                   d.text->mnemonic),
                       "give the buffer it was loaded from `control_data = true` and its values");
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  std::array<uint64_t, warp_size> address;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t full = warp.regs.get(base, lane) + static_cast<uint64_t>(d.offsets[0]);
    address[lane] = d.space == AddressSpace::shared ? full & 0xffffffff : full;
    out.at[lane] = resolve(cta, d.space, address[lane]);
    const Target::Where where = out.at[lane].where;
    if (where == Target::Where::shared || where == Target::Where::global) out.visible |= LaneMask{1} << lane;
  }
  if (all_plain_shared(cta, out, lanes, total)) return Step::next;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (const std::string why = problem(cta, out.at[lane], address[lane], total); !why.empty())
      return cta.fault(
          warp, LaneMask{1} << lane, d, "memory",
          fmt::format("{} {} {} bytes at a bad address: {}", thread_name(warp, lane), verb, total, why),
          "check the index arithmetic against the sizes in the launch file");
  }
  return Step::next;
}

/// Records what the lanes touch: for each strand one access of shared memory and one of each buffer.
void record(Cta& cta, Warp& warp, const Decoded& d, const LaneTargets& targets, bool write) {
  if (targets.visible == 0) return;
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  std::vector<ByteRange> ranges;
  ranges.reserve(warp_size);
  for (const Strand& s : cta.strands_of(warp, targets.visible, d.index)) {
    for (LaneMask rest = s.lanes; rest != 0;) {
      // The lanes that go where the first of the rest goes.
      const Target& first = targets.at[static_cast<size_t>(std::countr_zero(rest))];
      ranges.clear();
      for (LaneMask look = rest; look != 0; look &= look - 1) {
        const int lane = std::countr_zero(look);
        const Target& t = targets.at[static_cast<size_t>(lane)];
        if (t.where != first.where || t.buffer != first.buffer) continue;
        rest &= ~(LaneMask{1} << lane);
        if (!ranges.empty() && ranges.back().end == t.offset)
          ranges.back().end += total;
        else if (ranges.empty() || ranges.back().begin != t.offset || ranges.back().end != t.offset + total)
          ranges.push_back({t.offset, t.offset + total, 0, 1});
      }
      normalise(ranges);
      const bool shared = first.where == Target::Where::shared;
      const uint32_t footprint =
          shared ? cta.shared_footprint(ranges)
                 : cta.recorder.footprint(Space::global, first.buffer, ranges);
      Event& e = cta.recorder.add(EventKind::access, s.agent, d.index);
      e.footprint = footprint;
      if (write) e.flags = Event::write;
    }
  }
}

void read_target(const Cta& cta, const Warp& warp, const Target& t, unsigned lane, uint64_t bytes,
                 ByteRun& run) {
  switch (t.where) {
    case Target::Where::shared:
      cta.shared.read(t.offset, bytes, run);
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

/// One element of a vector load into its register, of one lane or (`everywhere`) of all.
void load_element(Cta& cta, Warp& warp, const Decoded& d, unsigned v, unsigned lane, bool everywhere,
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
  if (!cta.provenance()) return;
  Cells& cells = warp.regs.cells(to, lane);
  for (unsigned i = 0; i < cells.size(); ++i) {
    const size_t at = v * d.bytes + i;
    cells[i] = i >= d.bytes    ? hash_constant_byte(0)
               : run.known[at] ? hash_constant_byte(run.value[at])
                               : run.cells[at];
  }
}

/// Whether no lane stores anything known: results of matrix operations in a run without data.
bool nothing_known(const Warp& warp, const Decoded& d, LaneMask lanes) {
  LaneMask known = 0;
  for (unsigned v = 0; v < d.vector; ++v) known |= warp.regs.known(d.src[1 + v]);
  return (known & lanes) == 0;
}

void forget_target(Cta& cta, Warp& warp, const Target& t, unsigned lane, uint64_t bytes) {
  if (t.where == Target::Where::shared) cta.shared.forget(t.offset, bytes);
  if (t.where == Target::Where::local) warp.local[lane].forget(t.offset, bytes);
  if (t.where == Target::Where::global) cta.global.forget(t.buffer, t.offset, bytes);
}

}  // namespace

Step exec_load(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  LaneTargets targets;  // destinations may hold the address: every lane is resolved first
  if (const Step step = resolve_lanes(cta, warp, d, lanes, "loads", targets); step != Step::next) return step;
  record(cta, warp, d, targets, false);
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  ByteRun& run = cta.scratch;
  run.resize(total, cta.provenance());
  const bool everywhere = lanes == all_lanes && !cta.provenance() && warp.regs.uniform(d.src[0]) &&
                          targets.at[0].where != Target::Where::local;
  for (LaneMask rest = everywhere ? 1u : lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    read_target(cta, warp, targets.at[lane], lane, total, run);
    for (unsigned v = 0; v < d.vector; ++v) load_element(cta, warp, d, v, lane, everywhere, run);
  }
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
  record(cta, warp, d, targets, true);
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  if (!cta.with_data() && nothing_known(warp, d, lanes)) {
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
      const bool known = warp.regs.known(from, lane);
      const uint64_t value = warp.regs.get(from, lane);
      const size_t at = size_t{v} * d.bytes;
      for (unsigned i = 0; i < d.bytes; ++i) run.value[at + i] = static_cast<uint8_t>(value >> (8 * i));
      std::fill_n(run.known.begin() + static_cast<ptrdiff_t>(at), d.bytes, known ? uint8_t{1} : uint8_t{0});
      if (cta.provenance() && !known)
        std::copy_n(warp.regs.cells(from, lane).begin(), d.bytes,
                    run.cells.begin() + static_cast<ptrdiff_t>(at));
    }
    const Target& t = targets.at[lane];
    if (t.where == Target::Where::shared)
      cta.shared.write(t.offset, 0, total, run);
    else if (t.where == Target::Where::local)
      warp.local[lane].write(t.offset, 0, total, run);
    else if (t.where == Target::Where::global)
      cta.write_global(t.buffer, t.offset, total, run, 0, d.index);
  }
  return Step::next;
}

}  // namespace turnstile::sim
