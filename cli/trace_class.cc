// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_class.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace turnstile::cli {

namespace {

/// Two independent multiply-xorshift lanes (the finaliser of MurmurHash3).
class Hash {
 public:
  void add(uint64_t value) {
    a_ = mix(a_ ^ value, 0xff51afd7ed558ccd);
    b_ = mix(b_ + std::rotl(value, 32), 0xc4ceb9fe1a85ec53);
  }
  void add(const std::string& text) {
    add(text.size());
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      for (size_t k = i; k < std::min(i + 8, text.size()); ++k)
        word = word << 8 | static_cast<unsigned char>(text[k]);
      add(word);
    }
  }
  TraceClass value() const { return {a_, b_}; }

 private:
  static uint64_t mix(uint64_t x, uint64_t factor) {
    x *= factor;
    x ^= x >> 33;
    return x * 0x9fb21c651e98df25 ^ x >> 29;
  }
  uint64_t a_ = 0x9ae16a3b2f90404f;
  uint64_t b_ = 0xc3a5c85c97cb3127;
};

/// Beyond this many ranges the places in global memory are hashed as they are: still correct, only more
/// classes.
constexpr uint64_t most_ranges = 4'000'000;

/// Two reads may be of one footprint or of two: where nobody writes that makes no difference.
bool may_conflict(const Footprint& f, std::span<const uint32_t> written) {
  return f.space != Space::global || std::binary_search(written.begin(), written.end(), f.allocation);
}

/// What is left of the addresses of one allocation when only overlap counts: the stretches that are touched
/// without a gap are named in the order in which they are met, wherever they lie, and places within one by
/// their order. No access of one stretch meets one of another.
class Renaming {
 public:
  void note(const ByteRange& range) {
    for (uint64_t i = 0; i < range.count; ++i)
      if (range.begin < range.end)
        parts_.emplace_back(range.begin + i * range.stride, range.end + i * range.stride);
  }
  void close() {
    std::sort(parts_.begin(), parts_.end());
    points_.reserve(2 * parts_.size());
    uint64_t reach = 0;
    for (const auto& [begin, end] : parts_) {
      if (starts_.empty() || begin >= reach) starts_.push_back(begin);
      reach = std::max(reach, end);
      points_.push_back(begin);
      points_.push_back(end);
    }
    parts_ = {};
    std::sort(points_.begin(), points_.end());
    points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
    names_.resize(starts_.size());
  }
  void add(Hash& hash, uint64_t begin, uint64_t end) {
    if (begin >= end) return hash.add(0);
    const auto number =
        static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin()) - 1;
    if (names_[number] == 0) names_[number] = ++named_;
    const size_t first = at(starts_[number]);
    hash.add(names_[number]);
    hash.add(at(begin) - first);
    hash.add(at(end) - first);
  }

 private:
  size_t at(uint64_t address) const {
    return static_cast<size_t>(std::lower_bound(points_.begin(), points_.end(), address) - points_.begin());
  }

  std::vector<std::pair<uint64_t, uint64_t>> parts_;
  std::vector<uint64_t> points_, starts_;
  std::vector<uint32_t> names_;  ///< of the stretches, from 1
  uint32_t named_ = 0;
};

bool touches_memory(const Event& e) {
  return e.kind == EventKind::access || e.kind == EventKind::async_access;
}

/// The renamings of the written allocations; nothing if there are too many ranges.
std::optional<std::map<uint32_t, Renaming>> rename_written(std::span<const Footprint> footprints,
                                                           std::span<const ByteRange> ranges,
                                                           std::span<const uint32_t> written) {
  std::map<uint32_t, Renaming> renamings;
  for (const uint32_t allocation : written) renamings.try_emplace(allocation);
  uint64_t total = 0;
  for (const Footprint& f : footprints) {
    if (f.space != Space::global || !renamings.contains(f.allocation)) continue;
    for (uint32_t i = 0; i < f.range_count; ++i) total += ranges[f.first_range + i].count;
  }
  if (total > most_ranges) return std::nullopt;
  for (const Footprint& f : footprints) {
    const auto at = f.space == Space::global ? renamings.find(f.allocation) : renamings.end();
    if (at == renamings.end()) continue;
    for (uint32_t i = 0; i < f.range_count; ++i) at->second.note(ranges[f.first_range + i]);
  }
  for (auto& [allocation, renaming] : renamings) renaming.close();
  return renamings;
}

