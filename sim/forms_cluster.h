// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "sim/program.h"

namespace turnstile::sim {

// Readers of clusters and of memory order for the table of forms.cc: each binds the semantic function, or
// says what about the mnemonic is not implemented.

std::optional<std::string> read_mapa(const ptx::Instruction& i, Decoded& d);
std::optional<std::string> read_getctarank(const ptx::Instruction& i, Decoded& d);
std::optional<std::string> read_isspacep(const ptx::Instruction& i, Decoded& d);
/// barrier.cluster.arrive and .wait.
std::optional<std::string> read_cluster_barrier(const ptx::Instruction& i, Decoded& d);

/// atom and red.
std::optional<std::string> read_atomic(const ptx::Instruction& i, Decoded& d);
/// Memory fences (M13).
std::optional<std::string> read_memory_fence(const ptx::Instruction& i, Decoded& d);
/// Order of a load or store; false if its modifiers do not go together.
bool read_order(const ptx::Instruction& i, Decoded& d);

/// Sets what the modifiers of any family say about scope.
void read_scope(const ptx::Instruction& i, Decoded& d);

/// Operands of the instructions of these families, in the letters of operand_shapes.cc; nothing for others.
std::optional<std::string> cluster_operand_shape(const Decoded& d);
/// What is wrong with the widths of their registers; empty: nothing, or another family.
std::string cluster_width_problem(const Decoded& d, const ptx::Entry& entry);

}  // namespace turnstile::sim
