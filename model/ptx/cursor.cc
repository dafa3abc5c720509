// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/cursor.h"

#include <fmt/format.h>

namespace turnstile::ptx {

Cursor::Cursor(std::string_view text, std::string path) : lexer_(text), path_(std::move(path)) { advance(); }

void Cursor::advance() {
  if (failed()) return;
  token_ = lexer_.next();
  if (token_.kind == TokenKind::error) {
    const Token bad = token_;
    fail(bad.position, std::string(bad.text));
  }
}

Token Cursor::take() {
  const Token taken = token_;
  advance();
  return taken;
}

bool Cursor::accept(char c) {
  if (!at(c)) return false;
  advance();
  return true;
}

bool Cursor::accept_directive(std::string_view name) {
  if (!at_directive(name)) return false;
  advance();
  return true;
}

bool Cursor::expect(char c, std::string_view where) {
  if (accept(c)) return !failed();
  return expected(where.empty() ? fmt::format("'{}'", c) : fmt::format("'{}' {}", c, where));
}

bool Cursor::expected(std::string_view what) {
  if (at(TokenKind::end))
    return fail(token_.position, fmt::format("expected {}, but the file ends here{}", what, not_closed()));
  return fail(token_.position, fmt::format("expected {}, found {}", what, describe(token_)));
}

bool Cursor::fail(Position position, std::string message) {
  if (!failed()) error_ = Error{path_, position.line, position.column, std::move(message)};
  token_ = Token{TokenKind::end, {}, position};
  return false;
}

bool Cursor::skip_block() {
  if (failed()) return false;
  const Position began = token_.position;
  if (!lexer_.skip_block()) {
    open_.push_back({"the block", began.line});
    return fail(began, "the file ends before the '}' of this block" + not_closed());
  }
  advance();
  return !failed();
}

std::string Cursor::not_closed() const {
  if (open_.empty()) return {};
  constexpr std::size_t shown = 3;  // from the inside out; the outermost is always named
  std::string out = "; ";
  std::size_t count = 0;
  for (std::size_t i = open_.size(); i-- > 0;) {
    if (count + 1 >= shown && i > 0) continue;
    if (count > 0) out += " and ";
    out += fmt::format("{} that began at line {}", open_[i].what, open_[i].line);
    ++count;
  }
  return out + (count == 1 ? " is not closed" : " are not closed");
}

}  // namespace turnstile::ptx
