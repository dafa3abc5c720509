// SPDX-License-Identifier: Apache-2.0
#include "model/launch/field_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/launch/expression.h"
#include "model/launch/nearest_name.h"

namespace turnstile {
namespace {

constexpr size_t kLongestName = 64;  // golden/gpu_runner/plan.md

std::string quoted_place(const TableView& table, std::string_view key) {
  return fmt::format("'{}' in {}", key, table.where);
}

}  // namespace

void FieldReader::report(TomlPosition at, std::string message) {
  if (!error_) error_ = Error{file_, at.line, at.column, std::move(message)};
}

void FieldReader::check_keys(const TableView& table, std::initializer_list<std::string_view> known) {
  for (const TomlMember& member : table.table->members) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    report(member.at, fmt::format("unknown key '{}' in {}{}", member.key, table.where,
                                  suggestion(member.key, std::span(known.begin(), known.size()), "keys")));
  }
}

bool FieldReader::expect(const TomlValue& value, TomlValue::Kind kind, const std::string& what) {
  if (value.kind == kind) return true;
  report(value.at, fmt::format("{} is {}; {} was expected", what, kind_name(value.kind), kind_name(kind)));
  return false;
}

const TomlValue* FieldReader::required(const TableView& table, std::string_view key) {
  const TomlValue* value = table.find(key);
  if (value == nullptr) report(table.table->at, fmt::format("{} lacks the key '{}'", table.where, key));
  return value;
}

const TomlValue* FieldReader::table(const TableView& parent, std::string_view key, bool required_here) {
  const TomlValue* value = parent.find(key);
  if (value == nullptr) {
    if (required_here)
      report(parent.table->at, fmt::format("the table [{}] is missing from {}", key, parent.where));
    return nullptr;
  }
  return expect(*value, TomlValue::Kind::table, fmt::format("'{}'", key)) ? value : nullptr;
}

std::span<const TomlValue> FieldReader::tables(const TableView& parent, std::string_view key) {
  const TomlValue* value = parent.find(key);
  if (value == nullptr) return {};
  if (value->kind != TomlValue::Kind::array) {
    report(value->at, fmt::format("'{}' is {}; an array of tables was expected: write [[{}]]", key,
                                  kind_name(value->kind), key));
    return {};
  }
  for (const TomlValue& item : value->items)
    if (!expect(item, TomlValue::Kind::table, fmt::format("an item of '{}'", key))) return {};
  return value->items;
}

std::string FieldReader::text(const TableView& table, std::string_view key) {
  const TomlValue* value = required(table, key);
  if (value == nullptr || !expect(*value, TomlValue::Kind::text, quoted_place(table, key))) return {};
  if (value->text.empty() ||
      std::any_of(value->text.begin(), value->text.end(), [](char c) { return c >= 0 && c < ' '; }))
    report(value->at, fmt::format("{} is empty or holds control characters", quoted_place(table, key)));
  return value->text;
}

std::string FieldReader::text_or(const TableView& table, std::string_view key, std::string_view otherwise) {
  return table.has(key) ? text(table, key) : std::string(otherwise);
}

std::string FieldReader::name(const TableView& table, std::string_view key) {
  std::string value = text(table, key);
  if (value.size() > kLongestName)
    report(table.find(key)->at, fmt::format("{} is {} bytes long; names have at most {}",
                                            quoted_place(table, key), value.size(), kLongestName));
  return value;
}

bool FieldReader::flag_or(const TableView& table, std::string_view key, bool otherwise) {
  const TomlValue* value = table.find(key);
  if (value == nullptr) return otherwise;
  return expect(*value, TomlValue::Kind::boolean, quoted_place(table, key)) ? value->boolean : otherwise;
}

int64_t FieldReader::value_of(const TomlValue& value, const std::string& what, Limits limits) {
  int64_t number = 0;
  std::string origin;
  if (value.kind == TomlValue::Kind::integer) {
    number = value.integer;
  } else if (value.kind == TomlValue::Kind::text) {
    const Result<int64_t> result = evaluate(value.text, *vars_);
    if (!result) {
      // The string's opening quote stands at the value's column.
      report({value.at.line, value.at.column + result.error().column},
             fmt::format("{}: {}", what, result.error().message));
      return limits.low;
    }
    number = *result;
    origin = fmt::format(" (from \"{}\")", value.text);
  } else {
    report(value.at, fmt::format("{} is {}; an integer or an expression in quotes was expected", what,
                                 kind_name(value.kind)));
    return limits.low;
  }
  if (number < limits.low || number > limits.high) {
    report(value.at,
           fmt::format("{} is {}{}; it must be {} to {}", what, number, origin, limits.low, limits.high));
    return limits.low;
  }
  return number;
}

int64_t FieldReader::number(const TableView& table, std::string_view key, Limits limits) {
  const TomlValue* value = required(table, key);
  return value == nullptr ? limits.low : value_of(*value, quoted_place(table, key), limits);
}

int64_t FieldReader::number_or(const TableView& table, std::string_view key, Limits limits,
                               int64_t otherwise) {
  return table.has(key) ? number(table, key, limits) : otherwise;
}

std::vector<int64_t> FieldReader::numbers(const TableView& table, std::string_view key, Limits limits,
                                          size_t least, size_t most) {
  const TomlValue* value = required(table, key);
  if (value == nullptr || !expect(*value, TomlValue::Kind::array, quoted_place(table, key)))
    return std::vector<int64_t>(least, limits.low);
  const size_t count = value->items.size();
  if (count < least || count > most) {
    report(value->at, fmt::format("{} has {} numbers; {} expected", quoted_place(table, key), count,
                                  least == most ? fmt::format("{} were", least)
                                                : fmt::format("{} to {} were", least, most)));
    return std::vector<int64_t>(least, limits.low);
  }
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(value_of(value->items[i], fmt::format("'{}[{}]' in {}", key, i, table.where), limits));
  return numbers;
}

size_t FieldReader::choice_or(const TableView& table, std::string_view key,
                              std::span<const std::string_view> names, size_t otherwise) {
  if (!table.has(key)) return otherwise;
  const std::string word = text(table, key);
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == word) return i;
  report(table.find(key)->at,
         fmt::format("{} is \"{}\"{}", quoted_place(table, key), word, suggestion(word, names, "values")));
  return otherwise;
}

}  // namespace turnstile
