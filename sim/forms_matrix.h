// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "sim/program.h"

namespace turnstile::sim {

// Readers of matrix instructions for the table of forms.cc: each binds the semantic function, or says what
// about the mnemonic is not implemented.

std::optional<std::string> read_load_matrix(const ptx::Instruction& i, Decoded& d);   // ldmatrix
std::optional<std::string> read_store_matrix(const ptx::Instruction& i, Decoded& d);  // stmatrix
std::optional<std::string> read_move_matrix(const ptx::Instruction& i, Decoded& d);   // movmatrix
std::optional<std::string> read_mma(const ptx::Instruction& i, Decoded& d);           // mma.sync
std::optional<std::string> read_wgmma(const ptx::Instruction& i, Decoded& d);

/// What an mma.sync computes depends on the GPU: that of the module's target ("sm_90a").
void bind_mma_arithmetic(Decoded& d, std::string_view target);

/// Operands of the instructions of these families, in the letters of operand_shapes.cc; nothing for others.
std::optional<std::string> matrix_operand_shape(const Decoded& d);

}  // namespace turnstile::sim
