// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds on a PTX text. Each is far above what compilers write (ptx.md section 1: 40,500 instructions,
/// 102,400 initialisers, 25 parameters); beyond them the parser gives an error with a position instead of
/// taking all memory.
namespace turnstile::ptx::limits {

inline constexpr std::size_t text_bytes = std::size_t{256} << 20;
inline constexpr uint32_t scope_nesting = 64;
inline constexpr uint32_t expression_nesting = 64;
inline constexpr uint32_t array_dimensions = 8;

inline constexpr uint32_t operands = 64;  ///< of one instruction
inline constexpr uint32_t vector_elements =
    128;  ///< PG17: wgmma m64n256 and tcgen05.ld .x128 are the largest
inline constexpr uint32_t branch_targets = 1u << 20;

inline constexpr uint32_t registers = 1'000'000;         ///< of one entry
inline constexpr uint32_t module_registers = 4'000'000;  ///< of all entries
inline constexpr uint32_t module_symbols = 1'000'000;    ///< module-scope variables count once in every entry
inline constexpr uint32_t module_instructions = 4'000'000;
inline constexpr uint32_t module_operands = 16'000'000;  ///< vector elements count
inline constexpr uint32_t module_branch_targets = 1u << 22;

inline constexpr uint32_t module_labels = 4'000'000;
inline constexpr uint32_t module_locations = 4'000'000;
inline constexpr uint32_t module_entries = 100'000;

inline constexpr uint64_t variable_bytes = uint64_t{1} << 40;
inline constexpr uint64_t initialised_bytes = uint64_t{64} << 20;          ///< one variable
inline constexpr uint64_t module_initialised_bytes = uint64_t{512} << 20;  ///< as module_symbols
inline constexpr uint64_t parameter_bytes = 32'764;  ///< PTX ISA 5.1.6.1, kernels of sm_70 and later
inline constexpr uint32_t alignment = 1u << 20;
inline constexpr uint32_t files = 65'536;

}  // namespace turnstile::ptx::limits
