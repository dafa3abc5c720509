// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <regex>
#include <set>

#include "cli/rules.h"
#include "tests/cli/program.h"

using namespace turnstile;

TEST_CASE("every rule that the sources cite as a string can be explained") {
  const std::regex cited("\"((?:MB|NX|N|BK|PX|WG|RG|BS|ALG-D|M|W)[0-9]+[ab]?)\"");
  std::set<std::string> ids;
  for (const char* folder : {"checker", "sim", "model"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(TURNSTILE_SOURCE_DIR) + "/" + folder)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      const std::string text = test::slurp(entry.path().string());
      for (std::sregex_iterator at(text.begin(), text.end(), cited), end; at != end; ++at)
        ids.insert((*at)[1]);
    }
  CHECK(ids.size() > 10);
  for (const std::string& id : ids) CHECK_MESSAGE(cli::find_rule(id) != nullptr, "no text for rule " << id);
}

TEST_CASE("a rule is explained in either case, an unknown one is answered with the known ones") {
  const golden::Finished known = test::turnstile({"check", "--explain", "px1"});
  CHECK(known.exit_code == 0);
  CHECK(known.output.starts_with("PX1: generic write, then asynchronous read: proxy fence\n"));
  const golden::Finished unknown = test::turnstile({"check", "--explain", "ZZ9"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.errors.find("no such rule; there are ALG-D1 ") != std::string::npos);
}
