// SPDX-License-Identifier: Apache-2.0
// Loads and stores of single threads, in every state space.
#include <fmt/format.h>

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
  if (space == AddressSpace::shared) return {Target::Where::shared, address, 0};
  if (space == AddressSpace::local) return {Target::Where::local, address, 0};
  if (space == AddressSpace::param) return {Target::Where::param, address, 0};
  const uint64_t window = address / AddressMap::window_bytes * AddressMap::window_bytes;
  const uint64_t offset = address - window;
  if (window == AddressMap::shared_window) return {Target::Where::shared, offset, 0};
  if (window == AddressMap::local_window) return {Target::Where::local, offset, 0};
  if (window == AddressMap::param_window) return {Target::Where::param, offset, 0};
  const uint64_t number = address / AddressMap::window_bytes;
  if (number == 0 || number > cta.global.buffer_count()) return {};
  return {Target::Where::global, offset, static_cast<uint32_t>(number - 1)};
}

std::string thread_name(const Warp& warp, unsigned lane) {
  return fmt::format("thread {} (warp {}, lane {})", warp.index * 32 + lane, warp.index, lane);
}

/// Ranges of one strand's lanes in one allocation, recorded as one access.
struct Accesses {
  std::vector<ByteRange> shared;
  std::map<uint32_t, std::vector<ByteRange>> global;
};

void record(Cta& cta, AgentId agent, const Decoded& d, Accesses& a, bool write) {
  auto add = [&](Space space, uint32_t allocation, std::vector<ByteRange>& ranges) {
    normalise(ranges);
    Event& e = cta.recorder.add(EventKind::access, agent, d.index);
    e.footprint = cta.recorder.footprint(space, allocation, ranges);
    if (write) e.flags = Event::write;
  };
  if (!a.shared.empty()) add(Space::shared, 0, a.shared);
  for (auto& [buffer, ranges] : a.global) add(Space::global, buffer, ranges);
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
      if (t.offset + bytes > cta.global.bytes_of(t.buffer))
        return fmt::format("byte {} of buffer '{}' is beyond its {} bytes", t.offset,
                           cta.recorder.trace().allocation_names[t.buffer], cta.global.bytes_of(t.buffer));
      return {};
    case Target::Where::local:
      return t.offset + bytes <= cta.program.local_bytes
                 ? std::string()
                 : fmt::format("local address 0x{:x} is outside the thread's local memory", t.offset);
    case Target::Where::param:
      return t.offset + bytes <= cta.program.params.size()
                 ? std::string()
                 : fmt::format("parameter offset {} is outside the parameter block", t.offset);
    case Target::Where::nowhere:
      return fmt::format("address 0x{:x} is in no buffer of this launch", address);
  }
  return {};
}

uint64_t sign_extend(uint64_t value, unsigned bytes, unsigned bits) {
  if (bytes >= 8) return value;
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  return ((value ^ sign) - sign) & width_mask(bits);
}

}  // namespace

