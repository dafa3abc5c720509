// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "model/mimw/syntax.h"
#include "model/result.h"

namespace turnstile::mimw {

/// The first error of an unrolling. Functions that record one return false or nothing, and so do those that
/// called them.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  bool fail(Position at, std::string message) {
    if (!error_) {
      const Position where = origin_ ? *origin_ : at;
      error_ = Error{file_, where.line, where.column, origin_prefix_ + std::move(message)};
    }
    return false;
  }
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

  /// While a pattern of the library is instantiated, errors are those of the line that uses it.
  void enter(Position use, std::string_view pattern) {
    origin_ = use;
    origin_prefix_ = "in '" + std::string(pattern) + "': ";
  }
  void leave() {
    origin_.reset();
    origin_prefix_.clear();
  }

 private:
  std::string file_;
  std::optional<Error> error_;
  std::optional<Position> origin_;
  std::string origin_prefix_;
};

}  // namespace turnstile::mimw
