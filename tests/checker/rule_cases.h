// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "checker/check.h"
#include "tests/sim/machine_support.h"

/// The rule cases: tests/rules/*.cases. A case is a small kernel and what has to be said of it; its first
/// line names the rules of semantics.md that it is about. The files explain themselves in
/// tests/rules/README.md.
namespace turnstile::test {

/// What a test says about a rule. `shows`: a definition or a fact has nothing to violate; the test is where
/// it can be seen at work.
struct RuleTag {
  std::string id;
  enum class Kind { violates, obeys, shows } kind = Kind::shows;
};

struct RuleCase {
  std::string file;
  int line = 0;
  std::vector<RuleTag> tags;
  std::string title;
  std::string expected;  ///< "clean", "error race M4", "lint HB1", "inconclusive PART", "refused PART"
  Setup setup;
  std::string end;      ///< of the world: what its threads do at last
  uint32_t cancel = 0;  ///< clusters that are handed over to the first one, which alone is run; 0: all run
  uint32_t marked_line = 0;  ///< of the kernel text: where the finding has to be; 0: anywhere

  std::string name() const { return file + ":" + std::to_string(line) + " " + title; }
};

/// All of them, in the order of files and lines. Malformed: a failed test.
std::vector<RuleCase> read_rule_cases();

/// Empty if the kernel is judged as the case says; otherwise what was said instead.
std::string disagreement(const RuleCase& c);

/// Tags in a line: "[MB12 MB13 violates]".
std::vector<RuleTag> rule_tags(const std::string& text);

}  // namespace turnstile::test
