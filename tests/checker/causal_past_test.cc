// SPDX-License-Identifier: Apache-2.0
#include "checker/causal_past.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "checker/directed.h"
#include "checker/observations.h"
#include "tests/checker/orchestration_sketch.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;
using namespace turnstile::checker;

TEST_CASE("the causal past of an event can be executed alone, and then the event") {
  size_t events = 0, left_out = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Sketch sketch = random_sketch(random);
    const Orchestration program = lower(sketch);
    // Arrivals of cp.async and tcgen05.commit wait for others of their queue, and barriers of a whole CTA or
    // cluster may be completed by an end: no edge says so.
    const std::vector<std::string> used = mechanisms(sketch);
    const auto beside = [](const std::string& m) {
      return m.find("CTA") != m.npos || m.find("cluster") != m.npos;
    };
    if (!program.tables.queues.empty() || std::any_of(used.begin(), used.end(), beside)) continue;
    const Execution run = steer(program, {}, {});
    const CausalPast past(run.trace);
    CAPTURE(seed);
    for (size_t i = 0; i < run.trace.events.size(); ++i) {
      // A poll misses what the run saw where more than its phase lies in its past (W2), or less than the
      // count that it finds (E1): ALG-D1 and D2 speak of those.
      if (run.trace.events[i].kind == EventKind::signal_wait) break;
      const std::vector<size_t> before = past.before({i});
      REQUIRE(std::is_sorted(before.begin(), before.end()));
      REQUIRE((before.empty() || before.back() < i));
      Schedule schedule;
      for (const size_t k : before) schedule.push_back(run.schedule[k]);
      schedule.push_back(run.schedule[i]);
      const Execution again = follow(program, schedule);
      INFO(sketch.text());
      CHECK((again.followed || !again.trace.faults.empty()));
      ++events;
      left_out += i - before.size();
    }
  }
  CHECK(events > 2000);
  CHECK(left_out > events);
}

// Each pass of a barrier has all arrivals before it in its past: as lists of events, 100 GB.
TEST_CASE("the causal past of a long loop is linear in its trips") {
  constexpr uint32_t trips = 80'000;
  TraceBuilder t(2);
  const uint32_t b = t.barrier("full", 1);
  const uint32_t q = t.queue(QueueInfo::Kind::bulk, 0);
  t.trace.places.reserve(8);
  for (uint32_t i = 0; i < trips; ++i) {
    for (const uint32_t w : {0u, 1u}) t.bar_contribute(w, 1, 1, 64, true);
    for (const uint32_t w : {0u, 1u}) t.bar_pass(w, 2, 1, i + 1);
    t.arrive(0, 3, b);
    t.wait(1, 4, b, i % 2, i + 1);
    Event& e = t.event(EventKind::group_wait, 0, 5, q);
    e.generation = i;
  }
  const CausalPast past(t.trace);
  // All seven events of each earlier trip; of the last one both arrivals at the barrier, and of warp 0 its
  // pass and its arrive.
  CHECK(past.before({t.trace.events.size() - 1}).size() == size_t{7} * (trips - 1) + 4);
  CHECK(past.contributions(b, trips / 2).size() == trips / 2);
  CHECK(past.counted_in(b, 7).size() == 1);
}
