// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/result.h"

namespace turnstile::cli {

/// One variable and the values that it takes in turn. Ends of ranges are expressions
/// (model/launch/expression.h, and `2S` for `2*S`): "k_tiles=0..2S+1" has other values for each S.
struct Sweep {
  std::string text;  ///< as given, for errors
  std::string name;
  std::vector<std::pair<std::string, std::string>>
      ranges;  ///< first and last, inclusive; equal for one value
};

/// Most launches that one command may ask for.
constexpr uint64_t most_launches = 10'000;

/// "K=0..9", "K=64,128,512", "K=0..4,64", "k_tiles=0..2S+1". Only the form is looked at here.
Result<Sweep> parse_sweep(const std::string& text);

/// The names that its expressions use.
std::set<std::string> names_used(const Sweep& sweep);

/// All combinations, the last variable fastest. An expression may use `known` (what is set or fixed in the
/// file) and the other swept variables, as long as they do not depend on each other in a circle. Error: too
/// many combinations, a variable swept twice, an expression without a value, a range that runs backwards by
/// more than one (0..-1 is empty).
Result<std::vector<std::map<std::string, int64_t>>> combinations(
    const std::vector<Sweep>& sweeps, const std::map<std::string, int64_t>& known = {});

}  // namespace turnstile::cli
