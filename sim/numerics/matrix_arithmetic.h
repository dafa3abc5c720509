// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/numerics/formats.h"

namespace turnstile {

struct TensorCoreRow;

/// How a row of A and a column of B become an element of D.
enum class MatrixModel : std::uint8_t {
  none,          ///< no source says: not predicted
  fused,         ///< T-FDPA with the parameters of a row (numerics.md section 4)
  fp8_as_f16,    ///< mma.sync of FP8 on sm_90 and sm_100 (numerics.md section 6)
  block_scaled,  ///< T-FDPA whose products have scales of their own (X1)
  group_scaled,  ///< FP4, sums of 16 products as one term (X3)
  f64_chain,     ///< fma.rn, k ascending (I24)
  integer,       ///< exact, wraps or clamps (I25)
  common_bits,   ///< b1: counts bits that are set in both
  unequal_bits,  ///< b1: counts bits that differ
};

/// What one matrix instruction computes; `none` of one that is not predicted.
struct MatrixArithmetic {
  MatrixModel model = MatrixModel::none;
  const TensorCoreRow* row = nullptr;                          ///< fused, block_scaled, group_scaled
  FormatShape a, b;                                            ///< floats
  ElementType accumulator{};                                   ///< floats
  std::uint8_t operand_bits = 0;                               ///< of an element of A and B where it lies
  bool a_signed = false, b_signed = false, saturates = false;  ///< integers
  FormatShape scale;                                           ///< of the scales of a scaled model

  bool predicted() const { return model != MatrixModel::none; }
};

}  // namespace turnstile
