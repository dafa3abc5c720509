// SPDX-License-Identifier: Apache-2.0
#include "model/launch/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

// The only file that includes toml++, which is heavy. Built from the header, without exceptions, whatever the
// package prefers: its shared library would tie the program to it. The nesting limit bounds recursion, here
// and in toml++.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#undef TOML_EXCEPTIONS
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

namespace turnstile {
namespace {

constexpr size_t kMostDots = 64;

/// Dotted keys nest tables one level a dot, without a limit of toml++'s: a line of dots would overflow the
/// stack.
unsigned line_with_too_many_dots(std::string_view text) {
  unsigned line = 1;
  size_t dots = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    } else if (c == '.' && ++dots > kMostDots) {
      return line;
    }
  }
  return 0;
}

TomlPosition position(const toml::source_region& region) {
  return {static_cast<unsigned>(region.begin.line), static_cast<unsigned>(region.begin.column)};
}

TomlValue converted(const toml::node& node) {
  TomlValue value;
  value.at = position(node.source());
  if (const auto* table = node.as_table()) {
    value.kind = TomlValue::Kind::table;
    for (const auto& [key, member] : *table)
      value.members.push_back({std::string(key.str()), position(key.source()), converted(member)});
  } else if (const auto* array = node.as_array()) {
    value.kind = TomlValue::Kind::array;
    for (const toml::node& item : *array) value.items.push_back(converted(item));
  } else if (const auto* text = node.as_string()) {
    value.kind = TomlValue::Kind::text;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.kind = TomlValue::Kind::integer;
    value.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    value.kind = TomlValue::Kind::real;
    value.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = TomlValue::Kind::boolean;
    value.boolean = boolean->get();
  } else {
    value.kind = TomlValue::Kind::date;
  }
  return value;
}

}  // namespace

const TomlValue* TomlValue::find(std::string_view key) const {
  const auto found =
      std::lower_bound(members.begin(), members.end(), key,
                       [](const TomlMember& member, std::string_view k) { return member.key < k; });
  return found != members.end() && found->key == key ? &found->value : nullptr;
}

std::string_view kind_name(TomlValue::Kind kind) {
  switch (kind) {
    case TomlValue::Kind::integer:
      return "an integer";
    case TomlValue::Kind::real:
      return "a floating-point number";
    case TomlValue::Kind::text:
      return "a string";
    case TomlValue::Kind::boolean:
      return "a boolean";
    case TomlValue::Kind::date:
      return "a date or time";
    case TomlValue::Kind::array:
      return "an array";
    case TomlValue::Kind::table:
      return "a table";
  }
  return "a value";
}

Result<TomlValue> parse_toml(std::string_view text, const std::string& path) {
  if (const unsigned line = line_with_too_many_dots(text); line != 0)
    return fail(
        path, line, 1,
        fmt::format("more than {} dots in one line; tables are not nested that deep here", kMostDots));
  const toml::parse_result result = toml::parse(text, std::string_view(path));
  if (!result) {
    const toml::parse_error& error = result.error();
    const TomlPosition at = position(error.source());
    return fail(path, at.line, at.column, fmt::format("not TOML: {}", error.description()));
  }
  TomlValue root = converted(result.table());
  root.at = {1, 1};
  return root;
}

}  // namespace turnstile
