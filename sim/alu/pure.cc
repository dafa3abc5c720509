// SPDX-License-Identifier: Apache-2.0
#include "sim/alu/pure.h"

#include <algorithm>
#include <string_view>

#include "sim/alu/forms.h"
#include "sim/alu/modifiers.h"

namespace turnstile::sim {

namespace {

// A mnemonic is found by scanning the rows of its root: its words must fill the groups of the row, its types
// must be listed, the number of operands must fit. Rows of one root do not overlap, so the first match is the
// only one.

/// Calls `use` with each piece of `text` between separators until it returns false.
template <typename Use>
bool for_each_piece(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end != 0 && !use(text.substr(0, end))) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

bool group_holds(std::string_view group, std::string_view word) {
  return !for_each_piece(group, '|', [&](std::string_view choice) { return choice != word; });
}

/// Each group is filled by exactly one word (at most one if optional), and all words are used up.
bool words_match(std::string_view groups, const Modifiers& modifiers) {
  size_t used = 0;
  const bool filled = for_each_piece(groups, ' ', [&](std::string_view group) {
    const bool optional = group.back() == '?';
    if (optional) group.remove_suffix(1);
    size_t hits = 0;
    for (std::string_view word : modifiers.words)
      if (group_holds(group, word)) ++hits;
    used += hits;
    return hits == 1 || (optional && hits == 0);
  });
  return filled && used == modifiers.words.size();
}

bool is_integer(const TypeSpec& type) {
  const bool integer = type.kind == TypeKind::unsigned_integer || type.kind == TypeKind::signed_integer;
  return integer && type.lanes == 1;
}

/// One type against a name of the table, INT being the class of plain integers.
bool type_matches(std::string_view pattern, const TypeSpec& type) {
  return pattern == type.name || (pattern == "INT" && is_integer(type));
}

bool types_match(std::string_view list, const Modifiers& modifiers) {
  return !for_each_piece(list, ' ', [&](std::string_view combination) {
    size_t position = 0;
    const bool same = for_each_piece(combination, '.', [&](std::string_view pattern) {
      if (position >= modifiers.types.size()) return false;
      return type_matches(pattern, *modifiers.types[position++]);
    });
    return !(same && position == modifiers.types.size());
  });
}

struct Width {
  uint8_t bits = 0;
  bool is_float = false;
};

/// Meaning of one letter of Form::operands.
Width width_of(char letter, const Modifiers& modifiers) {
  const TypeSpec& first = *modifiers.types.front();
  const TypeSpec& last = *modifiers.types.back();
  switch (letter) {
    case 't':
      return {first.register_bits, first.kind == TypeKind::floating && first.lanes == 1};
    case 's':
      return {last.register_bits, last.kind == TypeKind::floating && last.lanes == 1};
    case 'w':
      return {static_cast<uint8_t>(2 * first.register_bits), false};
    case 'p':
      return {1, false};
    default:
      return {32, false};
  }
}

bool reads_carry(const Form& form) { return form.operands.back() == 'c'; }

/// Of those that are operands.
size_t source_count(const Form& form, const Modifiers& modifiers) {
  const std::string_view sources = form.operands.substr(2);
  if (reads_carry(form)) return sources.size() - 1;
  if (sources.back() != '+') return sources.size();
  return sources.size() - (modifiers.config.bool_op == BoolOp::none ? 1 : 0);
}

void fill(const Form& form, const Modifiers& modifiers, PureOp& op) {
  op = PureOp{};
  op.run = form.run;
  op.run_second = form.run_second;
  op.config = modifiers.config;
  op.reads_carry = reads_carry(form);
  op.writes_carry = modifiers.has("cc");
  op.inputs = static_cast<uint8_t>(source_count(form, modifiers) + (op.reads_carry ? 1 : 0));
  for (size_t i = 0; i < op.inputs; ++i) {
    const char letter = form.operands[2 + i];
    const Width width = width_of(letter == '+' || letter == 'c' ? 'p' : letter, modifiers);
    op.input_bits[i] = width.bits;
    op.input_is_float[i] = width.is_float;
  }
  op.result_bits = width_of(form.operands.front(), modifiers).bits;
  op.result_is_signed = modifiers.types.front()->kind == TypeKind::signed_integer;
  op.is_float = form.flags.floating;
  op.commutative = form.flags.commutative;
  const bool rounded =
      modifiers.has("rn") || modifiers.has("rz") || modifiers.has("rm") || modifiers.has("rp");
  op.may_contract = form.flags.contracts && !rounded;
}

bool refused(const Refusal& refusal, std::string_view root, const Modifiers& modifiers) {
  if (refusal.root != root) return false;
  const auto is_word = [&](const TypeSpec* type) { return type->name == refusal.word; };
  return refusal.word.empty() || modifiers.has(refusal.word) ||
         std::any_of(modifiers.types.begin(), modifiers.types.end(), is_word);
}

std::string count_text(const ptx::Instruction& instruction, size_t wanted) {
  const size_t given = instruction.operands.empty() ? 0 : instruction.operands.size() - 1;
  return "`" + instruction.mnemonic + "` takes " + std::to_string(wanted) + " source operands, not " +
         std::to_string(given);
}

}  // namespace

PureLookup find_pure(const ptx::Instruction& instruction, PureOp& out, std::string& why) {
  if (instruction.modifiers.empty()) return PureLookup::not_pure;
  const std::string_view root = instruction.root();
  const Modifiers modifiers = decode_modifiers(instruction);
  bool ours = false;
  why.clear();
  for (const Form& form : pure_forms()) {
    if (form.root != root) continue;
    ours = true;
    if (modifiers.types.empty() || !words_match(form.modifiers, modifiers)) continue;
    if (!types_match(form.types, modifiers)) continue;
    // min and max have rows that differ in the number of operands only, so a misfit is not final.
    const size_t sources = source_count(form, modifiers);
    if (instruction.operands.size() != sources + 1) {
      why = count_text(instruction, sources);
      continue;
    }
    const bool paired = instruction.operands.front().kind == ptx::OperandKind::paired;
    if (paired && (form.run_second == nullptr || reads_carry(form) || modifiers.has("cc"))) {
      why = "`" + instruction.mnemonic + "` has one destination, not a pair";
      return PureLookup::unsupported;
    }
    fill(form, modifiers, out);
    why.clear();
    return PureLookup::found;
  }
  for (const Refusal& refusal : pure_refusals()) {
    if (!refused(refusal, root, modifiers)) continue;
    why = "`" + instruction.mnemonic + "`: " + std::string(refusal.reason);
    return PureLookup::unsupported;
  }
  if (!ours) return PureLookup::not_pure;
  if (why.empty())
    why = "`" + instruction.mnemonic + "` is no form of `" + std::string(root) + "` that is executed";
  return PureLookup::unsupported;
}

}  // namespace turnstile::sim
