// SPDX-License-Identifier: Apache-2.0
//
// Cut each allocation at every range end that occurs, then refine the trivial partition of the pieces by one
// footprint after the other: a footprint splits each part that it covers only partly. Exact, linear in the
// pieces covered by the footprints, after one sort.
#include "checker/regions.h"

#include <algorithm>
#include <map>

namespace turnstile::checker {

namespace {

constexpr uint64_t kMaxPieces = 40'000'000;  // of all footprints together: about half a gigabyte
constexpr uint32_t kNone = 0xffffffff;

template <typename F>
void for_each_interval(const Trace& trace, const Footprint& f, F&& use) {
  for (uint32_t r = f.first_range; r < f.first_range + f.range_count; ++r) {
    const ByteRange& range = trace.ranges[r];
    if (range.begin >= range.end) continue;
    for (uint32_t i = 0; i < range.count; ++i)
      use(range.begin + i * range.stride, range.end + i * range.stride);
  }
}

}  // namespace

bool Regions::build(const Trace& trace, const std::vector<bool>& used) {
  first_.assign(trace.footprints.size() + 1, 0);
  std::map<std::pair<Space, uint32_t>, std::vector<uint32_t>> allocations;
  for (uint32_t f = 0; f < trace.footprints.size(); ++f)
    if (used[f]) allocations[{trace.footprints[f].space, trace.footprints[f].allocation}].push_back(f);

  uint64_t total = 0;
  std::vector<std::vector<uint32_t>> parts(trace.footprints.size());
  std::vector<uint64_t> cuts;
  for (const auto& [allocation, footprints] : allocations) {
    cuts.clear();
    for (uint32_t f : footprints)
      for_each_interval(trace, trace.footprints[f], [&](uint64_t begin, uint64_t end) {
        if (++total <= kMaxPieces) cuts.push_back(begin), cuts.push_back(end);
      });
    if (total > kMaxPieces) return *this = Regions(), false;
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

    // part[i]: the part that piece [cuts[i], cuts[i+1]) belongs to; a footprint moves the pieces that it
    // covers to new parts.
    std::vector<uint32_t> part(cuts.size(), 0), moved_to(1, kNone), moved_by(1, kNone);
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> spans(footprints.size());
    for (uint32_t k = 0; k < footprints.size(); ++k) {
      for_each_interval(trace, trace.footprints[footprints[k]], [&](uint64_t begin, uint64_t end) {
        const auto at = [&](uint64_t x) {
          return static_cast<uint32_t>(std::lower_bound(cuts.begin(), cuts.end(), x) - cuts.begin());
        };
        const uint32_t lo = at(begin), hi = at(end);
        if (!spans[k].empty() && spans[k].back().second == lo)
          spans[k].back().second = hi;
        else
          spans[k].push_back({lo, hi});
      });
      for (const auto& [lo, hi] : spans[k]) {
        total += hi - lo;
        if (total > kMaxPieces) return *this = Regions(), false;
        for (uint32_t i = lo; i < hi; ++i) {
          const uint32_t old = part[i];
          if (moved_by[old] == k + footprints.size())
            continue;  // ranges of one footprint may overlap: already moved
          if (moved_by[old] != k) {
            moved_by[old] = k;
            moved_to[old] = static_cast<uint32_t>(moved_to.size());
            moved_to.push_back(kNone);
            moved_by.push_back(static_cast<uint32_t>(k + footprints.size()));
          }
          part[i] = moved_to[old];
        }
      }
    }

    // Number the parts that are left, in address order, and list them per footprint.
    std::vector<uint32_t> number(moved_to.size(), kNone), listed(moved_to.size(), kNone);
    for (uint32_t k = 0; k < footprints.size(); ++k) {
      for (const auto& [lo, hi] : spans[k])
        for (uint32_t i = lo; i < hi; ++i) {
          uint32_t& n = number[part[i]];
          if (n == kNone) {
            n = count();
            sample_.push_back({cuts[i], cuts[i + 1]});
          }
          if (listed[part[i]] == k) continue;
          listed[part[i]] = k;
          parts[footprints[k]].push_back(n);
        }
    }
  }
  for (uint32_t f = 0; f < parts.size(); ++f) {
    first_[f] = static_cast<uint32_t>(members_.size());
    members_.insert(members_.end(), parts[f].begin(), parts[f].end());
  }
  first_[parts.size()] = static_cast<uint32_t>(members_.size());
  return true;
}

}  // namespace turnstile::checker
