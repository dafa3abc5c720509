// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/matrix.h"
#include "sim/numerics/matrix_arithmetic.h"

namespace turnstile::sim {

// What tcgen05 does to the bits of tensor memory (domain of bits). Only forms of which the values are known:
// one CTA, dense, not .ws (numerics.md section 4 names no source for the others).

/// Place of an element of a matrix in tensor memory.
struct TensorPlace {
  uint32_t lane, column;
};

/// Where register `i` of `thread` of a warp lies, for shapes of tcgen05.ld and st whose figures are known
/// (PTX ISA 9.7.16.2.3): 32x32b, 16x128b, 16x256b. The address is added by the caller.
std::optional<TensorPlace> tensor_access_place(std::string_view shape, uint32_t thread, uint32_t i);

/// One tcgen05.mma as its instruction descriptor (PTX ISA 9.7.16.4.2) and operands say.
struct TensorProduct {
  MatrixArithmetic arithmetic;
  uint32_t m = 0, n = 0;
  uint64_t d = 0;  ///< address in tensor memory
  bool a_in_tensor = false;
  uint64_t a_address = 0;  ///< in tensor memory
  OperandView a, b;        ///< in shared memory
  bool a_mn_major = false, b_mn_major = false;
  bool a_negated = false, b_negated = false;
  bool accumulates = false;
  uint64_t a_scales = 0, b_scales = 0;          ///< addresses in tensor memory
  uint32_t a_scale_byte = 0, b_scale_byte = 0;  ///< first of the bytes of a word
  uint32_t scale_blocks = 0;                    ///< scales along K; 0: no block scaling
};

/// The arithmetic of an instruction; `none` if it is not predicted. `kind`: "f16", "mxf4nvf4"; `blocks`:
/// scales along K of the form, 0 if it has none.
TensorProduct read_instruction_descriptor(std::string_view kind, uint32_t descriptor, uint32_t blocks);

/// D = A * B (+ D), or D becomes unknown where something that it depends on is.
void compute_tensor_product(Cta& cta, const TensorProduct& product);

/// The 16-byte or 32-byte rows of a tcgen05.cp, into the lanes that the shape names.
void copy_into_tensor(Cta& cta, const OperandView& from, uint64_t to, uint32_t rows, uint32_t row_bytes,
                      std::string_view multicast);

}  // namespace turnstile::sim
