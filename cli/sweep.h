// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/result.h"

namespace turnstile::cli {

/// One variable of the launch file and the values that it takes in turn.
struct Sweep {
  std::string name;
  std::vector<int64_t> values;
};

/// Most launches that one command may ask for.
constexpr uint64_t most_launches = 10'000;

/// "K=0..9", "K=64,128,512" or a mixture: "K=0..4,64".
Result<Sweep> parse_sweep(const std::string& text);

/// All combinations, the last variable fastest. Error if there are too many, or if a variable is named twice.
Result<std::vector<std::map<std::string, int64_t>>> combinations(const std::vector<Sweep>& sweeps);

}  // namespace turnstile::cli
