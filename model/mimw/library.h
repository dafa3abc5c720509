// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace turnstile::mimw {

/// A program that others instantiate by `use NAME with ..`.
struct Pattern {
  std::string_view name;
  std::string_view file;  ///< for the places of its events
  std::string_view text;
};

std::span<const Pattern> library();

}  // namespace turnstile::mimw
