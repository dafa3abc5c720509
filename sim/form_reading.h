// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "model/ptx/program.h"

namespace turnstile::sim {

// What the readers of mnemonics (forms*.cc) share.

/// Reasons are for people: what about the mnemonic is not implemented. Nothing: it was read.
using Reading = std::optional<std::string>;
inline constexpr std::nullopt_t fine = std::nullopt;

/// Is `m` one of the modifiers after the root?
inline bool has(const ptx::Instruction& i, std::string_view m) {
  return std::find(i.modifiers.begin() + 1, i.modifiers.end(), m) != i.modifiers.end();
}

/// True if every modifier after the root is in the list.
inline bool only(const ptx::Instruction& i, std::initializer_list<std::string_view> allowed) {
  return std::all_of(i.modifiers.begin() + 1, i.modifiers.end(), [&](const std::string& m) {
    return std::find(allowed.begin(), allowed.end(), m) != allowed.end();
  });
}

}  // namespace turnstile::sim
