// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/report.h"

namespace turnstile {

/// One rule that a finding can cite.
struct Rule {
  std::string_view id;     ///< "MB16", "ALG-D2": as printed, and the anchor in docs/rules.md
  std::string_view title;  ///< a few words
  FindingClass finding_class = FindingClass::hang;
  Severity severity = Severity::error;
  std::string_view why;  ///< one paragraph: what goes wrong, and why the hardware does it
  std::string_view cure;
};

/// All rules of the checker and of the faults that the simulator stops at, by topic.
std::span<const Rule> rules();

/// Case does not matter. Null if there is no such rule.
const Rule* find_rule(std::string_view id);

/// Text of `turnstile --explain ID`, without a trailing newline.
std::string explain_rule_text(const Rule& rule);

/// The whole of docs/rules.md.
std::string rules_markdown();

}  // namespace turnstile
