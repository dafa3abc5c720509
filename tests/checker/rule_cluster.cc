// SPDX-License-Identifier: Apache-2.0
//
// Several CTAs in one trace: cluster barrier (C1-C5), remote arrivals (HB1, MB8, MB11), lifetime (D1-D3),
// multicast (MB30, PX5). Warp w is warp w / 2 of CTA w % 2.
#include "checker/policies.h"
#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// CTA 1 writes into CTA 0, then both meet, then CTA 0 reads.
Trace remote_write(bool release, bool acquire) {
  TraceBuilder t(2);
  t.cluster(2, 2);
  t.cluster_sync(1, 1);
  t.write(1, 2, t.shared_of(0, 0));
  t.cluster_arrive(1, 3, release);
  t.cluster_arrive(0, 3, release);
  t.cluster_wait(0, 4, 2, acquire);
  t.cluster_wait(1, 4, 2, acquire);
  t.read(0, 5, t.shared_of(0, 0));
  t.exit_all(9);
  return t.trace;
}

}  // namespace

TEST_CASE("C3: data written before a cluster barrier are read after it") {
  expect_clean(remote_write(true, true));
}

TEST_CASE("LT34: a relaxed arrival at the cluster barrier publishes nothing") {
  expect_first(remote_write(false, true), FindingClass::race, "M4", 5);
  expect_first(remote_write(true, false), FindingClass::race, "M4", 5);
}

TEST_CASE("C1: a warp arrives twice before the cluster barrier completes") {
  TraceBuilder t(2);
  t.cluster(2, 4);
  t.cluster_arrive(0, 1);
  t.cluster_arrive(0, 2);
  t.cluster_arrive(1, 3);
  t.exit_all(9);
  expect_first(t.trace, FindingClass::barrier_protocol, "C1", 2);
}

TEST_CASE("Q15: arriving again without a wait is advice only") {
  TraceBuilder t(2);
  t.cluster(2, 2);
  t.cluster_arrive(0, 1);
  t.cluster_arrive(1, 1);
  t.cluster_arrive(0, 2);
  t.cluster_wait(1, 3, 1);
  t.cluster_arrive(1, 4);
  t.cluster_wait(0, 5, 2);
  t.cluster_wait(1, 5, 2);
  t.exit_all(9);
  expect_lint(t.trace, "Q15", 2);
}

TEST_CASE("LT35: the cluster barrier completes without the warps that have ended") {
  TraceBuilder t(4);
  t.cluster(2, 4);
  t.exit(3, 1);
  for (uint32_t w : {0u, 1u, 2u}) t.cluster_arrive(w, 2);
  for (uint32_t w : {0u, 1u, 2u}) t.cluster_wait(w, 3, 1);
  for (uint32_t w : {0u, 1u, 2u}) t.exit(w, 9);
  expect_clean(t.trace);
}

TEST_CASE("two generations: what is published in the second is not there after the first") {
  TraceBuilder t(2);
  t.cluster(2, 2);
  t.cluster_sync(1, 1);
  t.write(1, 2, t.shared_of(1, 0));
  t.cluster_arrive(1, 3);
  t.read(0, 4, t.shared_of(1, 0));  // reads before its own second arrival
  t.cluster_arrive(0, 5);
  t.cluster_wait(0, 6, 2);
  t.cluster_wait(1, 6, 2);
  t.exit_all(9);
  expect_first(t.trace, FindingClass::race, "M4", 4);
}

TEST_CASE("MB8: nobody waits on a barrier of another CTA") {
  TraceBuilder t(2);
  t.cluster(2, 2);
  const uint32_t b = t.barrier("@0.b", 1, 0);
  t.arrive(0, 1, b);
  t.wait(1, 2, b, 0, 1);
  t.cluster_sync(8, 1);
  t.exit_all(9);
  CHECK(expect_first(t.trace, FindingClass::barrier_protocol, "MB8", 2).subject == "@0.b");
}

TEST_CASE("LT12, MB11: a remote barrier needs its init, the fence of the init, and the cluster barrier") {
  const auto program = [](bool fence, bool sync) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    const uint32_t b = t.barrier("@0.b");
    t.init(0, 1, b, 1);
    if (fence) t.event(EventKind::fence_mbarrier_init, 0, 2);
    if (sync) t.cluster_sync(3, 1);
    t.arrive(1, 4, b);
    t.trace.events.back().scope = Scope::cluster;
    t.wait(0, 5, b, 0, 1);
    t.trace.events.back().scope = Scope::cluster;
    t.cluster_sync(8, sync ? 2 : 1);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true, true));
  const Diagnostic unfenced =
      expect_rule(program(false, true), "MB11", 4);  // contested: the policy init_fence
  CHECK(unfenced.severity == Severity::lint);
  CHECK(unfenced.subject == "@0.b");
  CheckOptions strict;
  strict.policies = strict_policies();
  CHECK(expect_rule(program(false, true), "MB11", 4, strict).severity == Severity::error);
  CHECK(check(program(true, false)).verdict == Verdict::finding);
  CHECK(expect_rule(program(true, false), "MB11", 4).finding_class == FindingClass::race);
}

