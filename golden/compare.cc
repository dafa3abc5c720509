// SPDX-License-Identifier: Apache-2.0
#include "golden/compare.h"

#include <fmt/format.h>

#include <algorithm>

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
  for (uint64_t r = 0; r < left.rows; ++r) {
    if (std::ranges::equal(left.row(r), right.row(r))) continue;
    note_row(result, r);
    for (uint64_t c = 0; c < left.columns; ++c) {
      const uint64_t a = left.bits(r, c);
      const uint64_t b = right.bits(r, c);
      if (a == b) continue;
      ++result.differing;
      if (!result.first) result.first = ElementDifference{r, c, a, b};
    }
  }
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
