// SPDX-License-Identifier: Apache-2.0
//
// One fault each, in the ring or beside it: right class, right rule, right line, first.
#include "tests/checker/expect.h"
#include "tests/checker/role_program.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

using K = Step::Kind;

void erase(Role& r, K kind) {
  std::erase_if(r.steps, [&](const Step& s) { return s.kind == kind; });
}

void move_release(RoleProgram& p, K before_kind,
                  bool after) {  // the arrive on the empty barrier goes before, or just after, another step
  for (size_t w = 1; w < p.roles.size(); ++w) {
    std::vector<Step> steps, held;
    for (size_t i = 0; i < p.roles[w].steps.size(); ++i) {
      const Step& s = p.roles[w].steps[i];
      if (s.kind == K::arrive) continue;
      Step release;
      for (size_t j = i; j < p.roles[w].steps.size() && release.kind != K::arrive; ++j)
        if (p.roles[w].steps[j].kind == K::arrive) release = p.roles[w].steps[j];
      const bool here = s.kind == before_kind && release.kind == K::arrive;
      if (here && !after) steps.push_back(release);
      steps.push_back(s);
      if (here && after) steps.push_back(release);
    }
    p.roles[w].steps = steps;
  }
}

}  // namespace

TEST_CASE("LT6: a missing release is a deadlock that names the barrier") {
  RoleProgram p = ring({2, 2, 5, 1, false});
  erase(p.roles[2], K::arrive);
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::hang, "MB16", 10);
  CHECK(d.message == "warp 0 (producer) waits for a phase of empty[0] that never completes");
  CHECK(has_fact(d, "empty[0] has 1 of 2 arrivals in phase 0 (parity 0)"));
}

TEST_CASE("a release that is left out in the last phase only: who has it, who waits for whom") {
  RoleProgram p = ring({2, 2, 6, 1, false});
  Role& consumer = p.roles[2];
  size_t releases = 0;
  for (size_t i = 0; i < consumer.steps.size(); ++i)
    if (consumer.steps[i].kind == K::arrive && ++releases == 3)
      consumer.steps.erase(consumer.steps.begin() + static_cast<std::ptrdiff_t>(i));
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::hang, "MB16", 10);
  CHECK(has_fact(d, "empty[0] has 1 of 2 arrivals in phase 1 (parity 1)"));
  CHECK(has_fact(d,
                 "warp 2 (consumer 1) arrived in an earlier phase (kernel.cu:24), and waits for full[0], "
                 "phase 2 (parity 0) (kernel.cu:20)"));
  CHECK(has_fact(d,
                 "waiting on each other: warp 0 (producer) -> empty[0] <- warp 2 (consumer 1) -> full[0] <- "
                 "warp 0 (producer)"));
}

TEST_CASE("the producer starts with parity 0: both sides wait at once") {
  RoleProgram p = ring({2, 2, 5, 1, false});
  for (Step& s : p.roles[0].steps)
    if (s.kind == K::wait) s.count ^= 1;
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::hang, "W2", 10);
  CHECK(d.where.line == 10);
}

TEST_CASE("the producer ends early: consumers wait for a warp that is gone") {
  RoleProgram p = ring({2, 1, 5, 1, false});
  p.roles[0].steps.resize(p.roles[0].steps.size() - 3);
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::hang, "MB16", 20);
  CHECK(has_fact(
      d, "warp 0 (producer) arrived in an earlier phase (kernel.cu:11), and has ended (kernel.cu:9999)"));
}

TEST_CASE("expect_tx is no arrival") {
  for (uint32_t trips :
       {1u, 2u, 3u, 9u}) {  // beyond two stages the producer is stuck as well, but not the cause
    RoleProgram p = ring({2, 1, trips, 1, false});
    for (Step& s : p.roles[0].steps)
      if (s.kind == K::arrive_tx) s.kind = K::expect;
    const Diagnostic d = expect_first(execute(p, 0), FindingClass::hang, "MB16", 20);
    CHECK(d.help.find("arrive.expect_tx") != std::string::npos);
  }
}

