// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "model/ptx/program.h"
#include "model/result.h"

namespace turnstile::ptx {

/// Parses PTX text (PTX ISA 7 to 9, nvcc and LLVM dialects: ptx.md sections 3-5). Every statement is read or
/// refused with its position: an instruction that is skipped could hide a synchronisation (PG30). Linear in
/// the text; nesting is limited.
Result<Module> parse(std::string_view text, std::string path);

/// Reads and parses a file.
Result<Module> parse_file(const std::string& path);

}  // namespace turnstile::ptx
