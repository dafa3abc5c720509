// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>

#include "cli/parallel.h"
#include "cli/sweep.h"
#include "cli/sweep_grid.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

std::vector<int64_t> values(const std::string& text, const std::map<std::string, int64_t>& known = {}) {
  const auto sweep = parse_sweep(text);
  REQUIRE(sweep);
  const auto all = combinations({*sweep}, known);
  REQUIRE(all);
  std::vector<int64_t> list;
  for (const auto& setting : *all) list.push_back(setting.at(sweep->name));
  return list;
}

std::string refusal(const std::vector<std::string>& texts, const std::map<std::string, int64_t>& known = {}) {
  std::vector<Sweep> sweeps;
  for (const std::string& text : texts) {
    const auto sweep = parse_sweep(text);
    if (!sweep) return sweep.error().text();
    sweeps.push_back(*sweep);
  }
  const auto all = combinations(sweeps, known);
  return all ? "" : all.error().text();
}

SweepCell cell(int64_t k, int64_t s, Verdict verdict, FindingClass kind = FindingClass::hang) {
  SweepCell c{{{"k_tiles", k}, {"S", s}}, Report{}};
  c.report->verdict = verdict;
  if (verdict == Verdict::finding) {
    c.report->diagnostics.emplace_back();
    c.report->diagnostics.back().finding_class = kind;
  }
  return c;
}

}  // namespace

TEST_CASE("sweeps are ranges and lists") {
  CHECK(values("K=0..3") == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(values("K=0..2,64,-1..0") == std::vector<int64_t>{0, 1, 2, 64, -1, 0});
  CHECK(values("K=5") == std::vector<int64_t>{5});
  CHECK(values("K=0..-1").empty());
}

TEST_CASE("the end of a sweep may depend on the number of stages, written as on paper") {
  CHECK(values("k_tiles=0..2S+1", {{"S", 2}}) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  CHECK(values("k=S-1,S,S+1,max(2S, 3)", {{"S", 4}}) == std::vector<int64_t>{3, 4, 5, 8});
  CHECK(values("k=0x10", {}) == std::vector<int64_t>{16});
  CHECK(values("k=2(S+1)", {{"S", 4}}) == std::vector<int64_t>{10});
  CHECK(values("k=S2", {{"S2", 7}}) == std::vector<int64_t>{7});
}

TEST_CASE("a swept variable may bound another one, in either order") {
  for (const bool swapped : {false, true}) {
    std::vector<Sweep> sweeps = {*parse_sweep("S=1..2"), *parse_sweep("k=0..2S")};
    if (swapped) std::swap(sweeps[0], sweeps[1]);
    const auto all = combinations(sweeps);
    REQUIRE(all);
    CHECK(all->size() == 3 + 5);
    for (const auto& setting : *all) CHECK(setting.at("k") <= 2 * setting.at("S"));
    CHECK((*all)[0] == std::map<std::string, int64_t>{{"S", 1}, {"k", 0}});
    CHECK((*all)[1] == (swapped ? std::map<std::string, int64_t>{{"S", 2}, {"k", 0}}
                                : std::map<std::string, int64_t>{{"S", 1}, {"k", 1}}));
  }
  CHECK(refusal({"a=0..b", "b=0..a"}).find("in a circle") != std::string::npos);
}

TEST_CASE("a text that is no sweep is refused with an example") {
  for (const char* text : {"", "K", "K=", "=1", "K=1..", "K=1,,2", "K=1,", "1=2", "min=3"})
    CHECK(refusal({text}) == std::string("--sweep ") + text +
                                 ": expected NAME=FIRST..LAST or NAME=A,B,C, for example --sweep K=0..9");
}

TEST_CASE("a sweep without a value, backwards or too long says so") {
  CHECK(refusal({"K=3..1"}).find("runs backwards") != std::string::npos);
  CHECK(refusal({"K=0..99999999999"}).find("more than 10000 values") != std::string::npos);
  CHECK(refusal({"K=-9223372036854775807..9223372036854775807"}).find("more than 10000 values") !=
        std::string::npos);
  CHECK(refusal({"K=a"}).find("--sweep K=a: ") == 0);
  CHECK(refusal({"K=0..1/0"}).find("--sweep K=0..1/0: ") == 0);
}

TEST_CASE("several sweeps are combined, the last fastest, up to a limit") {
  const auto all = combinations({*parse_sweep("a=1,2"), *parse_sweep("b=7,8,9")});
  REQUIRE(all);
  REQUIRE(all->size() == 6);
  CHECK((*all)[1].at("a") == 1);
  CHECK((*all)[1].at("b") == 8);
  CHECK((*all)[5].at("a") == 2);
  CHECK(combinations({})->size() == 1);
  CHECK(refusal({"a=1", "a=1"}) == "--sweep: a is swept twice");
  CHECK(refusal({"x=1..101", "y=1..100"}).find("more than 10000 launches") != std::string::npos);
}

TEST_CASE("the overview of a sweep shows a letter a launch and where each fault begins") {
  std::vector<SweepCell> cells;
  for (int64_t k = 0; k < 6; ++k)
    for (int64_t s = 1; s <= 3; ++s)
      cells.push_back(cell(k, s, s == 3 && k >= 4 ? Verdict::finding : Verdict::clean));
  cells[3 * 5 + 0] = cell(5, 1, Verdict::inconclusive);
  cells[3 * 5 + 1].report.reset();
  const std::vector<std::string> names = {"k_tiles", "S"};
  CHECK(render_grid(names, cells, Style{}) ==
        "  k_tiles  0 1 2 3 4 5\n"
        "  S=1      . . . . . ?\n"
        "  S=2      . . . . .\n"
        "  S=3      . . . . H H\n"
        "  ?: inconclusive, first at k_tiles=5 S=1\n"
        "  H: hang, first at k_tiles=4 S=3\n");
  const auto smallest = smallest_failing(names, cells);
  REQUIRE(smallest);
  CHECK(cells[*smallest].values.at("k_tiles") == 4);
}

TEST_CASE("the smallest failing launch has the least values, findings before the undecided") {
  const std::vector<std::string> names = {"k_tiles", "S"};
  CHECK_FALSE(smallest_failing(names, {cell(0, 1, Verdict::clean)}));
  const std::vector<SweepCell> cells = {cell(0, 1, Verdict::inconclusive), cell(0, 9, Verdict::clean),
                                        cell(5, 1, Verdict::clean), cell(5, 9, Verdict::finding),
                                        cell(7, 1, Verdict::finding)};
  CHECK(*smallest_failing(names, cells) == 3);
}

TEST_CASE("work in parallel is done once each, and stops when asked") {
  std::vector<std::atomic<int>> seen(500);
  size_t last_tick = 0;
  const auto never = [] { return false; };
  CHECK(run_parallel(
            seen.size(), [&](size_t i) { ++seen[i]; }, [&](size_t n) { last_tick = n; }, never) == 500);
  CHECK(last_tick == 500);
  for (const auto& s : seen) CHECK(s == 1);
  std::atomic<size_t> begun = 0;
  const size_t done = run_parallel(
      500, [&](size_t) { ++begun; }, [](size_t) {}, [&] { return begun >= 3; });
  CHECK(done == begun);
  CHECK(done < 500);
}
