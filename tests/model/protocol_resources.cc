// SPDX-License-Identifier: Apache-2.0
// Registers, tensor memory, flags, pools, launch control and dependent launch (semantics.md 8 to 12).
#include <doctest/doctest.h>

#include "model/protocol/cluster_launch_control.h"
#include "model/protocol/dependent_launch.h"
#include "model/protocol/tensor_memory.h"
#include "tests/model/orchestration_builder.h"
#include "tests/model/orchestration_explore.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// Three warp groups at 168 registers that go to these counts; down is dec, up is inc.
Orchestration register_program(std::vector<uint32_t> counts) {
  OrchestrationBuilder o;
  o.program().tables.registers_per_thread = 168;
  for (uint32_t n : counts) {
    const uint32_t s = o.agent(0, 128);
    o.event(s, n < 168 ? EventKind::registers_release : EventKind::registers_acquire, 0, n, 168);
  }
  return o.program();
}

}  // namespace

TEST_CASE("LT40, RG4: raises without a release hang; 24/240/240 and 40/232/232 at 168 do not") {
  CHECK(must_deadlock(register_program({168, 240, 240})));
  CHECK_FALSE(can_deadlock(register_program({24, 240, 240})));
  CHECK_FALSE(can_deadlock(register_program({40, 232, 232})));
  CHECK_FALSE(can_deadlock(register_program({24, 232, 232})));  // by the pool model (RG5)
  CHECK(can_deadlock(register_program({48, 240, 240})));
}

TEST_CASE("RG1: registers of a warp group are free when its last warp has given them back") {
  OrchestrationBuilder o;
  std::vector<uint32_t> warps;
  for (int i = 0; i < 4; ++i) warps.push_back(o.agent());
  const uint32_t taker = o.agent(0, 128);
  for (uint32_t w : warps) o.event(w, EventKind::registers_release, 0, 24, 168);
  o.event(taker, EventKind::registers_acquire, 0, 169, 168);  // fits into the share of one warp
  explore_all(o.program(), [&](const OrchestrationMachine& m, const auto&) {
    bool all = true;
    for (uint32_t w : warps) all &= m.strand_ended(w);
    CHECK((all || !m.strand_ended(taker)));
  });
  CHECK_FALSE(can_deadlock(o.program()));
}

TEST_CASE("RG2: inc downwards") {
  OrchestrationBuilder o;
  o.event(o.agent(0, 128), EventKind::registers_acquire, 0, 100, 168);
  CHECK(broken_rules(o.program()) == std::set<std::string>{"RG2"});
}

TEST_CASE("LT30, TC4 to TC8: what tensor memory allows") {
  TensorMemory m;
  using Outcome = TensorMemory::Outcome;
  CHECK(m.allocate(0, 48, 1) == Outcome::bad_count);
  CHECK(m.allocate(0, 1024, 1) == Outcome::bad_count);
  CHECK(m.allocate(0, 128, 1) == Outcome::ok);
  CHECK(m.allocate(128, 256, 1) == Outcome::increasing);  // TC5
  CHECK(m.allocate(128, 128, 2) == Outcome::mixed_groups);
  CHECK(m.can_allocate(256));
  CHECK_FALSE(m.can_allocate(512));
  CHECK(m.free(128, 128, 1) == Outcome::not_allocated);
  CHECK(m.leaks());
  CHECK(m.free(0, 128, 1) == Outcome::ok);
  CHECK_FALSE(m.leaks());
  m.relinquish();
  CHECK(m.allocate(0, 32, 1) == Outcome::relinquished);
}

TEST_CASE("LT32, TC6: tensor memory and pools that must be full again at the end") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent();
  o.event(a, EventKind::tensor_alloc, 0, 64, 1);
  CHECK(broken_rules(o.program()) == std::set<std::string>{"TC6"});
  o.event(a, EventKind::tensor_dealloc, 0, 64, 1);
  CHECK(broken_rules(o.program()).empty());
  OrchestrationBuilder r;
  r.event(r.agent(), EventKind::pool_acquire, r.pool(2, true), 1);
  CHECK(broken_rules(r.program()) == std::set<std::string>{"TC6"});
}

TEST_CASE("TC4: an allocation blocks until columns are freed") {
  OrchestrationBuilder o;
  const uint32_t a = o.agent(), b = o.agent();
  for (uint32_t s : {a, b}) {
    o.event(s, EventKind::tensor_alloc, 0, 512, 1);
    if (s == a) o.event(s, EventKind::tensor_dealloc, 0, 512, 1);
  }
  CHECK(can_deadlock(o.program()));  // b first, and b never frees
}

