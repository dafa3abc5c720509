// SPDX-License-Identifier: Apache-2.0
// Tensor maps that a kernel changes (semantics.md 6.5): replace a field, copy to global memory with a fence,
// fences of the tensormap proxy. Which fence is missing is for the checker; here is what the map says.
#include "sim/exec_tensormap.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/handlers.h"
#include "sim/machine.h"
#include "sim/unknown_operand.h"

namespace turnstile::sim {

namespace {

constexpr uint64_t map_bytes = 128;

/// Where 128 bytes of a map lie: in a buffer, or in the own shared memory.
struct MapPlace {
  bool shared = false;
  uint32_t buffer = 0;
  uint64_t offset = 0;
};

std::optional<MapPlace> place_of(const Cta& cta, AddressSpace space, uint64_t address) {
  MapPlace p;
  const uint64_t window = address / AddressMap::window_bytes;
  if (space == AddressSpace::shared || window * AddressMap::window_bytes == AddressMap::shared_window) {
    p.shared = true;
    p.offset = cta.shared_offset(address);
    if (!cta.shared.contains(p.offset, map_bytes) || p.offset < AddressMap::shared_static_base)
      return std::nullopt;
  } else {
    if (window == 0 || window > cta.global.buffer_count()) return std::nullopt;
    p.buffer = static_cast<uint32_t>(window - 1);
    p.offset = address % AddressMap::window_bytes;
    if (p.offset + map_bytes > cta.global.bytes_of(p.buffer)) return std::nullopt;
  }
  return p.offset % 64 == 0 ? std::optional(p) : std::nullopt;
}

Step bad_place(Cta& cta, const Warp& warp, LaneMask lanes, const Decoded& d, uint64_t address) {
  return cta.fault(
      warp, lanes, d, "BS4",
      fmt::format("'{}' at 0x{:x}: a tensor map is 128 bytes, aligned to 64, in shared memory or in "
                  "a buffer of the launch",
                  d.text->mnemonic, address),
      "give the map 128 bytes of its own");
}

uint32_t footprint_of(Cta& cta, const MapPlace& p) {
  const ByteRange range{p.offset, p.offset + map_bytes, 0, 1};
  return p.shared ? cta.shared_footprint({&range, 1})
                  : cta.recorder.footprint(Space::global, p.buffer, {&range, 1});
}

/// The bytes of a map; nothing if not all of them are known.
std::optional<DescriptorBytes> bytes_at(Cta& cta, const MapPlace& p) {
  DescriptorBytes out;
  if (p.shared) {
    ByteRun run;
    run.resize(map_bytes, cta.provenance());
    cta.shared.read(p.offset, map_bytes, run);
    if (std::find(run.known.begin(), run.known.end(), uint8_t{0}) != run.known.end()) return std::nullopt;
    std::copy_n(run.value.begin(), map_bytes, out.begin());
    return out;
  }
  const auto at = cta.machine.descriptors.find({p.buffer, p.offset});
  return at == cta.machine.descriptors.end() ? std::nullopt : std::optional(at->second);
}

void store_bytes(Cta& cta, const MapPlace& p, const DescriptorBytes& bytes) {
  ByteRun run;
  run.resize(map_bytes, cta.provenance());
  std::copy(bytes.begin(), bytes.end(), run.value.begin());
  std::fill(run.known.begin(), run.known.end(), uint8_t{1});
  if (p.shared) return cta.shared.write(p.offset, 0, map_bytes, run);
  cta.global.write(p.buffer, p.offset, map_bytes, run, 0);
  cta.machine.descriptors[{p.buffer, p.offset}] = bytes;
  std::string text = fmt::format("buffer '{}' holds tensor maps, whose bits are the driver's own",
                                 cta.recorder.trace().allocation_names[p.buffer]);
  if (std::find(cta.not_predicted.begin(), cta.not_predicted.end(), text) == cta.not_predicted.end())
    cta.not_predicted.push_back(std::move(text));
}

void access(Cta& cta, AgentId agent, const Decoded& d, const MapPlace& p, bool write) {
  const uint32_t footprint = footprint_of(cta, p);
  Event& e = cta.recorder.add(EventKind::access, agent, d.index);
  e.footprint = footprint;
  if (write) e.flags = Event::write;
}

void fence(Cta& cta, AgentId agent, const Decoded& d, uint32_t footprint, bool release) {
  Event& e = cta.recorder.add(EventKind::fence_tensormap, agent, d.index);
  e.footprint = footprint;
  e.scope = d.scope;
  if (release) e.flags = Event::release;
}

}  // namespace

// Sources: [map], then a dimension if the field has several, then the value. TMAP2: a weak generic access to
// all of the 128 bytes.
Step exec_tensormap_replace(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const LaneMask bit = LaneMask{1} << lane;
      const uint64_t address = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
      const std::optional<MapPlace> place = place_of(cta, d.space, address);
      if (!place) return bad_place(cta, warp, bit, d, address);
      access(cta, s.agent, d, *place, true);
      std::optional<DescriptorBytes> bytes = bytes_at(cta, *place);
      if (!bytes)
        return cta.unknown(d,
                           fmt::format("'{}' changes a tensor map whose contents this launch does not give",
                                       d.text->mnemonic),
                           "start from a map that is a parameter, or from zeros in shared memory");
      const bool has_ordinal = d.src.size() == 3;
      const auto ordinal = has_ordinal ? static_cast<uint32_t>(warp.regs.get(d.src[1], lane)) : 0;
      if (!replace_field(*bytes, static_cast<DescriptorField>(d.variant), ordinal,
                         warp.regs.get(d.src.back(), lane)))
        return cta.fault(warp, bit, d, "BS5",
                         fmt::format("'{}' with a value or dimension {} that no tensor map has",
                                     d.text->mnemonic, ordinal),
                         "a map has up to five dimensions, the rank is given as rank - 1");
      store_bytes(cta, *place, *bytes);
    }
  return Step::next;
}

