// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/check_mimw.h"
#include "cli/sweep.h"
#include "cli/terminal.h"

namespace turnstile::cli {

/// `turnstile check FILE.mimw` as the command line gives it.
struct MimwArguments {
  std::string file;
  std::vector<std::string> variants;      ///< empty: all of the text
  std::map<std::string, int64_t> values;  ///< --set
  std::vector<Sweep> sweeps;
  PolicyOptions policies;
  MimwLimitsOfCheck limits;
  bool json = false;
  bool quiet = false;
};

/// Is this the name of an orchestration text?
bool is_mimw(const std::string& file);

/// Checks every variant with every choice of values: one in full; or many, in parallel, in a line or a letter
/// each, and the smallest that is not clean in full.
Exit run_check_mimw(const MimwArguments& arguments, const Terminal& terminal);

}  // namespace turnstile::cli
