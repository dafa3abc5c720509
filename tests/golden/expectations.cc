// SPDX-License-Identifier: Apache-2.0

// Tables of mutants come from files that people write: each slip is one line with a position.

#include "golden/expectations.h"

#include <doctest/doctest.h>

using namespace turnstile;

namespace {

const std::string kGood = R"toml(launch = "k.toml"
[[mutants]]
name = "late"
fault = "too late"
class = "hang"
or = ["race", "stale"]
line = "wait(a)"
others = ["wait(b)"]
show = [{ K = 1 }, { K = 2, M = 7 }]
clean = { K = 0 }
[[clean]]
name = "one"
set = { K = 1 }
)toml";

/// kGood with one text replaced by another.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_refused(const std::string& text, const std::string& message) {
  const auto table = golden::parse_expectations(text, "t/table.toml");
  REQUIRE_FALSE(table);
  const std::string said = table.error().text();
  CHECK_MESSAGE(said.find(message) != std::string::npos, said);
  CHECK(said.starts_with("t/table.toml:"));
}

}  // namespace

TEST_CASE("a table of mutants is read as it was written") {
  const auto table = golden::parse_expectations(kGood, "t/table.toml");
  REQUIRE(table);
  CHECK(table->launch_path == "t/k.toml");
  REQUIRE(table->mutants.size() == 1);
  const golden::Mutant& mutant = table->mutants[0];
  CHECK(mutant.kernel_path == "t/mutants/late.ptx");
  CHECK(mutant.finding_class == FindingClass::hang);
  CHECK(mutant.other_classes == std::vector{FindingClass::race, FindingClass::stale});
  CHECK(mutant.line == "wait(a)");
  CHECK(mutant.other_lines == std::vector<std::string>{"wait(b)"});
  CHECK(mutant.show == std::vector<golden::Settings>{{{"K", 1}}, {{"K", 2}, {"M", 7}}});
  CHECK(mutant.clean == std::vector<golden::Settings>{{{"K", 0}}});
  REQUIRE(table->clean.size() == 1);
  CHECK(table->clean[0].name == "one");
  CHECK(table->clean[0].set == golden::Settings{{"K", 1}});
}

TEST_CASE("slips in a table of mutants are named with their place") {
  check_refused(changed("\"hang\"", "\"hangs\""), "'hangs' is no class of findings; did you mean 'hang'?");
  check_refused(changed("\"stale\"", "\"stall\""), "'stall' is no class of findings");
  check_refused(changed("fault =", "failt ="), "unknown key 'failt'");
  check_refused(changed("launch =", "launches ="), "unknown key 'launches'");
  check_refused(changed("line = \"wait(a)\"\n", ""), "lacks the key 'line'");
  check_refused(changed("line = \"wait(a)\"", "line = \"\""), "'line' in [[mutants]] 'late' is empty");
  check_refused(changed("[\"wait(b)\"]", "\"wait(b)\""), "must be an array of texts");
  check_refused(changed("[\"wait(b)\"]", "[\"wait(b)\", 3]"), "must be an array of texts");
  check_refused(changed("[\"wait(b)\"]", "[\"\"]"), "must be an array of texts");
  check_refused(changed("show = [{ K = 1 }, { K = 2, M = 7 }]\n", ""), "has no 'show'");
  check_refused(changed("[{ K = 1 }, { K = 2, M = 7 }]", "[]"), "has no 'show'");
  check_refused(changed("{ K = 0 }", "{ K = 0.5 }"), "'K' in 'clean' in [[mutants]] 'late'");
  check_refused(changed("{ K = 0 }", "3"), "'clean'");
  check_refused(changed("\"late\"", "\"../late\""), "letters, digits");
  check_refused(kGood + kGood.substr(kGood.find("[[mutants]]")), "the name 'late' was used before");
  check_refused("launch = \"k.toml\"\n", "nothing to do");
  check_refused("mutants = 3\n", "");
  check_refused("[[mutants]]\nname = \n", "");
}
