// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/text.h"
#include "golden/compare.h"
#include "golden/explain.h"

namespace turnstile::cli {

/// "at most 1 ulp apart; rows 64..79, columns 0, 2, ... 14 (8 of them); one block of 16 x 16 at [64, 0]".
std::string pattern_text(const golden::DifferencePattern& pattern);

/// The path of an element and what may have made the difference, at most `most_steps` steps of it. `left` and
/// `right` name the sides: of `right` are the bits that are explained.
std::string render_why(const golden::Explanation& explanation, const std::string& left,
                       const std::string& right, uint64_t most_steps);

/// Steps of a path that text reports show; JSON has them all.
inline constexpr uint64_t shown_why_steps = 40;

}  // namespace turnstile::cli
