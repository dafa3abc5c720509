// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/ptx/expression.h"
#include "model/ptx/limits.h"

namespace turnstile::ptx {
namespace {

bool spend_operand(Context& context) {
  if (++context.spent.operands <= limits::module_operands) return true;
  return context.cursor.fail(context.cursor.token().position,
                             fmt::format("more than {} operands in one file", limits::module_operands));
}

bool undeclared(Context& context, const Token& name) {
  const bool is_register = name.text.starts_with('%');
  return context.cursor.fail(name.position,
                             fmt::format("{} {} is not declared{}", is_register ? "register" : "the name",
                                         quoted(name.text), context.names.suggestion(name.text)));
}

bool add_offset(Cursor& cursor, const Token& sign, Operand& out) {
  const Position where = cursor.token().position;
  Constant c;
  if (!parse_summand(cursor, c)) return false;
  if (c.kind != Constant::Kind::integer) return cursor.fail(where, "an address offset must be an integer");
  const auto old = static_cast<uint64_t>(out.offset);
  out.offset = static_cast<int64_t>(sign.is('-') ? old - c.bits : old + c.bits);
  return true;
}

bool parse_offsets(Cursor& cursor, Operand& out) {
  while (cursor.at('+') || cursor.at('-')) {
    const Token sign = cursor.take();
    if (!add_offset(cursor, sign, out)) return false;
  }
  return !cursor.failed();
}

void set_constant(const Constant& c, Operand& out) {
  out.kind = OperandKind::immediate;
  out.immediate = c.bits;
  out.is_float64 = c.kind == Constant::Kind::float64;
}

// A name that was read: register, variable, `_` or special register (PG8: decided by lookup).
bool named(Context& context, const Token& name, Operand& out) {
  Cursor& cursor = context.cursor;
  if (cursor.failed()) return false;
  if (name.text == "_") {
    out.kind = OperandKind::sink;
    return true;
  }
  const std::optional<Binding> found = context.names.find(name.text);
  if (!found) {
    if (!is_special_register(name.text)) return undeclared(context, name);
    out.kind = OperandKind::special;
    out.name = std::string(name.text);
    return true;
  }
  switch (found->kind) {
    case NameKind::reg:
    case NameKind::reg_range:
      out.kind = OperandKind::reg;
      out.reg = RegisterId{found->index};
      return true;
    case NameKind::symbol:
      out.kind = OperandKind::symbol;
      out.symbol = found->index;
      return true;
    case NameKind::module_symbol:
      out.kind = OperandKind::symbol;
      out.symbol = found->index + context.entry.parameter_count;
      return true;
    case NameKind::function:
      return cursor.fail(
          name.position,
          fmt::format("{} is a function; its address as an operand is not supported", quoted(name.text)));
  }
  return false;
}

// `WARP_SZ` alone stays a name, within an expression it is 32.
bool warp_size(Context& context, const Token& name, Operand& out) {
  Cursor& cursor = context.cursor;
  if (cursor.at(',') || cursor.at(';') || cursor.at('}') || cursor.at(')')) {
    out.kind = OperandKind::special;
    out.name = std::string(name.text);
    return true;
  }
  Constant c{Constant::Kind::integer, false, 32};
  if (!parse_constant_after_value(cursor, c)) return false;
  set_constant(c, out);
  return true;
}

// Register, variable with offset, immediate, sink or special register, possibly with a sign: all that can
// stand in a vector.
bool parse_scalar(Context& context, std::string_view what, Operand& out) {
  Cursor& cursor = context.cursor;
  if (!spend_operand(context)) return false;
  if (cursor.at('-') || cursor.at('!')) {
    const Token sign = cursor.take();
    const Token next = cursor.token();
    if (next.kind == TokenKind::identifier && next.text != "WARP_SZ") {
      cursor.advance();
      if (!named(context, next, out)) return false;
      if (out.kind != OperandKind::reg)
        return cursor.fail(sign.position, fmt::format("{} can only stand before a register or a constant",
                                                      quoted(sign.text)));
      out.negated = true;
      return true;
    }
    Constant c;
    if (!parse_constant_after_sign(cursor, sign, c)) return false;
    set_constant(c, out);
    return true;
  }
  if (cursor.at(TokenKind::identifier) && cursor.token().text == "WARP_SZ")
    return warp_size(context, cursor.take(), out);
  if (cursor.at(TokenKind::identifier)) {
    const Token name = cursor.take();
    if (!named(context, name, out)) return false;
    return out.kind != OperandKind::symbol || parse_offsets(cursor, out);
  }
  if (!begins_constant(cursor.token())) return cursor.expected(what);
  Constant c;
  if (!parse_constant(cursor, c)) return false;
  set_constant(c, out);
  return true;
}

// Behind `{`. One element is a vector too (PG17).
bool parse_vector(Context& context, Operand& out) {
  Cursor& cursor = context.cursor;
  out.kind = OperandKind::vector;
  do {
    if (out.elements.size() == limits::vector_elements)
      return cursor.fail(cursor.token().position,
                         fmt::format("a vector of more than {} elements", limits::vector_elements));
    if (!parse_scalar(context, "an element of the vector", out.elements.emplace_back())) return false;
  } while (cursor.accept(','));
  return cursor.expect('}', "or ',' after an element of the vector");
}

// Behind `[` (PG19).
bool parse_address(Context& context, Operand& out) {
  Cursor& cursor = context.cursor;
  out.kind = OperandKind::address;
  Operand& base = out.elements.emplace_back();
  const Token first = cursor.token();
  if (first.kind == TokenKind::identifier && first.text != "WARP_SZ") {
    if (!spend_operand(context)) return false;
    cursor.advance();
    if (!named(context, first, base)) return false;
    if (base.kind != OperandKind::reg && base.kind != OperandKind::symbol)
      return cursor.fail(first.position, fmt::format("{} cannot be an address", quoted(first.text)));
    if (!parse_offsets(cursor, out)) return false;
  } else {
    if (!parse_scalar(context, "a register, variable or constant as address", base)) return false;
    if (base.kind != OperandKind::immediate) return cursor.fail(first.position, "this cannot be an address");
  }
  if (cursor.accept(',')) {
    Operand coordinates;
    if (!spend_operand(context) || !cursor.expect('{', "before the coordinates of the tensor") ||
        !parse_vector(context, coordinates))
      return false;
    out.elements.push_back(std::move(coordinates));
  }
  return cursor.expect(']', "after the address");
}

bool parse_list(Context& context, Operand& out) {
  Cursor& cursor = context.cursor;
  out.kind = OperandKind::vector;
  if (!cursor.expect('(', "in this call")) return false;
  if (cursor.accept(')')) return !cursor.failed();
  do {
    if (out.elements.size() == limits::vector_elements)
      return cursor.fail(cursor.token().position,
                         fmt::format("more than {} arguments", limits::vector_elements));
    if (!parse_scalar(context, "an argument of the call", out.elements.emplace_back())) return false;
  } while (cursor.accept(','));
  return cursor.expect(')', "or ',' after an argument of the call");
}

constexpr std::array<std::string_view, 7> kVectors = {"tid",       "ntid",          "ctaid",         "nctaid",
                                                      "clusterid", "cluster_ctaid", "cluster_nctaid"};
constexpr std::array<std::string_view, 30> kScalars = {"laneid",
                                                       "warpid",
                                                       "nwarpid",
                                                       "smid",
                                                       "nsmid",
                                                       "gridid",
                                                       "is_explicit_cluster",
                                                       "cluster_ctarank",
                                                       "cluster_nctarank",
                                                       "lanemask_eq",
                                                       "lanemask_le",
                                                       "lanemask_lt",
                                                       "lanemask_ge",
                                                       "lanemask_gt",
                                                       "clock",
                                                       "clock_hi",
                                                       "clock64",
                                                       "globaltimer",
                                                       "globaltimer_lo",
                                                       "globaltimer_hi",
                                                       "total_smem_size",
                                                       "aggr_smem_size",
                                                       "dynamic_smem_size",
                                                       "current_graph_exec",
                                                       "reserved_smem_offset_begin",
                                                       "reserved_smem_offset_end",
                                                       "reserved_smem_offset_cap",
                                                       "reserved_smem_offset_0",
                                                       "reserved_smem_offset_1",
                                                       "nclusterid"};

bool numbered(std::string_view name, std::string_view prefix, int highest) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  if (name.empty() || name.size() > 2 || (name.size() == 2 && name[0] == '0')) return false;
  int value = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  return value <= highest;
}

}  // namespace

