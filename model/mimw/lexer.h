// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace turnstile::mimw {

struct Token {
  enum class Kind : uint8_t { word, number, symbol };
  Kind kind = Kind::symbol;
  std::string_view text;  ///< into the text that was read
  unsigned column = 0;    ///< 1-based, bytes
  int64_t number = 0;
  bool after_blank = false;  ///< blanks stand before it
};

struct Line {
  unsigned number = 0;
  unsigned indent = 0;      ///< blanks before the first token or comment
  std::string_view code;    ///< without indentation and comment
  unsigned end_column = 0;  ///< just behind the last token
  std::vector<Token> tokens;
  std::string_view comment;  ///< from `--` on, without blanks at its end; empty: none

  bool blank() const { return tokens.empty() && comment.empty(); }
};

/// Cuts a text into lines of tokens. Words are [A-Za-z_][A-Za-z0-9_]*; `--` begins a comment.
Result<std::vector<Line>> read_lines(std::string_view text, const std::string& file);

}  // namespace turnstile::mimw
