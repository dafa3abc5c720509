// SPDX-License-Identifier: Apache-2.0
//
// Seeded random programs: the engine against exhaustive search over all schedules, and against all-pairs
// reachability on one trace.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "checker/check.h"
#include "checker/single_run.h"
#include "tests/checker/oracles.h"
#include "tests/checker/role_program.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

using Random = std::mt19937_64;

/// Named barriers in place of mbarriers: two groups hand a buffer to and fro (ping-pong, T1).
RoleProgram ping_pong(uint32_t trips) {
  RoleProgram p;
  p.role("A");
  p.role("B");
  for (uint32_t i = 0; i < trips; ++i) {
    p.roles[0].at(10).bar_sync(1, 64).write(0).bar_arrive(2, 64);
    p.roles[1].at(20);
    if (i == 0) p.roles[1].bar_arrive(1, 64);
    p.roles[1].bar_sync(2, 64).read(0);
    if (i + 1 < trips) p.roles[1].bar_arrive(1, 64);
  }
  return p;
}

RoleProgram base_program(Random& random) {
  switch (random() % 4) {
    case 0:
      return ring(
          {1 + static_cast<uint32_t>(random() % 3), 1, 2 + static_cast<uint32_t>(random() % 4), 1, false});
    case 1:
      return ring(
          {1 + static_cast<uint32_t>(random() % 2), 2, 2 + static_cast<uint32_t>(random() % 3), 1, false});
    case 2:
      return ring(
          {1 + static_cast<uint32_t>(random() % 2), 1, 2 + static_cast<uint32_t>(random() % 3), 2, false});
    default:
      return ping_pong(1 + static_cast<uint32_t>(random() % 3));
  }
}

/// An epilogue: warps write a staging buffer, fence, meet, one of them stores it; the buffer is used again.
/// wgmma reads what was loaded.
RoleProgram epilogue(Random& random) {
  RoleProgram p = ring({1 + static_cast<uint32_t>(random() % 2), 1, 2, 2, true});
  const uint32_t q = p.queue(QueueInfo::Kind::bulk, {1});
  for (uint32_t i = 0; i < 2 + random() % 2; ++i) {
    p.roles[1].at(30).group_wait(q, 0, true);
    for (uint32_t w = 1; w <= 2; ++w)
      p.roles[w].at(31).bar_sync(1, 64).at(32).write(2 + w).at(33).fence().at(34).bar_sync(1, 64);
    p.roles[1].at(35).store(3, i, q).store(4, i + 4, q).at(36).commit(q);
  }
  p.roles[1].at(37).group_wait(q, 0);
  return p;
}

void mutate(RoleProgram& p, Random& random) {
  Role& r = p.roles[random() % p.roles.size()];
  if (r.steps.empty()) return;
  const size_t at = random() % r.steps.size();
  Step& s = r.steps[at];
  const bool mbarrier = s.kind == Step::Kind::arrive || s.kind == Step::Kind::arrive_tx ||
                        s.kind == Step::Kind::expect || s.kind == Step::Kind::wait ||
                        s.kind == Step::Kind::load;
  switch (random() % 7) {
    case 0:
      r.steps.erase(r.steps.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      r.steps.insert(r.steps.begin() + static_cast<std::ptrdiff_t>(at),
                     Step(r.steps[random() % r.steps.size()]));
      break;
    case 2:
      if (at + 1 < r.steps.size()) std::swap(r.steps[at], r.steps[at + 1]);
      break;
    case 3:
      if (s.kind == Step::Kind::wait) s.count ^= 1;
      break;
    case 4:
      if (!p.barriers.empty())
        p.barriers[random() % p.barriers.size()].count = 1 + static_cast<uint32_t>(random() % 3);
      break;
    case 5:
      if (mbarrier) s.object = static_cast<uint32_t>(random() % p.barriers.size());
      break;
    case 6:
      s.buffer = static_cast<uint32_t>(random() % 2);
      break;
  }
}

bool has(const Report& r, FindingClass c) {
  return std::any_of(r.diagnostics.begin(), r.diagnostics.end(), [&](const Diagnostic& d) {
    return d.finding_class == c && d.severity == Severity::error;
  });
}

}  // namespace

