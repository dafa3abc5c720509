// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace turnstile::sim {

/// How a wgmma that is not known to be complete uses a register (WG3).
struct InFlight {
  uint64_t group = 0;      ///< number of its group, from 1; 0: not in flight
  bool is_result = false;  ///< accumulator; otherwise an A fragment, which is only read
};

/// The registers of one warp that pending wgmma groups read or write.
class InFlightRegisters {
 public:
  explicit InFlightRegisters(size_t registers) : use_(registers) {}

  bool empty() const { return marked_.empty(); }
  bool any_fragment() const { return fragments_ != 0; }  ///< an A fragment is among them
  const InFlight& of(uint32_t reg) const { return use_[reg]; }
  void mark(uint32_t reg, InFlight use) {
    if (use_[reg].group == 0) marked_.push_back(reg);
    forget_kind(reg);
    use_[reg] = use;
    if (!use.is_result) ++fragments_;
  }
  void clear(uint32_t reg) {
    if (use_[reg].group == 0) return;
    forget_kind(reg);
    use_[reg] = {};
    std::erase(marked_, reg);
  }
  /// All groups up to `group` are complete.
  void release(uint64_t group) {
    std::erase_if(marked_, [&](uint32_t reg) {
      if (use_[reg].group > group) return false;
      forget_kind(reg);
      use_[reg] = {};
      return true;
    });
  }

 private:
  void forget_kind(uint32_t reg) {
    if (use_[reg].group != 0 && !use_[reg].is_result) --fragments_;
  }

  uint32_t fragments_ = 0;
  std::vector<InFlight> use_;
  std::vector<uint32_t> marked_;  ///< registers with a use, each once
};

/// The wgmma registers of one warp that other instructions have used since its last wgmma.fence (WG1).
class TouchedRegisters {
 public:
  explicit TouchedRegisters(size_t registers) : touched_(registers) {}

  void note(uint32_t reg) {
    if (touched_[reg] != 0) return;
    touched_[reg] = 1;
    all_.push_back(reg);
  }
  void take_back(uint32_t reg) { touched_[reg] = 0; }
  bool has(uint32_t reg) const { return touched_[reg] != 0; }
  void clear() {
    for (uint32_t reg : all_) touched_[reg] = 0;
    all_.clear();
  }

 private:
  std::vector<uint8_t> touched_;
  std::vector<uint32_t> all_;  ///< all that were, some perhaps twice
};

}  // namespace turnstile::sim
