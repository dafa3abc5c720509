// SPDX-License-Identifier: Apache-2.0
//
// TC24: in which order do the commits of one thread arrive? PTX does not say. TLX-MMA-5 and the description
// of Triton's ttng.tc_gen5_commit promise that of issue, and flash attention as shipped rests on it: who has
// seen a later commit takes the phase of an earlier one for complete. Policy commit_order=free takes PTX at
// its word.
#include <algorithm>

#include "checker/decide.h"
#include "checker/policies.h"
#include "model/mimw/mimw.h"
#include "sim/orchestration_run.h"
#include "tests/checker/expect.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

Report decided(const std::string& text, bool in_order) {
  const Result<MimwProgram> program = parse_mimw(text, "commit_order.mimw");
  REQUIRE(program);
  Result<Orchestration> orchestration = unroll(*program, "ok");
  REQUIRE(orchestration);
  orchestration->commits_in_order = in_order;
  DecideOptions options;
  options.check.policies.commits_in_order = in_order;
  return decide(sim::run_orchestration(*orchestration), options, &*orchestration).report;
}

bool has_rule(const Report& r, const std::string& rule) {
  return std::any_of(r.diagnostics.begin(), r.diagnostics.end(),
                     [&](const Diagnostic& d) { return d.rule == rule; });
}

// The epilogue E has seen only the commit to b. That the first commit to a has arrived as well follows from
// the order alone: without it, E's wait for phase 1 of a can find the barrier still in phase 0, passes, and
// reads the accumulator under the third mma. The search does not judge accesses of tcgen05, so that this is
// not decided then.
const std::string kLastPhaseOnly = R"(
COMMITS
mbar a:1 b:1 go:1
agent M
  mma x => tm.t
  mma_commit a
  mma x => tm.t
  mma_commit b
  wait go, 0
  mma x => tm.t
  mma_commit a
agent E x128
  wait b, 0
  [ok] if me == 0
    arrive go
  wait a, 1
  tmem_ld tm.t
  tmem_wait_ld
=> ok: safe
)";

}  // namespace

TEST_CASE("TC24, commit_order: a later commit tells that the phase of an earlier one is complete") {
  const Report issue = decided(kLastPhaseOnly, true);
  INFO(text_of(issue));
  CHECK(issue.verdict == Verdict::clean);
  const Report free = decided(kLastPhaseOnly, false);
  INFO(text_of(free));
  CHECK(free.verdict == Verdict::inconclusive);
  CHECK(has_rule(free, "ALG-D3"));
  CHECK(has_rule(free, "ALG-D1"));
}

TEST_CASE("TC24, commit_order: a phase of several commits of one thread") {
  const std::string text = R"(
COMMITS
mbar a:2 b:1 go:1
agent M
  mma x => tm.t
  mma_commit a
  mma x => tm.t
  mma_commit a
  mma_commit b
  wait go, 0
  mma x => tm.t
  mma_commit a
  mma_commit a
agent E x128
  wait b, 0
  [ok] if me == 0
    arrive go
  wait a, 1
  tmem_ld tm.t
  tmem_wait_ld
=> ok: safe
)";
  CHECK(decided(text, true).verdict == Verdict::clean);
  CHECK(decided(text, false).verdict == Verdict::inconclusive);
}

// Two arrivals in each phase, one of them the thread E's: the commit alone completes nothing, and nobody has
// told that E has arrived.
TEST_CASE("TC24, commit_order: an arrival of somebody else is not implied") {
  const std::string text = R"(
COMMITS
mbar a:2 b:1 go:1
agent M
  mma x => tm.t
  mma_commit a
  mma x => tm.u
  mma_commit b
agent E
  arrive a
agent W
  wait b, 0
  wait a, 1
=> ok: safe
)";
  for (const bool in_order : {true, false}) {
    const Report r = decided(text, in_order);
    INFO(text_of(r));
    CHECK(r.verdict != Verdict::clean);
  }
}
