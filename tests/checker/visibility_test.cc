// SPDX-License-Identifier: Apache-2.0
//
// Races by visibility (algorithms.md EXT11): the programs of the fuzz, some of whose synchronisation is made
// relaxed, against sets of visible accesses on sampled schedules.
#include <doctest/doctest.h>

#include <algorithm>

#include "checker/decide.h"
#include "checker/directed.h"
#include "tests/checker/orchestration_oracle.h"
#include "tests/checker/orchestration_sketch.h"
#include "tests/checker/visibility_oracle.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// Takes release or acquire from one operation in twelve.
void relax(Orchestration& program, Random& random) {
  for (Orchestration::Strand& strand : program.strands)
    for (Event& e : strand.events) {
      switch (e.kind) {
        case EventKind::mbarrier_arrive:
        case EventKind::mbarrier_wait:
        case EventKind::cluster_arrive:
        case EventKind::cluster_wait:
        case EventKind::signal_add:
        case EventKind::signal_set:
        case EventKind::signal_wait:
          if (random() % 12 == 0) e.flags &= static_cast<uint8_t>(~1u);  // Event::release, Event::acquire
          break;
        default:
          break;
      }
    }
}

bool only_races(const Report& report) {
  return std::all_of(report.diagnostics.begin(), report.diagnostics.end(), [](const Diagnostic& d) {
    return d.severity == Severity::lint || d.finding_class == FindingClass::race;
  });
}

struct Counts {
  size_t clean = 0, races = 0;
};

void compare(uint64_t first, uint64_t last, Counts& n) {
  DecideOptions options;
  options.check.policies.read_fence = Severity::lint;  // sketches have few fences
  options.search.states = 20'000;
  for (uint64_t seed = first; seed <= last; ++seed) {
    Random random(seed);
    const Sketch sketch = random_sketch(random);
    if (sketch.exits_leave) continue;
    Orchestration program = lower(sketch);
    if (seed % 3 != 0) relax(program, random);
    const Report report = decide(checker::steer(program, {}, {}).trace, options, &program).report;
    CAPTURE(seed);
    CAPTURE(sketch.text());
    if (report.verdict == Verdict::clean) {
      ++n.clean;
      CHECK(!invisible_conflict(program, seed, 10));
    } else if (report.verdict == Verdict::finding && only_races(report)) {
      const auto truth = explore_naively(program, 1'000);
      if (!truth || truth->fault()) continue;  // else visibility alone is the reason
      ++n.races;
      CHECK(invisible_conflict(program, seed, 60));
    }
  }
  MESSAGE("clean " << n.clean << ", races by visibility alone " << n.races);
}

}  // namespace

TEST_CASE("clean programs make every earlier conflicting access visible; races by visibility can be shown") {
  Counts n;
  compare(1, 1'000, n);
  CHECK(n.clean > 250);
  CHECK(n.races > 60);
}

TEST_SUITE("nightly") {
  TEST_CASE("visibility on sampled schedules: 20,000 programs" * doctest::skip()) {
    Counts n;
    compare(1'000'001, 1'020'000, n);
    CHECK(n.races > 1'200);
  }
}