TEST_CASE("bytes expected and bytes delivered differ: that comes before the hang") {
  for (const uint64_t expected : {150u, 60u}) {
    RoleProgram p = ring({2, 1, 5, 1, false});
    for (Step& s : p.roles[0].steps)
      if (s.kind == K::arrive_tx) s.bytes = expected;
    expect_first(execute(p, 0), FindingClass::barrier_protocol, expected > 100 ? "MB18" : "MB19", 11);
  }
}

TEST_CASE("two copies, bytes of one expected: found whichever lands first") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    RoleProgram p;
    const uint32_t full = p.barrier("full", 1);
    p.role("P");
    p.role("C");
    p.roles[0].at(1).arrive_tx(full, 64).at(2).load(0, full, 32).at(3).load(1, full, 64);
    p.roles[1].at(5).wait(full, 0).read(0).read(1);
    expect_first(execute(p, seed), FindingClass::barrier_protocol, "MB19", 1);
  }
}

TEST_CASE("empty count 1 with two consumers: the second arrival can be counted in another phase") {
  RoleProgram p = ring({2, 2, 7, 1, false});
  for (auto& b : p.barriers) b.count = 1;
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::barrier_protocol, "ALG-D3", 24);
  CHECK(has_fact(
      d, "is initialised with count 1, but warp 1 (consumer 0) and warp 2 (consumer 1) arrive on it"));
}

TEST_CASE("no empty wait: the copy may overwrite, and its arrival may be one too many") {
  RoleProgram p = ring({2, 1, 5, 1, false});
  erase(p.roles[0], K::wait);
  const Report r = check(execute(p, 3));
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
  CHECK(r.diagnostics.front().finding_class == FindingClass::barrier_protocol);
}

TEST_CASE("LT25: released after the wgmma was issued, before it is done") {
  RoleProgram p = ring({2, 2, 6, 1, true});
  move_release(p, K::commit, true);
  for (uint64_t seed : {0u, 1u, 2u, 3u}) expect_first(execute(p, seed), FindingClass::race, "WG4", 12);
}

TEST_CASE("LT9: the leader releases before its sibling warps have seen the phase") {
  RoleProgram p = ring({2, 2, 6, 4, true});
  move_release(p, K::wgmma, false);
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::overtaken, "ALG-D2", 20);
  CHECK(d.message ==
        "warp 2 (consumer 0) can be overtaken at full[0]: phase 1 (parity 1) can complete before it has "
        "polled for phase 0 (parity 0)");
  CHECK(has_fact(d, "nothing on that path waits for warp 2 (consumer 0)"));
  CHECK(d.witness.size() >= 4);
  CHECK(!d.witness_is_shortest);
}

TEST_CASE("LT8: a rendezvous with a single slot and a producer that runs three stages ahead") {
  RoleProgram p;
  const uint32_t slot = p.barrier("rendezvous", 1);
  p.role("P");
  p.role("C");
  for (uint32_t i = 0; i < 3; ++i) {
    p.roles[0].at(1).arrive(slot).wait(slot, i % 2);
    p.roles[1].at(5).wait(slot, i % 2);
  }
  for (uint64_t seed : {1u, 2u, 3u, 4u}) {
    const Report r = check(execute(p, seed));
    INFO(text_of(r));
    CHECK(r.verdict == Verdict::finding);
    CHECK(r.diagnostics.front().finding_class == FindingClass::overtaken);
    CHECK(r.diagnostics.front().where.line == 5);
  }
}

TEST_CASE("the phase starts anew with each tile: a generation is consumed twice") {
  // Two tiles of three trips on two stages; the consumer forgets that the second tile begins at stage 1,
  // phase 1.
  RoleProgram p = ring({2, 1, 6, 1, false});
  Role& c = p.roles[1];
  c.steps.clear();
  for (uint32_t tile = 0; tile < 2; ++tile)
    for (uint32_t k = 0; k < 3; ++k) {
      const uint32_t stage = (3 * tile + k) % 2;
      const uint32_t phase = tile == 0 ? k / 2 : (k + 1) / 2;  // right: (3 * tile + k) / 2 % 2
      c.at(20).wait(stage, phase % 2).at(21).read(stage).at(24).arrive(2 + stage);
    }
  const Report r = check(execute(p, 0));
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
  CHECK(r.diagnostics.front().where.line == 20);
  CHECK((r.diagnostics.front().finding_class == FindingClass::stale ||
         r.diagnostics.front().finding_class == FindingClass::overtaken));
}

