// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace turnstile::sim {

/// A unit of the SM that does one thing at a time: the copy engine, the tensor core. Operations come in the
/// order of the trace, which need not be that of time: each takes the first gap that is wide enough after it
/// was issued.
class Engine {
 public:
  struct Slot {
    uint64_t begin = 0;
    uint32_t before = none;  ///< node of the operation that it had to wait for
  };
  static constexpr uint32_t none = 0xffffffff;

  /// Occupies `cycles` from `earliest` on or later. `node` names the operation to those that wait for it.
  Slot take(uint64_t earliest, uint64_t cycles, uint32_t node) {
    Slot slot{earliest, none};
    auto next = busy_.upper_bound(earliest);
    if (next != busy_.begin()) {
      const auto before = std::prev(next);
      if (before->second.end > earliest) slot = {before->second.end, before->second.node};
    }
    while (next != busy_.end() && next->first < slot.begin + cycles) {
      slot = {next->second.end, next->second.node};
      ++next;
    }
    if (cycles != 0) busy_.emplace(slot.begin, Busy{slot.begin + cycles, node});
    total_ += cycles;
    return slot;
  }

  uint64_t total() const { return total_; }

 private:
  struct Busy {
    uint64_t end;
    uint32_t node;
  };
  std::map<uint64_t, Busy> busy_;  // by begin, disjoint
  uint64_t total_ = 0;
};

}  // namespace turnstile::sim
