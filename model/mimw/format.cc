// SPDX-License-Identifier: Apache-2.0
// Canonical layout. Each line keeps its tokens and its nesting, so the meaning cannot change; only blanks
// between tokens, indentation and empty lines do. The rules look at two neighbouring tokens and at what the
// line is, never at the blanks that were there, so a second pass finds nothing to do.
#include <algorithm>
#include <array>

#include "model/mimw/lexer.h"
#include "model/mimw/mimw.h"

namespace turnstile::mimw {
namespace {

constexpr std::string_view kTight[] = {".", "..", "#", "@", ":", ";", "+", "-", "*",  "/",
                                       "%", "&",  "^", "|", "(", ")", "[", "]", "<<", ">>"};
constexpr std::string_view kSpaced[] = {"->", "=>", "<", "<=", ">", ">=", "==", "!="};
constexpr std::string_view kFunctions[] = {"min", "max", "ceil_div", "len"};
/// Behind these an operand begins, wherever they stand.
constexpr std::string_view kWords[] = {"and",   "or",   "not",   "in",      "if",
                                       "using", "with", "bytes", "columns", "at"};

template <size_t n>
bool one_of(std::string_view text, const std::string_view (&list)[n]) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

struct LineFormat {
  const Line& line;
  size_t first = 0;  ///< token behind the marks
  std::string_view keyword = {};
  bool verdict = false;

  explicit LineFormat(const Line& of) : line(of) {
    if (line.tokens[0].text == "[") {
      while (line.tokens[first].text != "]") ++first;
      ++first;
    }
    keyword = line.tokens[first].text;
    verdict = keyword == "=>";
  }

  bool is_word(const Token& t) const { return t.kind != Token::Kind::symbol; }

  /// The token before number `i` is a word behind which an operand begins.
  bool operand_after(size_t i) const { return i - 1 == first || one_of(line.tokens[i - 1].text, kWords); }

  bool blank_around(size_t i, int brackets) const {
    const Token& before = line.tokens[i - 1];
    const Token& here = line.tokens[i];
    if (i == first) return true;
    if (here.text == "," || here.text == ";" || here.text == ")" || here.text == "]") return false;
    if (before.text == ",") return brackets == 0 && keyword != "use";
    if (here.text == "=" || before.text == "=") return keyword == "param";
    if (one_of(here.text, kSpaced) || one_of(before.text, kSpaced)) return true;
    if (before.text == ":") return verdict;
    if (here.text == "[") return verdict && is_bracket_note(i);
    if (here.text == "(")
      return is_word(before) && !verdict && !one_of(before.text, kFunctions) &&
             !(keyword == "agent" && before.text == "x");
    if (here.text == "@" || here.text == "-") {
      // An object or a sign behind a word; else an operator.
      const bool after_value = is_word(before) || before.text == "]" || before.text == ")";
      if (here.text == "@") return after_value;
      return is_word(before) && operand_after(i) && keyword != "option" && !verdict;
    }
    if (one_of(here.text, kTight)) return false;
    if (before.text == "]" || before.text == ")") return true;
    return !one_of(before.text, kTight);
  }

  bool is_bracket_note(size_t i) const {
    return i + 1 < line.tokens.size() && line.tokens[i + 1].text == "derived";
  }

  std::string text() const {
    std::string out(line.tokens[0].text);
    int brackets = out == "[" ? 1 : 0;
    for (size_t i = 1; i < line.tokens.size(); ++i) {
      if (blank_around(i, brackets)) out += ' ';
      out += line.tokens[i].text;
      if (line.tokens[i].text == "[") ++brackets;
      if (line.tokens[i].text == "]") --brackets;
    }
    return out;
  }
};

/// Raw indentation of the blocks that are open, outermost first; the index is the level.
class Levels {
 public:
  /// The level of a line of code, which closes deeper blocks and may open one.
  size_t enter(unsigned indent) {
    while (!open_.empty() && open_.back() > indent) open_.pop_back();
    if (open_.empty() || open_.back() < indent) open_.push_back(indent);
    return open_.size() - 1;
  }
  /// The level of a comment of its own: the deepest block, open or opened by the next line, that does not
  /// stand deeper than it.
  size_t of_comment(unsigned indent, unsigned next_indent) const {
    std::vector<unsigned> levels = open_;
    if (!levels.empty() && next_indent > levels.back()) levels.push_back(next_indent);
    size_t level = 0;
    for (size_t i = 0; i < levels.size(); ++i)
      if (levels[i] <= indent) level = i;
    return level;
  }

 private:
  std::vector<unsigned> open_;
};

std::string format(const std::vector<Line>& lines) {
  // Indentation of the next line of code, by line; 0 behind the last.
  std::vector<unsigned> next_indent(lines.size(), 0);
  for (size_t i = lines.size(); i-- > 1;)
    next_indent[i - 1] = lines[i].tokens.empty() ? next_indent[i] : lines[i].indent;

  std::string out;
  Levels levels;
  bool empty_before = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.blank()) {
      empty_before = !out.empty();
      continue;
    }
    if (empty_before) out += '\n';
    empty_before = false;
    const size_t level =
        line.tokens.empty() ? levels.of_comment(line.indent, next_indent[i]) : levels.enter(line.indent);
    out.append(2 * level, ' ');
    if (!line.tokens.empty()) out += LineFormat(line).text();
    if (!line.tokens.empty() && !line.comment.empty()) out += "  ";
    out += line.comment;
    out += '\n';
  }
  return out;
}

}  // namespace
}  // namespace turnstile::mimw

namespace turnstile {

Result<std::string> format_mimw(std::string_view text, const std::string& file) {
  // Only a text that parses has the nesting that its indentation seems to have.
  const Result<MimwProgram> parsed = parse_mimw(text, file);
  if (!parsed) return tl::unexpected<Error>(parsed.error());
  const Result<std::vector<mimw::Line>> lines = mimw::read_lines(text, file);
  if (!lines) return tl::unexpected<Error>(lines.error());
  return mimw::format(*lines);
}

}  // namespace turnstile