Step exec_load(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const uint32_t base = d.src[0];
  if ((warp.regs.known(base) & lanes) != lanes)
    return cta.unknown(d,
                       fmt::format("the address of '{}' depends on a value that this launch does not give",
                                   d.text->mnemonic),
                       "give the buffer it was loaded from `control_data = true` and its values");
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  // Destinations may hold the address: resolve every lane first.
  std::array<Target, warp_size> targets;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const uint64_t address = warp.regs.get(base, lane) + static_cast<uint64_t>(d.offsets[0]);
    const uint64_t at = d.space == AddressSpace::shared ? address & 0xffffffff : address;
    targets[lane] = resolve(cta, d.space, at);
    if (const std::string why = problem(cta, targets[lane], at, total); !why.empty())
      return cta.fault(warp, LaneMask{1} << lane, d, "memory",
                       fmt::format("{} loads from a bad address: {}", thread_name(warp, lane), why),
                       "check the index arithmetic against the sizes in the launch file");
  }
  if (targets[static_cast<size_t>(std::countr_zero(lanes))].where != Target::Where::param) {
    for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
      Accesses a;
      for (unsigned lane = 0; lane < warp_size; ++lane) {
        if (((s.lanes & lanes) >> lane & 1) == 0) continue;
        const Target& t = targets[lane];
        if (t.where == Target::Where::shared) a.shared.push_back({t.offset, t.offset + total, 0, 1});
        if (t.where == Target::Where::global)
          a.global[t.buffer].push_back({t.offset, t.offset + total, 0, 1});
      }
      record(cta, s.agent, d, a, false);
    }
  }
  ByteRun run;
  run.resize(total, cta.provenance());
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const Target& t = targets[lane];
    switch (t.where) {
      case Target::Where::shared:
        cta.shared.read(t.offset, total, run);
        break;
      case Target::Where::global:
        cta.global.read(t.buffer, t.offset, total, run, 0);
        break;
      case Target::Where::local:
        warp.local[lane].read(t.offset, total, run);
        break;
      case Target::Where::param:
        for (uint64_t i = 0; i < total; ++i) {
          run.value[i] = static_cast<uint8_t>(cta.program.params[t.offset + i]);
          run.known[i] = cta.program.params_known[t.offset + i];
        }
        break;
      case Target::Where::nowhere:
        break;
    }
    for (unsigned v = 0; v < d.vector; ++v) {
      const uint32_t to = d.dst[v];
      if (to == Decoded::none) continue;
      uint64_t value = 0;
      bool known = true;
      for (unsigned i = 0; i < d.bytes; ++i) {
        value |= uint64_t{run.value[v * d.bytes + i]} << (8 * i);
        known = known && run.known[v * d.bytes + i] != 0;
      }
      if (known) {
        warp.regs.set(to, lane, d.is_signed ? sign_extend(value, d.bytes, d.dst_bits[v]) : value);
        continue;
      }
      warp.regs.forget(to, LaneMask{1} << lane);
      if (!cta.provenance()) continue;
      Cells& cells = warp.regs.cells(to, lane);
      for (unsigned i = 0; i < cells.size(); ++i) {
        const size_t at = v * d.bytes + i;
        cells[i] = i >= d.bytes    ? hash_constant_byte(0)
                   : run.known[at] ? hash_constant_byte(run.value[at])
                                   : run.cells[at];
      }
    }
  }
  return Step::next;
}

Step exec_store(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const uint32_t base = d.src[0];
  if ((warp.regs.known(base) & lanes) != lanes)
    return cta.unknown(d,
                       fmt::format("the address of '{}' depends on a value that this launch does not give",
                                   d.text->mnemonic),
                       "give the buffer it was loaded from `control_data = true` and its values");
  const uint64_t total = uint64_t{d.bytes} * d.vector;
  std::array<Target, warp_size> targets;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    const uint64_t address = warp.regs.get(base, lane) + static_cast<uint64_t>(d.offsets[0]);
    const uint64_t at = d.space == AddressSpace::shared ? address & 0xffffffff : address;
    targets[lane] = resolve(cta, d.space, at);
    if (const std::string why = problem(cta, targets[lane], at, total); !why.empty())
      return cta.fault(warp, LaneMask{1} << lane, d, "memory",
                       fmt::format("{} stores to a bad address: {}", thread_name(warp, lane), why),
                       "check the index arithmetic against the sizes in the launch file");
    if (targets[lane].where == Target::Where::param)
      return cta.fault(warp, LaneMask{1} << lane, d, "memory", "a store to a kernel parameter",
                       "parameters are constant");
  }
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    Accesses a;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if (((s.lanes & lanes) >> lane & 1) == 0) continue;
      const Target& t = targets[lane];
      if (t.where == Target::Where::shared) a.shared.push_back({t.offset, t.offset + total, 0, 1});
      if (t.where == Target::Where::global) a.global[t.buffer].push_back({t.offset, t.offset + total, 0, 1});
    }
    record(cta, s.agent, d, a, true);
  }
  ByteRun run;
  run.resize(total, cta.provenance());
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if (((lanes >> lane) & 1) == 0) continue;
    for (unsigned v = 0; v < d.vector; ++v) {
      const uint32_t from = d.src[1 + v];
      const bool known = warp.regs.known(from, lane);
      for (unsigned i = 0; i < d.bytes; ++i) {
        const size_t at = v * d.bytes + i;
        run.value[at] = static_cast<uint8_t>(warp.regs.get(from, lane) >> (8 * i));
        run.known[at] = known ? 1 : 0;
        if (cta.provenance() && !known) run.cells[at] = warp.regs.cells(from, lane)[i];
      }
    }
    const Target& t = targets[lane];
    switch (t.where) {
      case Target::Where::shared:
        cta.shared.write(t.offset, 0, total, run);
        break;
      case Target::Where::global:
        cta.global.write(t.buffer, t.offset, total, run, 0);
        break;
      case Target::Where::local:
        warp.local[lane].write(t.offset, 0, total, run);
        break;
      case Target::Where::param:
      case Target::Where::nowhere:
        break;
    }
  }
  return Step::next;
}

}  // namespace turnstile::sim
