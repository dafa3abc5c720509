// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace turnstile::mimw {

/// The verdict classes that a text may expect, without `safe` (orchestration_bugs.md 2.3).
std::span<const std::string_view> verdict_classes();

}  // namespace turnstile::mimw