TEST_CASE("MB11: the fence of the init goes with a relaxed arrival at the cluster barrier") {
  TraceBuilder t(2);
  t.cluster(2, 2);
  const uint32_t b = t.barrier("@0.b");
  t.init(0, 1, b, 1);
  t.event(EventKind::fence_mbarrier_init, 0, 2);
  t.cluster_arrive(0, 3, false);
  t.cluster_arrive(1, 3, false);
  t.cluster_wait(0, 4, 1);
  t.cluster_wait(1, 4, 1);
  t.arrive(1, 5, b);
  t.trace.events.back().scope = Scope::cluster;
  t.wait(0, 6, b, 0, 1);
  t.cluster_sync(8, 2);
  t.exit_all(9);
  expect_clean(t.trace);
}

// C3: a relaxed arrival publishes nothing of its own. A fence of scope .cluster before it publishes all that
// is generic, the fence of the init only the init.
TEST_CASE("MB11: a relaxed arrival at the cluster barrier needs a fence") {
  const auto program = [](bool fence) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    const uint32_t b = t.barrier("@0.b");
    t.init(0, 1, b, 1);
    if (fence) t.memory_fence(0, 2, Event::fence_acquire | Event::fence_release);
    t.cluster_arrive(0, 3, false);
    t.cluster_arrive(1, 3, false);
    t.cluster_wait(0, 4, 1);
    t.cluster_wait(1, 4, 1);
    t.arrive(1, 5, b);
    t.trace.events.back().scope = Scope::cluster;
    t.wait(0, 6, b, 0, 1);
    t.trace.events.back().scope = Scope::cluster;
    t.cluster_sync(8, 2);
    t.exit_all(9);
    return t.trace;
  };
  for (const bool strict : {false, true}) {
    CheckOptions options;
    if (strict) options.policies = strict_policies();
    const Diagnostic bare = expect_rule(program(false), "MB11", 5, options);
    CHECK(bare.finding_class == FindingClass::race);
    CHECK(bare.severity == Severity::error);
    const Diagnostic fenced = expect_rule(program(true), "MB11", 5, options);
    CHECK(fenced.severity == (strict ? Severity::error : Severity::lint));
  }
}

TEST_CASE("LT33, D3: the last release of a consumer can hit a producer that has ended") {
  const auto program = [](bool tail) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    const uint32_t e = t.barrier("@0.e", 1, 0);
    t.arrive(1, 1, e);
    t.trace.events.back().scope = Scope::cluster;
    t.wait(0, 2, e, 0, 1);
    t.arrive(1, 3, e);
    t.trace.events.back().scope = Scope::cluster;
    if (tail) t.wait(0, 4, e, 1, 2);
    t.exit_all(9);
    return t.trace;
  };
  const Diagnostic d = expect_rule(program(false), "D3", 3);
  CHECK(d.finding_class == FindingClass::lifetime);
  CHECK(d.subject == "@0.e");
  CHECK(d.severity == Severity::error);
  const Report tail = check(program(true));  // the second arrival can lap the first wait; nobody outlives
  CHECK(find(tail, FindingClass::lifetime) == nullptr);
}

TEST_CASE("D2: a store into a CTA that does not wait for it") {
  const auto program = [](bool sync) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    t.cluster_sync(1, 1);
    t.write(1, 2, t.shared_of(0, 0));
    if (sync) t.cluster_sync(3, 2);
    t.exit_all(9);
    return t.trace;
  };
  expect_clean(program(true));
  CHECK(has_fact(expect_first(program(false), FindingClass::lifetime, "D2", 2), "no strand of CTA 0"));
}

TEST_CASE("D1: a store into a CTA of which nothing is known yet") {
  TraceBuilder t(2);
  t.cluster(2, 2);
  t.write(1, 2, t.shared_of(0, 0));
  t.cluster_sync(3, 1);
  t.exit_all(9);
  expect_first(t.trace, FindingClass::lifetime, "D1", 2);
}

TEST_CASE("MB30, PX5, D2: a multicast copy is one copy a CTA, each on its own barrier") {
  const auto program = [](bool waits) {
    TraceBuilder t(2);
    t.cluster(2, 2);
    const uint32_t mine = t.barrier("@0.full", 1, 0), theirs = t.barrier("@1.full", 1, 1);
    t.arrive_expect(0, 1, mine, 64);
    t.arrive_expect(1, 2, theirs, 64);
    const uint32_t a = t.load(0, 3, mine, 64), b = t.load(0, 3, theirs, 64);
    t.touch(a, t.shared_of(0, 0), true);
    t.complete(a);
    t.touch(b, t.shared_of(1, 0), true);
    t.complete(b);
    t.wait(0, 4, mine, 0, 1);
    t.read(0, 5, t.shared_of(0, 0));
    if (waits) {
      t.wait(1, 4, theirs, 0, 1);
      const uint32_t q = t.queue(QueueInfo::Kind::wgmma, 0);
      t.run(AsyncOp::Kind::wgmma, 1, 6, q, 1, t.shared_of(1, 0), false);
      t.group_wait(1, 7, q, 1);
    }
    t.exit_all(9);
    return t.trace;
  };
  expect_lint(program(true), "PX5", 6);
  CheckOptions errors;
  errors.policies.async_across_ctas = Severity::error;
  CHECK(check(program(true), errors).verdict == Verdict::finding);
  CHECK(expect_first(program(false), FindingClass::lifetime, "D2", 3).subject == "@1.full");
}
