// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace turnstile {

/// Where a value or key begins in its file, counted from 1.
struct TomlPosition {
  unsigned line = 0;
  unsigned column = 0;
};

struct TomlMember;

/// A TOML document as plain values with positions; the parser's own types stay inside toml_reader.cc.
struct TomlValue {
  enum class Kind : uint8_t { integer, real, text, boolean, date, array, table };
  Kind kind = Kind::table;
  TomlPosition at;
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::string text;
  std::vector<TomlValue> items;     ///< of an array
  std::vector<TomlMember> members;  ///< of a table, sorted by key

  const TomlValue* find(std::string_view key) const;
};

struct TomlMember {
  std::string key;
  TomlPosition at;
  TomlValue value;
};

/// "an integer", "a table", ... for messages.
std::string_view kind_name(TomlValue::Kind kind);

/// Parses a document; `path` is used for messages only.
Result<TomlValue> parse_toml(std::string_view text, const std::string& path);

}  // namespace turnstile
