// SPDX-License-Identifier: Apache-2.0
// docs/mimw.md is what a newcomer writes from: its programs run, its table of operations is complete.
#include "model/mimw/operations.h"
#include "model/mimw/verdict_classes.h"
#include "tests/model/mimw_support.h"

namespace turnstile {
namespace {

std::string reference() { return text_of(std::string(TURNSTILE_SOURCE_DIR) + "/docs/mimw.md"); }

std::vector<std::string> programs_of(const std::string& text) {
  std::vector<std::string> programs;
  constexpr std::string_view open = "```mimw\n", close = "```";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const size_t end = text.find(close, at);
    REQUIRE(end != std::string::npos);
    programs.push_back(text.substr(at, end - at));
    at = end + close.size();
  }
  return programs;
}

}  // namespace

TEST_CASE("every program of docs/mimw.md unrolls in every variant") {
  const std::vector<std::string> programs = programs_of(reference());
  CHECK(programs.size() >= 6);
  for (const std::string& text : programs) {
    CAPTURE(text);
    const MimwProgram program = program_of(text);
    for (const std::string& variant : variants(program)) {
      CAPTURE(variant);
      const Result<Orchestration> made = unroll(program, variant);
      if (!made) FAIL_CHECK(made.error().text());
    }
  }
}

TEST_CASE("the ring of docs/mimw.md has about 25 lines") {
  const std::vector<std::string> programs = programs_of(reference());
  REQUIRE_FALSE(programs.empty());
  CHECK(std::count(programs[0].begin(), programs[0].end(), '\n') <= 27);
  const MimwProgram program = program_of(programs[0]);
  CHECK(program.name == "ring");
  CHECK(unroll(program, "ok", {{"S", 4}, {"NC", 3}, {"n", 16}}).has_value());
}

TEST_CASE("docs/mimw.md names every operation and every verdict class") {
  const std::string text = reference();
  for (const mimw::OperationInfo& o : mimw::operations()) {
    CAPTURE(o.name);
    const std::string name(o.name);
    CHECK((text.find("`" + name + "`") != std::string::npos ||
           text.find("`" + name + " ") != std::string::npos));
    CHECK(&mimw::info(o.operation) == &o);
  }
  for (const std::string_view c : mimw::verdict_classes()) {
    CAPTURE(c);
    const std::string name(c);
    CHECK((text.find("`" + name + "`") != std::string::npos ||
           text.find("`" + name + "(") != std::string::npos));
  }
}

}  // namespace turnstile