/// The stretches of one allocation that are touched without a gap, and addresses within them.
class Stretches {
 public:
  void note(const ByteRange& range) {
    for (uint64_t i = 0; i < range.count; ++i)
      if (range.begin != range.end)
        parts_.emplace_back(range.begin + i * range.stride, range.end + i * range.stride);
  }
  void close() {
    std::sort(parts_.begin(), parts_.end());
    uint64_t reach = 0;
    for (const auto& [begin, end] : parts_) {
      if (starts_.empty() || begin >= reach) starts_.push_back(begin);
      reach = std::max(reach, end);
    }
    parts_ = {};
    names_.resize(starts_.size());
  }
  void add(Hash& hash, uint64_t begin, uint64_t end) {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), begin);
    if (next == starts_.begin()) return hash.add(end - begin);  // of no bytes
    const auto number = static_cast<size_t>(next - starts_.begin() - 1);
    if (names_[number] == 0) names_[number] = ++named_;
    hash.add(names_[number]);
    hash.add(begin - starts_[number]);
    hash.add(end - starts_[number]);
  }

 private:
  std::vector<std::pair<uint64_t, uint64_t>> parts_;
  std::vector<uint64_t> starts_;
  std::vector<uint32_t> names_;  ///< by first appearance, from 1
  uint32_t named_ = 0;
};

void add_range(Hash& hash, const ByteRange& range) {
  hash.add(range.begin);
  hash.add(range.end);
  hash.add(range.stride);
  hash.add(range.count);
}

void add_footprints(Hash& hash, std::span<const Footprint> footprints, std::span<const ByteRange> ranges,
                    std::span<const uint32_t> written) {
  std::optional<std::map<uint32_t, Renaming>> renamings = rename_written(footprints, ranges, written);
  hash.add(static_cast<uint64_t>(std::count_if(
      footprints.begin(), footprints.end(), [&](const Footprint& f) { return may_conflict(f, written); })));
  for (const Footprint& f : footprints) {
    if (!may_conflict(f, written)) continue;
    hash.add(static_cast<uint64_t>(f.space));
    hash.add(f.allocation);
    hash.add(f.range_count);
    const bool on_chip = f.space != Space::global;  // shared and tensor memory: as they are
    for (uint32_t i = 0; i < f.range_count; ++i) {
      const ByteRange& range = ranges[f.first_range + i];
      if (on_chip || !renamings) {
        add_range(hash, range);
        continue;
      }
      hash.add(range.count);
      Renaming& renaming = renamings->at(f.allocation);
      for (uint64_t k = 0; k < range.count; ++k)
        renaming.add(hash, range.begin + k * range.stride, range.end + k * range.stride);
    }
  }
}

/// Fingerprints of stored values by their order of appearance: the check asks only which of them are equal.
class StoredValues {
 public:
  uint64_t number(const Event& e) {
    if (e.kind != EventKind::access || e.bytes == 0) return e.bytes;
    return numbers_.try_emplace(e.bytes, numbers_.size() + 1).first->second;
  }

 private:
  std::unordered_map<uint64_t, uint64_t> numbers_;
};

/// Numbers for the footprints that may conflict, and for those that fences name.
std::vector<uint64_t> numbers_of_footprints(const Trace& trace, std::span<const uint32_t> written) {
  std::vector<bool> counts(trace.footprints.size());
  for (size_t f = 0; f < counts.size(); ++f) counts[f] = may_conflict(trace.footprints[f], written);
  for (const Event& e : trace.events)
    if (e.kind == EventKind::fence_tensormap) counts[e.footprint] = true;
  std::vector<uint64_t> numbers(counts.size());
  uint64_t next = 0;
  for (size_t f = 0; f < counts.size(); ++f)
    numbers[f] = counts[f] ? ++next : ~uint64_t{trace.footprints[f].allocation};
  return numbers;
}

void add_event(Hash& hash, const Event& e, std::span<const uint64_t> footprints, StoredValues& stored) {
  hash.add(static_cast<uint64_t>(e.kind) | uint64_t{e.flags} << 8 | uint64_t{e.agent.v} << 16 |
           uint64_t{e.place} << 32);
  hash.add(uint64_t{e.object} | uint64_t{e.count} << 32);
  if (touches_memory(e) || e.kind == EventKind::fence_tensormap) hash.add(footprints[e.footprint]);
  hash.add(stored.number(e));
  hash.add(e.generation);
  hash.add(static_cast<uint64_t>(e.scope));
}

