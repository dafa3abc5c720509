// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/mimw/lexer.h"
#include "model/mimw/syntax.h"

namespace turnstile::mimw {

/// The place in a line where the parser stands, and the first error.
///
/// Every parsing function returns false (or nothing) once an error is recorded, and only the first one is
/// kept. After an error the cursor is at the end of its line, so that every loop ends.
class Cursor {
 public:
  Cursor(std::string file, SyntaxTree& tree) : file_(std::move(file)), tree_(&tree) {}

  void start(const Line& line) { line_ = &line, next_ = 0; }

  bool at_end() const { return next_ >= line_->tokens.size(); }
  bool at(std::string_view text) const { return !at_end() && line_->tokens[next_].text == text; }
  bool at_word() const { return !at_end() && line_->tokens[next_].kind == Token::Kind::word; }
  bool at_number() const { return !at_end() && line_->tokens[next_].kind == Token::Kind::number; }
  /// The token `ahead` places on; null behind the end.
  const Token* peek(size_t ahead = 0) const;
  /// Only if not at_end().
  const Token& take() { return line_->tokens[next_++]; }

  bool accept(std::string_view text);
  /// Moves over `text`; else the error "expected 'text' <where>, read ...".
  bool expect(std::string_view text, std::string_view where);
  /// Moves over a word; `what` names it in the error "expected <what>, read ...".
  std::optional<std::string> word(std::string_view what);
  bool expect_end(std::string_view what);

  Position position() const;
  size_t mark() const { return next_; }
  /// What is written from token number `mark` up to here.
  std::string text_since(size_t mark) const;
  const Line& line() const { return *line_; }

  /// "'foo'", or "the end of the line".
  std::string read() const;
  /// Records an error here, or at `where`; always false.
  bool fail(std::string message);
  bool fail(Position where, std::string message);
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

  /// An expression that would nest too deep is an error.
  ExprId add(Expr expression);
  void note_cta() { tree_->names_ctas = true; }
  const Expr& expr(ExprId id) const { return tree_->expressions[id]; }

 private:
  std::string file_;
  SyntaxTree* tree_;
  const Line* line_ = nullptr;
  size_t next_ = 0;
  std::optional<Error> error_;
};

/// Expression, loosest binding first: or | and | not | comparison | `|` | `^` | `&` | shifts | + - | * / % |
/// unary minus.
std::optional<ExprId> parse_expression(Cursor& c);
/// Number, name, name[index], call or parentheses.
std::optional<ExprId> parse_primary(Cursor& c, unsigned depth = 0);

/// `@k.name.part[index]#tag`; `what` for the error.
std::optional<Ref> parse_ref(Cursor& c, std::string_view what);
/// `name.part`.
std::optional<std::string> parse_dotted(Cursor& c, std::string_view what);
/// `@k.`, if there is one.
bool parse_cta_prefix(Cursor& c, std::optional<ExprId>& cta);
/// `[index]`, if there is one.
bool parse_index(Cursor& c, std::optional<ExprId>& index);

/// What stands in an agent: let, for, if, else or an operation. Blocks under it are not read.
bool parse_action(Cursor& c, Statement& s);
/// What stands at the top level, but for verdict lines.
bool parse_declaration(Cursor& c, Statement& s);
bool parse_let(Cursor& c, Statement& s);
/// Behind `=>`.
bool parse_expectation(Cursor& c, Expectation& e);

}  // namespace turnstile::mimw
