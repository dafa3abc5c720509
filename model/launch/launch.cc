// SPDX-License-Identifier: Apache-2.0
#include "model/launch/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/files.h"
#include "model/launch/expression.h"
#include "model/launch/field_reader.h"
#include "model/launch/launch_parts.h"
#include "model/launch/nearest_name.h"
#include "model/launch/policy_table.h"
#include "model/launch/toml_reader.h"

// The order of reading: the chosen case, then the variables (file, then case, then --set), then everything
// that is computed from them.

namespace turnstile {
namespace {

constexpr int64_t kMostDynamicShared = 227 * 1024;  // sm_90 and sm_100: the largest of the GPUs we know
constexpr std::string_view kFamilyNames[] = {"zeros", "ones", "iota", "normal", "wide", "special"};

struct Case {
  std::string name;
  std::optional<Family> fill;
  const TomlValue* set = nullptr;
};

bool is_case_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::vector<Case> read_cases(FieldReader& reader, const TableView& root) {
  std::vector<Case> cases;
  for (const TomlValue& item : reader.tables(root, "cases")) {
    const TableView table{&item, "[[cases]]"};
    reader.check_keys(table, {"name", "fill", "set"});
    Case one;
    one.name = reader.name(table, "name");
    if (!reader.failed() && !is_case_name(one.name))
      reader.report(
          item.at,
          fmt::format(
              "the case name '{}' may hold only letters, digits, '_', '-' and '.'; files are named after it",
              one.name));
    for (const Case& other : cases)
      if (other.name == one.name) reader.report(item.at, fmt::format("there are two cases '{}'", one.name));
    if (table.has("fill")) one.fill = static_cast<Family>(reader.choice_or(table, "fill", kFamilyNames, 0));
    one.set = reader.table(table, "set", false);
    cases.push_back(std::move(one));
  }
  return cases;
}

Case chosen_case(FieldReader& reader, const TableView& root, const std::vector<Case>& cases,
                 const std::string& name) {
  if (name.empty()) return {};
  std::vector<std::string_view> names;
  for (const Case& one : cases) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  const TomlValue* value = root.find("cases");
  reader.report(value == nullptr ? TomlPosition{} : value->at,
                fmt::format("no case is named '{}'{}", name, suggestion(name, names, "cases")));
  return {};
}

int64_t plain_integer(FieldReader& reader, const TomlMember& member, std::string_view where) {
  if (member.value.kind != TomlValue::Kind::integer)
    reader.report(member.value.at, fmt::format("'{}' in {} is {}; variables are integers", member.key, where,
                                               kind_name(member.value.kind)));
  return member.value.integer;
}

std::map<std::string, int64_t> read_vars(FieldReader& reader, const TableView& root,
                                         const std::vector<Case>& cases, const Case& chosen,
                                         const LaunchOverrides& overrides) {
  std::map<std::string, int64_t> vars;
  std::vector<std::string_view> names;
  if (const TomlValue* table = reader.table(root, "vars", false)) {
    for (const TomlMember& member : table->members) {
      if (!is_variable_name(member.key))
        reader.report(member.at, fmt::format("'{}' cannot be a variable: names are letters, digits and '_', "
                                             "and not min, max, ceil_div, round_up",
                                             member.key));
      vars[member.key] = plain_integer(reader, member, "[vars]");
      names.push_back(member.key);
    }
  }
  // All cases are checked, so that a wrong one shows before it is chosen.
  for (const Case& one : cases) {
    if (one.set == nullptr) continue;
    const std::string where = fmt::format("'set' of the case '{}'", one.name);
    for (const TomlMember& member : one.set->members) {
      const int64_t value = plain_integer(reader, member, where);
      if (!vars.contains(member.key))
        reader.report(member.at, fmt::format("unknown variable '{}' in {}{}", member.key, where,
                                             suggestion(member.key, names, "variables")));
      if (one.set == chosen.set) vars[member.key] = value;
    }
  }
  for (const auto& [name, value] : overrides.vars) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      reader.report({}, fmt::format("--set {}={}: the launch file has no variable '{}' in [vars]{}", name,
                                    value, name, suggestion(name, names, "variables")));
    vars[name] = value;
  }
  return vars;
}

/// Up to three numbers, the missing ones 1.
Dim3 read_dim3(FieldReader& reader, const TableView& table, std::string_view key,
               const std::array<int64_t, 3>& most) {
  Dim3 result{1, 1, 1};
  const std::vector<int64_t> numbers = reader.numbers(table, key, {1, most[0]}, 1, 3);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > most[i])
      reader.report(table.find(key)->at, fmt::format("'{}[{}]' in {} is {}; it must be 1 to {}", key, i,
                                                     table.where, numbers[i], most[i]));
    result[i] = static_cast<uint32_t>(numbers[i]);
  }
  return result;
}

