// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/launch/field_reader.h"
#include "model/launch/launch.h"
#include "model/result.h"

namespace turnstile {

/// [policies] of a document: names and values as they stand there; which ones there are the checker knows.
std::vector<PolicySetting> read_policies(FieldReader& reader, const TableView& root);

/// A configuration file (turnstile.toml): [policies] and nothing else.
Result<std::vector<PolicySetting>> read_policy_file(const std::string& path);

}  // namespace turnstile
