// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checker/witness.h"
#include "cli/check_launch.h"
#include "cli/launch_options.h"
#include "cli/policy_options.h"
#include "cli/terminal.h"

namespace turnstile::cli {

/// Folder, in the current one, that witnesses are written to.
inline constexpr const char* witness_folder = ".turnstile";

/// Puts down in a witness how its program is made again: a launch, a CTA of the trace, and how many clusters
/// launch control hands over to it, or tickets it draws, or which cluster comes last to a counter; or a
/// variant of a .mimw text.
void remember_launch(Witness& witness, const std::string& file, const LaunchOverrides& overrides,
                     const CheckOutcome& outcome);
void remember_mimw(Witness& witness, const std::string& file, const std::string& variant,
                   const std::map<std::string, int64_t>& values);

/// Under which policies it was found.
void remember_policies(Witness& witness, const PolicyChoice& policies);

/// Writes the witness; returns the file. A folder that cannot be written to is complained about, and the name
/// is empty.
std::string keep_witness(const Witness& witness, const Terminal& terminal);

}  // namespace turnstile::cli
