// SPDX-License-Identifier: Apache-2.0
#include "cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "checker/rules.h"
#include "model/launch/nearest_name.h"

namespace turnstile::cli {

Exit explain_rule(const std::string& id, const Terminal& terminal) {
  if (const Rule* rule = find_rule(id)) {
    std::istringstream lines(explain_rule_text(*rule));
    for (std::string line; std::getline(lines, line);) {
      const std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
      terminal.print(wrapped(indent, indent, line.substr(indent.size())));
    }
    return Exit::clean;
  }
  std::vector<std::string_view> known;
  for (const Rule& rule : rules()) known.push_back(rule.id);
  terminal.complain(fmt::format("--explain {}: no such rule{}", id, suggestion(id, known, "rules")));
  return Exit::unusable;
}

}  // namespace turnstile::cli
