// SPDX-License-Identifier: Apache-2.0
#include "fmt/format.h"
#include "model/mimw/cursor.h"
#include "model/mimw/mimw.h"

namespace turnstile::mimw {
namespace {

struct Binary {
  std::string_view text;
  Operator op;
  unsigned level;  ///< higher binds tighter
};

constexpr unsigned kOr = 1, kAnd = 2, kNot = 3, kCompare = 4, kUnary = 11;

// `&` binds tighter than `^`, and both tighter than comparisons (orchestration_bugs.md 2.1).
constexpr Binary kBinary[] = {
    {"or", Operator::logical_or, kOr},  {"and", Operator::logical_and, kAnd},
    {"<", Operator::less, kCompare},    {"<=", Operator::less_equal, kCompare},
    {">", Operator::greater, kCompare}, {">=", Operator::greater_equal, kCompare},
    {"==", Operator::equal, kCompare},  {"!=", Operator::not_equal, kCompare},
    {"|", Operator::bit_or, 5},         {"^", Operator::bit_xor, 6},
    {"&", Operator::bit_and, 7},        {"<<", Operator::shift_left, 8},
    {">>", Operator::shift_right, 8},   {"+", Operator::add, 9},
    {"-", Operator::subtract, 9},       {"*", Operator::multiply, 10},
    {"/", Operator::divide, 10},        {"%", Operator::remainder, 10},
};

const Binary* binary_at(const Cursor& c) {
  const Token* token = c.peek();
  if (token == nullptr) return nullptr;
  for (const Binary& b : kBinary)
    if (token->text == b.text) return &b;
  return nullptr;
}

std::optional<ExprId> parse_level(Cursor& c, unsigned level, unsigned depth);

std::optional<ExprId> parse_unary(Cursor& c, unsigned level, unsigned depth) {
  if (depth > mimw_max_depth) {
    c.fail(fmt::format("the expression nests deeper than {}", mimw_max_depth));
    return std::nullopt;
  }
  const Position at = c.position();
  const bool negate = c.at("-");
  if (!negate && !(level <= kNot && c.at("not"))) return parse_primary(c, depth);
  c.take();
  const std::optional<ExprId> operand = parse_level(c, negate ? kUnary : kNot, depth + 1);
  if (!operand) return std::nullopt;
  Expr e;
  e.kind = Expr::Kind::unary;
  e.op = negate ? Operator::negate : Operator::logical_not;
  e.at = at;
  e.arguments = {*operand};
  return c.add(std::move(e));
}

std::optional<ExprId> parse_level(Cursor& c, unsigned level, unsigned depth) {
  std::optional<ExprId> left = parse_unary(c, level, depth);
  bool compared = false;
  while (left) {
    const Binary* b = binary_at(c);
    if (b == nullptr || b->level < level) return left;
    if (b->level == kCompare && compared) {
      c.fail("comparisons cannot be chained; join them with 'and'");
      return std::nullopt;
    }
    compared = b->level == kCompare;
    const Position at = c.position();
    c.take();
    const std::optional<ExprId> right = parse_level(c, b->level + 1, depth + 1);
    if (!right) return std::nullopt;
    Expr e;
    e.kind = Expr::Kind::binary;
    e.op = b->op;
    e.at = at;
    e.arguments = {*left, *right};
    left = c.add(std::move(e));
  }
  return left;
}

bool is_function(std::string_view name) {
  return name == "min" || name == "max" || name == "ceil_div" || name == "len";
}

std::optional<ExprId> parse_call(Cursor& c, Expr e, unsigned depth) {
  c.take();  // (
  e.kind = Expr::Kind::call;
  if (e.name == "len") {  // of a list, which is no value by itself
    Expr list;
    list.at = c.position();
    list.kind = Expr::Kind::name;
    const std::optional<std::string> name = c.word("the name of a list");
    if (!name) return std::nullopt;
    list.name = *name;
    e.arguments = {c.add(std::move(list))};
  } else {
    do {
      const std::optional<ExprId> argument = parse_level(c, kOr, depth + 1);
      if (!argument) return std::nullopt;
      e.arguments.push_back(*argument);
    } while (c.accept(","));
    if (e.arguments.size() < 2 || (e.name == "ceil_div" && e.arguments.size() != 2)) {
      c.fail(e.at, fmt::format("{} takes {} two arguments", e.name, e.name == "ceil_div" ? "" : "at least"));
      return std::nullopt;
    }
  }
  if (!c.expect(")", "at the end of the arguments")) return std::nullopt;
  return c.add(std::move(e));
}

}  // namespace

std::optional<ExprId> parse_expression(Cursor& c) { return parse_level(c, kOr, 0); }

std::optional<ExprId> parse_primary(Cursor& c, unsigned depth) {
  Expr e;
  e.at = c.position();
  if (c.at_number()) {
    e.kind = Expr::Kind::number;
    e.number = c.take().number;
    return c.add(std::move(e));
  }
  if (c.at_word() && !c.at("and") && !c.at("or") && !c.at("not")) {
    e.kind = Expr::Kind::name;
    e.name = std::string(c.take().text);
    if (c.at("(")) {
      if (is_function(e.name)) return parse_call(c, std::move(e), depth);
      c.fail(e.at,
             fmt::format("there is no function '{}'; known functions: min, max, ceil_div, len", e.name));
      return std::nullopt;
    }
    if (c.accept("[")) {
      const std::optional<ExprId> index = parse_level(c, kOr, depth + 1);
      if (!index || !c.expect("]", "after the index")) return std::nullopt;
      e.kind = Expr::Kind::element;
      e.arguments = {*index};
    }
    return c.add(std::move(e));
  }
  if (c.accept("(")) {
    const std::optional<ExprId> inner = parse_level(c, kOr, depth + 1);
    if (!inner || !c.expect(")", "after the expression")) return std::nullopt;
    return inner;
  }
  c.fail(fmt::format("expected a number or a name, read {}{}", c.read(),
                     c.at("[") ? "; a list is given a name by let" : ""));
  return std::nullopt;
}

std::optional<std::string> parse_dotted(Cursor& c, std::string_view what) {
  std::optional<std::string> name = c.word(what);
  while (name && c.accept(".")) {
    const std::optional<std::string> part = c.word("the rest of the name after '.'");
    if (!part) return std::nullopt;
    *name += '.';
    *name += *part;
  }
  return name;
}

bool parse_cta_prefix(Cursor& c, std::optional<ExprId>& cta) {
  if (!c.accept("@")) return !c.failed();
  c.note_cta();
  // Not a general primary: `@k[0].x` would read like an indexed object.
  if (c.at_word()) {
    Expr e;
    e.at = c.position();
    e.kind = Expr::Kind::name;
    e.name = std::string(c.take().text);
    cta = c.add(std::move(e));
  } else {
    cta = parse_primary(c);
  }
  return cta.has_value();
}

bool parse_index(Cursor& c, std::optional<ExprId>& index) {
  if (!c.accept("[")) return !c.failed();
  index = parse_expression(c);
  return index && c.expect("]", "after the index");
}

std::optional<Ref> parse_ref(Cursor& c, std::string_view what) {
  Ref ref;
  ref.at = c.position();
  const size_t mark = c.mark();
  if (!parse_cta_prefix(c, ref.cta)) return std::nullopt;
  if (ref.cta && !c.expect(".", "between the CTA and the name")) return std::nullopt;
  const std::optional<std::string> name = parse_dotted(c, what);
  if (!name) return std::nullopt;
  ref.name = *name;
  if (!parse_index(c, ref.index)) return std::nullopt;
  ref.text = c.text_since(mark);
  if (c.accept("#")) {
    ref.tag = parse_primary(c);
    if (!ref.tag) return std::nullopt;
  }
  return ref;
}

}  // namespace turnstile::mimw
