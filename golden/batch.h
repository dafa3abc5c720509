// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "model/report.h"
#include "model/result.h"

namespace turnstile::golden {

/// "Has row `row` of the output the same bits in every one of these batches?" (design.md section 5)
struct RowQuestion {
  std::string launch_path;
  LaunchOverrides overrides;
  std::string variable = "M";   ///< the variable that is the batch size
  std::vector<int64_t> values;  ///< at least two
  uint64_t row = 0;
  std::string output;         ///< buffer; empty: the only output with a batch axis
  unsigned search_seeds = 8;  ///< how many inputs of each family are tried to show different bits
};

/// One batch of the question.
struct RowBatch {
  int64_t value = 0;
  uint64_t ctas = 0, ctas_run = 0;
  uint64_t columns = 0;
  bool same = true;               ///< same expressions as the first batch
  uint64_t first_difference = 0;  ///< column
  double seconds = 0;
};

struct RowAnswer {
  enum class Kind : uint8_t { inconclusive, proved, refuted };
  Kind kind = Kind::inconclusive;
  std::string output;
  std::vector<RowBatch> batches;
  std::vector<std::string> explanation;  ///< first differing node, in words
  std::string reason;  ///< why it is inconclusive; or, refuted, that other rows leak into this one
  // Refuted: inputs that show different bits (family is empty where the reason says it all).
  std::string family;
  uint64_t seed = 0;
  int64_t value_a = 0, value_b = 0;
  uint64_t column = 0;
  uint64_t bits_a = 0, bits_b = 0;
  uint64_t differing_columns = 0;
  ElementType type = ElementType::bf16;
};

/// Equal expression hashes prove equal bits for all inputs. Different hashes do not refute: inputs are
/// searched, in the bits domain, until two batches show different bits; if none do, the answer is
/// inconclusive. An Error is a fault of the input.
Result<RowAnswer> ask_row(const RowQuestion& question);

}  // namespace turnstile::golden
