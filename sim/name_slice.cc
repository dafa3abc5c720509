// SPDX-License-Identifier: Apache-2.0
//
// Backwards over the whole program, whatever the order of its instructions: a register is in the slice with
// everything that any instruction computes it from, or stored where it was loaded.
#include "sim/name_slice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/handlers.h"
#include "sim/unknown_guard.h"

namespace turnstile::sim {

namespace {

bool reads_memory(const Decoded& d) {
  return d.run == exec_load_matrix || (d.run == exec_load && d.space != AddressSpace::param);
}

/// The first and last bytes of a footprint: all that it may hold.
std::pair<uint64_t, uint64_t> reach_of(const Trace& trace, const Footprint& f) {
  uint64_t begin = ~uint64_t{0}, end = 0;
  for (uint32_t i = 0; i < f.range_count; ++i) {
    const ByteRange& r = trace.ranges[f.first_range + i];
    if (r.count == 0) continue;
    begin = std::min(begin, r.begin);
    end = std::max(end, r.end + (r.count - 1) * r.stride);
  }
  return {begin, end};
}

class Slicer {
 public:
  Slicer(const Program& program, const Trace& trace)
      : program_(program), trace_(trace), loads_(program.code.size()) {
    slice_.registers.resize(program.register_count);
    for (const Decoded& d : program.code) {
      for (const uint32_t r : d.dst)
        if (r != Decoded::none) makers_[r].push_back(d.index);
      if (d.guard != Decoded::none) note_ways(d.index);
    }
  }

  void add(uint32_t reg) {
    if (reg == Decoded::none || slice_.registers[reg] != 0) return;
    slice_.registers[reg] = 1;
    grown_.push_back(reg);
  }
  void add_values(const Decoded& store) {
    for (size_t i = 1; i < store.src.size(); ++i) add(store.src[i]);
  }

  NameSlice close() {
    do {
      while (!grown_.empty()) {
        const uint32_t reg = grown_.back();
        grown_.pop_back();
        for (const uint32_t r : chosen_[reg]) add(r);
        for (const uint32_t i : makers_[reg]) add_maker(program_.code[i]);
      }
      if (std::exchange(loads_more_, false)) add_stored();
    } while (!grown_.empty());
    const auto wanted = [&](uint32_t r) { return r != Decoded::none && slice_.registers[r] != 0; };
    for (const Decoded& d : program_.code) {
      slice_.reads.push_back(std::any_of(d.src.begin(), d.src.end(), wanted) ? 1 : 0);
      slice_.writes.push_back(std::any_of(d.dst.begin(), d.dst.end(), wanted) ? 1 : 0);
    }
    return std::move(slice_);
  }

 private:
  /// Where nobody knows which way is taken, what the ways write is made of all that they read.
  void note_ways(uint32_t guarded) {
    const std::optional<Meeting> ways = meeting_of_ways(program_, guarded);
    if (!ways) return;
    std::set<uint32_t> inputs, written;
    for (const uint32_t i : ways->between) {
      const Decoded& d = program_.code[i];
      inputs.insert(d.src.begin(), d.src.end());
      inputs.insert(d.guard);
      written.insert(d.dst.begin(), d.dst.end());
    }
    inputs.insert(written.begin(), written.end());
    for (const uint32_t r : written)
      if (r != Decoded::none) chosen_[r].insert(inputs.begin(), inputs.end());
  }

  void add_maker(const Decoded& d) {
    add(d.guard);
    if (reads_memory(d)) {
      loads_more_ = loads_more_ || !loads_[d.index];
      loads_[d.index] = true;
    } else if (d.run != exec_tensor_access) {  // named by the step that brings it
      for (const uint32_t r : d.src) add(r);
    }
  }

  /// What was stored to the places that the loads of the slice read.
  void add_stored() {
    std::vector<bool> read(trace_.footprints.size());
    for (const Event& e : trace_.events)
      if (e.kind == EventKind::access && e.place < loads_.size() && loads_[e.place]) read[e.footprint] = true;
    std::map<std::pair<Space, uint32_t>, std::vector<std::pair<uint64_t, uint64_t>>> places;
    for (size_t f = 0; f < read.size(); ++f)
      if (read[f])
        places[{trace_.footprints[f].space, trace_.footprints[f].allocation}].push_back(
            reach_of(trace_, trace_.footprints[f]));
    std::vector<bool> found(trace_.footprints.size());
    for (size_t f = 0; f < found.size(); ++f) {
      const auto at = places.find({trace_.footprints[f].space, trace_.footprints[f].allocation});
      if (at == places.end()) continue;
      const std::pair<uint64_t, uint64_t> here = reach_of(trace_, trace_.footprints[f]);
      found[f] = std::any_of(at->second.begin(), at->second.end(),
                             [&](const auto& p) { return p.first < here.second && here.first < p.second; });
    }
    std::set<uint32_t> stores;
    for (const Event& e : trace_.events)
      if (e.kind == EventKind::access && e.has(Event::write) && e.place < loads_.size() && found[e.footprint])
        stores.insert(e.place);
    for (const uint32_t place : stores) {
      const Decoded& d = program_.code[place];
      if (d.run == exec_store || d.run == exec_store_matrix) add_values(d);
    }
  }

  const Program& program_;
  const Trace& trace_;
  NameSlice slice_;
  std::vector<bool> loads_;  ///< by instruction
  bool loads_more_ = false;
  std::vector<uint32_t> grown_;
  std::map<uint32_t, std::vector<uint32_t>> makers_;  ///< instructions, by register
  std::map<uint32_t, std::set<uint32_t>> chosen_;     ///< registers, by one that ways write
};

}  // namespace

std::shared_ptr<const NameSlice> name_slice(const Program& program, const Trace& trace,
                                            const NameSlice* known, const std::set<uint32_t>& stores,
                                            const std::set<uint32_t>& branches) {
  std::set<uint32_t> all_stores = stores, all_branches = branches;
  Slicer slicer(program, trace);
  if (known != nullptr) {
    all_stores.insert(known->stores.begin(), known->stores.end());
    all_branches.insert(known->branches.begin(), known->branches.end());
    for (uint32_t r = 0; r < known->registers.size(); ++r)
      if (known->registers[r] != 0) slicer.add(r);
  }
  for (const uint32_t b : all_branches) slicer.add(program.code[b].guard);
  for (const Decoded& d : program.code)
    if (d.run == exec_store && all_stores.contains(program.places[d.index].ptx_line)) slicer.add_values(d);
  NameSlice slice = slicer.close();
  slice.stores = std::move(all_stores);
  slice.branches = std::move(all_branches);
  return std::make_shared<const NameSlice>(std::move(slice));
}

}  // namespace turnstile::sim
