// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "model/ptx/context.h"

namespace turnstile::ptx {

/// Whether PTX has a special register of this name ("%tid.x", "%clock64"; "WARP_SZ" is a constant, not one of
/// them).
bool is_special_register(std::string_view name);

/// Reads one operand (PG15-PG19); `mnemonic` is for messages. Labels and calls are the statement's business:
/// only it knows where they stand.
bool parse_operand(Context& context, std::string_view mnemonic, Operand& out);

/// Operands of `call` behind the mnemonic, up to the `;`: always results, callee, arguments.
bool parse_call(Context& context, std::vector<Operand>& out);

}  // namespace turnstile::ptx
