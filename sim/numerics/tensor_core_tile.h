// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/numerics/tensor_core.h"
#include "sim/numerics/tensor_core_lanes.h"

namespace turnstile {

/// Arguments of multiply_accumulate, for the implementations behind it. Words of operands lie as in memory,
/// low byte first, `operand_bytes(row)` each; lda and ldb count bytes.
struct MatrixTile {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  const std::uint8_t* a = nullptr;
  std::size_t lda = 0;
  const std::uint8_t* b = nullptr;
  std::size_t ldb = 0;
  std::uint32_t* d = nullptr;
  std::size_t ldd = 0;
};

/// The word of `bytes` bytes (1, 2 or 4) at an address.
inline std::uint32_t load_word(const std::uint8_t* at, std::size_t bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i) word |= std::uint32_t{at[i]} << (8 * i);
  return word;
}

/// Any row: the reference, on operands decoded once.
void multiply_accumulate_reference(const TensorCoreRow& row, const MatrixTile& tile);

/// Whether the vector implementations can do a row.
bool lanes_can_do(const TensorCoreRow& row);

/// By one of them; the row is one that they can do.
void multiply_accumulate_lanes(const TensorCoreRow& row, const MatrixTile& tile,
                               const LaneImplementation& implementation);

}  // namespace turnstile
