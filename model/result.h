// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace turnstile {

/// Why some input could not be used: where it stands, what was read, what was expected, what to do.
/// Always the user's input is at fault; a broken invariant of ours is must() (model/must.h).
struct Error {
  std::string file;   ///< path as the user gave it; empty if no file is involved
  unsigned line = 0;  ///< 1-based; 0 if there is no position
  unsigned column = 0;
  std::string message;  ///< one line, no trailing newline

  /// "file:line:column: message", leaving out the parts that are not known.
  std::string text() const;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// Shorthand for returning an error without a position.
inline tl::unexpected<Error> fail(std::string message) {
  return tl::unexpected<Error>(Error{{}, 0, 0, std::move(message)});
}
inline tl::unexpected<Error> fail(std::string file, unsigned line, unsigned column, std::string message) {
  return tl::unexpected<Error>(Error{std::move(file), line, column, std::move(message)});
}

}  // namespace turnstile
