// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/hash128.h"
#include "sim/launch_run.h"

namespace turnstile::sim {

/// One group of a dot product in the sum that makes an element of the row under test: which k it adds, in the
/// order of execution.
struct SumStep {
  uint32_t place = 0;            ///< instruction of the kernel
  uint64_t first = 0, last = 0;  ///< columns of the batch operand that it multiplies
  bool contiguous = true;        ///< every column between them, each once
  bool starts = false;           ///< begins a new sum (scale-d = 0)
};

/// What the elements of one row of an output are made of (design.md section 5).
struct RowExpressions {
  std::vector<Hash128> columns;       ///< expression of each element
  std::vector<uint64_t> unwritten;    ///< columns that the launch does not write
  std::vector<uint64_t> foreign;      ///< columns that depend on other rows of the batch
  std::vector<uint32_t> ctas;         ///< the CTAs that write the row: only these were run
  std::vector<std::string> problems;  ///< why the run did not reach its end; empty if it did
  uint64_t instructions = 0;
};

/// The CTAs that write bytes of this row, found by executing the launch without data.
Result<std::vector<uint32_t>> ctas_of_row(const Program& program, const Launch& launch, uint32_t buffer,
                                          uint64_t row);

/// Executes the CTAs of a row in the provenance domain. Leaves of the row under test are named by their place
/// inside the row in every buffer that has a batch axis, so that equal hashes in two launches prove equal
/// bits for all inputs.
Result<RowExpressions> row_expressions(const Program& program, const Launch& launch, uint32_t buffer,
                                       uint64_t row, const std::vector<uint32_t>& ctas);

/// The same execution again, keeping how the sum of one element is built, to say in words where two launches
/// differ.
Result<std::vector<SumStep>> sum_of_element(const Program& program, const Launch& launch, uint32_t buffer,
                                            uint64_t row, uint64_t column, const std::vector<uint32_t>& ctas);

/// The bits of the row, from the CTAs that write it.
Result<std::vector<std::byte>> row_bits(const Program& program, const Launch& launch, uint32_t buffer,
                                        uint64_t row, const std::vector<uint32_t>& ctas);

}  // namespace turnstile::sim
