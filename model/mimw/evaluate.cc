// SPDX-License-Identifier: Apache-2.0
#include "model/mimw/evaluate.h"

#include <algorithm>
#include <limits>

#include "fmt/format.h"
#include "model/launch/nearest_name.h"

namespace turnstile::mimw {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

struct Computed {
  int64_t value = 0;
  const char* problem = nullptr;
};

constexpr const char* kOverflow = "the result does not fit into 64 bits";

Computed shifted(Operator op, int64_t a, int64_t b) {
  if (b < 0 || b > 62) return {0, "a shift is by 0 to 62"};
  if (op == Operator::shift_right) return {a >> b};
  Computed r;
  if (__builtin_mul_overflow(a, int64_t{1} << b, &r.value)) r.problem = kOverflow;
  return r;
}

Computed divided(Operator op, int64_t a, int64_t b) {
  if (b == 0) return {0, op == Operator::divide ? "division by zero" : "remainder of a division by zero"};
  if (a == kLeast && b == -1) return {0, kOverflow};
  return {op == Operator::divide ? a / b : a % b};
}

Computed compute(Operator op, int64_t a, int64_t b) {
  Computed r;
  switch (op) {
    case Operator::multiply:
      if (__builtin_mul_overflow(a, b, &r.value)) r.problem = kOverflow;
      return r;
    case Operator::add:
      if (__builtin_add_overflow(a, b, &r.value)) r.problem = kOverflow;
      return r;
    case Operator::subtract:
      if (__builtin_sub_overflow(a, b, &r.value)) r.problem = kOverflow;
      return r;
    case Operator::divide:
    case Operator::remainder:
      return divided(op, a, b);
    case Operator::shift_left:
    case Operator::shift_right:
      return shifted(op, a, b);
    case Operator::bit_and:
      return {a & b};
    case Operator::bit_xor:
      return {a ^ b};
    case Operator::bit_or:
      return {a | b};
    case Operator::less:
      return {a < b};
    case Operator::less_equal:
      return {a <= b};
    case Operator::greater:
      return {a > b};
    case Operator::greater_equal:
      return {a >= b};
    case Operator::equal:
      return {a == b};
    case Operator::not_equal:
      return {a != b};
    case Operator::logical_and:
      return {a != 0 && b != 0};
    case Operator::logical_or:
      return {a != 0 || b != 0};
    case Operator::negate:
    case Operator::logical_not:
      break;
  }
  return {0, "not an operator of two operands"};
}

}  // namespace

Symbols::Symbols(const SyntaxTree& tree) {
  by_expression_.reserve(tree.expressions.size());
  for (const Expr& e : tree.expressions) {
    const bool named = e.kind == Expr::Kind::name || e.kind == Expr::Kind::element;
    by_expression_.push_back(named ? of(e.name) : 0);
  }
}

uint32_t Symbols::of(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  const auto symbol = static_cast<uint32_t>(names_.size());
  by_name_.emplace(name, symbol);
  names_.emplace_back(name);
  return symbol;
}

void Names::set(uint32_t symbol, Value value) {
  if (symbol >= values_.size()) values_.resize(symbol + 1);
  values_[symbol] = std::move(value);
}

void Names::set_number(uint32_t symbol, int64_t number) {
  if (find(symbol) == nullptr) return set(symbol, {false, number, {}});
  Value& value = *values_[symbol];
  value.is_list = false;
  value.number = number;
}

void Names::erase(uint32_t symbol) {
  if (symbol < values_.size()) values_[symbol].reset();
}

std::vector<std::string_view> Names::known(const Symbols& symbols) const {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < values_.size(); ++i)
    if (values_[i]) names.push_back(symbols.name(i));
  std::sort(names.begin(), names.end());
  return names;
}

Position Evaluator::start_of(ExprId id) const {
  const Expr* e = &tree_->expressions[id];
  while (e->kind == Expr::Kind::binary) e = &tree_->expressions[e->arguments[0]];
  return e->at;
}

std::string Evaluator::unknown(std::string_view name, const Names& scope) const {
  const std::vector<std::string_view> known = scope.known(*symbols_);
  return fmt::format("there is no value named '{}'{}", name, suggestion(name, known, "names"));
}

std::optional<int64_t> Evaluator::number(ExprId id, const Names& scope) const {
  switch (tree_->expressions[id].kind) {
    case Expr::Kind::number:
      return tree_->expressions[id].number;
    case Expr::Kind::name:
      return lookup(id, scope);
    case Expr::Kind::element:
      return element(id, scope);
    case Expr::Kind::call:
      return call(id, scope);
    case Expr::Kind::unary:
      return unary(id, scope);
    case Expr::Kind::binary:
      return binary(id, scope);
  }
  return std::nullopt;
}