TEST_CASE("LT2: expect after the only arrival") {
  RoleProgram p;
  const uint32_t full = p.barrier("full", 1);
  p.role("P");
  p.role("C");
  p.roles[0].at(1).arrive(full).at(2).expect(full, 64).at(3).load(0, full, 64);
  p.roles[1].at(5).wait(full, 0).read(0);
  const Report r = check(execute(p, 0));
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
}

TEST_CASE("LT3, LT4: the copy before or after arrive.expect_tx") {
  for (bool copy_first : {false, true}) {
    RoleProgram p;
    const uint32_t full = p.barrier("full", 1);
    p.role("P");
    p.role("C");
    if (copy_first)
      p.roles[0].load(0, full, 64).arrive_tx(full, 64);
    else
      p.roles[0].arrive_tx(full, 64).load(0, full, 64);
    p.roles[1].wait(full, 0).read(0);
    for (uint64_t seed : {0u, 1u, 2u, 3u, 4u}) expect_clean(execute(p, seed));
  }
}

TEST_CASE("LT5: two expects are safe if the arrival comes last, else it depends on the schedule") {
  for (bool arrive_last : {true, false}) {
    RoleProgram p;
    const uint32_t full = p.barrier("full", 1);
    p.role("P");
    p.role("C");
    Role& r = p.roles[0];
    if (arrive_last)
      r.expect(full, 64).load(0, full, 64).expect(full, 64).load(1, full, 64).arrive(full);
    else
      r.at(1).arrive_tx(full, 64).at(2).load(0, full, 64).at(3).expect(full, 64).at(4).load(1, full, 64);
    p.roles[1].wait(full, 0).read(0).read(1);
    const Trace trace = execute(p, 0);  // copies land last: nothing goes wrong in this run
    if (arrive_last)
      expect_clean(trace);
    else
      expect_first(trace, FindingClass::barrier_protocol, "ALG-D5a", 3);
  }
}

TEST_CASE("LT7: a surplus arrival falls into the next phase") {
  RoleProgram p = ring({2, 1, 4, 1, false});
  p.roles[1].steps.insert(p.roles[1].steps.begin() + 2, Step(p.roles[1].steps[2]));
  const Report r = check(execute(p, 0));
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
}

TEST_CASE("LT37, LT39: two groups on one named barrier with different counts") {
  RoleProgram p;
  for (int w = 0; w < 4; ++w) p.role("group " + std::to_string(w / 2));
  for (size_t w = 0; w < 4; ++w) p.roles[w].at(w < 2 ? 7 : 8).bar_sync(6, w < 2 ? 64 : 128);
  expect_first(execute(p, 0), FindingClass::barrier_protocol, "EXT1",
               8);  // one after the other in this run, but nothing says so
  TraceBuilder b(4);
  b.bar_contribute(0, 7, 6, 64, true);
  b.bar_contribute(2, 8, 6, 128, true);
  expect_first(b.trace, FindingClass::barrier_protocol, "NX1", 8);
}

TEST_CASE("a bar.sync count that the group cannot reach") {
  RoleProgram p;
  for (int w = 0; w < 4; ++w) p.role("consumer");
  for (auto& r : p.roles) r.at(7).bar_sync(1, 256);
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::hang, "NX2", 7);
  CHECK(has_fact(d, "128 of 256 threads have arrived"));
}