void read_geometry(FieldReader& reader, const TableView& root, Launch& launch) {
  const TomlValue* value = reader.table(root, "launch", true);
  if (value == nullptr) return;
  const TableView table{value, "[launch]"};
  reader.check_keys(table, {"grid", "block", "cluster", "dynamic_shared_memory", "registers_per_thread",
                            "clusters_to_cancel"});
  launch.grid = read_dim3(reader, table, "grid", {0x7FFFFFFF, 65535, 65535});
  launch.block = read_dim3(reader, table, "block", {1024, 1024, 64});
  if (const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
      threads > 1024 && !reader.failed())
    reader.report(table.find("block")->at,
                  fmt::format("'block' has {} threads; a CTA has at most 1024", threads));
  if (table.has("cluster")) {
    launch.cluster = read_dim3(reader, table, "cluster", {16, 16, 16});
    const TomlPosition at = table.find("cluster")->at;
    if (const uint32_t ctas = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]; ctas > 16)
      reader.report(at, fmt::format("'cluster' has {} CTAs; at most 16 are possible", ctas));
    for (size_t i = 0; i < 3; ++i)
      if (launch.grid[i] % launch.cluster[i] != 0)
        reader.report(at, fmt::format("'cluster[{}]' = {} does not divide 'grid[{}]' = {}", i,
                                      launch.cluster[i], i, launch.grid[i]));
  }
  launch.dynamic_shared_bytes =
      static_cast<uint64_t>(reader.number_or(table, "dynamic_shared_memory", {0, kMostDynamicShared}, 0));
  if (table.has("registers_per_thread"))
    launch.registers_per_thread =
        static_cast<uint32_t>(reader.number(table, "registers_per_thread", {1, 256}));
  if (table.has("clusters_to_cancel"))
    for (const int64_t n : reader.numbers(table, "clusters_to_cancel", {0, 0x7FFFFFFF}, 1, 4096))
      launch.clusters_to_cancel.push_back(static_cast<uint32_t>(n));
}

void read_shared_names(FieldReader& reader, const TableView& root, Launch& launch) {
  for (const TomlValue& item : reader.tables(root, "shared")) {
    TableView table{&item, "[[shared]]"};
    SharedName range;
    range.name = reader.name(table, "name");
    table.where = fmt::format("[[shared]] '{}'", range.name);
    reader.check_keys(table, {"name", "offset", "bytes", "stages"});
    range.offset = static_cast<uint64_t>(reader.number(table, "offset", {0, kMostDynamicShared}));
    range.bytes = static_cast<uint64_t>(reader.number(table, "bytes", {1, kMostDynamicShared}));
    range.stages = static_cast<uint32_t>(reader.number_or(table, "stages", {1, kMostDynamicShared}, 1));
    const uint64_t end = range.offset + range.bytes * range.stages;
    if (end > launch.dynamic_shared_bytes)
      reader.report(item.at, fmt::format("{} ends at byte {}, but dynamic_shared_memory is {}", table.where,
                                         end, launch.dynamic_shared_bytes));
    for (const SharedName& other : launch.shared_names)
      if (other.name == range.name)
        reader.report(item.at, fmt::format("there are two [[shared]] ranges '{}'", range.name));
    launch.shared_names.push_back(std::move(range));
  }
}

