// SPDX-License-Identifier: Apache-2.0
// MB17: the bytes of one phase fit its transaction count in every order in which they may land.
#include <doctest/doctest.h>

#include "checker/decide.h"
#include "model/mimw/mimw.h"
#include "sim/orchestration_run.h"

using namespace turnstile;

namespace {

/// The producer expects 600,000 bytes twice. Under every schedule of the simulator the first copy has landed
/// by then, since the producer waits for another one; nothing demands it.
Report checked(const std::string& barrier_of_the_second) {
  const std::string text =
      "mbar f:1 g:1 h:1\n"
      "agent P\n"
      "  expect_tx f, 600000\n"
      "  tma_load a -> f, 600000\n"
      "  arrive_tx g, 16\n"
      "  tma_load c -> g, 16\n"
      "  wait g, 0\n"
      "  expect_tx " +
      barrier_of_the_second +
      ", 600000\n"
      "  tma_load b -> " +
      barrier_of_the_second +
      ", 600000\n"
      "  arrive f\n"
      "  arrive h\n"
      "agent C\n"
      "  wait f, 0\n";
  const std::string last = barrier_of_the_second == "h" ? "  wait h, 0\n" : "";
  const Result<MimwProgram> program = parse_mimw(text + last, "t.mimw");
  REQUIRE(program);
  const Result<Orchestration> made = unroll(*program, "ok");
  REQUIRE(made);
  const Trace trace = sim::run_orchestration(*made, {});
  return decide(trace, {}, &*made).report;
}

}  // namespace

TEST_CASE("more than 2^20-1 bytes expected in one phase: a fault of every launch, however this run went") {
  const Report r = checked("f");
  CHECK(r.verdict == Verdict::finding);
  REQUIRE(!r.diagnostics.empty());
  CHECK(r.diagnostics.front().rule == "MB17");
  CHECK(r.diagnostics.front().where.line == 8);
}

TEST_CASE("the same bytes in the phases of two barriers are in range") {
  const Report r = checked("h");
  CHECK(r.verdict == Verdict::clean);
}
