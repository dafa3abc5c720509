// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/rows.h"

namespace turnstile::sim {

/// Kept during a run that explains one element: the groups of the dot products whose one operand is the row
/// under test and whose other operand is line `wanted_line` of a matrix without batch axis.
struct SumLog {
  std::unordered_map<uint64_t, uint64_t>
      batch_columns;  ///< hash (high half) of an element of the row -> its column
  std::unordered_map<uint64_t, uint64_t>
      other_lines;  ///< the same for line `wanted_line` of the other operands
  uint64_t wanted_line = 0;
  std::vector<SumStep> steps;
};

}  // namespace turnstile::sim
