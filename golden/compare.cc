// SPDX-License-Identifier: Apache-2.0
#include "golden/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "golden/digest.h"

namespace turnstile::golden {

namespace {

std::optional<Error> shape_mismatch(ElementType left_type, uint64_t left_rows, uint64_t left_columns,
                                    ElementType right_type, uint64_t right_rows, uint64_t right_columns) {
  if (left_type == right_type && left_rows == right_rows && left_columns == right_columns)
    return std::nullopt;
  return Error{{},
               0,
               0,
               fmt::format("not the same shape: {} [{}, {}] against {} [{}, {}]", element_name(left_type),
                           left_rows, left_columns, element_name(right_type), right_rows, right_columns)};
}

/// The smallest power of two such that both lie between two neighbouring multiples of it.
uint64_t aligned_side(uint64_t first, uint64_t last) {
  uint64_t side = 1;
  while (first / side != last / side) side *= 2;
  return side;
}

/// Collects where differences are.
class PatternOfDifferences {
 public:
  explicit PatternOfDifferences(uint64_t columns) : in_column_(columns) {}

  void add(ElementType type, const ElementDifference& d) {
    if (!any_) pattern_.first_row = d.row;
    if (!any_) first_ = d.column;
    pattern_.first_column = any_ ? std::min(pattern_.first_column, d.column) : d.column;
    pattern_.last_column = any_ ? std::max(pattern_.last_column, d.column) : d.column;
    pattern_.last_row = d.row;
    pattern_.row_step = std::gcd(pattern_.row_step, d.row - pattern_.first_row);
    pattern_.column_step =
        std::gcd(pattern_.column_step, d.column > first_ ? d.column - first_ : first_ - d.column);
    if (!in_column_[d.column]) ++pattern_.columns;
    in_column_[d.column] = true;
    if (const auto ulps = ulps_apart(type, d.left, d.right))
      pattern_.most_ulps = std::max(pattern_.most_ulps.value_or(0), *ulps);
    any_ = true;
  }
  std::optional<DifferencePattern> take() {
    if (!any_) return std::nullopt;
    pattern_.block_rows = aligned_side(pattern_.first_row, pattern_.last_row);
    pattern_.block_columns = aligned_side(pattern_.first_column, pattern_.last_column);
    return pattern_;
  }

 private:
  DifferencePattern pattern_;
  std::vector<bool> in_column_;
  uint64_t first_ = 0;
  bool any_ = false;
};

void note_row(Comparison& result, uint64_t row) {
  ++result.differing_rows;
  if (!result.first_differing_row) result.first_differing_row = row;
}

}  // namespace

Result<Comparison> compare(const MatrixView& left, const MatrixView& right) {
  if (auto error = shape_mismatch(left.type, left.rows, left.columns, right.type, right.rows, right.columns))
    return tl::unexpected(*error);
  Comparison result;
  result.elements = left.elements();
  result.rows = left.rows;
  PatternOfDifferences pattern(left.columns);
  for (uint64_t r = 0; r < left.rows; ++r) {
    if (std::ranges::equal(left.row(r), right.row(r))) continue;
    note_row(result, r);
    for (uint64_t c = 0; c < left.columns; ++c) {
      const uint64_t a = left.bits(r, c);
      const uint64_t b = right.bits(r, c);
      if (a == b) continue;
      ++result.differing;
      if (!result.first) result.first = ElementDifference{r, c, a, b};
      pattern.add(left.type, {r, c, a, b});
    }
  }
  result.pattern = pattern.take();
  return result;
}

Result<Comparison> compare(const MatrixView& left, const RecordedOutput& right) {
  if (auto error = shape_mismatch(left.type, left.rows, left.columns, right.type, right.rows, right.columns))
    return tl::unexpected(*error);
  if (!right.elements.empty()) {
    const MatrixView recorded{right.type, right.rows, right.columns, right.columns, right.elements};
    return compare(left, recorded);
  }
  Comparison result;
  result.elements = left.elements();
  result.rows = left.rows;
  result.by_digest = true;
  if (matrix_sha256(left) == right.sha256) return result;
  const std::vector<uint64_t> digests = row_digests(left);
  for (uint64_t r = 0; r < left.rows; ++r) {
    if (digests[r] == right.row_digests[r]) continue;
    note_row(result, r);
    result.differing += left.columns;
  }
  // The digest of the whole decides: should all row digests agree by chance, nothing is known to be equal.
  if (result.differing == 0) result.differing = result.elements;
  return result;
}

}  // namespace turnstile::golden
