// SPDX-License-Identifier: Apache-2.0
// docs/ptx-forms.tsv: what becomes of each form that the surveys counted and of the other cases of
// tests/ptx_forms. The file is made here; TURNSTILE_WRITE_FORMS=1 writes it anew.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/sim/ptx_forms.h"

namespace turnstile::test {

namespace {

/// "executes", "executes, values not predicted", "inconclusive" (what the launch cannot say) or "refused:
/// why".
std::string outcome_of(const FormCase& c) {
  const FormOutcome o = run_form(c);
  if (c.expected.rfind("refused ", 0) == 0) {
    const size_t open = o.problem.find('('), close = o.problem.find("); Turnstile never");
    REQUIRE(open != std::string::npos);
    REQUIRE(close != std::string::npos);
    return "refused: " + o.problem.substr(open + 1, close - open - 1);
  }
  if (o.problem.rfind("?: ", 0) == 0) return "inconclusive: " + o.problem.substr(3);
  if (!o.problem.empty() && o.fault_rule.empty()) return "FAILS: " + o.problem;
  return o.has_model ? "executes" : "executes, values not predicted";
}

}  // namespace

TEST_CASE("docs/ptx-forms.tsv says what becomes of every form") {
  const std::set<std::string> counted = counted_forms();
  std::map<std::string, std::string> outcomes;
  for (const FormCase& c : read_form_cases()) outcomes.try_emplace(c.form, outcome_of(c));
  std::string table = "form\tsurveys\toutcome\n";
  size_t executed = 0, refused = 0;
  for (const std::string& form : counted) {
    INFO(form);
    REQUIRE(outcomes.contains(form));
    CHECK(outcomes[form].rfind("executes", 0) == 0);
  }
  for (const auto& [form, outcome] : outcomes) {
    table += form + "\t" + (counted.contains(form) ? "yes" : "no") + "\t" + outcome + "\n";
    executed += outcome.rfind("executes", 0) == 0 ? 1 : 0;
    refused += outcome.rfind("refused", 0) == 0 ? 1 : 0;
  }
  MESSAGE(outcomes.size() << " forms, " << executed << " execute, " << refused << " are refused");
  const std::string file = TURNSTILE_SOURCE_DIR "/docs/ptx-forms.tsv";
  if (std::getenv("TURNSTILE_WRITE_FORMS") != nullptr) std::ofstream(file) << table;
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  CHECK(text.str() == table);
}

}  // namespace turnstile::test
