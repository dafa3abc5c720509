// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/body.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/ptx/declarations.h"
#include "model/ptx/limits.h"
#include "model/ptx/operands.h"

namespace turnstile::ptx {
namespace {

// "a.b::c.d" -> a, b::c, d.
std::vector<std::string> components(std::string_view mnemonic) {
  std::vector<std::string> out;
  out.reserve(1 + static_cast<std::size_t>(std::count(mnemonic.begin(), mnemonic.end(), '.')));
  for (std::size_t begin = 0;;) {
    const std::size_t dot = mnemonic.find('.', begin);
    out.emplace_back(mnemonic.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return out;
    begin = dot + 1;
  }
}

// One entry. Statements are read in a loop, not by recursion: `{` and `}` only open and close scopes.
class Body {
 public:
  explicit Body(Context& context) : c_(context), cursor_(context.cursor), entry_(context.entry) {}

  bool parse() {
    c_.labels.clear();
    c_.labels.open();
    while (c_.labels.depth() > 0)
      if (!statement()) return false;
    return labels_are_resolved() && fill_branch_targets();
  }

 private:
  bool statement() {
    const Token t = cursor_.token();
    switch (t.kind) {
      case TokenKind::identifier:
        return label_or_instruction();
      case TokenKind::directive:
        return directive();
      case TokenKind::punctuation:
        if (t.is('@')) return guarded();
        if (t.is('{')) return open_scope();
        if (t.is('}')) return close_scope();
        if (t.is(';')) return empty_statement();
        break;
      case TokenKind::end:
      case TokenKind::number:
      case TokenKind::string:
      case TokenKind::error:
        break;
    }
    return cursor_.expected("an instruction, a declaration or '}'");
  }

  bool empty_statement() {
    cursor_.advance();
    return !cursor_.failed();
  }

  bool open_scope() {
    const Token brace = cursor_.take();
    if (c_.labels.depth() >= limits::scope_nesting)
      return cursor_.fail(brace.position,
                          fmt::format("blocks are nested more than {} deep", limits::scope_nesting));
    cursor_.open("the block", brace.position);
    c_.names.open();
    c_.labels.open();
    after_label_ = false;
    return !cursor_.failed();
  }

  bool close_scope() {
    c_.names.close();
    resolved_.clear();
    c_.labels.close(resolved_);
    for (const ResolvedLabel& r : resolved_)
      if (!patch(r)) return false;
    after_label_ = false;
    cursor_.close();
    cursor_.advance();
    return !cursor_.failed();
  }

  bool patch(const ResolvedLabel& r) {
    switch (r.use.in) {
      case LabelUse::In::operand:
        entry_.instructions[r.use.owner].operands[r.use.slot].label = r.label.instruction;
        return true;
      case LabelUse::In::target_list:
        lists_[r.use.owner][r.use.slot] = r.label.instruction;
        return true;
      case LabelUse::In::indirect_branch:
        if (!r.label.targets)
          return cursor_.fail(r.use.position,
                              fmt::format("label {} names no .branchtargets list", quoted(r.use.name)));
        entry_.instructions[r.use.owner].operands[r.use.slot].label = r.label.instruction;
        indirect_.push_back({r.use.owner, *r.label.targets});
        return true;
    }
    return false;
  }

  bool labels_are_resolved() {
    const LabelUse* use = c_.labels.unresolved();
    if (use == nullptr) return true;
    return cursor_.fail(use->position, fmt::format("label {} is not defined in this block or one around it{}",
                                                   quoted(use->name), c_.labels.suggestion(use->name)));
  }

  bool fill_branch_targets() {
    for (const auto& [instruction, list] : indirect_) {
      c_.spent.branch_targets += lists_[list].size();
      if (c_.spent.branch_targets > limits::module_branch_targets)
        return cursor_.fail(entry_.instructions[instruction].position,
                            fmt::format("more than {} targets of indirect branches in one file",
                                        limits::module_branch_targets));
      entry_.instructions[instruction].branch_targets = lists_[list];
    }
    return true;
  }

  bool label_or_instruction() {
    const Token name = cursor_.take();
    if (!cursor_.at(':')) return instruction(name, name.position, std::nullopt);
    if (name.text.find_first_of(".:") != std::string_view::npos)
      return cursor_.fail(name.position, fmt::format("{} cannot be a label", quoted(name.text)));
    cursor_.advance();
    if (++c_.spent.labels > limits::module_labels)
      return cursor_.fail(name.position,
                          fmt::format("more than {} labels in one file", limits::module_labels));
    const Label label{name.text, static_cast<uint32_t>(entry_.instructions.size()), std::nullopt,
                      name.position};
    if (const std::optional<Label> older = c_.labels.define(label))
      return cursor_.fail(name.position,
                          fmt::format("label {} is defined twice in the same block, first at line {}",
                                      quoted(name.text), older->position.line));
    after_label_ = true;
    return !cursor_.failed();
  }

  // `@p`, `@!p` (PG21). Only instructions can be guarded, not blocks.
  bool guarded() {
    const Position where = cursor_.take().position;
    Guard guard;
    guard.negated = cursor_.accept('!');
    if (!cursor_.at(TokenKind::identifier)) return cursor_.expected("a predicate register after '@'");
    const Token name = cursor_.take();
    const std::optional<Binding> found = c_.names.find(name.text);
    if (!found)
      return cursor_.fail(name.position, fmt::format("predicate {} is not declared{}", quoted(name.text),
                                                     c_.names.suggestion(name.text)));
    if (found->kind != NameKind::reg || entry_.registers[found->index].bits != 1)
      return cursor_.fail(name.position, fmt::format("{} is not a predicate register", quoted(name.text)));
    guard.predicate = RegisterId{found->index};
    if (!cursor_.at(TokenKind::identifier)) return cursor_.expected("an instruction after its predicate");
    const Token mnemonic = cursor_.take();
    return instruction(mnemonic, where, guard);
  }

  bool instruction(const Token& first, Position where, std::optional<Guard> guard) {
    if (cursor_.failed()) return false;
    const char letter = first.text.front();
    if (letter == '%' || letter == '$' || letter == '_')
      return cursor_.fail(first.position,
                          fmt::format("expected an instruction, found {}", quoted(first.text)));
    if (++c_.spent.instructions > limits::module_instructions)
      return cursor_.fail(where,
                          fmt::format("more than {} instructions in one file", limits::module_instructions));
    Instruction& i = entry_.instructions.emplace_back();
    i.mnemonic = std::string(first.text);
    while (cursor_.at(
        TokenKind::directive)) {  // blanks between modifiers, as pasted strings of inline assembly leave them
      if (i.mnemonic.size() > kLongestMnemonic) return cursor_.fail(where, "a mnemonic of this length");
      i.mnemonic += cursor_.take().text;
    }
    i.modifiers = components(i.mnemonic);
    i.guard = guard;
    i.position = where;
    i.location = c_.locations.current();
    after_label_ = false;
    if (!operands(i)) return false;
    return cursor_.expect(';', [&] { return "after the operands of " + quoted(i.mnemonic); });
  }

  bool operands(Instruction& i) {
    if (cursor_.at(';')) return true;
    if (i.root() == "call") return parse_call(c_, i.operands);
    const bool is_branch = i.root() == "bra", is_indirect = i.root() == "brx";
    do {
      const auto slot = static_cast<uint32_t>(i.operands.size());
      if (slot == limits::operands)
        return cursor_.fail(cursor_.token().position, fmt::format("more than {} operands", limits::operands));
      Operand& o = i.operands.emplace_back();
      const bool is_label = (is_branch && slot == 0) || (is_indirect && slot == 1);
      if (!(is_label ? label_operand(i, is_indirect, slot, o) : parse_operand(c_, i.mnemonic, o)))
        return false;
    } while (cursor_.accept(','));
    return !cursor_.failed();
  }

  bool label_operand(const Instruction& i, bool is_indirect, uint32_t slot, Operand& out) {
    if (!cursor_.at(TokenKind::identifier))
      return cursor_.expected(fmt::format("the label of {}", quoted(i.mnemonic)));
    const Token name = cursor_.take();
    out.kind = OperandKind::label;
    out.name = std::string(name.text);
    c_.labels.use({is_indirect ? LabelUse::In::indirect_branch : LabelUse::In::operand,
                   static_cast<uint32_t>(entry_.instructions.size() - 1), slot, name.text, name.position});
    return !cursor_.failed();
  }

  bool directive() {
    const Token t = cursor_.take();
    if (t.text == ".loc") return c_.locations.parse_loc(cursor_);
    if (t.text == ".branchtargets") return branch_targets(t);
    after_label_ = false;
    if (t.text == ".reg") return parse_registers(c_);
    if (t.text == ".pragma") return parse_pragma(cursor_);
    if (t.text == ".file") return c_.locations.parse_file(cursor_);
    if (const std::optional<StateSpace> space = variable_space(t)) return variables(*space);
    return cursor_.fail(t.position,
                        fmt::format("the directive {} is not supported in a body", quoted(t.text)));
  }

  bool variables(StateSpace space) {
    std::vector<Declared> declared;
    if (!parse_variables(cursor_, space, false, declared)) return false;
    for (Declared& d : declared) {
      c_.spent.initialised_bytes += d.symbol.initial.size();
      if (++c_.spent.symbols > limits::module_symbols ||
          c_.spent.initialised_bytes > limits::module_initialised_bytes)
        return cursor_.fail(d.symbol.position,
                            fmt::format("more than {} variables or {} initialised bytes in one file",
                                        limits::module_symbols, limits::module_initialised_bytes));
      const Binding binding{d.name, NameKind::symbol, static_cast<uint32_t>(entry_.symbols.size()), 1,
                            d.symbol.position};
      if (!declare(cursor_, c_.names, binding)) return false;
      entry_.symbols.push_back(std::move(d.symbol));
    }
    return true;
  }

  // `$L_brx_0: .branchtargets L5, L6;` (PT7)
  bool branch_targets(const Token& directive) {
    if (!after_label_)
      return cursor_.fail(directive.position, "'.branchtargets' needs a label of its own in front of it");
    const auto list = static_cast<uint32_t>(lists_.size());
    c_.labels.last_names_targets(list);
    after_label_ = false;
    std::vector<uint32_t>& targets = lists_.emplace_back();
    do {
      if (targets.size() == limits::branch_targets ||
          ++c_.spent.branch_targets > limits::module_branch_targets)
        return cursor_.fail(directive.position,
                            fmt::format("more than {} branch targets in one list or {} in one file",
                                        limits::branch_targets, limits::module_branch_targets));
      if (!cursor_.at(TokenKind::identifier)) return cursor_.expected("a label as branch target");
      const Token name = cursor_.take();
      c_.labels.use(
          {LabelUse::In::target_list, list, static_cast<uint32_t>(targets.size()), name.text, name.position});
      targets.push_back(0);
    } while (cursor_.accept(','));
    return cursor_.expect(';', "or ',' after a branch target");
  }

  static constexpr std::size_t kLongestMnemonic = 4096;

  struct Indirect {
    uint32_t instruction;
    uint32_t list;
  };

  Context& c_;
  Cursor& cursor_;
  Entry& entry_;
  bool after_label_ = false;  // set between a label and the next statement
  std::vector<std::vector<uint32_t>> lists_;
  std::vector<Indirect> indirect_;
  std::vector<ResolvedLabel> resolved_;
};

}  // namespace

bool parse_body(Context& context) { return Body(context).parse(); }

}  // namespace turnstile::ptx
