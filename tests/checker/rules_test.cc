// SPDX-License-Identifier: Apache-2.0
#include "checker/rules.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

using namespace turnstile;

TEST_CASE("every rule is explained, once") {
  std::set<std::string> ids;
  for (const Rule& r : rules()) {
    CHECK(ids.insert(std::string(r.id)).second);
    CHECK(r.title.size() > 3);
    CHECK(r.why.size() > 20);
    CHECK(!r.cure.empty());
    CHECK(find_rule(r.id) == &r);
  }
  CHECK(find_rule("alg-d2") != nullptr);
  CHECK(find_rule("XYZ1") == nullptr);
  CHECK(explain_rule_text(*find_rule("PX1")).find("fence.proxy.async") != std::string::npos);
}

TEST_CASE("every rule that the checker's code cites is in the table") {
  const std::regex cited("rule = \"([A-Za-z0-9.-]+)\"");
  size_t found = 0;
  for (const auto& file : std::filesystem::directory_iterator(TURNSTILE_SOURCE_DIR "/checker")) {
    if (file.path().extension() != ".cc") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator m(source.begin(), source.end(), cited), end; m != end; ++m, ++found) {
      CAPTURE((*m)[1].str());
      CHECK(find_rule((*m)[1].str()) != nullptr);
    }
  }
  CHECK(found > 15);
}

TEST_CASE("docs/rules.md is the table, with every rule; TURNSTILE_WRITE_DOCS=1 writes it") {
  const std::string page = rules_markdown(), path = TURNSTILE_SOURCE_DIR "/docs/rules.md";
  if (std::getenv("TURNSTILE_WRITE_DOCS") != nullptr) std::ofstream(path) << page;
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  CHECK(written.str() == page);
  for (const Rule& r : rules()) CHECK(page.find("\n## " + std::string(r.id) + "\n") != std::string::npos);
}
