// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/mimw/problems.h"
#include "model/mimw/syntax.h"

namespace turnstile::mimw {

/// What a name stands for.
struct Value {
  bool is_list = false;
  int64_t number = 0;
  std::vector<int64_t> items;
};

/// Numbers for the names of one text, so that unrolled loops need not compare strings.
class Symbols {
 public:
  explicit Symbols(const SyntaxTree& tree);

  uint32_t of(std::string_view name);
  uint32_t of(ExprId expression) const { return by_expression_[expression]; }
  const std::string& name(uint32_t symbol) const { return names_[symbol]; }
  size_t size() const { return names_.size(); }

 private:
  std::map<std::string, uint32_t, std::less<>> by_name_;
  std::vector<std::string> names_;
  std::vector<uint32_t> by_expression_;
};

/// The names that are known at one place, by symbol.
class Names {
 public:
  const Value* find(uint32_t symbol) const {
    return symbol < values_.size() && values_[symbol] ? &*values_[symbol] : nullptr;
  }
  void set(uint32_t symbol, Value value);
  void set_number(uint32_t symbol, int64_t number);
  void erase(uint32_t symbol);
  /// For the hints of errors.
  std::vector<std::string_view> known(const Symbols& symbols) const;

 private:
  std::vector<std::optional<Value>> values_;
};

/// Value of an expression: 64-bit integers; comparisons and logic give 0 or 1. Overflow, division by zero, an
/// unknown name and an index outside of its list are errors; nothing wraps.
class Evaluator {
 public:
  Evaluator(const SyntaxTree& tree, Symbols& symbols, Problems& problems)
      : tree_(&tree), symbols_(&symbols), problems_(&problems) {}

  std::optional<int64_t> number(ExprId id, const Names& scope) const;
  /// As number(); outside of [least, most] it is an error that names `what`.
  std::optional<int64_t> number_in(ExprId id, const Names& scope, int64_t least, int64_t most,
                                   std::string_view what) const;
  /// A number or a list.
  std::optional<Value> value(const Binding& binding, const Names& scope) const;
  Position start_of(ExprId id) const;

 private:
  std::optional<int64_t> lookup(ExprId id, const Names& scope) const;
  std::optional<int64_t> element(ExprId id, const Names& scope) const;
  std::optional<int64_t> call(ExprId id, const Names& scope) const;
  std::optional<int64_t> unary(ExprId id, const Names& scope) const;
  std::optional<int64_t> binary(ExprId id, const Names& scope) const;
  const Value* list(ExprId id, const Names& scope) const;
  std::string unknown(std::string_view name, const Names& scope) const;

  const SyntaxTree* tree_;
  Symbols* symbols_;
  Problems* problems_;
};

}  // namespace turnstile::mimw
