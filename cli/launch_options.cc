// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>

namespace turnstile::cli {

void add_launch_options(CLI::App& verb, LaunchOptions& options) {
  verb.add_option("LAUNCH", options.file, "Launch file (TOML): kernel, grid, buffers, tensor maps")
      ->required();
  verb.add_option("--case", options.case_name, "Name of a case in the launch file");
  verb.add_option("--set", options.settings, "Set a variable of the launch file, for example --set M=77")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb.add_option("--fill", options.fill,
                  "Fill all generated inputs with: zeros, ones, iota, normal, wide or special");
  verb.add_option("--ptx", options.ptx, "Take this PTX file instead of the one in the launch file");
}

Result<LaunchOverrides> overrides_of(const LaunchOptions& options) {
  LaunchOverrides overrides;
  overrides.case_name = options.case_name;
  overrides.kernel_path = options.ptx;
  for (const std::string& setting : options.settings) {
    const size_t equals = setting.find('=');
    int64_t value = 0;
    const char* end = setting.data() + setting.size();
    const bool named = equals != std::string::npos && equals != 0;
    const auto parsed = named ? std::from_chars(setting.data() + equals + 1, end, value)
                              : std::from_chars_result{end, std::errc::invalid_argument};
    if (parsed.ec != std::errc() || parsed.ptr != end)
      return fail(
          fmt::format("--set {}: expected NAME=VALUE with a whole number, for example --set M=77", setting));
    if (!overrides.vars.emplace(setting.substr(0, equals), value).second)
      return fail(fmt::format("--set {}: {} is set twice", setting, setting.substr(0, equals)));
  }
  if (!options.fill.empty()) {
    overrides.fill = family_from_name(options.fill);
    if (!overrides.fill)
      return fail(
          fmt::format("--fill {}: expected zeros, ones, iota, normal, wide or special", options.fill));
  }
  return overrides;
}

Result<Launch> launch_of(const LaunchOptions& options) {
  const Result<LaunchOverrides> overrides = overrides_of(options);
  if (!overrides) return tl::unexpected(overrides.error());
  return read_launch(options.file, *overrides);
}

Result<std::vector<std::string>> cases_of(const LaunchOptions& options) {
  if (!options.case_name.empty()) return std::vector<std::string>{options.case_name};
  Result<std::vector<std::string>> names = list_cases(options.file);
  if (names && names->empty()) names->emplace_back();
  return names;
}

std::string vars_text(const Launch& launch) {
  std::string text;
  for (const auto& [name, value] : launch.vars)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

}  // namespace turnstile::cli
