// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/hash128.h"

namespace turnstile::sim {

/// Numbers of footprints by the numbers they were made from: loops access the same places again and again,
/// and sorting the rows of a swizzled tile costs more than everything else about the access.
class FootprintMemo {
 public:
  /// `make`: the footprint, if this key is new.
  template <typename Make>
  uint32_t get(std::span<const uint64_t> key, Make make) {
    uint64_t hash = key.size();
    for (const uint64_t word : key) hash = (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 29);
    std::vector<Entry>& same = entries_[detail::mix64(hash)];
    for (const Entry& e : same)
      if (std::equal(e.key.begin(), e.key.end(), key.begin(), key.end())) return e.footprint;
    const uint32_t footprint = make();
    if (count_++ < most_entries) same.push_back({{key.begin(), key.end()}, footprint});
    return footprint;
  }

 private:
  static constexpr size_t most_entries = size_t{1} << 16;
  struct Entry {
    std::vector<uint64_t> key;
    uint32_t footprint = 0;
  };
  std::unordered_map<uint64_t, std::vector<Entry>> entries_;
  size_t count_ = 0;
};

}  // namespace turnstile::sim
