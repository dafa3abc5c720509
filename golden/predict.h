// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/launch/launch.h"

namespace turnstile::golden {

/// What the simulator says that a launch leaves in memory, bit for bit.
struct Prediction {
  std::vector<std::vector<std::byte>> buffers;  ///< by buffer number
  uint64_t instructions = 0;                    ///< warp instructions
  std::vector<std::string> not_predicted;  ///< operations without an exact model that the kernel executed
  std::vector<std::string> problems;  ///< CTAs that did not reach their end: hang or fault, one line each
  double seconds = 0;

  bool usable() const { return problems.empty(); }
};

/// Runs the whole launch in the bits domain. An Error is a fault of the input; a fault of the kernel stands
/// in `problems`.
Result<Prediction> predict(const Launch& launch);

}  // namespace turnstile::golden
