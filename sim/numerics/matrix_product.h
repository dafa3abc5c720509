// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/numerics/matrix_arithmetic.h"

namespace turnstile {

// D = A * B + C of one matrix instruction, whatever its arithmetic. Operands are packed as in registers and
// in shared memory, so that nobody else has to know how wide an element is.

/// Generations of GPUs that differ in what mma.sync computes, by the target of the PTX text.
enum class MatrixGeneration : std::uint8_t { volta, turing, ampere, ada, hopper, blackwell, rtx_blackwell };

/// mma.sync of floats; `none` where the table has no row for it.
MatrixArithmetic mma_arithmetic(MatrixGeneration generation, ElementType a, ElementType b,
                                ElementType accumulator);

/// wgmma of floats.
MatrixArithmetic wgmma_arithmetic(ElementType a, ElementType b, ElementType accumulator);

/// The kinds of tcgen05.mma with floats.
enum class TensorKind : std::uint8_t { f16, tf32, f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 };

/// tcgen05.mma of a kind with the formats that its instruction descriptor names; of scaled kinds `scale` is
/// the format of the scales. `none` where the table has no row.
MatrixArithmetic tcgen05_arithmetic(TensorKind kind, const FormatShape& a, const FormatShape& b,
                                    ElementType accumulator, const FormatShape& scale);

/// mma.sync of sm_120 with FP8, FP6 and FP4 operands.
MatrixArithmetic narrow_mma_arithmetic(const FormatShape& a, const FormatShape& b, ElementType accumulator);

/// Its scaled forms.
MatrixArithmetic scaled_mma_arithmetic(TensorKind kind, const FormatShape& a, const FormatShape& b,
                                       const FormatShape& scale);

/// Integers of 4 or 8 bits.
MatrixArithmetic integer_arithmetic(unsigned operand_bits, bool a_signed, bool b_signed, bool saturates);

/// b1 operands, counts of 32 bits.
MatrixArithmetic bit_arithmetic(bool exclusive_or);

/// d[i][j] becomes a row i times b row j plus itself; rows of A and B lie one behind the other, k elements
/// of operand_bits each, and d is m x n. Accumulators of f16 are in the low halves of their words. Not for
/// f64.
void multiply_matrices(const MatrixArithmetic& arithmetic, std::size_t m, std::size_t n, std::size_t k,
                       std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                       std::span<std::uint32_t> d);

/// The same with block scaling. Row i of A has scales a_scales[i * blocks ... + blocks), column j of B
/// likewise, each for k / blocks neighbours along K.
void multiply_scaled(const MatrixArithmetic& arithmetic, std::size_t m, std::size_t n, std::size_t k,
                     std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::size_t blocks,
                     std::span<const std::uint8_t> a_scales, std::span<const std::uint8_t> b_scales,
                     std::span<std::uint32_t> d);

/// The same for f64.
void multiply_matrices_f64(std::size_t m, std::size_t n, std::size_t k, std::span<const std::uint8_t> a,
                           std::span<const std::uint8_t> b, std::span<std::uint64_t> d);

}  // namespace turnstile