// Sources: [global], [shared], 128. The warp copies as one, and releases (TMAP2).
Step exec_tensormap_publish(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!cta.converged(warp, lanes)) return cta.wait_for_lanes(warp, lanes);
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const uint64_t to = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
  const uint64_t from = warp.regs.get(d.src[1], lane) + static_cast<uint64_t>(d.offsets[1]);
  const std::optional<MapPlace> target = place_of(cta, AddressSpace::global, to);
  const std::optional<MapPlace> source = place_of(cta, AddressSpace::shared, from);
  if (!target || target->shared) return bad_place(cta, warp, lanes, d, to);
  if (!source) return bad_place(cta, warp, lanes, d, from);
  const AgentId agent = cta.join_strands(warp, lanes, d.index);
  access(cta, agent, d, *source, false);
  access(cta, agent, d, *target, true);
  fence(cta, agent, d, footprint_of(cta, *target), true);
  if (const auto bytes = bytes_at(cta, *source))
    store_bytes(cta, *target, *bytes);
  else
    cta.machine.descriptors.erase({target->buffer, target->offset});
  return Step::next;
}

// variant 1: release, of every map that the kernel has made; 0: acquire of the map at [address].
Step exec_tensormap_fence(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if (!known_in(warp, d.src, lanes)) return unknown_operand(cta, d);
  for (const Strand& s : cta.strands_of(warp, lanes, d.index)) {
    if (d.variant == 1) {
      for (const auto& [at, bytes] : cta.machine.descriptors)
        fence(cta, s.agent, d, footprint_of(cta, {false, at.first, at.second}), true);
      continue;
    }
    std::vector<uint32_t> told;
    for (LaneMask rest = s.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const uint64_t address = warp.regs.get(d.src[0], lane) + static_cast<uint64_t>(d.offsets[0]);
      if (address / AddressMap::window_bytes * AddressMap::window_bytes == AddressMap::param_window)
        continue;  // TMAP1
      const std::optional<MapPlace> place = place_of(cta, AddressSpace::generic, address);
      if (!place || place->shared) return bad_place(cta, warp, LaneMask{1} << lane, d, address);
      const uint32_t footprint = footprint_of(cta, *place);
      if (std::find(told.begin(), told.end(), footprint) != told.end()) continue;
      told.push_back(footprint);
      fence(cta, s.agent, d, footprint, false);
    }
  }
  return Step::next;
}

std::optional<MadeMap> map_made_at(Cta& cta, uint64_t address) {
  const std::optional<MapPlace> place = place_of(cta, AddressSpace::generic, address);
  if (!place || place->shared) return std::nullopt;
  const std::optional<DescriptorBytes> bytes = bytes_at(cta, *place);
  uint64_t base = 0;
  std::optional<TensorMap> map = bytes ? decode_descriptor_bytes(*bytes, base) : std::nullopt;
  MadeMap out{nullptr, footprint_of(cta, *place), {}, {}};
  if (!map) {
    out.problem = "its contents are not known, or of a kind that the simulator has no model of";
    return out;
  }
  map->buffer = static_cast<uint32_t>(base / AddressMap::window_bytes - 1);
  map->offset = base % AddressMap::window_bytes;
  if (map->buffer >= cta.launch.buffers.size()) {
    out.problem = fmt::format("its global address 0x{:x} is in no buffer of this launch", base);
    return out;
  }
  out.violation = tensor_map_violation(*map, cta.global.bytes_of(map->buffer));
  out.map = std::make_shared<const TensorMap>(std::move(*map));
  return out;
}

void forget_maps(Machine& machine, uint32_t buffer, uint64_t begin, uint64_t end) {
  auto at = machine.descriptors.lower_bound({buffer, begin < map_bytes ? 0 : begin - map_bytes + 1});
  while (at != machine.descriptors.end() && at->first.first == buffer && at->first.second < end)
    at = machine.descriptors.erase(at);
}

}  // namespace turnstile::sim
