// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>

namespace turnstile {

/// Stops the program with a message that calls this a bug of Turnstile. Never used for bad input.
[[noreturn]] void must_failed(const char* what, const std::source_location& where);

/// Invariant check, on in every build: a broken invariant must never turn into a verdict.
inline void must(bool condition, const char* what,
                 const std::source_location& where = std::source_location::current()) {
  if (!condition) [[unlikely]]
    must_failed(what, where);
}

}  // namespace turnstile