bool is_special_register(std::string_view name) {
  if (!name.starts_with('%')) return false;
  name.remove_prefix(1);
  const std::size_t dot = name.find('.');
  const std::string_view base = name.substr(0, dot);
  if (std::find(kVectors.begin(), kVectors.end(), base) != kVectors.end() || base == "nclusterid") {
    const std::string_view component =
        dot == std::string_view::npos ? std::string_view("x") : name.substr(dot + 1);
    return component == "x" || component == "y" || component == "z" || component == "w";
  }
  if (dot != std::string_view::npos) return false;
  if (std::find(kScalars.begin(), kScalars.end(), base) != kScalars.end()) return true;
  if (base.starts_with("pm") && base.ends_with("_64"))
    return numbered(base.substr(0, base.size() - 3), "pm", 7);
  return numbered(base, "pm", 7) || numbered(base, "envreg", 31);
}

bool parse_operand(Context& context, std::string_view mnemonic, Operand& out) {
  Cursor& cursor = context.cursor;
  if (cursor.at('[') || cursor.at('{')) {
    if (!spend_operand(context)) return false;
    return cursor.take().is('[') ? parse_address(context, out) : parse_vector(context, out);
  }
  const bool is_name = cursor.at(TokenKind::identifier);
  if (!is_name && !begins_constant(cursor.token()))
    return cursor.expected(fmt::format("an operand of {}", quoted(mnemonic)));
  if (!parse_scalar(context, "an operand", out)) return false;
  const bool can_pair = is_name && (out.kind == OperandKind::reg || out.kind == OperandKind::sink);
  if (!can_pair || !cursor.accept('|')) return !cursor.failed();
  Operand pair;
  pair.kind = OperandKind::paired;
  pair.elements.resize(2);
  pair.elements[0] = std::move(out);
  const Token second = cursor.token();
  if (!parse_scalar(context, "a register or '_' after '|'", pair.elements[1])) return false;
  const OperandKind kind = pair.elements[1].kind;
  if (kind != OperandKind::reg && kind != OperandKind::sink)
    return cursor.fail(second.position, "only a register or '_' can stand behind '|'");
  out = std::move(pair);
  return true;
}

bool parse_call(Context& context, std::vector<Operand>& out) {
  Cursor& cursor = context.cursor;
  out.resize(3);
  for (Operand& o : out) o.kind = OperandKind::vector;
  if (cursor.at('(') &&
      (!parse_list(context, out[0]) || !cursor.expect(',', "after the results of the call")))
    return false;
  if (!cursor.at(TokenKind::identifier)) return cursor.expected("the name of the function to call");
  const Token callee = cursor.take();
  const std::optional<Binding> found = context.names.find(callee.text);
  if (!found) return undeclared(context, callee);
  if (found->kind != NameKind::function)
    return cursor.fail(
        callee.position,
        fmt::format("{} is not a function: calls through a pointer are not supported", quoted(callee.text)));
  out[1].kind = OperandKind::special;
  out[1].name = std::string(callee.text);
  return !cursor.accept(',') || parse_list(context, out[2]);
}

}  // namespace turnstile::ptx
