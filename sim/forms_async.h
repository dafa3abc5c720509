// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "sim/program.h"

namespace turnstile::sim {

// Readers of the asynchronous families for the table of forms.cc: each binds the semantic function, or says
// what about the mnemonic is not implemented.

std::optional<std::string> read_cp_async(const ptx::Instruction& i, Decoded& d);
/// The operation and element type of cp.reduce; leaves other copies alone. `type`: its modifier.
std::optional<std::string> read_bulk_reduction(const ptx::Instruction& i, Decoded& d, std::string_view& type);
/// cp(.reduce).async.bulk from the own shared memory to that of another CTA.
std::optional<std::string> read_peer_copy(const ptx::Instruction& i, Decoded& d);
/// st.async and red.async.
std::optional<std::string> read_store_async(const ptx::Instruction& i, Decoded& d);
std::optional<std::string> read_grid_dependency(const ptx::Instruction& i, Decoded& d);
std::optional<std::string> read_launch_control(const ptx::Instruction& i, Decoded& d);
std::optional<std::string> read_tensormap(const ptx::Instruction& i, Decoded& d);
std::optional<std::string> read_tensormap_fence(const ptx::Instruction& i, Decoded& d);

std::optional<std::string> read_multimem(const ptx::Instruction& i, Decoded& d);  // exec_multimem.cc
std::optional<std::string> read_tensor(const ptx::Instruction& i, Decoded& d);    // forms_tensor.cc

/// The same for tcgen05.
std::optional<std::string> tensor_operand_shape(const Decoded& d);
/// Operands of the instructions of these families, in the letters of operand_shapes.cc; nothing for others.
std::optional<std::string> async_operand_shape(const Decoded& d);

}  // namespace turnstile::sim
