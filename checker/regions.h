// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/trace.h"

namespace turnstile::checker {

/// The coarsest partition of memory in which every footprint of the trace is a union of parts (algorithms.md
/// section 6, "Regions"). A region is a set of bytes that no access tells apart, not an interval: the 512
/// pieces of a swizzled tile that 64 store instructions write and one copy reads are 64 regions. Computed
/// once; accesses then never look at addresses.
class Regions {
 public:
  struct Bytes {
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  /// Footprints that are not in `used` get no regions. False if the ranges are too many to be cut (then the
  /// object is empty).
  bool build(const Trace& trace, const std::vector<bool>& used);

  std::span<const uint32_t> of(uint32_t footprint) const {
    return {members_.data() + first_[footprint], members_.data() + first_[footprint + 1]};
  }
  uint32_t count() const { return static_cast<uint32_t>(sample_.size()); }

  /// The first bytes of a region, for reports.
  Bytes sample(uint32_t region) const { return sample_[region]; }

 private:
  std::vector<uint32_t> members_;  ///< regions of each footprint, one footprint after the other
  std::vector<uint32_t> first_;    ///< per footprint, into members_
  std::vector<Bytes> sample_;
};

}  // namespace turnstile::checker
