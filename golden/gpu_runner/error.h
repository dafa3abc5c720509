// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

// The runner is built by itself on a GPU machine: nothing but the standard library, cuda.h and
// model/launch/generate.h.

namespace turnstile {

/// Why a run did not happen; `code` is the exit code of the program (plan.md).
struct RunnerError {
  static constexpr int kUsage = 2, kGpu = 3, kTimeout = 4;
  int code = kUsage;
  std::string reason;
};

template <typename T>
using RunnerResult = std::variant<T, RunnerError>;
using RunnerStatus = std::optional<RunnerError>;  ///< empty: it went well

inline RunnerError usage_error(std::string reason) { return {RunnerError::kUsage, std::move(reason)}; }

}  // namespace turnstile
