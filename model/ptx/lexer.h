// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/ptx/program.h"

namespace turnstile::ptx {

enum class TokenKind : uint8_t {
  end,
  identifier,  ///< names, registers and mnemonics: `%r1`, `$L__BB0_1`, `%tid.x`,
               ///< `mbarrier.arrive.shared::cta.b64`, `_`
  directive,   ///< with its dot: `.reg`, `.b32`, `.kind::f16`
  number,      ///< as written: `12`, `0x10U`, `0f3F800000`, `1.5e3`
  string,      ///< without the quotes
  punctuation,
  error,  ///< `text` is the message
};

/// A piece of the text, which must outlive it.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  Position position;

  bool is(char c) const { return kind == TokenKind::punctuation && text.size() == 1 && text.front() == c; }
  bool is(std::string_view s) const { return kind == TokenKind::punctuation && text == s; }
};

/// Splits PTX text into tokens. Blanks, line ends and both kinds of comments separate tokens and mean nothing
/// else (PG5-PG7), but for the places of instructions (in_inline_assembly);
/// `.loc`, which ends with its line, is recognised by its fixed shape instead (PG29).
///
/// A `::` between name characters belongs to the name (PG26), so a label colon is never taken for one. A dot
/// glued to a name belongs to it too: that is right for mnemonics and special registers, and nothing else in
/// PTX has a dot inside.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();

  /// After a `{` was read: skips to behind its `}`, without looking at what lies between except strings,
  /// comments and braces. False if the text ends first. For debug sections (PS9) and bodies of device
  /// functions.
  bool skip_block();

  /// Between the comments with which NVVM and LLVM enclose inline assembly. LLVM counts lines on inside: a
  /// `.loc` there names the line of the statement plus the line of its assembly text, which is some other
  /// statement.
  bool in_inline_assembly() const { return in_inline_assembly_; }

 private:
  bool skip_blanks();  // false: a comment is not closed
  void newline() {
    ++line_;
    line_start_ = at_;
  }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Position position() const { return {line_, static_cast<uint32_t>(at_ - line_start_) + 1}; }
  void name_rest(bool dots);
  bool number_rest();
  Token string(Position where);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  uint32_t line_ = 1;
  bool in_inline_assembly_ = false;
};

/// "'add.s32'", "the end of the file": for messages. Long texts are cut, bytes that are not printable are
/// escaped.
std::string describe(const Token& token);
std::string quoted(std::string_view text);

}  // namespace turnstile::ptx