void add_tables(Hash& hash, const Trace& trace) {
  hash.add(trace.warps);
  hash.add(trace.registers_per_thread);
  hash.add(uint64_t{trace.cluster_ctas} << 32 | trace.clusters);
  hash.add(trace.cluster_barrier_count);
  hash.add(trace.signals.size());
  for (const SignalInfo& s : trace.signals) hash.add(static_cast<uint64_t>(s.initial));
  for (const AgentInfo& a : trace.agents) hash.add(uint64_t{a.cta} | uint64_t{a.warp} << 16);
  for (const BarrierInfo& b : trace.barriers) {
    hash.add(b.cta);
    hash.add(b.address);
  }
  for (const QueueInfo& q : trace.queues)
    hash.add(static_cast<uint64_t>(q.kind) | uint64_t{q.cta} << 8 | uint64_t{q.warp} << 24 |
             uint64_t{q.lane} << 40);
  for (const AsyncOp& op : trace.ops) {
    hash.add(static_cast<uint64_t>(op.kind) | uint64_t{op.issuer.v} << 8 | uint64_t{op.place} << 32);
    hash.add(uint64_t{op.barrier} | uint64_t{op.queue} << 32);
    hash.add(op.bytes);
    hash.add(op.group);
  }
}

/// How the execution ended. Messages hold addresses, so that faults fall into classes of their own; that is
/// fine.
void add_end(Hash& hash, const Trace& trace) {
  hash.add(trace.cut_short ? 1 : 0);
  for (const Blocked& b : trace.blocked) {
    hash.add(uint64_t{b.agent.v} | uint64_t{b.place} << 32);
    hash.add(static_cast<uint64_t>(b.on) | uint64_t{b.object} << 32);
    hash.add(b.count);
  }
  for (const AgentId& a : trace.live_pollers) hash.add(a.v);
  for (const Fault& f : trace.faults) {
    hash.add(uint64_t{f.agent.v} | uint64_t{f.place} << 32);
    hash.add(f.rule);
    hash.add(f.message);
  }
  for (const Unknown& u : trace.unknowns) {
    hash.add(u.place);
    hash.add(u.message);
  }
}

}  // namespace

std::vector<uint32_t> written_allocations(const Trace& trace) {
  std::set<uint32_t> written;
  for (const Event& e : trace.events)
    if (touches_memory(e) && e.has(Event::write) && trace.footprints[e.footprint].space == Space::global)
      written.insert(trace.footprints[e.footprint].allocation);
  return {written.begin(), written.end()};
}

TraceClass overlap_class(std::span<const Footprint> footprints, std::span<const ByteRange> ranges,
                         std::span<const uint32_t> written) {
  Hash hash;
  add_footprints(hash, footprints, ranges, written);
  return hash.value();
}

TraceClass alignment_class(std::span<const Footprint> footprints, std::span<const ByteRange> ranges) {
  Hash hash;
  uint64_t total = 0;
  std::map<uint32_t, Stretches> stretches;
  for (const Footprint& f : footprints)
    for (uint32_t i = 0; f.space == Space::global && i < f.range_count; ++i)
      total += ranges[f.first_range + i].count;
  const bool by_place = total > most_ranges;
  for (const Footprint& f : footprints)
    for (uint32_t i = 0; !by_place && f.space == Space::global && i < f.range_count; ++i)
      stretches[f.allocation].note(ranges[f.first_range + i]);
  for (auto& [allocation, all] : stretches) all.close();
  for (const Footprint& f : footprints) {
    if (f.space != Space::global) continue;
    hash.add(uint64_t{f.allocation} << 32 | f.range_count);
    for (uint32_t i = 0; i < f.range_count; ++i) {
      const ByteRange& range = ranges[f.first_range + i];
      if (by_place) {
        add_range(hash, range);
        continue;
      }
      hash.add(range.count);
      for (uint64_t k = 0; k < range.count; ++k)
        stretches[f.allocation].add(hash, range.begin + k * range.stride, range.end + k * range.stride);
    }
  }
  return hash.value();
}

TraceClass trace_class(const Trace& trace) {
  Hash hash;
  // Sizes first, so that no two tables can be read as one another.
  for (size_t size : {trace.agents.size(), trace.barriers.size(), trace.queues.size(), trace.ops.size(),
                      trace.events.size(), trace.blocked.size(), trace.live_pollers.size(),
                      trace.faults.size(), trace.unknowns.size(), trace.places.size()})
    hash.add(size);
  add_tables(hash, trace);
  const std::vector<uint32_t> written = written_allocations(trace);
  add_footprints(hash, trace.footprints, trace.ranges, written);
  const std::vector<uint64_t> footprints = numbers_of_footprints(trace, written);
  StoredValues stored;
  for (const Event& e : trace.events) add_event(hash, e, footprints, stored);
  add_end(hash, trace);
  return hash.value();
}

}  // namespace turnstile::cli
