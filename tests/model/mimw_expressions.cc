// SPDX-License-Identifier: Apache-2.0
// Expressions, scopes, branches and loops: seen through the value that `set v, ..` is given.
#include "tests/model/mimw_support.h"

namespace turnstile {
namespace {

/// The values that agent A sets, in order.
std::vector<int64_t> set_values(const Orchestration& o) {
  std::vector<int64_t> all;
  for (const Event& e : o.strands[0].events)
    if (e.kind == EventKind::signal_set) all.push_back(static_cast<int64_t>(e.bytes));
  return all;
}

int64_t value_of(const std::string& expression) {
  const std::vector<int64_t> values =
      set_values(unrolled("let a=6 b=3 l=[5,7,11]\nvar v=0\nagent A\n  set v, " + expression + "\n"));
  REQUIRE(values.size() == 1);
  return values[0];
}

}  // namespace

TEST_CASE("precedence: as orchestration_bugs.md 2.1 has it") {
  CHECK(value_of("7/2&1") == 1);    // (7/2)&1
  CHECK(value_of("7/2&1^1") == 0);  // & binds tighter than ^
  CHECK(value_of("1^3&1") == 0);    // 1^(3&1)
  CHECK(value_of("1|6^2&3") == (1 | (6 ^ (2 & 3))));
  CHECK(value_of("5+7%2") == 6);
  CHECK(value_of("2+3*4-1") == 13);
  CHECK(value_of("8-3-2") == 3);
  CHECK(value_of("a&1 == 0") == 1);  // & binds tighter than ==
  CHECK(value_of("1+1 == 2 and not 0") == 1);
  CHECK(value_of("0 and 0 or 1") == 1);  // and binds tighter than or
  CHECK(value_of("not 1 == 2") == 1);    // not (1 == 2)
  CHECK(value_of("1<<2+1") == 8);        // + binds tighter than <<
  CHECK(value_of("-3+5") == 2);
  CHECK(value_of("(-a)/4") == -1);  // truncates
  CHECK(value_of("0x10") == 16);
  CHECK(value_of("a >= 6") == 1);
  CHECK(value_of("a != 6") == 0);
}

TEST_CASE("lists and functions") {
  CHECK(value_of("l[2]") == 11);
  CHECK(value_of("l[a-b-2]") == 7);
  CHECK(value_of("len(l)") == 3);
  CHECK(value_of("min(a, b, 2)") == 2);
  CHECK(value_of("max(a, b)") == 6);
  CHECK(value_of("ceil_div(7, b)") == 3);
  CHECK(value_of("ceil_div(6, 3)*2") == 4);
}

TEST_CASE("and, or do not look at their other side once decided") {
  CHECK(value_of("b == 0 and a/(b-3)") == 0);
  CHECK(value_of("b == 3 or a/(b-3)") == 1);
}

TEST_CASE("loops: i < n ends before n, a..b includes b, an empty range does nothing") {
  const std::string text = R"(
var v=0
agent A
  for i < 3
    set v, i
  for i in 1..3
    set v, 10+i
  for i in 1..0
    set v, 99
  for i < 0-5
    set v, 99
)";
  CHECK(set_values(unrolled(text)) == std::vector<int64_t>{0, 1, 2, 11, 12, 13});
}

TEST_CASE("a let in a branch lasts: the phase of trap C3") {
  const std::string text = R"(
let work=[0,1,1,0,1]
var v=0
agent A
  let p=0
  for t < len(work)
    if work[t]
      let p=p^1
    set v, p
)";
  CHECK(set_values(unrolled(text)) == std::vector<int64_t>{0, 1, 0, 0, 1});
}

TEST_CASE("a loop gives its variable back") {
  const std::string text = "let i=7\nvar v=0\nagent A\n  for i < 2\n    set v, i\n  set v, i\n";
  CHECK(set_values(unrolled(text)) == std::vector<int64_t>{0, 1, 7});
  CHECK(mimw_error("var v=0\nagent A\n  for j < 2\n    nop\n  set v, j\n")
            .find("t.mimw:5:10: there is no value named 'j'") == 0);
}

TEST_CASE("if, else if, else") {
  const std::string text = R"(
var v=0
agent A
  for i < 4
    if i == 0
      set v, 100
    else if i == 1
      set v, 101
    else if i == 2
      set v, 102
    else
      set v, 103
)";
  CHECK(set_values(unrolled(text)) == std::vector<int64_t>{100, 101, 102, 103});
}

TEST_CASE("marks choose lines with all that is under them") {
  const std::string text = R"(
var v=0
agent A
  [x] for i < 2
    set v, i
  [x|y] set v, 5
  [y] if 1
    [z] set v, 6
    set v, 7
=> x|y|z: safe
)";
  CHECK(set_values(unrolled(text, "x")) == std::vector<int64_t>{0, 1, 5});
  CHECK(set_values(unrolled(text, "y")) == std::vector<int64_t>{5, 7});
  CHECK(set_values(unrolled(text, "z")).empty());
}

TEST_CASE("me is the position in the list, cta the rank") {
  const Orchestration o = unrolled(R"(
var v=0
agent A B C x64
  set v, me
agent D @1..2
  set v, 10+cta
agent E[3] @3
  set v, 20+me
)");
  REQUIRE(o.strands.size() == 8);
  const auto value = [&](size_t s) { return o.strands[s].events[0].bytes; };
  CHECK(value(0) == 0);
  CHECK(value(2) == 2);
  CHECK(value(3) == 11);
  CHECK(value(4) == 12);
  CHECK(value(7) == 22);
  CHECK(o.tables.cluster_ctas == 4);
  CHECK(o.tables.agents[2].warp == 4);  // two warps each
  CHECK(o.tables.agents[3].role == "D@1");
  CHECK(o.tables.agents[4].cta == 2);
  CHECK(o.tables.agents[7].role == "E[2]");
  CHECK(o.tables.warps == 3 * 2 + 2 + 3);
}

TEST_CASE("parameters: lists of values, ranges, defaults, values from outside") {
  const std::string text = R"(
let base=2
param S = base, base+1, 8
param n = 0..3, 2*S+1
[big] param k = 100
let both=S*10+n
var v=0
agent A
  set v, both
=> small|big: safe
)";
  const MimwProgram program = program_of(text);
  const Result<std::vector<MimwParameter>> p = parameters(program, "small");
  REQUIRE(p.has_value());
  REQUIRE(p->size() == 2);
  CHECK((*p)[0].name == "S");
  CHECK((*p)[0].values == std::vector<int64_t>{2, 3, 8});
  CHECK((*p)[0].line == 3);
  CHECK((*p)[1].values == std::vector<int64_t>{0, 1, 2, 3, 5});
  CHECK(parameters(program, "big")->size() == 3);
  CHECK(set_values(unrolled(text, "small")) == std::vector<int64_t>{20});
  CHECK(set_values(unrolled(text, "small", {{"S", 7}, {"n", 5}})) == std::vector<int64_t>{75});
  CHECK(set_values(unrolled(text, "small", {{"base", 4}})) == std::vector<int64_t>{40});
  CHECK(mimw_error(text, {{"k", 1}}) ==
        "t.mimw: there is no value 'k' to set in variant 'small'; known values: S, base, both, n");
  CHECK(mimw_error("param n = 3..1\nagent A\n  nop\n") == "t.mimw:1:11: the range 3..1 is empty");
  CHECK(mimw_error("param n = 0..9223372036854775807\nagent A\n  nop\n") ==
        "t.mimw:1:11: 'n' has more than 65536 values");
}

}  // namespace turnstile
