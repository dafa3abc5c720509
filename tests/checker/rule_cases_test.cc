// SPDX-License-Identifier: Apache-2.0

// Every case of tests/rules is judged as it says. TURNSTILE_RULE_CASE=PART runs those whose name contains it.

#include "tests/checker/rule_cases.h"

#include <cstdlib>

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("tests/rules: each kernel is judged as its first lines say") {
  const char* part = std::getenv("TURNSTILE_RULE_CASE");
  for (const RuleCase& c : read_rule_cases()) {
    if (part != nullptr && !contains(c.name(), part)) continue;
    const std::string instead = disagreement(c);
    CHECK_MESSAGE(instead == "", c.name(), "\n  expected: ", c.expected, "\n  said: ", instead);
  }
}
