// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/terminal.h"

namespace turnstile::cli {

/// Prints what a rule says and why, from the table of rules. Unknown rules are answered with the
/// known names.
Exit explain_rule(const std::string& id, const Terminal& terminal);

}  // namespace turnstile::cli
