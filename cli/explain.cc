// SPDX-License-Identifier: Apache-2.0
#include "cli/explain.h"

#include <fmt/format.h>

#include "cli/rules.h"

namespace turnstile::cli {

Exit explain_rule(const std::string& id, const Terminal& terminal) {
  if (const Rule* rule = find_rule(id)) {
    const std::string head = fmt::format("{}: {}\n", rule->id, rule->title);
    terminal.print(terminal.out().strong(head.substr(0, rule->id.size())) + head.substr(rule->id.size()) +
                   wrapped("  ", "  ", rule->text) + wrapped("  basis: ", "         ", rule->basis));
    return Exit::clean;
  }
  std::string known;
  for (const Rule& rule : all_rules()) known += (known.empty() ? "" : " ") + std::string(rule.id);
  terminal.complain(fmt::format("--explain {}: no such rule; there are {}", id, known));
  return Exit::unusable;
}

}  // namespace turnstile::cli
