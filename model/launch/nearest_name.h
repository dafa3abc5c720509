// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace turnstile {

/// The name most like `name` if one is alike enough for a slip of the fingers, else empty.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

/// How an error goes on after naming an unknown word: "; did you mean 'box'?", or "; known keys: a, b, c"
/// where nothing is near. `kind` is the plural of what is unknown ("keys", "buffers").
std::string suggestion(std::string_view name, std::span<const std::string_view> known, std::string_view kind);

}  // namespace turnstile
