// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ptx/lexer.h"
#include "model/result.h"

namespace turnstile::ptx {

/// The place where the parser stands: one token, the first error, and what is open around it.
///
/// Every parsing function returns false once an error is recorded, and only the first one is kept. After an
/// error the token is the end of the file, so that every loop ends.
class Cursor {
 public:
  Cursor(std::string_view text, std::string path);

  const Token& token() const { return token_; }
  bool at(TokenKind kind) const { return token_.kind == kind; }
  bool at(char c) const { return token_.is(c); }
  bool at_directive(std::string_view name) const { return at(TokenKind::directive) && token_.text == name; }

  /// The token, having moved on to the next one.
  Token take();
  void advance();

  bool accept(char c);
  bool accept_directive(std::string_view name);

  /// Moves over `c`. Otherwise "expected ';' <where>, found 'foo'"; `where` may be empty. A callable makes
  /// the words only when they are needed.
  bool expect(char c, std::string_view where);
  template <typename MakeWords>
  requires std::is_invocable_r_v<std::string, MakeWords>
  bool expect(char c, const MakeWords& where) {
    if (accept(c)) return true;
    return expect(c, std::string_view(where()));
  }
  /// "expected <what>, found 'foo'"; at the end of the file it also says what is not closed.
  bool expected(std::string_view what);

  bool fail(Position position, std::string message);
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

  /// What the text is inside of, for errors at the end of the file: "the body of entry 'x'".
  void open(std::string what, Position began) { open_.push_back({std::move(what), began.line}); }
  void close() { open_.pop_back(); }

  /// See Lexer.
  bool in_inline_assembly() const { return lexer_.in_inline_assembly(); }

  /// Moves from a `{` to behind its `}`.
  bool skip_block();

 private:
  struct Open {
    std::string what;
    uint32_t line;
  };
  std::string not_closed() const;

  Lexer lexer_;
  std::string path_;
  Token token_;
  std::optional<Error> error_;
  std::vector<Open> open_;
};

}  // namespace turnstile::ptx
