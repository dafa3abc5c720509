// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/check_mimw.h"

namespace turnstile::cli {

/// One line of the table of `turnstile corpus DIRECTORY`: what a text says of one of its variants, and what
/// was found.
struct CorpusLine {
  std::string file;
  std::string name;  ///< of the case
  std::string variant;
  std::string expected;  ///< "race(buf), deadlock", "safe"
  std::string got;       ///< classes found with their objects, or the verdict
  std::string missing;   ///< expected classes that were not found; or the finding where none may be
  bool derived = false;
  bool right = false;
  uint64_t choices = 0;  ///< combinations of parameter values
  double seconds = 0;
};

/// Every .mimw file below a directory (or the file itself), sorted by path.
Result<std::vector<std::string>> mimw_files(const std::string& path);

/// Reads a .mimw file.
Result<MimwProgram> read_mimw(const std::string& path);

/// Checks every variant that has a verdict line, with every choice of parameter values. `safe` demands a
/// clean verdict for each choice (lints do not count); a class counts as found if one choice shows it.
Result<std::vector<CorpusLine>> judge_mimw(const MimwProgram& program);

}  // namespace turnstile::cli
