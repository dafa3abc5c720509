// SPDX-License-Identifier: Apache-2.0
//
// Correct patterns stay clean: the canonical ring and the traps of orchestration_bugs.md section 4.
#include "tests/checker/expect.h"
#include "tests/checker/role_program.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("the ring is clean for every number of stages, consumers, warps and trips, whatever the schedule") {
  for (uint32_t stages : {1u, 2u, 4u})
    for (uint32_t trips : {0u, 1u, stages - 1, stages, stages + 1, 2 * stages, 2 * stages + 1})
      for (uint32_t warps : {1u, 4u})
        for (uint64_t seed : {0u, 1u, 2u}) {
          CAPTURE(stages);
          CAPTURE(trips);
          expect_clean(execute(ring({stages, 2, trips, warps, true}), seed));
          expect_clean(execute(ring({stages, 1, trips, 1, false, true}), seed));  // T3, T4, T9
        }
}

TEST_CASE("the ring counts what it did") {
  const Report r = check(execute(ring({2, 2, 5, 1, false}), 0));
  CHECK(r.warps == 3);
  CHECK(r.barriers == 4);
  CHECK(r.phases == 10);           // 5 fills and 5 releases
  CHECK(r.accesses == 5 + 2 * 5);  // a copy and two reads a trip
}

TEST_CASE("T1, T25, LT36: ping-pong on two named barriers, the first turn given by an arrive") {
  RoleProgram p;
  p.role("A");
  p.role("B");
  for (int i = 0; i < 3; ++i) {
    p.roles[0].bar_sync(9, 64).write(0).bar_arrive(10, 64);
    if (i == 0) p.roles[1].bar_arrive(9, 64);
    p.roles[1].bar_sync(10, 64).read(0);
    if (i < 2) p.roles[1].bar_arrive(9, 64);
  }
  for (uint64_t seed : {0u, 1u, 2u, 3u}) expect_clean(execute(p, seed));
}

TEST_CASE("T2: bar.arrive names the total of both sides") {
  RoleProgram p;
  p.role("A");
  p.role("B");
  p.roles[0].write(0).bar_arrive(3, 64);
  p.roles[1].bar_sync(3, 64).read(0);
  expect_clean(execute(p, 0));
}

TEST_CASE("T6: everybody waits while a copy is in flight") {
  RoleProgram p;
  const uint32_t full = p.barrier("full", 1), done = p.barrier("done", 1);
  p.role("P");
  p.role("C");
  p.roles[0].arrive_tx(full, 100).load(0, full, 100).wait(done, 0);
  p.roles[1].wait(full, 0).read(0).arrive(done);
  expect_clean(execute(p, 0));
}

TEST_CASE("T13: distinct barriers for each trip, one wgmma wait at the end") {
  RoleProgram p;
  p.role("P");
  p.role("C");
  const uint32_t q = p.queue(QueueInfo::Kind::wgmma, {1});
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t full = p.barrier("full[" + std::to_string(i) + "]", 1);
    p.roles[0].arrive_tx(full, 100).load(i, full, 100);
    p.roles[1].wait(full, 0).wgmma(i, q).commit(q);
  }
  p.roles[1].group_wait(q, 0);
  expect_clean(execute(p, 0));
}

TEST_CASE("T14: two waiters on different phases of one barrier") {
  RoleProgram p;
  const uint32_t b = p.barrier("b", 1);
  p.role("W0");
  p.role("W1");
  p.roles[0].wait(b, 0);
  p.roles[1].wait(b, 1).arrive(b);
  for (uint64_t seed : {0u, 1u, 2u}) expect_clean(execute(p, seed));
}

TEST_CASE("T16: a generic read beside a generic read or an async read needs no fence") {
  RoleProgram p;
  const uint32_t full = p.barrier("full", 1);
  p.role("P");
  p.role("C");
  p.role("D");
  const uint32_t q = p.queue(QueueInfo::Kind::wgmma, {1});
  p.roles[0].arrive_tx(full, 100).load(0, full, 100);
  p.roles[1].wait(full, 0).read(0).wgmma(0, q).commit(q).group_wait(q, 0);
  p.roles[2].wait(full, 0).read(0);
  const Trace trace = execute(p, 0);
  expect_clean(trace);
  CHECK(check(trace).diagnostics.empty());
}

TEST_CASE("PI5: several waits for one phase, also after a release of something else") {
  RoleProgram p;
  const uint32_t q_full = p.barrier("q_full", 1), k_full = p.barrier("k_full", 1),
                 k_empty = p.barrier("k_empty", 1);
  p.role("P");
  p.role("C");
  p.roles[0].arrive_tx(q_full, 64).load(0, q_full, 64);
  for (uint32_t i = 0; i < 4; ++i) {
    p.roles[0].wait(k_empty, 1 - i % 2).arrive_tx(k_full, 64).load(1, k_full, 64);
    p.roles[1].wait(q_full, 0).wait(k_full, i % 2).read(0).read(1).fence().arrive(k_empty);
  }
  expect_clean(execute(p, 0));
}

TEST_CASE(
    "PI1: one warp releases the stage for its group after the wgmma wait, without a barrier among them") {
  expect_clean(execute(ring({3, 2, 9, 4, true}), 5));
}

TEST_CASE("LT40: registers 40/232/232 at 168 balance exactly") {
  RoleProgram p;
  p.registers = 168;
  for (int w = 0; w < 3; ++w) p.role("group " + std::to_string(w));
  p.roles[0].dec(40);
  p.roles[1].inc(232);
  p.roles[2].inc(232);
  expect_clean(execute(p, 0));
  expect_clean(execute(p, 3));
}
