// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/cursor.h"

#include <algorithm>

#include "fmt/format.h"
#include "model/mimw/mimw.h"

namespace turnstile::mimw {
namespace {

constexpr unsigned kMaxHeight = 4 * mimw_max_depth;  // a chain of operators nests to the left

}  // namespace

const Token* Cursor::peek(size_t ahead) const {
  const size_t at = next_ + ahead;
  return at < line_->tokens.size() ? &line_->tokens[at] : nullptr;
}

bool Cursor::accept(std::string_view text) {
  if (!at(text)) return false;
  ++next_;
  return true;
}

bool Cursor::expect(std::string_view text, std::string_view where) {
  if (accept(text)) return true;
  return fail(fmt::format("expected '{}' {}, read {}", text, where, read()));
}

std::optional<std::string> Cursor::word(std::string_view what) {
  if (at_word()) return std::string(take().text);
  fail(fmt::format("expected {}, read {}", what, read()));
  return std::nullopt;
}

bool Cursor::expect_end(std::string_view what) {
  if (failed()) return false;
  if (at_end()) return true;
  return fail(fmt::format("expected the end of the line after {}, read {}", what, read()));
}

Position Cursor::position() const {
  return {line_->number, at_end() ? line_->end_column : line_->tokens[next_].column};
}

std::string Cursor::text_since(size_t mark) const {
  if (mark >= next_) return {};
  const Token& first = line_->tokens[mark];
  const Token& last = line_->tokens[next_ - 1];
  const char* end = last.text.data() + last.text.size();
  return std::string(first.text.data(), static_cast<size_t>(end - first.text.data()));
}

std::string Cursor::read() const {
  return at_end() ? "the end of the line" : fmt::format("'{}'", line_->tokens[next_].text);
}

bool Cursor::fail(std::string message) { return fail(position(), std::move(message)); }

bool Cursor::fail(Position where, std::string message) {
  if (!error_) error_ = Error{file_, where.line, where.column, std::move(message)};
  if (line_ != nullptr) next_ = line_->tokens.size();
  return false;
}

ExprId Cursor::add(Expr expression) {
  for (const ExprId argument : expression.arguments)
    expression.height = std::max(expression.height, tree_->expressions[argument].height + 1);
  if (expression.height > kMaxHeight)
    fail(expression.at, "the expression is too long; give a part of it a name by let");
  tree_->expressions.push_back(std::move(expression));
  return static_cast<ExprId>(tree_->expressions.size() - 1);
}

}  // namespace turnstile::mimw
