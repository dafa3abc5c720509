// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/ptx/program.h"

namespace turnstile::ptx {

/// The instruction as PTX text, with the guard and the `;`: "@!%p1 mbarrier.arrive.shared::cta.b64 _,
/// [%rd1+8];". For reports: names are those of the declarations, so two registers of nested scopes can look
/// alike. Parsing the text again where the same names are visible gives the same instruction; only the lists
/// behind `.branchtargets` are not part of it.
std::string to_text(const Entry& entry, const Instruction& instruction);

/// One operand, as above. `is_float` prints 32-bit immediates as 0f words.
std::string to_text(const Entry& entry, const Operand& operand, bool is_float = false);

}  // namespace turnstile::ptx
