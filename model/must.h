// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace turnstile {

/// Stops the program with a message that calls this a bug of Turnstile. Never used for bad input.
[[noreturn]] void must_failed(const char* what, const char* file, int line);

/// Invariant check, on in every build: a broken invariant must never turn into a verdict.
/// (clang 14 has no std::source_location; the builtins say the same.)
inline void must(bool condition, const char* what, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  if (!condition) [[unlikely]]
    must_failed(what, file, line);
}

}  // namespace turnstile
