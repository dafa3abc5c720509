// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

#include "model/launch/launch.h"

namespace CLI {
class App;
}  // namespace CLI

namespace turnstile::cli {

/// The options that say which launch a verb is about; the same for all verbs.
struct LaunchOptions {
  std::string file;
  std::string case_name;
  std::vector<std::string> settings;  ///< "M=77"
  std::string fill;
  std::string ptx;
};

void add_launch_options(CLI::App& verb, LaunchOptions& options);

/// What the options change in the launch file. Errors name the option.
Result<LaunchOverrides> overrides_of(const LaunchOptions& options);

/// Reads the launch file under the options. A wrong name of a case is answered with the names that there are.
Result<Launch> launch_of(const LaunchOptions& options);

/// The names of the cases that a verb works on: the chosen one, or all cases of the file, or one without a
/// name if the file has none.
Result<std::vector<std::string>> cases_of(const LaunchOptions& options);

/// "M=77 N=512": the variables of a launch, by name.
std::string vars_text(const Launch& launch);

}  // namespace turnstile::cli