TEST_CASE("where the certificate holds, one run tells the hangs of every schedule; clean is never wrong") {
  size_t decided = 0, clean = 0, hangs = 0, stricter = 0, searched = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    RoleProgram p = base_program(random);
    const size_t mutations = random() % 4;
    for (size_t m = 0; m < mutations; ++m) mutate(p, random);
    const auto truth = explore(p, 4000);
    if (!truth) continue;
    ++searched;
    const Trace trace = execute(p, random() % 3 == 0 ? 0 : seed);
    const Report report = check(trace);
    CAPTURE(seed);
    if (report.verdict == Verdict::clean) {
      ++clean;
      CHECK(!truth->hang);
      CHECK(!truth->race);
      CHECK(!truth->refused);
    }
    const checker::Observations seen = checker::single_run(trace);
    REQUIRE(seen.inconsistent.empty());
    if (!seen.breaches.empty() || !seen.named.empty() || !trace.faults.empty()) {
      CHECK(report.verdict == Verdict::finding);
      continue;
    }
    ++decided;
    hangs += truth->hang;
    CHECK(has(report, FindingClass::hang) == truth->hang);
    CHECK(!truth->refused);
    // The visibility order has fewer edges than the interleaving that the search sees (HB3), never more.
    if (truth->race) CHECK(has(report, FindingClass::race));
    stricter += has(report, FindingClass::race) && !truth->race;
  }
  MESSAGE("searched " << searched << ", decided " << decided << ", clean " << clean << ", hang " << hangs
                      << ", stricter about races " << stricter);
  CHECK(searched > 2500);
  CHECK(decided > searched / 2);
  CHECK(clean > 500);
  CHECK(hangs > 100);
  CHECK(stricter < decided / 20);
}

TEST_CASE("clocks agree with reachability in the graph of the trace") {
  size_t breaches = 0, races = 0, unfenced = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed * 7919);
    RoleProgram p = seed % 2 == 0 ? base_program(random) : epilogue(random);
    const size_t mutations = random() % 4;
    for (size_t m = 0; m < mutations; ++m) mutate(p, random);
    const Trace trace = execute(p, seed);
    if (!trace.faults.empty() || trace.events.size() > 400) continue;
    const NaiveFindings naive = examine(trace);
    const checker::Observations seen = checker::single_run(trace);
    if (!seen.named.empty()) continue;
    CAPTURE(seed);
    using Kind = checker::Breach::Kind;
    const auto breached = [&](std::initializer_list<Kind> kinds) {
      return std::any_of(seen.breaches.begin(), seen.breaches.end(), [&](const checker::Breach& b) {
        return std::find(kinds.begin(), kinds.end(), b.kind) != kinds.end();
      });
    };
    const bool any = breached({Kind::early_pass, Kind::blocked_early, Kind::lapped, Kind::foreign_arrival});
    CHECK(any == (naive.early_pass || naive.lapped || naive.foreign));
    if (!naive.foreign) {  // else later clocks differ on purpose: the engine carries the history of earlier
                           // phases along
      CHECK(breached({Kind::early_pass, Kind::blocked_early}) == naive.early_pass);
      CHECK(breached({Kind::lapped}) == naive.lapped);
    }
    breaches += any;
    size_t first_race = checker::no_event, first_unfenced = checker::no_event;
    for (const checker::Conflict& c : seen.conflicts) {
      if (c.kind == checker::Conflict::Kind::race) first_race = std::min(first_race, c.current);
      if (c.kind == checker::Conflict::Kind::write_unfenced)
        first_unfenced = std::min(first_unfenced, c.current);
    }
    CHECK(first_race == naive.first_race);
    if (naive.first_race == checker::no_event) CHECK(first_unfenced == naive.first_unfenced);
    unfenced += naive.first_race == checker::no_event && first_unfenced != checker::no_event;
    races += first_race != checker::no_event;
  }
  CHECK(breaches > 200);
  CHECK(races > 200);
  CHECK(unfenced > 20);
}
