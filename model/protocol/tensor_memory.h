// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace turnstile {

/// Tensor memory of one CTA (semantics.md 9.1, 9.2): 512 columns (TC1) that are allocated and freed by
/// powers of two. Which columns an allocation gets is the hardware's choice; an allocation is known by the
/// first column that the program was given.
class TensorMemory {
 public:
  static constexpr uint32_t columns = 512;  // TC1
  /// First column of a dealloc that does not say which of several equal allocations it frees (a text in which
  /// one agent frees what another one allocated).
  static constexpr uint32_t any_column = 0xffffffff;

  enum class Outcome : uint8_t {
    ok,
    bad_count,      ///< TC4: no power of two from 32 to 512
    increasing,     ///< TC5: more columns than the allocation before (Q10)
    relinquished,   ///< TC7: after relinquish_alloc_permit
    mixed_groups,   ///< TC8: another cta_group than the tensor instructions before
    not_allocated,  ///< TC6: dealloc of what was not allocated
  };

  struct Allocation {
    uint32_t first = 0;
    uint32_t count = 0;
    friend bool operator==(const Allocation&, const Allocation&) = default;
  };

  /// TC4: alloc blocks until there is room.
  bool can_allocate(uint32_t count) const { return used_ + count <= columns; }
  Outcome allocate(uint32_t first, uint32_t count, uint32_t cta_group);
  Outcome free(uint32_t first, uint32_t count, uint32_t cta_group);
  void relinquish() { relinquished_ = true; }

  bool leaks() const { return used_ != 0; }  ///< TC6, at the end of the kernel
  uint32_t used() const { return used_; }
  uint32_t last_count() const { return last_count_; }
  uint32_t cta_group() const { return cta_group_; }  ///< 0: not known yet (TC8)
  bool relinquished() const { return relinquished_; }
  /// Paired allocations made (TC9), so that a pair can be compared (TC10).
  uint32_t paired() const { return paired_; }
  /// By first column.
  std::span<const Allocation> allocations() const { return allocations_; }

  /// Puts a state back that was read from the accessors.
  void restore(std::span<const Allocation> allocations, uint32_t last_count, uint32_t cta_group,
               bool relinquished, uint32_t paired);

 private:
  std::vector<Allocation> allocations_;
  uint32_t used_ = 0;
  uint32_t last_count_ = 0;
  uint32_t cta_group_ = 0;
  uint32_t paired_ = 0;
  bool relinquished_ = false;
};

/// Rule id that an outcome breaks; empty for ok.
std::string_view broken_rule(TensorMemory::Outcome outcome);

}  // namespace turnstile
