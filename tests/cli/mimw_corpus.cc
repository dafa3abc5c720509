// SPDX-License-Identifier: Apache-2.0
// Every program of tests/corpus, in every variant that has a verdict line (turnstile corpus tests/corpus).
// That nothing of the catalogue is left out is held by tests/model/mimw_corpus.cc.
#include "cli/mimw_corpus.h"

#include <doctest/doctest.h>

using namespace turnstile;
using namespace turnstile::cli;

TEST_CASE("the corpus: each buggy variant shows its classes, each safe one is clean") {
  const Result<std::vector<std::string>> files = mimw_files(TURNSTILE_SOURCE_DIR "/tests/corpus");
  REQUIRE(files);
  size_t judged = 0;
  for (const std::string& file : *files) {
    CAPTURE(file);
    const Result<MimwProgram> program = read_mimw(file);
    REQUIRE(program);
    const Result<std::vector<CorpusLine>> lines = judge_mimw(*program);
    REQUIRE(lines);
    judged += lines->size();
    for (const CorpusLine& line : *lines) {
      CAPTURE(line.variant);
      CAPTURE(line.expected);
      CAPTURE(line.got);
      CAPTURE(line.missing);
      CHECK(line.right);
    }
  }
  CHECK(judged >= 213);
}

TEST_CASE("a corpus line is wrong if a class does not show, or anything shows where nothing may") {
  // Nobody arrives on x: a deadlock, and nothing else.
  for (const auto& line : {std::pair("deadlock(x)", true),
                           {"safe", false},
                           {"race(y)", false},
                           {"deadlock(y)", false},
                           {"deadlock, stale(x)", false}}) {
    const char* verdict = line.first;
    const bool right = line.second;
    CAPTURE(verdict);
    const Result<MimwProgram> program =
        parse_mimw(std::string("mbar x:1 y:1\nagent A\n  wait x, 0\n=> ok: ") + verdict + "\n", "t.mimw");
    REQUIRE(program);
    const Result<std::vector<CorpusLine>> lines = judge_mimw(*program);
    REQUIRE(lines);
    REQUIRE(lines->size() == 1);
    CHECK(lines->front().right == right);
    CHECK(lines->front().missing.empty() == right);
  }
}
