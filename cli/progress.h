// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace turnstile::cli {

/// How far work of many equal parts has come.
struct Progress {
  uint64_t done = 0;
  uint64_t total = 0;
  std::optional<uint64_t> findings;  ///< so far; nothing: not counted
  double seconds = 0;                ///< since the start
};

/// "  [################--------]  27/40   3 findings   12/s   ETA 1 s": one line. Rate and estimate are left
/// out until there is something to estimate from.
std::string progress_bar(const Progress& progress);

}  // namespace turnstile::cli
