// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "golden/matrix.h"
#include "golden/record.h"

namespace turnstile::golden {

struct ElementDifference {
  uint64_t row = 0;
  uint64_t column = 0;
  uint64_t left = 0;   ///< bits
  uint64_t right = 0;  ///< bits
};

/// Where the elements that differ are.
struct DifferencePattern {
  uint64_t first_row = 0, last_row = 0;
  uint64_t first_column = 0, last_column = 0;
  uint64_t columns = 0;      ///< that have a difference
  uint64_t row_step = 0;     ///< greatest number that divides all distances between such rows; 0: one row
  uint64_t column_step = 0;  ///< the same of columns
  /// The smallest block that has them all, of powers of two, at multiples of its sides.
  uint64_t block_rows = 1, block_columns = 1;
  std::optional<uint64_t> most_ulps;  ///< of those that are numbers on both sides
};

/// How two outputs differ, bit for bit: NaN payloads and the sign of zero count.
struct Comparison {
  uint64_t elements = 0;
  uint64_t rows = 0;
  uint64_t differing_rows = 0;
  std::optional<uint64_t> first_differing_row;
  /// Only rows were compared, because the record holds digests only; `differing` is then the size of the
  /// differing rows, an upper bound.
  bool by_digest = false;
  uint64_t differing = 0;
  std::optional<ElementDifference> first;    ///< empty if equal, or if `by_digest`
  std::optional<DifferencePattern> pattern;  ///< likewise

  bool equal() const { return differing == 0; }
  uint64_t equal_elements() const { return elements - differing; }
};

/// Compares two matrices; an error if type or shape differ.
Result<Comparison> compare(const MatrixView& left, const MatrixView& right);

/// Compares a matrix with what a record says of it: element by element where the record holds the elements,
/// else row by row.
Result<Comparison> compare(const MatrixView& left, const RecordedOutput& right);

}  // namespace turnstile::golden
