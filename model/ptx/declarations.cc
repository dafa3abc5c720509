// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/declarations.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "model/ptx/expression.h"
#include "model/ptx/initialiser.h"
#include "model/ptx/limits.h"

namespace turnstile::ptx {
namespace {

struct VariableType {
  std::string_view type;
  uint64_t bytes = 0;  // of one element
  uint64_t vector = 1;
  uint32_t alignment = 1;
};

// `.attribute(.managed)`, `.attribute(.unified(1, 2))`: where the host sees the variable is no business of
// ours.
bool skip_attribute(Cursor& cursor) {
  if (!cursor.expect('(', "after '.attribute'")) return false;
  uint32_t depth = 1;
  while (depth > 0) {
    if (cursor.at(TokenKind::end)) return cursor.expected("')' after the attribute");
    if (cursor.at('(') && ++depth > limits::expression_nesting)
      return cursor.fail(cursor.token().position, "attributes are nested too deep");
    if (cursor.at(')')) --depth;
    cursor.advance();
  }
  return !cursor.failed();
}

bool parse_alignment(Cursor& cursor, uint32_t& out) {
  const Position where = cursor.token().position;
  uint64_t value = 0;
  if (!parse_number(cursor, "the alignment", 1, limits::alignment, value)) return false;
  if (!std::has_single_bit(value))
    return cursor.fail(where, fmt::format("alignment {} is not a power of two", value));
  out = static_cast<uint32_t>(value);
  return true;
}

// `.ptr .global .align 1`: tells about what a pointer parameter points to, not about the parameter itself.
bool parse_pointee(Cursor& cursor) {
  for (const std::string_view space : {".global", ".const", ".shared", ".local"})
    if (cursor.accept_directive(space)) break;
  uint32_t ignored = 0;
  return !cursor.accept_directive(".align") || parse_alignment(cursor, ignored);
}

// Everything up to the name. A later `.align` would silently move the variable, so each may appear once.
bool parse_type(Cursor& cursor, bool is_parameter, VariableType& out) {
  std::optional<uint32_t> alignment;
  while (cursor.at(TokenKind::directive)) {
    const Token t = cursor.take();
    const std::string_view word = t.text.substr(1);
    if (word == "align") {
      if (alignment) return cursor.fail(t.position, "a second '.align' for the same variable");
      if (!parse_alignment(cursor, alignment.emplace())) return false;
    } else if (word == "attribute") {
      if (!skip_attribute(cursor)) return false;
    } else if (word == "v2" || word == "v4") {
      out.vector = word == "v2" ? 2 : 4;
    } else if (is_parameter && word == "ptr") {
      if (!parse_pointee(cursor)) return false;
    } else if (const std::optional<uint8_t> bits = type_bits(word); bits && *bits >= 8) {
      if (!out.type.empty()) return cursor.fail(t.position, fmt::format("a second type, {}", quoted(t.text)));
      out.type = word;
      out.bytes = *bits / 8u;
    } else {
      return cursor.fail(t.position,
                         fmt::format("{} is not a type or attribute of variables", quoted(t.text)));
    }
  }
  if (out.type.empty()) return cursor.expected("the type of the variable");
  out.alignment = alignment.value_or(static_cast<uint32_t>(out.bytes * out.vector));
  return !cursor.failed();
}

// `[4][16]`; an open first dimension is 0.
bool parse_dimensions(Cursor& cursor, std::vector<uint64_t>& out) {
  while (cursor.at('[')) {
    const Token bracket = cursor.take();
    if (out.size() >= limits::array_dimensions)
      return cursor.fail(bracket.position,
                         fmt::format("an array of more than {} dimensions", limits::array_dimensions));
    uint64_t extent = 0;
    if (!(out.empty() && cursor.at(']')) &&
        !parse_integer(cursor, "the number of elements", 1, limits::variable_bytes, extent))
      return false;
    if (!cursor.expect(']', "after the number of elements")) return false;
    out.push_back(extent);
  }
  return !cursor.failed();
}

bool parse_name(Cursor& cursor, std::string_view what, Token& out) {
  if (!cursor.at(TokenKind::identifier)) return cursor.expected(what);
  out = cursor.take();
  if (out.text.find_first_of(".:") != std::string_view::npos || out.text == "_")
    return cursor.fail(out.position, fmt::format("{} cannot be a name", quoted(out.text)));
  return !cursor.failed();
}

// One name with its dimensions and initialiser.
bool parse_variable(Cursor& cursor, const VariableType& type, StateSpace space, bool is_extern,
                    Declared& out) {
  Token name;
  if (!parse_name(cursor, "the name of the variable", name)) return false;
  out.name = name.text;
  Symbol& s = out.symbol;
  s.name = std::string(name.text);
  s.space = space;
  s.type = std::string(type.type);
  s.alignment = type.alignment;
  s.is_extern = is_extern;
  s.position = name.position;
  InitialiserShape shape;
  shape.name = name.text;
  shape.type = type.type;
  shape.element_bytes = type.bytes;
  if (!parse_dimensions(cursor, shape.extents)) return false;
  const bool is_open = !shape.extents.empty() && shape.extents.front() == 0;
  if (type.vector > 1) shape.extents.push_back(type.vector);
  uint64_t bytes = type.bytes;
  for (std::size_t i = is_open ? 1 : 0; i < shape.extents.size(); ++i) {
    if (shape.extents[i] > limits::variable_bytes / bytes)
      return cursor.fail(name.position, fmt::format("{} is larger than {} bytes", quoted(name.text),
                                                    limits::variable_bytes));
    bytes *= shape.extents[i];
  }
  s.bytes = is_open ? 0 : bytes;
  if (cursor.at('=')) {
    const Token equals = cursor.take();
    if ((space != StateSpace::global && space != StateSpace::constant) || is_extern)
      return cursor.fail(equals.position,
                         fmt::format("{} cannot have an initialiser: only .global and .const variables that "
                                     "are not .extern can",
                                     quoted(name.text)));
    if (!parse_initialiser(cursor, shape, s.initial)) return false;
    s.bytes = s.initial.size();
  } else if (is_open && !is_extern) {
    return cursor.fail(name.position,
                       fmt::format("the size of {} is open: only .extern arrays may be", quoted(name.text)));
  }
  return !cursor.failed();
}

}  // namespace

std::optional<uint8_t> type_bits(std::string_view type) {
  static constexpr std::pair<std::string_view, uint8_t> kTypes[] = {
      {"b32", 32}, {"b64", 64},   {"pred", 1}, {"f32", 32},   {"b16", 16},  {"b8", 8},     {"u32", 32},
      {"u64", 64}, {"s32", 32},   {"s64", 64}, {"f64", 64},   {"u16", 16},  {"s16", 16},   {"u8", 8},
      {"s8", 8},   {"b128", 128}, {"f16", 16}, {"f16x2", 32}, {"bf16", 16}, {"bf16x2", 32}};
  for (const auto& [name, bits] : kTypes)
    if (name == type) return bits;
  return std::nullopt;
}

std::optional<StateSpace> variable_space(const Token& token) {
  if (token.kind != TokenKind::directive) return std::nullopt;
  if (token.text == ".shared") return StateSpace::shared;
  if (token.text == ".global") return StateSpace::global;
  if (token.text == ".const") return StateSpace::constant;
  if (token.text == ".local") return StateSpace::local;
  if (token.text == ".param") return StateSpace::param;
  return std::nullopt;
}

bool parse_variables(Cursor& cursor, StateSpace space, bool is_extern, std::vector<Declared>& out) {
  VariableType type;
  if (!parse_type(cursor, false, type)) return false;
  do {
    if (!parse_variable(cursor, type, space, is_extern, out.emplace_back())) return false;
  } while (cursor.accept(','));
  return cursor.expect(';', [&] { return "after the declaration of " + quoted(out.back().name); });
}

bool declare(Cursor& cursor, Names& names, const Binding& binding) {
  const std::optional<Binding> older = names.declare(binding);
  if (!older) return true;
  return cursor.fail(binding.position, fmt::format("{} is declared twice in the same scope, first at line {}",
                                                   quoted(binding.name), older->position.line));
}

bool parse_parameters(Context& context) {
  Cursor& cursor = context.cursor;
  Entry& entry = context.entry;
  uint64_t offset = 0;
  while (!cursor.at(')')) {
    if (!entry.symbols.empty() && !cursor.expect(',', "or ')' after a parameter")) return false;
    if (!cursor.accept_directive(".param")) return cursor.expected("'.param'");
    VariableType type;
    Declared parameter;
    if (!parse_type(cursor, true, type) || !parse_variable(cursor, type, StateSpace::param, false, parameter))
      return false;
    Symbol& s = parameter.symbol;
    s.offset = (offset + s.alignment - 1) / s.alignment * s.alignment;
    offset = s.offset + s.bytes;
    if (offset > limits::parameter_bytes)
      return cursor.fail(s.position, fmt::format("the parameters of {} take more than {} bytes",
                                                 quoted(entry.name), limits::parameter_bytes));
    const Binding binding{parameter.name, NameKind::symbol, static_cast<uint32_t>(entry.symbols.size()), 1,
                          s.position};
    if (!declare(cursor, context.names, binding)) return false;
    entry.symbols.push_back(std::move(s));
  }
  entry.parameter_count = static_cast<uint32_t>(entry.symbols.size());
  cursor.advance();
  return !cursor.failed();
}

bool parse_registers(Context& context) {
  Cursor& cursor = context.cursor;
  const Token type = cursor.token();
  const std::optional<uint8_t> bits =
      type.kind == TokenKind::directive ? type_bits(type.text.substr(1)) : std::nullopt;
  if (!bits) return cursor.expected("the type of the registers, for example '.b32'");
  cursor.advance();
  std::vector<Register>& registers = context.entry.registers;
  Token name;
  do {
    if (!parse_name(cursor, "the name of a register", name)) return false;
    uint64_t count = 1;
    const bool is_range = cursor.accept('<');
    if (is_range && (!parse_number(cursor, "the number of registers", 1, limits::registers, count) ||
                     !cursor.expect('>', "after the number of registers")))
      return false;
    context.spent.registers += count;
    if (registers.size() + count > limits::registers || context.spent.registers > limits::module_registers)
      return cursor.fail(name.position, fmt::format("more than {} registers in one entry or {} in one file",
                                                    limits::registers, limits::module_registers));
    const Binding binding{name.text, is_range ? NameKind::reg_range : NameKind::reg,
                          static_cast<uint32_t>(registers.size()), static_cast<uint32_t>(count),
                          name.position};
    if (!declare(cursor, context.names, binding)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      Register& r = registers.emplace_back();
      r.name = is_range ? std::string(name.text) + std::to_string(i) : std::string(name.text);
      r.type = std::string(type.text.substr(1));
      r.bits = *bits;
    }
  } while (cursor.accept(','));
  return cursor.expect(';', [&] { return "after the registers " + quoted(name.text); });
}

}  // namespace turnstile::ptx