void read_roles(FieldReader& reader, const TableView& root, Launch& launch) {
  const TomlValue* roles = reader.table(root, "roles", false);
  if (roles == nullptr || reader.failed()) return;
  const TableView table{roles, "[roles]"};
  const int64_t warps = (int64_t{launch.threads()} + 31) / 32;
  for (const TomlMember& member : roles->members) {
    for (const int64_t warp :
         reader.numbers(table, member.key, {0, warps - 1}, 1, static_cast<size_t>(warps))) {
      const auto [entry, is_new] = launch.warp_roles.emplace(static_cast<uint32_t>(warp), member.key);
      if (!is_new && !reader.failed())
        reader.report(member.at,
                      fmt::format("warp {} has two roles, '{}' and '{}'", warp, entry->second, member.key));
    }
  }
}

Launch build(FieldReader& reader, const TableView& root, const std::string& path,
             const LaunchOverrides& overrides) {
  Launch launch;
  reader.check_keys(root, {"kernel", "entry", "source", "vars", "launch", "buffers", "tensor_maps", "params",
                           "shared", "roles", "policies", "cases"});
  launch.path = path;
  launch.kernel_path = path_beside(path, reader.text(root, "kernel"));
  if (!overrides.kernel_path.empty()) launch.kernel_path = overrides.kernel_path;
  launch.entry = reader.text(root, "entry");
  if (root.has("source")) launch.source_path = path_beside(path, reader.text(root, "source"));

  launch.policies = read_policies(reader, root);

  const std::vector<Case> cases = read_cases(reader, root);
  const Case chosen = chosen_case(reader, root, cases, overrides.case_name);
  launch.case_name = chosen.name;
  launch.vars = read_vars(reader, root, cases, chosen, overrides);
  if (reader.failed()) return launch;  // the rest would only repeat what is wrong with the variables

  reader.set_vars(&launch.vars);
  read_geometry(reader, root, launch);
  read_buffers(reader, root, overrides.fill ? overrides.fill : chosen.fill, launch);
  read_tensor_maps(reader, root, launch);
  read_parameters(reader, root, launch);
  read_shared_names(reader, root, launch);
  read_roles(reader, root, launch);
  return launch;
}

}  // namespace

std::string path_beside(const std::string& file, const std::string& name) {
  const size_t slash = file.rfind('/');
  if (name.empty() || name[0] == '/' || slash == std::string::npos) return name;
  return file.substr(0, slash + 1) + name;
}

Result<Launch> parse_launch(const std::string& text, const std::string& path,
                            const LaunchOverrides& overrides) {
  const Result<TomlValue> root = parse_toml(text, path);
  if (!root) return tl::unexpected<Error>(root.error());
  FieldReader reader(path);
  Launch launch = build(reader, {&*root, "the launch file"}, path, overrides);
  if (reader.failed()) return tl::unexpected<Error>(reader.error());
  return launch;
}

Result<Launch> read_launch(const std::string& path, const LaunchOverrides& overrides) {
  const Result<std::string> text = read_file(path, longest_document);
  if (!text) return tl::unexpected<Error>(text.error());
  return parse_launch(*text, path, overrides);
}

Result<std::map<std::string, int64_t>> launch_variables(const std::string& path,
                                                        const LaunchOverrides& overrides) {
  return read_document(path, "the launch file", [&](FieldReader& reader, const TableView& root) {
    const std::vector<Case> cases = read_cases(reader, root);
    return read_vars(reader, root, cases, chosen_case(reader, root, cases, overrides.case_name), overrides);
  });
}

Result<std::vector<std::string>> list_cases(const std::string& path) {
  return read_document(path, "the launch file", [](FieldReader& reader, const TableView& root) {
    std::vector<std::string> names;
    for (const Case& one : read_cases(reader, root)) names.push_back(one.name);
    return names;
  });
}

}  // namespace turnstile
