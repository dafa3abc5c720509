// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/source_text.h"
#include "cli/text.h"
#include "model/launch/nearest_name.h"
#include "model/launch/policy_table.h"

namespace turnstile::cli {

namespace {

constexpr const char* config_beside = "turnstile.toml";

std::string_view name_of(std::string_view word) { return word.substr(0, word.find('=')); }

Result<void> add_settings(PolicyChoice& choice, const std::string& file,
                          std::span<const PolicySetting> settings) {
  for (const PolicySetting& s : settings) {
    SourcePosition at;
    at.file = file;
    at.line = s.line;
    const std::string problem = apply_policy(choice, s.name + "=" + s.value, position_text(at));
    if (!problem.empty()) return fail(file, s.line, s.column, problem);
  }
  return {};
}

/// The configuration file that counts; empty: none.
std::string config_of(const PolicyOptions& options, const std::string& file) {
  if (!options.config.empty()) return options.config;
  const std::string beside = (std::filesystem::path(file).parent_path() / config_beside).string();
  std::error_code ignored;
  return beside != file && std::filesystem::is_regular_file(beside, ignored) ? beside : std::string();
}

}  // namespace

void add_policy_options(CLI::App& verb, PolicyOptions& options) {
  verb.add_flag("--strict", options.strict, "Every contested rule by the letter of the documents");
  verb.add_option("--policy", options.settings, "Decide a contested rule, see below; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb.add_option("--config", options.config,
                  "File with a [policies] table (default: turnstile.toml beside the input)")
      ->type_name("FILE");
}

std::string policies_help() {
  std::string text = "Contested rules, the default first:\n";
  for (const PolicyName& p : policy_names())
    text +=
        wrapped(fmt::format("  {:<18} {:<18} ", p.name, p.values), fmt::format("{:40}", ""), p.description);
  return text;
}

std::string apply_policy(PolicyChoice& choice, const std::string& text, const std::string& source) {
  if (text == strict_word) {
    choice.policies = strict_policies();
    choice.words = {{text, source}};
    return {};
  }
  const std::string_view name = name_of(text);
  if (name.empty() || name.size() == text.size())
    return fmt::format("policy '{}': expected NAME=VALUE, for example {}={}", text,
                       policy_names().front().name,
                       policy_names().front().values.substr(policy_names().front().values.rfind(' ') + 1));
  const std::string_view value = std::string_view(text).substr(name.size() + 1);
  if (std::string problem = set_policy(choice.policies, name, value); !problem.empty()) {
    std::vector<std::string_view> known;
    for (const PolicyName& p : policy_names()) known.push_back(p.name);
    const std::string_view near = nearest_name(name, known);
    const bool unknown = std::find(known.begin(), known.end(), name) == known.end();
    if (unknown && !near.empty()) problem += fmt::format("; did you mean '{}'?", near);
    return problem;
  }
  std::erase_if(choice.words, [&](const PolicyChoice::Word& w) { return name_of(w.text) == name; });
  choice.words.push_back({text, source});
  return {};
}

Result<PolicyChoice> policies_of(const PolicyOptions& options, const std::string& file,
                                 std::span<const PolicySetting> in_file) {
  PolicyChoice choice;
  if (const std::string config = config_of(options, file); !config.empty()) {
    const Result<std::vector<PolicySetting>> settings = read_policy_file(config);
    if (!settings) return tl::unexpected(settings.error());
    if (const Result<void> added = add_settings(choice, config, *settings); !added)
      return tl::unexpected(added.error());
  }
  if (const Result<void> added = add_settings(choice, file, in_file); !added)
    return tl::unexpected(added.error());
  if (options.strict) apply_policy(choice, std::string(strict_word), "--strict");
  for (const std::string& text : options.settings)
    if (const std::string problem = apply_policy(choice, text, "--policy"); !problem.empty())
      return fail("--policy " + text + ": " + problem);
  return choice;
}

std::string policies_text(const PolicyChoice& choice) {
  std::string text;
  for (const PolicyChoice::Word& w : choice.words)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", w.text, w.source);
  return text;
}

}  // namespace turnstile::cli
