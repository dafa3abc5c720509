// SPDX-License-Identifier: Apache-2.0
// What docs/tlx-listing.md shows is what its commands print: each line of a block, in this order, though a
// block may leave lines out.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

using namespace turnstile;

namespace {

struct Example {
  std::vector<std::string> arguments;
  std::vector<std::string> shown;
};

std::vector<Example> examples_of(const std::string& page) {
  const std::string prompt = "$ turnstile ";
  std::vector<Example> examples;
  bool inside = false;
  for (const std::string& line : test::lines(page)) {
    if (line.starts_with("```")) {
      inside = false;
    } else if (line.starts_with(prompt)) {
      inside = true;
      std::istringstream words(line.substr(prompt.size()));
      Example& e = examples.emplace_back();
      for (std::string word; words >> word;)
        e.arguments.push_back(word.starts_with("tests/") ? TURNSTILE_SOURCE_DIR "/" + word : word);
    } else if (inside && !line.empty()) {
      examples.back().shown.push_back(line);
    }
  }
  return examples;
}

}  // namespace

TEST_CASE("docs/tlx-listing.md shows what its commands print") {
  const std::vector<Example> examples = examples_of(test::slurp(TURNSTILE_SOURCE_DIR "/docs/tlx-listing.md"));
  CHECK(examples.size() == 6);
  for (const Example& e : examples) {
    const golden::Finished run = test::run_turnstile(e.arguments);
    std::string printed = run.output + run.errors;
    const std::string root = TURNSTILE_SOURCE_DIR "/";
    for (size_t i = printed.find(root); i != std::string::npos; i = printed.find(root, i))
      printed.erase(i, root.size());
    INFO(printed);
    size_t at = 0;
    for (const std::string& line : e.shown) {
      CAPTURE(line);
      const size_t found = printed.find(line, at);
      CHECK(found != std::string::npos);
      if (found != std::string::npos) at = found + line.size();
    }
  }
}
