// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checker/policies.h"
#include "model/launch/launch.h"
#include "model/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace turnstile::cli {

/// Contested rules on the command line (checker/policies.h).
struct PolicyOptions {
  std::string config;                 ///< --config FILE
  bool strict = false;                ///< --strict
  std::vector<std::string> settings;  ///< --policy NAME=VALUE
};

void add_policy_options(CLI::App& verb, PolicyOptions& options);

/// The contested rules, for --help.
std::string policies_help();

/// What was decided about contested rules, and in which words, the last word about each rule last.
struct PolicyChoice {
  struct Word {
    std::string text;    ///< "read_fence=error", or "strict": all by the letter
    std::string source;  ///< "--policy", "gemm.toml:12"
  };
  Policies policies;
  std::vector<Word> words;  ///< none: the defaults
};

/// The word that stands for strict_policies().
inline constexpr std::string_view strict_word = "strict";

/// Adds one word. Empty, or what is wrong with it.
std::string apply_policy(PolicyChoice& choice, const std::string& text, const std::string& source);

/// turnstile.toml beside `file` (or the file that --config names), then what the launch file says, then
/// --strict, then --policy: later ones win. An error says where the word stands.
Result<PolicyChoice> policies_of(const PolicyOptions& options, const std::string& file,
                                 std::span<const PolicySetting> in_file = {});

/// "read_fence=error (gemm.toml:12), strict (--strict)".
std::string policies_text(const PolicyChoice& choice);

}  // namespace turnstile::cli
