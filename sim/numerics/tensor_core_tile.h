// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/numerics/tensor_core.h"

namespace turnstile {

/// Arguments of multiply_accumulate, for the implementations behind it.
struct MatrixTile {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  const std::uint16_t* a = nullptr;
  std::size_t lda = 0;
  const std::uint16_t* b = nullptr;
  std::size_t ldb = 0;
  std::uint32_t* d = nullptr;
  std::size_t ldd = 0;
};

/// Any row with 16-bit operands: the reference, on operands decoded once.
void multiply_accumulate_portable(const TensorCoreRow& row, const MatrixTile& tile);

/// Whether the AVX2 code was built in and this processor runs it.
bool avx2_on_this_machine();

/// Needs avx2_path_available(row).
void multiply_accumulate_avx2(const TensorCoreRow& row, const MatrixTile& tile);

}  // namespace turnstile
