// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/files.h"
#include "model/launch/toml_reader.h"
#include "model/result.h"

namespace turnstile {

/// A table of a launch file and what messages call it: "[launch]", "[[buffers]] 'A'".
struct TableView {
  const TomlValue* table;
  std::string where;

  const TomlValue* find(std::string_view key) const { return table->find(key); }
  bool has(std::string_view key) const { return find(key) != nullptr; }
};

struct Limits {
  int64_t low;
  int64_t high;
};

/// Reads typed fields. The first error is kept and all later ones dropped, so that readers need not stop at
/// each field: after an error every read gives a harmless value within its limits, and the caller asks
/// `failed()` at the end.
class FieldReader {
 public:
  explicit FieldReader(std::string file) : file_(std::move(file)) {}

  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  void report(TomlPosition at, std::string message);

  /// The variables of expressions; set once, before any number is read.
  void set_vars(const std::map<std::string, int64_t>* vars) { vars_ = vars; }

  /// Every key of the table must be one of `known`.
  void check_keys(const TableView& table, std::initializer_list<std::string_view> known);

  /// A sub-table; nullptr if it is missing, which is an error where it is `required`.
  const TomlValue* table(const TableView& parent, std::string_view key, bool required);
  /// The tables of [[key]]; none if it is missing.
  std::span<const TomlValue> tables(const TableView& parent, std::string_view key);

  std::string text(const TableView& table, std::string_view key);
  std::string text_or(const TableView& table, std::string_view key, std::string_view otherwise);
  /// A text of 1 to 64 bytes without control characters or quotes.
  std::string name(const TableView& table, std::string_view key);
  bool flag_or(const TableView& table, std::string_view key, bool otherwise);

  /// An integer or an expression within limits.
  int64_t number(const TableView& table, std::string_view key, Limits limits);
  int64_t number_or(const TableView& table, std::string_view key, Limits limits, int64_t otherwise);
  std::vector<int64_t> numbers(const TableView& table, std::string_view key, Limits limits, size_t least,
                               size_t most);
  int64_t value_of(const TomlValue& value, const std::string& what, Limits limits);

  /// Index into `names` of the text at `key`; `otherwise` if the key is missing.
  size_t choice_or(const TableView& table, std::string_view key, std::span<const std::string_view> names,
                   size_t otherwise);

 private:
  const TomlValue* required(const TableView& table, std::string_view key);
  bool expect(const TomlValue& value, TomlValue::Kind kind, const std::string& what);

  std::string file_;
  std::optional<Error> error_;
  const std::map<std::string, int64_t>* vars_ = nullptr;
};

constexpr size_t longest_document = size_t{1} << 20;  ///< bytes of a TOML file

/// What `read(FieldReader&, const TableView&)` makes of a TOML file, which messages call `what`.
template <typename Read>
auto read_document(const std::string& path, const std::string& what, const Read& read)
    -> Result<decltype(read(std::declval<FieldReader&>(), std::declval<const TableView&>()))> {
  const Result<std::string> text = read_file(path, longest_document);
  if (!text) return tl::unexpected<Error>(text.error());
  const Result<TomlValue> root = parse_toml(*text, path);
  if (!root) return tl::unexpected<Error>(root.error());
  FieldReader reader(path);
  auto made = read(reader, TableView{&*root, what});
  if (reader.failed()) return tl::unexpected<Error>(reader.error());
  return made;
}

}  // namespace turnstile
