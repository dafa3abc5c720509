// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/tensor_memory.h"

#include <algorithm>

namespace turnstile {

TensorMemory::Outcome TensorMemory::allocate(uint32_t first, uint32_t count, uint32_t cta_group) {
  if (count < 32 || count > columns || (count & (count - 1)) != 0) return Outcome::bad_count;
  if (relinquished_) return Outcome::relinquished;
  if (cta_group_ != 0 && cta_group_ != cta_group) return Outcome::mixed_groups;
  if (last_count_ != 0 && count > last_count_) return Outcome::increasing;
  cta_group_ = cta_group;
  last_count_ = count;
  used_ += count;
  if (cta_group == 2) ++paired_;
  const auto at = std::lower_bound(allocations_.begin(), allocations_.end(), first,
                                   [](const Allocation& a, uint32_t column) { return a.first < column; });
  allocations_.insert(at, {first, count});
  return Outcome::ok;
}

TensorMemory::Outcome TensorMemory::free(uint32_t first, uint32_t count, uint32_t cta_group) {
  const auto at = std::find_if(allocations_.begin(), allocations_.end(), [&](const Allocation& a) {
    return (a.first == first || first == any_column) && a.count == count;
  });
  if (at == allocations_.end()) return Outcome::not_allocated;
  if (cta_group_ != cta_group) return Outcome::mixed_groups;
  allocations_.erase(at);
  used_ -= count;
  return Outcome::ok;
}

void TensorMemory::restore(std::span<const Allocation> allocations, uint32_t last_count, uint32_t cta_group,
                           bool relinquished, uint32_t paired) {
  allocations_.assign(allocations.begin(), allocations.end());
  used_ = 0;
  for (const Allocation& a : allocations_) used_ += a.count;
  last_count_ = last_count;
  cta_group_ = cta_group;
  relinquished_ = relinquished;
  paired_ = paired;
}

std::string_view broken_rule(TensorMemory::Outcome outcome) {
  switch (outcome) {
    case TensorMemory::Outcome::ok:
      return {};
    case TensorMemory::Outcome::bad_count:
      return "TC4";
    case TensorMemory::Outcome::increasing:
      return "TC5";
    case TensorMemory::Outcome::relinquished:
      return "TC7";
    case TensorMemory::Outcome::mixed_groups:
      return "TC8";
    case TensorMemory::Outcome::not_allocated:
      return "TC6";
  }
  return {};
}

}  // namespace turnstile
