// SPDX-License-Identifier: Apache-2.0
#include "model/launch/policy_table.h"

namespace turnstile {

std::vector<PolicySetting> read_policies(FieldReader& reader, const TableView& root) {
  std::vector<PolicySetting> settings;
  const TomlValue* value = reader.table(root, "policies", false);
  if (value == nullptr) return settings;
  const TableView table{value, "[policies]"};
  for (const TomlMember& member : value->members)
    settings.push_back(
        {member.key, reader.text(table, member.key), member.value.at.line, member.value.at.column});
  return settings;
}

Result<std::vector<PolicySetting>> read_policy_file(const std::string& path) {
  return read_document(path, "the configuration file", [](FieldReader& reader, const TableView& root) {
    reader.check_keys(root, {"policies"});
    return read_policies(reader, root);
  });
}

}  // namespace turnstile
