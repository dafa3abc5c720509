// SPDX-License-Identifier: Apache-2.0

// Which test violates a rule of semantics.md and which obeys it. The list of rules is tests/rules/rules.tsv:
// id, title, and why there is no such test where there is none. The tests say themselves which rules they are
// about:
// "[MB12 violates]", "[MB12 MB13 obeys]", or "[M1 shows]" for what has nothing to violate, in the head of a
// rule case (tests/rules/*.cases), in the source of a test, or in a program of the corpus.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/checker/rule_cases.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

const std::filesystem::path kSource = TURNSTILE_SOURCE_DIR;

struct Rule {
  std::string id, title, reason;
  std::map<RuleTag::Kind, std::map<std::string, int>> tests;  ///< by file: how many

  bool has(RuleTag::Kind kind) const { return tests.count(kind) != 0; }
  bool complete() const { return has(RuleTag::Kind::violates) && has(RuleTag::Kind::obeys); }
};

std::vector<Rule> read_rules() {
  std::vector<Rule> out;
  std::ifstream in(kSource / "tests/rules/rules.tsv");
  REQUIRE(in.good());
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::stringstream fields(line);
    Rule r;
    std::getline(fields, r.id, '\t');
    std::getline(fields, r.title, '\t');
    std::getline(fields, r.reason, '\t');
    out.push_back(std::move(r));
  }
  return out;
}

/// Calls visit(file, tag) for every tag of every test.
template <typename Visit>
void for_each_tag(Visit visit) {
  for (const RuleCase& c : read_rule_cases())
    for (const RuleTag& tag : c.tags) visit("rules/" + c.file, tag);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / "tests"))
    if (entry.path().extension() == ".cc" || entry.path().extension() == ".mimw")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      const bool comment = line.find_first_not_of(' ') == line.find("//");
      if (file.extension() == ".cc" && comment) continue;  // a test, not what is said about one
      for (const RuleTag& tag : rule_tags(line))
        visit(std::filesystem::relative(file, kSource / "tests").generic_string(), tag);
    }
  }
}

std::string cell(const Rule& r, RuleTag::Kind kind) {
  std::string out;
  const auto found = r.tests.find(kind);
  if (found == r.tests.end()) return out;
  for (const auto& [file, count] : found->second)
    out += (out.empty() ? "" : ", ") + file + (count > 1 ? " (" + std::to_string(count) + ")" : "");
  return out;
}

std::string page(const std::vector<Rule>& rules) {
  size_t both = 0;
  for (const Rule& r : rules) both += r.complete() ? 1 : 0;
  std::string out =
      "<!-- Made by tests/checker/rule_coverage.cc from tests/rules/rules.tsv and the tags of the tests; do "
      "not edit. -->\n"
      "# Which tests hold which rule\n\n"
      "Every rule of the rulebook (semantics.md), the tests that violate it, those that obey it, those that "
      "show it "
      "at work where there is nothing to violate, and why there is no test where there is none. Files are "
      "those "
      "of tests/; a number says how many of their tests. " +
      std::to_string(rules.size()) + " rules; " + std::to_string(both) +
      " are violated and obeyed, the others have a reason.\n\n"
      "| rule | what | violated | obeyed | shown | why not both |\n|---|---|---|---|---|---|\n";
  for (const Rule& r : rules)
    out += "| " + r.id + " | " + r.title + " | " + cell(r, RuleTag::Kind::violates) + " | " +
           cell(r, RuleTag::Kind::obeys) + " | " + cell(r, RuleTag::Kind::shows) + " | " + r.reason + " |\n";
  return out;
}

}  // namespace

TEST_CASE("every rule is violated and obeyed by some test, or it is said why not") {
  std::vector<Rule> rules = read_rules();
  std::map<std::string, Rule*> by_id;
  for (Rule& r : rules) CHECK_MESSAGE(by_id.emplace(r.id, &r).second, "twice in rules.tsv: ", r.id);
  CHECK(rules.size() == 367);  // semantics.md; a rule that is added there is added here
  for_each_tag([&](const std::string& file, const RuleTag& tag) {
    const auto rule = by_id.find(tag.id);
    CHECK_MESSAGE(rule != by_id.end(), file, " names a rule that is not in rules.tsv: ", tag.id);
    if (rule != by_id.end()) ++rule->second->tests[tag.kind][file];
  });
  for (const Rule& r : rules) {
    CHECK_MESSAGE(!r.title.empty(), r.id, " has no title");
    if (r.reason.rfind("shown:", 0) == 0) CHECK_MESSAGE(!r.tests.empty(), r.id, ": no test shows it");
    if (r.complete())
      CHECK_MESSAGE(r.reason.empty(), r.id, " is violated and obeyed: its reason is out of date");
    else
      CHECK_MESSAGE(!r.reason.empty(), r.id, " ", r.title, ": no test ",
                    !r.has(RuleTag::Kind::violates) ? "violates" : "obeys", " it, and no reason is given");
  }
  const std::string text = page(rules);
  const std::filesystem::path path = kSource / "docs/rule-coverage.md";
  if (std::getenv("TURNSTILE_WRITE_DOCS") != nullptr) std::ofstream(path) << text;
  std::stringstream committed;
  committed << std::ifstream(path).rdbuf();
  CHECK_MESSAGE(committed.str() == text,
                "docs/rule-coverage.md is out of date: TURNSTILE_WRITE_DOCS=1 build/tests/test_checker "
                "-tc='every rule is*'");
}
