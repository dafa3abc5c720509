// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "cli/sweep.h"

using namespace turnstile::cli;

TEST_CASE("sweeps are ranges and lists") {
  CHECK(parse_sweep("K=0..3")->values == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(parse_sweep("K=0..2,64,-1..0")->values == std::vector<int64_t>{0, 1, 2, 64, -1, 0});
  CHECK(parse_sweep("K=5")->name == "K");
}

TEST_CASE("a sweep that is no sweep, or too long, is refused with an example") {
  for (const char* text : {"", "K", "K=", "=1", "K=a", "K=1..", "K=3..1", "K=1,,2", "K=1,",
                           "K=0..99999999999", "K=0..1x", "K=-9223372036854775808..9223372036854775807"}) {
    const auto sweep = parse_sweep(text);
    REQUIRE_FALSE(sweep);
    CHECK(sweep.error().text() ==
          std::string("--sweep ") + text +
              ": expected NAME=FIRST..LAST or NAME=A,B,C, for example --sweep K=0..9");
  }
}

TEST_CASE("several sweeps are combined, the last fastest, up to a limit") {
  const auto all = combinations({{"a", {1, 2}}, {"b", {7, 8, 9}}});
  REQUIRE(all);
  REQUIRE(all->size() == 6);
  CHECK((*all)[1].at("a") == 1);
  CHECK((*all)[1].at("b") == 8);
  CHECK((*all)[5].at("a") == 2);
  CHECK(combinations({})->size() == 1);
  CHECK_FALSE(combinations({{"a", {1}}, {"a", {2}}}));
  const Sweep hundred_one{"x", std::vector<int64_t>(101, 0)};
  CHECK_FALSE(combinations({hundred_one, {"y", std::vector<int64_t>(100, 0)}}));
}
