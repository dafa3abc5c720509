// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/numerics/formats.h"

namespace turnstile {

// The matrix unit as one integer model, T-FDPA (numerics.md section 3): the terms c and a[i]*b[i] of a group
// are cut to a common grid 2^(E-F), added exactly and converted once. Everything that differs between
// instructions is in a TensorCoreRow.

/// Conversion of the exact sum of a group to the accumulator (numerics.md T7). All overflow to infinity.
enum class TensorCoreRounding : std::uint8_t {
  rz_f32,    ///< RZ-FP32: truncate to f32
  rz_e8m13,  ///< RZ-E8M13: truncate to 13 fraction bits; the low 10 bits of the f32 word are zero
  rne_f16,   ///< RNE-FP16: round to nearest even f16
};

/// Which instruction family of which generation.
enum class TensorCoreUnit : std::uint8_t {
  volta_mma,
  turing_mma,
  ampere_mma,
  ada_mma,
  hopper_mma,
  hopper_wgmma,
  blackwell_mma,      ///< mma.sync of sm_100
  blackwell_tcgen05,  ///< tcgen05.mma
  rtx_blackwell_mma,  ///< mma.sync of sm_120
  blackwell_scaled,   ///< both, mxf8f6f4
  blackwell_fp4,      ///< both, mxf4 and mxf4nvf4
};

/// How sure the group size, fraction bits and rounding of a row are (marks of numerics.md section 1).
enum class Confidence : std::uint8_t { one_source, two_sources, captures, verified_on_h200 };

/// One line of numerics.md section 4.
struct TensorCoreRow {
  std::string_view id;  ///< "I13"
  TensorCoreUnit unit;
  ElementType a;  ///< of I21 and I22: e4m3 for every format of 8, 6 and 4 bits; of I23 for e2m1
  ElementType b;
  ElementType accumulator;  ///< f32 or f16
  unsigned group;           ///< L: products added in one step
  int fraction_bits;        ///< F: bits kept below the alignment exponent
  TensorCoreRounding rho;
  int e_zero;  ///< floor of the alignment exponent (T4)
  Confidence confidence;
  std::string_view source;
};

/// The table: rows I1 to I17 and I19 to I23, one entry per unit and element type.
std::span<const TensorCoreRow> tensor_core_rows();

/// Row of an instruction; null where no row is known (an unsupported type, or FP8 mma.sync on Hopper, which
/// is fp8_as_f16_dot_add).
const TensorCoreRow* find_tensor_core_row(TensorCoreUnit unit, ElementType a, ElementType b,
                                          ElementType accumulator);

/// d = c + sum a[i]*b[i] for one output, groups of L chained from i = 0 up. Words of the types of `row`; a
/// and b have equal length. NaN results are canonical. scale-d = 0 is c = 0, and imm-scale -1 a flipped sign
/// bit of the operand (T9).
std::uint32_t fused_dot_add(const TensorCoreRow& row, std::span<const std::uint32_t> a,
                            std::span<const std::uint32_t> b, std::uint32_t c);

/// The same with formats that are no ElementType (rows I21, I22), and with the sum of the exponents of two
/// scales, which joins that of every product (numerics.md X1).
std::uint32_t fused_dot_add(const TensorCoreRow& row, const FormatShape& a_shape, const FormatShape& b_shape,
                            std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                            std::uint32_t c, int scale_exponent = 0);

/// The same on decoded operands, for callers that use an operand many times.
std::uint32_t fused_dot_add(const TensorCoreRow& row, std::span<const Decoded> a, std::span<const Decoded> b,
                            std::uint32_t c);

/// f64 mma (I24): a chain of fma.rn, i ascending.
std::uint64_t f64_dot_add(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c);

/// Integer mma (I25): the exact sum, wrapped to 32 bits or, with .satfinite, clamped. Operands are extended
/// to 32 bits by the caller.
std::int32_t integer_dot_add(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::int32_t c,
                             bool saturate);

/// Implementations of multiply_accumulate. They give equal bits; `automatic` takes the fastest that runs
/// here: `portable` is vectors of 128 bits, `reference` one element after the other.
enum class TilePath : std::uint8_t { automatic, reference, portable, avx2, avx512 };

/// Whether this machine and build can run a path for this row. Where it cannot, the path falls back to the
/// reference.
bool tile_path_available(const TensorCoreRow& row, TilePath path);

/// Bytes of a word of an operand of the matrix unit: 1, 2 or 4. Formats of 4 and 6 bits fill a byte each.
constexpr std::size_t operand_bytes(ElementType type) {
  return (static_cast<std::size_t>(shape_of(type).width()) + 7) / 8;
}

/// d[i][j] = fused_dot_add(row, a[i][0..k), b[j][0..k), d[i][j]) for i < m, j < n: D += A * B with B given
/// transposed, as K-major tiles are in shared memory. Words of operands lie as in memory, low byte first; lda
/// and ldb count bytes, ldd words. A word of d holds an accumulator, of f16 in its low half. k longer than
/// the k of one instruction is the chained sequence of them, since group boundaries coincide (numerics.md
/// T-FDPA, R5).
void multiply_accumulate(const TensorCoreRow& row, std::size_t m, std::size_t n, std::size_t k,
                         const std::uint8_t* a, std::size_t lda, const std::uint8_t* b, std::size_t ldb,
                         std::uint32_t* d, std::size_t ldd, TilePath path = TilePath::automatic);

}  // namespace turnstile