// Partitions of Triton: a worker that is through waits for its next task at the barrier that dispatches; the
// default warps wait for a phase that the worker should have completed.
TEST_CASE("who waits for the next task is not the cause of a hang") {
  RoleProgram p;
  p.role("default");
  p.role("worker");
  const uint32_t done = p.barrier("done", 1);
  p.roles[0].at(2).bar_sync(1, 64).at(3).wait(done, 0).at(4).bar_sync(1, 64);
  p.roles[1].at(5).bar_sync(1, 64).at(6).bar_sync(1, 64);
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::hang, "MB16", 3);
  CHECK(d.subject == "done");
}

TEST_CASE("LT39: two partitions share an id: their arrivals mix") {
  RoleProgram p;
  for (int w = 0; w < 4; ++w) p.role("group " + std::to_string(w / 2));
  for (int i = 0; i < 2; ++i)
    for (auto& r : p.roles) r.at(7).bar_sync(6, 64);
  const Report r = check(execute(p, 1));
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
  CHECK(r.diagnostics.front().finding_class == FindingClass::barrier_protocol);
}

TEST_CASE("LT40: nobody gives registers back") {
  RoleProgram p;
  p.registers = 168;
  for (int w = 0; w < 3; ++w) p.role("group " + std::to_string(w));
  p.roles[1].at(7).inc(240);
  p.roles[2].at(7).inc(240);
  const Diagnostic d = expect_first(execute(p, 0), FindingClass::resource, "RG4", 7);
  CHECK(has_fact(d, "144 more are asked for, 0 are free"));
}

TEST_CASE("RG8: granted in this order, but not in every order") {
  RoleProgram p;
  p.registers = 168;
  for (int w = 0; w < 3; ++w) p.role("group " + std::to_string(w));
  p.roles[0].dec(40);
  p.roles[1].inc(232).dec(168);
  p.roles[2].inc(240);
  const Report r = check(execute(p, 0));
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::inconclusive);
}

TEST_CASE("a strand that the step limit stopped: never clean, never a hang") {
  Trace trace = execute(ring({2, 1, 3, 1, true}), 0);
  trace.live_pollers.push_back(AgentId{1});
  const Report r = check(trace);
  CHECK(r.verdict == Verdict::inconclusive);
  CHECK(r.guarantee == "the schedule that was executed");
}

TEST_CASE("something unknown forbids clean") {
  Trace trace = execute(ring({2, 1, 3, 1, true}), 0);
  trace.unknowns.push_back(
      {0, "a loop bound depends on a value that this launch does not give", "give the buffer `values`"});
  CHECK(check(trace).verdict == Verdict::inconclusive);
}

TEST_CASE("a fault of the execution is a finding of its rule's class, and no hang is told beside it") {
  Trace trace = execute(ring({2, 1, 3, 1, false}), 0);
  trace.faults.push_back({AgentId{0}, 0, "memory", "st.shared out of bounds", "check the index"});
  trace.blocked.push_back({AgentId{1}, 0, Blocked::On::mbarrier, 0, 0});
  const Report r = check(trace);
  REQUIRE(r.diagnostics.size() >= 1);
  CHECK(r.diagnostics.front().finding_class == FindingClass::memory);
  CHECK(find(r, FindingClass::hang) == nullptr);
}

TEST_CASE("a trace that contradicts itself is inconclusive, whatever is wrong with it") {
  const Trace good = execute(ring({2, 1, 3, 1, false}), 0);
  CheckOptions options;
  options.policies.read_fence = Severity::lint;  // its loads have no fence, which is not the question here
  for (size_t i = 0; i < good.events.size(); ++i) {
    Trace bad = good;
    bad.events[i].object = 0xfffffff0;
    bad.events[i].footprint = 0xfffffff0;
    if (good.events[i].kind != EventKind::exit) CHECK(check(bad, options).verdict != Verdict::clean);
    bad = good;
    bad.events[i].agent.v = 999;
    CHECK(check(bad, options).verdict == Verdict::inconclusive);
    bad = good;
    bad.events[i].generation += 5;
    const bool counts = good.events[i].kind == EventKind::mbarrier_wait ||
                        good.events[i].kind == EventKind::named_barrier_pass;
    if (counts) CHECK(check(bad, options).verdict == Verdict::inconclusive);
  }
}
