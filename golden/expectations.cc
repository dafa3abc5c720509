// SPDX-License-Identifier: Apache-2.0
#include "golden/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <span>

#include "model/files.h"
#include "model/launch/field_reader.h"
#include "model/launch/nearest_name.h"

namespace turnstile::golden {
namespace {

constexpr uint64_t kLargestTable = uint64_t{1} << 20;
constexpr Limits kAnyNumber = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};

constexpr std::array kClasses = {
    FindingClass::hang,      FindingClass::race,     FindingClass::proxy_fence,
    FindingClass::overtaken, FindingClass::stale,    FindingClass::barrier_protocol,
    FindingClass::resource,  FindingClass::lifetime, FindingClass::register_hazard,
    FindingClass::memory};

class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), folder_(std::filesystem::path(path).parent_path()), fields_(path) {
    fields_.set_vars(&no_vars_);
    for (const FindingClass c : kClasses) class_names_.push_back(finding_class_name(c));
  }

  Result<Expectations> read(const TomlValue& document) {
    const TableView root = {&document, "the table"};
    Expectations table;
    table.path = path_;
    fields_.check_keys(root, {"launch", "mutants", "batch_mutants", "clean"});
    table.launch_path = (folder_ / fields_.text(root, "launch")).string();
    for (const TomlValue& item : fields_.tables(root, "mutants")) table.mutants.push_back(mutant(item));
    for (const TomlValue& item : fields_.tables(root, "batch_mutants"))
      table.batch_mutants.push_back(batch_mutant(item));
    for (const TomlValue& item : fields_.tables(root, "clean")) table.clean.push_back(clean_launch(item));
    if (table.mutants.empty() && table.clean.empty())
      fields_.report(document.at, "the table has neither [[mutants]] nor [[clean]] launches: nothing to do");
    if (fields_.failed()) return tl::unexpected(fields_.error());
    return table;
  }

 private:
  Mutant mutant(const TomlValue& item) {
    Mutant mutant;
    mutant.name = file_name({&item, "[[mutants]]"});
    const TableView view = {&item, fmt::format("[[mutants]] '{}'", mutant.name)};
    fields_.check_keys(view, {"name", "fault", "class", "or", "line", "others", "show", "clean"});
    mutant.fault = fields_.text(view, "fault");
    mutant.finding_class = class_of(fields_.text(view, "class"), view, "class");
    for (const std::string& word : texts(view, "or"))
      mutant.other_classes.push_back(class_of(word, view, "or"));
    mutant.line = fields_.text(view, "line");
    mutant.other_lines = texts(view, "others");
    mutant.show = launches(view, "show");
    mutant.clean = launches(view, "clean");
    if (mutant.show.empty())
      fields_.report(item.at, fmt::format("{} has no 'show': in which launch must it be found?", view.where));
    mutant.kernel_path = kernel_path(mutant.name);
    return mutant;
  }

  BatchMutant batch_mutant(const TomlValue& item) {
    BatchMutant mutant;
    mutant.name = file_name({&item, "[[batch_mutants]]"});
    const TableView view = {&item, fmt::format("[[batch_mutants]] '{}'", mutant.name)};
    fields_.check_keys(view, {"name", "fault", "line", "same", "differs"});
    mutant.fault = fields_.text(view, "fault");
    mutant.line = fields_.text(view, "line");
    mutant.kernel_path = kernel_path(mutant.name);
    return mutant;
  }

  CleanLaunch clean_launch(const TomlValue& item) {
    CleanLaunch launch;
    const TableView view = {&item, "[[clean]]"};
    fields_.check_keys(view, {"name", "set"});
    launch.name = fields_.name(view, "name");
    if (const TomlValue* set = fields_.table(view, "set", true))
      launch.set = settings(*set, "'set' in [[clean]]");
    return launch;
  }

  /// A name that may stand in a path, and was not given before.
  std::string file_name(const TableView& view) {
    std::string name = fields_.name(view, "name");
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == '-';
    };
    if (!std::all_of(name.begin(), name.end(), plain))
      fields_.report(view.find("name")->at, "'name' names a file: letters, digits, '_' and '-' only");
    if (!name.empty() && !names_.insert(name).second)
      fields_.report(view.find("name")->at, fmt::format("the name '{}' was used before", name));
    return name;
  }

  std::string kernel_path(const std::string& name) const {
    return (folder_ / "mutants" / (name + ".ptx")).string();
  }

  FindingClass class_of(const std::string& word, const TableView& view, std::string_view key) {
    const auto at = std::find(class_names_.begin(), class_names_.end(), word);
    if (at != class_names_.end()) return kClasses[static_cast<size_t>(at - class_names_.begin())];
    if (const TomlValue* value = view.find(key))
      fields_.report(value->at, fmt::format("'{}' is no class of findings{}", word,
                                            suggestion(word, class_names_, "classes")));
    return FindingClass::hang;
  }

  /// An array of texts; none if it is missing.
  std::vector<std::string> texts(const TableView& view, std::string_view key) {
    const TomlValue* value = view.find(key);
    std::vector<std::string> texts;
    if (value == nullptr) return texts;
    for (const TomlValue& item : value->items) {
      if (item.kind == TomlValue::Kind::text && !item.text.empty()) texts.push_back(item.text);
    }
    if (value->kind != TomlValue::Kind::array || texts.size() != value->items.size())
      fields_.report(value->at, fmt::format("'{}' in {} must be an array of texts", key, view.where));
    return texts;
  }

  /// One table of settings, or an array of them; none if it is missing.
  std::vector<Settings> launches(const TableView& view, std::string_view key) {
    const TomlValue* value = view.find(key);
    if (value == nullptr) return {};
    const std::string where = fmt::format("'{}' in {}", key, view.where);
    if (value->kind == TomlValue::Kind::table) return {settings(*value, where)};
    std::vector<Settings> all;
    for (const TomlValue& item : fields_.tables(view, key)) all.push_back(settings(item, where));
    return all;
  }

  Settings settings(const TomlValue& table, const std::string& where) {
    Settings settings;
    for (const TomlMember& member : table.members)
      settings[member.key] =
          fields_.value_of(member.value, fmt::format("'{}' in {}", member.key, where), kAnyNumber);
    return settings;
  }

  const std::string path_;
  const std::filesystem::path folder_;
  const std::map<std::string, int64_t> no_vars_;
  FieldReader fields_;
  std::vector<std::string_view> class_names_;
  std::set<std::string> names_;
};

}  // namespace

Result<Expectations> parse_expectations(const std::string& text, const std::string& path) {
  const Result<TomlValue> document = parse_toml(text, path);
  if (!document) return tl::unexpected(document.error());
  return Reader(path).read(*document);
}

Result<Expectations> read_expectations(const std::string& path) {
  const Result<std::string> text = read_file(path, kLargestTable);
  if (!text) return tl::unexpected(text.error());
  return parse_expectations(*text, path);
}

}  // namespace turnstile::golden
