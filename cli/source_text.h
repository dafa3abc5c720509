// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "model/report.h"

namespace turnstile::cli {

/// Finds the text of source lines for reports. Files named by a PTX's .loc are looked for as given, then by
/// their name in `folders`.
class SourceText {
 public:
  explicit SourceText(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// The line that a position names, without blanks around it; where the file is not to be had, the
  /// instruction; may be empty.
  std::string line(const SourcePosition& position);

 private:
  const std::vector<std::string>& lines_of(const std::string& file);

  std::vector<std::string> folders_;
  std::map<std::string, std::vector<std::string>> files_;  ///< empty for files that were not found
};

/// The sources of a launch: beside what it names.
SourceText source_for(const Launch& launch);

/// "gemm.cu:141", or "gemm.ptx:1203" where the PTX has no line information. Folders are left out of long
/// paths.
std::string position_text(const SourcePosition& position);

}  // namespace turnstile::cli
