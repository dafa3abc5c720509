// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace turnstile::cli {

/// What `check --explain` tells about a rule that findings cite.
struct Rule {
  std::string_view id;  ///< of the rule book, or of the certificate (ALG-)
  std::string_view title;
  std::string_view text;   ///< what the rule demands, what happens otherwise, what to do
  std::string_view basis;  ///< PTX section, or how well founded the rule is
};

std::span<const Rule> all_rules();

/// nullptr if there is no such rule; upper and lower case are the same.
const Rule* find_rule(std::string_view id);

}  // namespace turnstile::cli
