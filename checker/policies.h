// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "checker/check.h"

namespace turnstile {

/// One contested rule that a user can decide (semantics.md section 16).
struct PolicyName {
  std::string_view name;         ///< "remote_scope": in `--policy` and in `[policies]`
  std::string_view values;       ///< "practice, strict": the default first
  std::string_view description;  ///< one line
};
std::span<const PolicyName> policy_names();

/// Every contested rule by the letter of the documents.
Policies strict_policies();

/// Sets one policy. Empty, or what is wrong with the name or the value, with what there is.
std::string set_policy(Policies& policies, std::string_view name, std::string_view value);

}  // namespace turnstile