TEST_CASE("TC9, TC10: a pair allocates when both run, frees when both have allocated") {
  for (const int syncs : {0, 1, 2}) {
    OrchestrationBuilder o;  // orchestration_bugs.md F6, F7
    const uint32_t a = o.agent(0), b = o.agent(1);
    o.cluster(2);
    for (uint32_t s : {a, b}) {
      const auto sync = [&] {
        o.cluster_arrive(s);
        o.cluster_wait(s);
      };
      if (syncs > 0) sync();
      o.event(s, EventKind::tensor_alloc, 0, 32, 2);
      if (syncs > 1) sync();
      o.event(s, EventKind::tensor_dealloc, 0, 32, 2);
    }
    const std::set<std::string> rules = broken_rules(o.program());
    CHECK(rules.count("TC9") == (syncs == 0 ? 1u : 0u));
    CHECK(rules.count("TC10") == (syncs < 2 ? 1u : 0u));
  }
}

TEST_CASE("LT41, F2: a spin on a CTA that may not be resident needs enough slots") {
  for (const int64_t slots : {1, 2}) {
    OrchestrationBuilder o;
    const uint32_t sm = o.pool(slots), flag = o.signal(0);
    const uint32_t first = o.agent(), later = o.agent();
    o.event(first, EventKind::pool_acquire, sm, 1);
    o.event(first, EventKind::signal_wait, flag, 0, 1, Event::acquire);
    o.event(first, EventKind::pool_release, sm, 1);
    o.event(later, EventKind::pool_acquire, sm, 1);
    o.event(later, EventKind::signal_add, flag, 0, 1, Event::release);
    o.event(later, EventKind::pool_release, sm, 1);
    CHECK(can_deadlock(o.program()) == (slots == 1));
  }
}

TEST_CASE("signals: a spin polls, and can miss a value that is gone again") {
  OrchestrationBuilder o;  // orchestration_bugs.md I1
  const uint32_t a = o.agent(), b = o.agent(), flag = o.signal(0);
  o.event(a, EventKind::signal_wait, flag, 0, 2, Event::acquire);
  o.event(b, EventKind::signal_add, flag, 0, 2, Event::release);
  o.event(b, EventKind::signal_set, flag, 0, 0, Event::release);
  CHECK(can_deadlock(o.program()));
  CHECK_FALSE(must_deadlock(o.program()));
  Signal s(5);
  s.add(-6);
  CHECK(s.value() == -1);
  CHECK(s.satisfies(-1, true));
  CHECK_FALSE(s.satisfies(0, false));
  CHECK(s.writes() == 1);
}

TEST_CASE("F9b: two that hold and wait for the rest of a pool") {
  OrchestrationBuilder o;
  const uint32_t p = o.pool(512);
  for (int i = 0; i < 2; ++i) {
    const uint32_t s = o.agent();
    o.event(s, EventKind::pool_acquire, p, 256);
    o.event(s, EventKind::pool_acquire, p, 256);
    o.event(s, EventKind::pool_release, p, 512);
  }
  CHECK(can_deadlock(o.program()));
  CHECK_FALSE(must_deadlock(o.program()));
}

TEST_CASE("LT45, CL1 to CL9: each cluster once; no second try after a failure was seen") {
  using Outcome = ClusterLaunchControl::Outcome;
  ClusterLaunchControl c(3, 2);
  ClusterLaunchControl::Response r;
  CHECK(c.launch(0) == Outcome::ok);
  CHECK(c.launch(0) == Outcome::not_waiting);
  CHECK(c.request(0, false, false, 2, r) == Outcome::ok);
  CHECK(c.is_cancelled(0, r));
  uint32_t cluster = 0;
  CHECK(ClusterLaunchControl::first_cta(r, cluster));
  CHECK(cluster == 2);
  CHECK(c.request(1, false, false, 2, r) == Outcome::not_waiting);
  CHECK(c.request(1, true, true, 1, r) == Outcome::exited_target);
  CHECK(c.request(1, false, false, std::nullopt, r) == Outcome::ok);  // a failure although one is left
  CHECK_FALSE(c.is_cancelled(1, r));
  CHECK_FALSE(ClusterLaunchControl::first_cta(r, cluster));
  CHECK(c.request(1, false, false, 1, r) == Outcome::after_failure);
  CHECK(c.request(0, false, false, 1, r) == Outcome::ok);
  CHECK(c.all_processed());
}

TEST_CASE("PD1, PD2, PD4: dependents may start when every CTA has triggered or ended; waits last longer") {
  DependentLaunch d(2);
  d.trigger(0);
  d.trigger(0);
  CHECK_FALSE(d.may_start());
  d.exit(1);
  CHECK(d.may_start());
  CHECK_FALSE(d.wait_passes());
  d.exit(0);
  CHECK(d.wait_passes());
}
