// SPDX-License-Identifier: Apache-2.0
// From lines to a syntax tree. Indentation forms the blocks: the lines under `agent`, `for`, `if` and `else`
// that stand deeper are their block; the first of them says how deep.
#include <set>

#include "fmt/format.h"
#include "model/mimw/cursor.h"
#include "model/mimw/mimw.h"

namespace turnstile::mimw {
namespace {

bool has_block(const Statement& s) {
  return s.kind == Statement::Kind::agent || s.kind == Statement::Kind::loop ||
         s.kind == Statement::Kind::branch;
}

class Parser {
 public:
  Parser(std::vector<Line> lines, const std::string& file) : cursor_(file, tree_) {
    for (Line& line : lines)
      if (!line.tokens.empty()) lines_.push_back(std::move(line));
  }

  Result<SyntaxTree> run() {
    read_name();
    const bool done = next_ == lines_.size() || read_block(true, 0, tree_.statements);
    if (done && !cursor_.failed() && tree_.statements.empty() && !lines_.empty()) {
      cursor_.start(lines_.back());
      cursor_.fail("the text declares nothing; it needs at least one 'agent' or 'use'");
    }
    if (cursor_.failed()) return tl::unexpected<Error>(cursor_.error());
    return std::move(tree_);
  }

 private:
  /// A first line of one word is the name of the program.
  void read_name() {
    if (lines_.empty() || lines_[0].tokens.size() != 1) return;
    const Token& token = lines_[0].tokens[0];
    if (token.kind != Token::Kind::word || lines_[0].indent != 0) return;
    tree_.name = std::string(token.text);
    next_ = 1;
  }

  /// Lines from next_ on that stand as deep as the first of them, with what is under them.
  bool read_block(bool top, unsigned depth, std::vector<Statement>& out) {
    const unsigned indent = lines_[next_].indent;
    cursor_.start(lines_[next_]);
    if (depth > mimw_max_depth)
      return cursor_.fail(fmt::format("blocks nest deeper than {}", mimw_max_depth));
    if (top && indent != 0)
      return cursor_.fail("the first line is indented; what is declared stands at the left margin");
    while (next_ < lines_.size() && lines_[next_].indent >= indent) {
      cursor_.start(lines_[next_]);
      if (lines_[next_].indent > indent) return misplaced(out);
      if (!read_statement(top, depth, out)) return false;
    }
    return true;
  }

  bool misplaced(const std::vector<Statement>& before) {
    if (before.empty() || has_block(before.back()))
      return cursor_.fail("this line stands deeper than the block before it");
    return cursor_.fail(fmt::format(
        "'{}' has no block, but this line is indented under it; only agent, for, if and else have one",
        before.back().text));
  }

  bool note_variant(const std::string& name) {
    constexpr size_t most = 64;
    variants_.insert(name);
    return variants_.size() <= most || cursor_.fail(fmt::format("there are more than {} variants", most));
  }

  bool read_marks(std::vector<std::string>& marks) {
    if (!cursor_.accept("[")) return true;
    do {
      const std::optional<std::string> mark = cursor_.word("the name of a variant");
      if (!mark) return false;
      marks.push_back(*mark);
      if (!note_variant(*mark)) return false;
    } while (cursor_.accept("|"));
    if (!cursor_.expect("]", "after the variants")) return false;
    return !cursor_.at_end() || cursor_.fail("expected a statement after the mark, read the end of the line");
  }

  bool read_statement(bool top, unsigned depth, std::vector<Statement>& out) {
    const Line& line = lines_[next_];
    if (top && cursor_.at("=>")) {
      Expectation e;
      if (!parse_expectation(cursor_, e)) return false;
      for (const std::string& variant : e.variants)
        if (!note_variant(variant)) return false;
      tree_.expectations.push_back(std::move(e));
      ++next_;
      return true;
    }
    Statement s;
    if (!read_marks(s.marks)) return false;
    s.at = cursor_.position();
    s.text = std::string(line.code.substr(s.at.column - 1 - line.indent));
    if (cursor_.at("else")) return read_else(line, std::move(s), depth, out);
    if (!(top ? parse_declaration(cursor_, s) : parse_action(cursor_, s))) return false;
    if (!cursor_.expect_end("the statement")) return false;
    ++next_;
    if (has_block(s) && !read_body(line, s.text, depth, s.body)) return false;
    out.push_back(std::move(s));
    return true;
  }

  bool read_body(const Line& head, const std::string& text, unsigned depth, std::vector<Statement>& body) {
    if (next_ == lines_.size() || lines_[next_].indent <= head.indent) {
      cursor_.start(head);
      return cursor_.fail(Position{head.number, head.end_column},
                          fmt::format("'{}' has no block; write 'nop' under it if it does nothing", text));
    }
    return read_block(false, depth + 1, body);
  }

  bool read_else(const Line& line, Statement s, unsigned depth, std::vector<Statement>& out) {
    if (out.empty() || out.back().kind != Statement::Kind::branch)
      return cursor_.fail("'else' without an 'if' straight before it in the same block");
    // A chain of `else if` is one branch in the other.
    Statement* branch = &out.back();
    unsigned links = 0;
    while (branch->otherwise.size() == 1 && branch->otherwise[0].kind == Statement::Kind::branch &&
           branch->otherwise[0].text.starts_with("else"))
      branch = &branch->otherwise[0], ++links;
    if (links + depth > mimw_max_depth) return cursor_.fail("too many 'else if'");
    if (!branch->otherwise.empty()) return cursor_.fail("this 'if' has an 'else' already");
    if (!s.marks.empty() && s.marks != out.back().marks)
      return cursor_.fail("'else' exists in the variants of its 'if'; leave its mark out");
    s.marks.clear();
    cursor_.take();
    if (!cursor_.at("if")) {
      if (!cursor_.expect_end("'else'")) return false;
      ++next_;
      return read_body(line, s.text, depth, branch->otherwise);
    }
    if (!parse_action(cursor_, s)) return false;
    ++next_;
    if (!read_body(line, s.text, depth, s.body)) return false;
    branch->otherwise.push_back(std::move(s));
    return true;
  }

  SyntaxTree tree_;
  Cursor cursor_;
  std::vector<Line> lines_;
  size_t next_ = 0;
  std::set<std::string> variants_;
};

}  // namespace
}  // namespace turnstile::mimw

namespace turnstile {

Result<MimwProgram> parse_mimw(std::string_view text, std::string file) {
  Result<std::vector<mimw::Line>> lines = mimw::read_lines(text, file);
  if (!lines) return tl::unexpected<Error>(lines.error());
  Result<mimw::SyntaxTree> tree = mimw::Parser(std::move(*lines), file).run();
  if (!tree) return tl::unexpected<Error>(tree.error());
  if (tree->statements.empty()) return fail(std::move(file), 0, 0, "the text is empty");
  MimwProgram program{std::move(file), tree->name, std::move(*tree)};
  if (program.name.empty()) {
    program.name = program.file.substr(program.file.find_last_of('/') + 1);
    if (program.name.ends_with(".mimw")) program.name.resize(program.name.size() - 5);
  }
  return program;
}

}  // namespace turnstile
