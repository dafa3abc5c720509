// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace turnstile::ptx {
namespace {

constexpr uint8_t kNameStart = 1, kName = 2, kDigit = 4, kBlank = 8;

constexpr std::array<uint8_t, 256> kClass = [] {
  std::array<uint8_t, 256> c{};
  for (unsigned i = 'a'; i <= 'z'; ++i) c[i] = kNameStart | kName;
  for (unsigned i = 'A'; i <= 'Z'; ++i) c[i] = kNameStart | kName;
  for (unsigned i = '0'; i <= '9'; ++i) c[i] = kName | kDigit;
  c['_'] = c['$'] = kNameStart | kName;
  c['%'] = kNameStart;
  c[' '] = c['\t'] = c['\r'] = c['\f'] = c['\v'] = c['\n'] = kBlank;
  return c;
}();

bool is(char c, uint8_t mask) { return (kClass[static_cast<unsigned char>(c)] & mask) != 0; }

bool is_hex(char c) { return is(c, kDigit) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

constexpr std::array<std::string_view, 9> kPairs = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->"};
constexpr std::string_view kSingles = ";,:(){}[]<>@!|+-*/%&^~?=#";

}  // namespace

bool Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      newline();
    } else if (is(c, kBlank)) {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view comment = text_.substr(at_, end - at_);
      if (comment.starts_with("// begin inline asm")) in_inline_assembly_ = true;
      if (comment.starts_with("// end inline asm")) in_inline_assembly_ = false;
      at_ = end;
    } else if (c == '/' && peek(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) return false;
      while (at_ < end)
        if (text_[at_++] == '\n') newline();
      at_ = end + 2;
    } else {
      break;
    }
  }
  return true;
}

void Lexer::name_rest(bool dots) {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (is(c, kName)) {
      ++at_;
    } else if (dots && c == '.' && is(peek(1), kName)) {
      at_ += 2;
    } else if (c == ':' && peek(1) == ':' && is(peek(2), kName)) {
      at_ += 3;
    } else {
      break;
    }
  }
}

// Only the extent of the literal; its value and range are expression.cc's business. False: letters are glued
// to it.
bool Lexer::number_rest() {
  const char kind = peek(0) == '0' ? peek(1) : '\0';
  if (kind == 'x' || kind == 'X' || kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') {
    at_ += 2;
    while (is_hex(peek())) ++at_;
  } else if (kind == 'b' || kind == 'B') {
    at_ += 2;
    while (is(peek(), kDigit)) ++at_;
  } else {
    while (is(peek(), kDigit)) ++at_;
    if (peek() == '.') {
      ++at_;
      while (is(peek(), kDigit)) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is(peek(1 + sign), kDigit)) {
        at_ += 1 + sign;
        while (is(peek(), kDigit)) ++at_;
      }
    }
  }
  if (peek() == 'U') ++at_;
  return !is(peek(), kName);
}

Token Lexer::string(Position where) {
  const std::size_t begin = ++at_;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\n') return {TokenKind::error, "this string is not closed on its line", where};
    if (text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
  }
  if (at_ >= text_.size()) return {TokenKind::error, "the file ends inside this string", where};
  return {TokenKind::string, text_.substr(begin, at_++ - begin), where};
}

Token Lexer::next() {
  if (!skip_blanks()) return {TokenKind::error, "the comment that begins here is not closed", position()};
  const Position where = position();
  if (at_ >= text_.size()) return {TokenKind::end, {}, where};
  const std::size_t begin = at_;
  const auto token = [&](TokenKind kind) { return Token{kind, text_.substr(begin, at_ - begin), where}; };
  const char c = text_[at_];
  if (is(c, kNameStart) && (c != '%' || is(peek(1), kName))) {
    ++at_;
    name_rest(true);
    return token(TokenKind::identifier);
  }
  if (c == '.' && is(peek(1), kName)) {
    ++at_;
    name_rest(false);
    return token(TokenKind::directive);
  }
  if (is(c, kDigit)) {
    if (!number_rest())
      return {TokenKind::error, "letters follow directly on the number that begins here", where};
    return token(TokenKind::number);
  }
  if (c == '"') return string(where);
  for (const std::string_view pair : kPairs)
    if (c == pair[0] && peek(1) == pair[1]) {
      at_ += 2;
      return token(TokenKind::punctuation);
    }
  if (kSingles.find(c) == std::string_view::npos)
    return {TokenKind::error, "a character that PTX does not use (is this PTX text?)", where};
  ++at_;
  return token(TokenKind::punctuation);
}

bool Lexer::skip_block() {
  for (uint64_t depth = 1; depth > 0;) {
    if (!skip_blanks() || at_ >= text_.size()) return false;
    const char c = text_[at_];
    if (c == '"') {
      if (string(position()).kind == TokenKind::error) return false;
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}') --depth;
    ++at_;
  }
  return true;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string out = "'";
  for (const char c : text.substr(0, longest)) {
    if (c >= ' ' && c <= '~')
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  if (text.size() > longest) out += "...";
  return out + "'";
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::end:
      return "the end of the file";
    case TokenKind::string:
      return "the string " + quoted(token.text);
    case TokenKind::identifier:
    case TokenKind::directive:
    case TokenKind::number:
    case TokenKind::punctuation:
    case TokenKind::error:
      return quoted(token.text);
  }
  return {};
}

}  // namespace turnstile::ptx
