// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checker/regions.h"
#include "model/orchestration.h"
#include "model/protocol/orchestration_machine.h"

namespace turnstile::checker {

/// Which accesses of an orchestration touch common bytes, and which parts of memory carry tags.
class Overlaps {
 public:
  explicit Overlaps(const Orchestration& program);

  /// Not empty: the accesses cannot be compared, and why.
  const std::string& defect() const { return defect_; }

  /// Two accesses, at least one a write, not both atomic, with common bytes, that do not leave the same
  /// values.
  bool conflict(const Event& a, const Event& b) const {
    if (!((a.flags | b.flags) & Event::write)) return false;
    if (a.flags & b.flags & Event::atomic) return false;
    if (leave_the_same(a, b)) return false;
    return meet(a.footprint, b.footprint);
  }
  bool meet(uint32_t a, uint32_t b) const {
    return dense_ ? matrix_[size_t{number_[a]} * count_ + number_[b]] : share(a, b);
  }

  /// Cells of memory whose tag is checked (orchestration_bugs.md 1.1), as far as a footprint covers them.
  const std::vector<uint32_t>& cells(uint32_t footprint) const { return cells_[footprint]; }
  uint32_t cell_count() const { return static_cast<uint32_t>(tags_.size()); }
  /// The tags that a cell can hold are numbered; number 0 is the tag 0, that of memory which nobody has
  /// written.
  uint64_t tag(uint32_t cell, uint32_t number) const { return tags_[cell][number]; }
  bool same_tags(uint32_t a, uint32_t b) const { return tags_[a] == tags_[b]; }
  uint32_t tag_number(uint32_t cell, uint64_t tag) const;
  unsigned tag_bits(uint32_t cell) const { return tag_bits_[cell]; }

 private:
  void number_tags(const Orchestration& program, const std::vector<bool>& used);
  void fill_matrix(const std::vector<bool>& used);
  bool share(uint32_t a, uint32_t b) const;

  Regions regions_;
  std::vector<uint32_t> number_;  ///< of the footprints that are accessed
  uint32_t count_ = 0;
  bool dense_ = false;
  std::vector<bool> matrix_;
  std::vector<std::vector<uint32_t>> cells_;
  std::vector<std::vector<uint64_t>> tags_;  ///< by cell, sorted
  std::vector<uint8_t> tag_bits_;            ///< by cell
  std::string defect_;
};

/// Ample sets of one step: a step that may go alone, because nothing that the others can do before it would
/// notice whether it came first (see the argument in the .cc). Knows mbarriers, copies, accesses and named
/// barriers; a step of any other kind never goes alone.
class Ample {
 public:
  Ample(const Orchestration& program, const Overlaps& overlaps);

  /// One of the enabled steps of this state that may go alone; nothing: all have to be tried.
  std::optional<size_t> choose(const OrchestrationMachine& at,
                               std::span<const OrchestrationMachine::Step> enabled);

 private:
  using Step = OrchestrationMachine::Step;
  struct OnBarrier {  ///< what the others may do to one mbarrier
    uint64_t arrivals = 0, bytes = 0;
    bool plain = true;  ///< arrivals of one, no bytes
    bool arrived = false, landed = false, expected = false;
    bool waited = false;   ///< a wait that may pass
    bool changed = false;  ///< init, inval, arrive_drop
  };
  struct OnNamed {
    uint64_t threads = 0;
    uint32_t count = 0;
    bool mixed = false;
  };

  bool unnoticed_by_all(const OrchestrationMachine& at, Step without, const Event& e);
  bool advance(const OrchestrationMachine& at, uint32_t strand);
  bool stays_blocked(const OrchestrationMachine& at, uint32_t strand, const Event& e) const;
  bool may_complete(const OrchestrationMachine& at, uint32_t barrier) const;
  void note(const Event& e);
  void note_operation(uint32_t op, size_t first);
  bool unnoticed(const OrchestrationMachine& at, Step step, const Event& e) const;
  bool unnoticed_contribution(const Mbarrier& barrier, uint32_t index, uint32_t arrivals, uint64_t expects,
                              uint64_t lands) const;
  bool unnoticed_access(const Event& e) const;
  bool may_end(uint32_t cta) const;

  const Orchestration& program_;
  const Overlaps& overlaps_;
  bool usable_ = true;            ///< false: a test that is polled once sees states in between
  bool one_cta_ = true;           ///< no accesses to other CTAs
  bool registers_ = false;        ///< ends of strands give registers back
  std::vector<uint32_t> issues_;  ///< by operation: issue events
  // What the others may do before the step, for the state and step under way.
  size_t budget_ = 0;
  std::vector<uint32_t> reach_;  ///< by strand
  std::vector<OnBarrier> barriers_;
  std::vector<OnNamed> named_;
  std::vector<const Event*> accesses_;
};

}  // namespace turnstile::checker
