// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/lexer.h"

#include <array>
#include <charconv>

#include "fmt/format.h"
#include "model/mimw/mimw.h"

namespace turnstile::mimw {
namespace {

constexpr std::string_view kLongSymbols[] = {"->", "=>", "..", "<=", ">=", "==", "!=", "<<", ">>"};
constexpr std::string_view kSymbols = "@#[](),:;=+-*/%&^|<>.";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What a foreign character was probably meant to be.
std::string_view hint(char c) {
  switch (c) {
    case '{':
    case '}':
      return "; blocks are formed by indentation";
    case '!':
      return "; the negation is 'not'";
    case '"':
    case '\'':
      return "; there are no strings";
    default:
      return static_cast<unsigned char>(c) >= 0x80 ? "; only comments may hold other than ASCII" : "";
  }
}

struct LineReader {
  const std::string& file;
  Line line;

  tl::unexpected<Error> fail_at(size_t offset, std::string message) const {
    return fail(file, line.number, static_cast<unsigned>(offset + 1), std::move(message));
  }

  Result<size_t> number(std::string_view text, size_t at) {
    const bool hex = text.substr(at, 2) == "0x" || text.substr(at, 2) == "0X";
    const char* begin = text.data() + at + (hex ? 2 : 0);
    const char* end = text.data() + text.size();
    Token token{Token::Kind::number, {}, static_cast<unsigned>(at + 1), 0, false};
    const auto [stop, problem] = std::from_chars(begin, end, token.number, hex ? 16 : 10);
    if (problem == std::errc::result_out_of_range) return fail_at(at, "the number does not fit into 64 bits");
    if (problem != std::errc{}) return fail_at(at, "expected hexadecimal digits after '0x'");
    const size_t after = static_cast<size_t>(stop - text.data());
    if (after < text.size() && is_letter(text[after]))
      return fail_at(at, fmt::format("a number goes straight into a letter, '{}'", text[after]));
    token.text = text.substr(at, after - at);
    line.tokens.push_back(token);
    return after;
  }

  Result<size_t> token(std::string_view text, size_t at) {
    const char c = text[at];
    if (is_digit(c)) return number(text, at);
    size_t length = 1;
    Token::Kind kind = Token::Kind::symbol;
    if (is_letter(c)) {
      kind = Token::Kind::word;
      while (at + length < text.size() && (is_letter(text[at + length]) || is_digit(text[at + length])))
        ++length;
    } else {
      bool is_long = false;
      for (const std::string_view s : kLongSymbols) is_long = is_long || text.substr(at, 2) == s;
      if (is_long)
        length = 2;
      else if (kSymbols.find(c) == std::string_view::npos) {
        if (c == '\t') return fail_at(at, "expected blanks, read a tab; indent with blanks");
        const bool printable = c > ' ' && c < 0x7f;
        return fail_at(at, printable
                               ? fmt::format("unexpected '{}'{}", c, hint(c))
                               : fmt::format("unexpected byte {:#04x}{}",
                                             static_cast<unsigned>(static_cast<unsigned char>(c)), hint(c)));
      }
    }
    line.tokens.push_back({kind, text.substr(at, length), static_cast<unsigned>(at + 1), 0, false});
    return at + length;
  }

  Result<void> read(std::string_view text) {
    size_t at = 0;
    while (at < text.size() && text[at] == ' ') ++at;
    line.indent = static_cast<unsigned>(at);
    const size_t start = at;
    size_t end = at;
    bool blanks = false;
    while (at < text.size()) {
      if (text[at] == ' ') {
        ++at;
        blanks = true;
        continue;
      }
      if (text.substr(at, 2) == "--") {
        line.comment = text.substr(at);
        while (line.comment.back() == ' ' || line.comment.back() == '\t') line.comment.remove_suffix(1);
        break;
      }
      const Result<size_t> next = token(text, at);
      if (!next) return tl::unexpected<Error>(next.error());
      line.tokens.back().after_blank = blanks;
      blanks = false;
      at = end = *next;
    }
    line.code = text.substr(start, end - start);
    line.end_column = static_cast<unsigned>(end + 1);
    return {};
  }
};

}  // namespace

Result<std::vector<Line>> read_lines(std::string_view text, const std::string& file) {
  if (text.size() > mimw_max_text)
    return fail(file, 0, 0, fmt::format("the text has {} bytes; the most is {}", text.size(), mimw_max_text));
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);  // byte order mark
  std::vector<Line> lines;
  for (unsigned number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view here = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!here.empty() && here.back() == '\r') here.remove_suffix(1);
    LineReader reader{file, {}};
    reader.line.number = number;
    if (const Result<void> done = reader.read(here); !done) return tl::unexpected<Error>(done.error());
    lines.push_back(std::move(reader.line));
  }
  return lines;
}

}  // namespace turnstile::mimw