std::optional<int64_t> Evaluator::number_in(ExprId id, const Names& scope, int64_t least, int64_t most,
                                            std::string_view what) const {
  const std::optional<int64_t> n = number(id, scope);
  if (!n || (*n >= least && *n <= most)) return n;
  problems_->fail(start_of(id), fmt::format("{} is {} to {}, not {}", what, least, most, *n));
  return std::nullopt;
}

std::optional<Value> Evaluator::value(const Binding& binding, const Names& scope) const {
  Value v;
  v.is_list = binding.is_list;
  for (const ExprId id : binding.values) {
    const std::optional<int64_t> n = number(id, scope);
    if (!n) return std::nullopt;
    if (v.is_list)
      v.items.push_back(*n);
    else
      v.number = *n;
  }
  return v;
}

std::optional<int64_t> Evaluator::lookup(ExprId id, const Names& scope) const {
  const Expr& e = tree_->expressions[id];
  const Value* v = scope.find(symbols_->of(id));
  if (v == nullptr)
    problems_->fail(e.at, unknown(e.name, scope));
  else if (v->is_list)
    problems_->fail(
        e.at, fmt::format("'{}' is a list; take an element, '{}[i]', or len({})", e.name, e.name, e.name));
  else
    return v->number;
  return std::nullopt;
}

const Value* Evaluator::list(ExprId id, const Names& scope) const {
  const Expr& e = tree_->expressions[id];
  const Value* v = scope.find(symbols_->of(id));
  if (v == nullptr)
    problems_->fail(e.at, unknown(e.name, scope));
  else if (!v->is_list)
    problems_->fail(e.at, fmt::format("'{}' is a number, not a list", e.name));
  else
    return v;
  return nullptr;
}

std::optional<int64_t> Evaluator::element(ExprId id, const Names& scope) const {
  const Expr& e = tree_->expressions[id];
  const Value* v = list(id, scope);
  if (v == nullptr) return std::nullopt;
  const std::optional<int64_t> index = number(e.arguments[0], scope);
  if (!index) return std::nullopt;
  if (*index >= 0 && *index < static_cast<int64_t>(v->items.size()))
    return v->items[static_cast<size_t>(*index)];
  problems_->fail(
      e.at, fmt::format("'{}' has {} elements; there is no element {}", e.name, v->items.size(), *index));
  return std::nullopt;
}

std::optional<int64_t> Evaluator::call(ExprId id, const Names& scope) const {
  const Expr& e = tree_->expressions[id];
  if (e.name == "len") {
    const Value* v = list(e.arguments[0], scope);
    if (v == nullptr) return std::nullopt;
    return static_cast<int64_t>(v->items.size());
  }
  std::vector<int64_t> arguments;
  for (const ExprId argument : e.arguments) {
    const std::optional<int64_t> n = number(argument, scope);
    if (!n) return std::nullopt;
    arguments.push_back(*n);
  }
  if (e.name == "min") return *std::min_element(arguments.begin(), arguments.end());
  if (e.name == "max") return *std::max_element(arguments.begin(), arguments.end());
  if (arguments[0] < 0 || arguments[1] <= 0) {
    problems_->fail(e.at,
                    fmt::format("ceil_div({}, {}): it takes a number that is not negative and a divisor "
                                "above zero",
                                arguments[0], arguments[1]));
    return std::nullopt;
  }
  return arguments[0] / arguments[1] + (arguments[0] % arguments[1] != 0 ? 1 : 0);
}

std::optional<int64_t> Evaluator::unary(ExprId id, const Names& scope) const {
  const Expr& e = tree_->expressions[id];
  const std::optional<int64_t> n = number(e.arguments[0], scope);
  if (!n) return std::nullopt;
  if (e.op == Operator::logical_not) return *n == 0 ? 1 : 0;
  if (*n != kLeast) return -*n;
  problems_->fail(e.at, kOverflow);
  return std::nullopt;
}

std::optional<int64_t> Evaluator::binary(ExprId id, const Names& scope) const {
  const Expr& e = tree_->expressions[id];
  const std::optional<int64_t> a = number(e.arguments[0], scope);
  if (!a) return std::nullopt;
  // The other side of a decided `and` or `or` need not have a value: `i > 0 and n/i == 1`.
  if (e.op == Operator::logical_and && *a == 0) return 0;
  if (e.op == Operator::logical_or && *a != 0) return 1;
  const std::optional<int64_t> b = number(e.arguments[1], scope);
  if (!b) return std::nullopt;
  const Computed r = compute(e.op, *a, *b);
  if (r.problem == nullptr) return r.value;
  problems_->fail(e.at, r.problem);
  return std::nullopt;
}

}  // namespace turnstile::mimw
