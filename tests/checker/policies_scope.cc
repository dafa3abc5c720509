// SPDX-License-Identifier: Apache-2.0
//
// Policy remote_scope: what arrivals and waits of scope .cta order between two CTAs (HB1, Q2, M3, M9).
// Expected verdicts are those of the text where it speaks, and of the probes P12 and P16
// (docs/semantics-probes.md) for what is complete before the arrival. Warp w is warp w / 2 of CTA w % 2.
#include "tests/checker/expect.h"
#include "tests/checker/trace_builder.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

CheckOptions strict_scopes() {
  CheckOptions options;
  options.policies.remote_scope = Policies::Scope::strict;
  return options;
}

/// What stands around the hand-over from CTA 1 to CTA 0.
struct Link {
  Scope arrive = Scope::cta, wait = Scope::cta;
  bool proxy_fence = false;             ///< before the arrive
  bool release_fence = false;           ///< of scope .gpu, before the arrive
  bool acquire_fence = false;           ///< of scope .gpu, after the wait
  bool release = true, acquire = true;  ///< else relaxed
};

/// Warp 1 of CTA 1 arrives at line 2 on a barrier of CTA 0, where warp 0 waits at line 3.
void hand_over(TraceBuilder& t, const Link& link, uint32_t barrier) {
  if (link.proxy_fence) t.fence(1, 2);
  if (link.release_fence) t.memory_fence(1, 2, Event::fence_release);
  t.arrive(1, 2, barrier, 1, link.release);
  t.trace.events.back().scope = link.arrive;
  t.wait(0, 3, barrier, 0, 1, link.acquire);
  t.trace.events.back().scope = link.wait;
  if (link.acquire_fence) t.memory_fence(0, 3, Event::fence_acquire);
}

/// CTA 1 stores into the shared memory of CTA 0 (or into global memory), CTA 0 reads it.
Trace payload(const Link& link, bool global = false) {
  TraceBuilder t(2);
  t.cluster(2, 2);
  const uint32_t full = t.barrier("@0.full", 1, 0);
  t.cluster_sync(1, 1);
  const uint32_t where = global ? t.global(0) : t.shared_of(0, 0);
  t.write(1, 1, where);
  hand_over(t, link, full);
  t.read(0, 4, where);
  t.cluster_sync(8, 2);
  t.exit_all(9);
  return t.trace;
}

/// CTA 1 reads its own buffer and releases it; CTA 0 refills it with plain stores.
Trace refill_by_stores(const Link& link) {
  TraceBuilder t(2);
  t.cluster(2, 2);
  const uint32_t empty = t.barrier("@0.empty", 1, 0);
  t.cluster_sync(1, 1);
  t.read(1, 1, t.shared_of(1, 0));
  hand_over(t, link, empty);
  t.write(0, 4, t.shared_of(1, 0));
  t.cluster_sync(8, 2);
  t.exit_all(9);
  return t.trace;
}

/// The same with a bulk copy; `fence_after`: a proxy fence of the producer after its wait. Reads are generic,
/// or those of a wgmma that was waited for.
Trace refill_by_copy(const Link& link, bool wgmma = false, bool fence_after = false) {
  TraceBuilder t(2);
  t.cluster(2, 2);
  const uint32_t empty = t.barrier("@0.empty", 1, 0), full = t.barrier("@1.full", 1, 1);
  t.cluster_sync(1, 1);
  t.arrive_expect(1, 1, full, 64);
  if (wgmma) {
    const uint32_t q = t.queue(QueueInfo::Kind::wgmma, 1);
    t.run(AsyncOp::Kind::wgmma, 1, 1, q, 1, t.shared_of(1, 0), false);
    t.group_wait(1, 1, q, 1);
  } else {
    t.read(1, 1, t.shared_of(1, 0));
  }
  hand_over(t, link, empty);
  if (fence_after) t.fence(0, 3);
  const uint32_t copy = t.load(0, 4, full, 64);
  t.touch(copy, t.shared_of(1, 0), true);
  t.complete(copy);
  t.wait(1, 5, full, 0, 1);
  t.read(1, 6, t.shared_of(1, 0));
  t.cluster_sync(8, 2);
  t.exit_all(9);
  return t.trace;
}

Link wide() { return {Scope::cluster, Scope::cluster}; }
Link fenced_by_proxy() {
  Link l;
  l.proxy_fence = true;
  return l;
}

void expect_error(const Trace& trace, const std::string& rule, uint32_t line) {
  const Diagnostic d = expect_rule(trace, rule, line);
  CHECK(d.severity == Severity::error);
  CHECK(check(trace).verdict == Verdict::finding);
}

/// Clean, and nobody is told anything.
void expect_silent(const Trace& trace, const CheckOptions& options = {}) {
  const Report r = check(trace, options);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::clean);
  CHECK(r.diagnostics.empty());
}

}  // namespace

TEST_CASE("P12: a payload of stores needs scope .cluster at both ends, in shared and in global memory") {
  for (const bool global : {false, true}) {
    expect_silent(payload(wide(), global));
    expect_silent(payload(wide(), global), strict_scopes());
    for (const Link& link : {Link{}, Link{Scope::cluster, Scope::cta}, Link{Scope::cta, Scope::cluster}}) {
      const Diagnostic d = expect_first(payload(link, global), FindingClass::race, "HB1", 4);
      CHECK(has_fact(d, "probe P12"));
      REQUIRE(d.sides.size() == 2);
      CHECK(d.sides.back().position.line == (link.arrive == Scope::cta ? 2 : 3));
      CHECK(check(payload(link, global), strict_scopes()).verdict == Verdict::finding);
    }
  }
}

TEST_CASE("P12: a proxy fence does not make stores visible to another CTA") {
  expect_first(payload(fenced_by_proxy()), FindingClass::race, "HB1", 4);
}

TEST_CASE("M7, M8: fences of a wide scope do what a narrow or relaxed arrival and wait do not") {
  Link fences;
  fences.release_fence = fences.acquire_fence = true;
  for (const bool relaxed : {false, true}) {
    fences.release = fences.acquire = !relaxed;
    expect_silent(payload(fences));
    expect_silent(payload(fences), strict_scopes());
  }
  Link one = fences;  // relaxed, and a fence on one side
  one.acquire_fence = false;
  expect_first(payload(one), FindingClass::race, "M4", 4);
  one = fences;
  one.release_fence = false;
  expect_first(payload(one), FindingClass::race, "M4", 4);
}

TEST_CASE("M7: a release fence covers what comes before it, not what comes after") {
  TraceBuilder t(2);
  t.cluster(2, 2);
  const uint32_t full = t.barrier("@0.full", 1, 0);
  t.cluster_sync(1, 1);
  t.write(1, 1, t.shared_of(0, 0));
  t.memory_fence(1, 2, Event::fence_release);
  t.write(1, 2, t.shared_of(0, 1));
  t.arrive(1, 2, full);
  t.wait(0, 3, full, 0, 1);
  t.trace.events.back().scope = Scope::cluster;
  t.read(0, 4, t.shared_of(0, 0));
  t.read(0, 5, t.shared_of(0, 1));
  t.cluster_sync(8, 2);
  t.exit_all(9);
  CHECK(check(t.trace).diagnostics.size() == 1);
  expect_error(t.trace, "HB1", 5);
}

TEST_CASE("P16: reads before a default remote arrive are not over when the peer stores") {
  const Diagnostic d = expect_first(refill_by_stores({}), FindingClass::race, "HB1", 4);
  CHECK(has_fact(d, "probe P16"));
  expect_error(refill_by_stores({Scope::cta, Scope::cluster}), "HB1", 4);
  expect_silent(refill_by_stores(wide()));
  // Clean, with advice: the reads are over, by a proxy fence or by the wait that .release.cluster is.
  expect_lint(refill_by_stores(fenced_by_proxy()), "Q2", 2);
  expect_lint(refill_by_stores({Scope::cluster, Scope::cta}), "Q2", 3);
  // By the letter: nothing.
  CHECK(expect_rule(refill_by_stores(fenced_by_proxy()), "HB1", 2, strict_scopes()).severity ==
        Severity::error);
  CHECK(check(refill_by_stores({Scope::cluster, Scope::cta}), strict_scopes()).verdict == Verdict::finding);
}

TEST_CASE("P16, PX2: reads before a default remote arrive, refilled by a bulk copy") {
  expect_error(refill_by_copy({}), "HB1", 4);
  expect_error(refill_by_copy({}, false, true), "HB1",
               4);  // the producer's fence cannot help: no order at all
  expect_lint(refill_by_copy(fenced_by_proxy()), "Q2", 2);
  // Ordered by .release.cluster; the proxy fence is missing (PX2), or comes from the producer (PX8).
  expect_error(refill_by_copy(wide()), "PX2", 4);
  expect_silent(refill_by_copy(wide(), false, true));
  expect_error(refill_by_copy({Scope::cluster, Scope::cta}), "PX2", 4);
  expect_lint(refill_by_copy({Scope::cluster, Scope::cta}, false, true), "Q2", 3);
}

TEST_CASE("the CUTLASS consumer release: a wgmma that was waited for, a default arrive, a multicast refill") {
  const Trace trace = refill_by_copy({}, true);
  const Report r = check(trace);
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::clean);
  expect_lint(trace, "Q2", 2);
  CHECK(expect_rule(trace, "HB1", 2, strict_scopes()).severity == Severity::error);
  expect_rule(trace, "PX5", 4);
  CHECK(check(refill_by_copy(wide(), true)).verdict == Verdict::clean);
}

TEST_CASE("HB1: a chain through another CTA is as strong as its weakest link") {
  for (const Scope back : {Scope::cta, Scope::cluster}) {
    TraceBuilder t(4);  // warps 0 and 2: CTA 0; warp 1: CTA 1
    t.cluster(2, 4);
    const uint32_t there = t.barrier("@1.b", 1, 1), here = t.barrier("@0.b", 1, 0);
    t.cluster_sync(1, 1);
    t.write(0, 1, t.shared_of(0, 0));
    t.arrive(0, 2, there);
    t.trace.events.back().scope = Scope::cluster;
    t.wait(1, 3, there, 0, 1);
    t.trace.events.back().scope = Scope::cluster;
    t.arrive(1, 4, here);
    t.trace.events.back().scope = back;
    t.wait(2, 5, here, 0, 1);
    t.trace.events.back().scope = Scope::cluster;
    t.read(2, 6, t.shared_of(0, 0));
    t.cluster_sync(8, 2);
    t.exit_all(9);
    if (back == Scope::cta)
      expect_error(t.trace, "HB1", 6);
    else
      expect_silent(t.trace);
  }
}

TEST_CASE("a wait of scope .cta learns in full what its own CTA released into the same barrier") {
  TraceBuilder t(4);
  t.cluster(2, 4);
  const uint32_t full = t.barrier("@0.full", 2, 0);
  t.cluster_sync(1, 1);
  t.write(1, 1, t.shared_of(0, 0));
  t.write(2, 1, t.shared_of(0, 1));
  t.arrive(1, 2, full);
  t.trace.events.back().scope = Scope::cluster;
  t.arrive(2, 2, full);  // warp 1 of CTA 0: the same CTA
  t.wait(0, 3, full, 0, 1);
  t.read(0, 4, t.shared_of(0, 1));
  t.read(0, 5, t.shared_of(0, 0));
  t.cluster_sync(8, 2);
  t.exit_all(9);
  for (const CheckOptions& options : {CheckOptions{}, strict_scopes()}) {
    CHECK(expect_rule(t.trace, options.policies.remote_scope == Policies::Scope::strict ? "HB1" : "Q2", 3,
                      options)
              .subject == "@0.full");
    const Report r = check(t.trace, options);
    CHECK(std::count_if(r.diagnostics.begin(), r.diagnostics.end(), [](const Diagnostic& d) {
            return d.rule == "HB1" && d.where.line == 5 && d.severity == Severity::error;
          }) == 1);
    CHECK(std::none_of(r.diagnostics.begin(), r.diagnostics.end(),
                       [](const Diagnostic& d) { return d.where.line == 4; }));
  }
}

TEST_CASE("P16: the proxy fence before a default remote arrive is that of the thread that reads") {
  for (const bool reader : {true, false}) {
    TraceBuilder t(4);  // warps 1 and 3: CTA 1
    t.cluster(2, 4);
    const uint32_t empty = t.barrier("@0.empty", 1, 0), met = t.barrier("@1.met", 1, 1);
    t.cluster_sync(1, 1);
    t.read(3, 2, t.shared_of(1, 0));
    if (reader) t.fence(3, 3);
    t.arrive(3, 4, met);
    t.wait(1, 4, met, 0, 1);
    if (!reader) t.fence(1, 5);
    t.arrive(1, 6, empty);
    t.wait(0, 7, empty, 0, 1);
    t.write(0, 8, t.shared_of(1, 0));
    t.cluster_sync(9, 2);
    t.exit_all(10);
    if (reader)
      expect_lint(t.trace, "Q2", 6);
    else
      expect_error(t.trace, "HB1", 8);
  }
}

TEST_CASE("P12: a read that is over does not carry the store that it read to another CTA") {
  TraceBuilder t(2);
  t.cluster(2, 2);
  const uint32_t empty = t.barrier("@0.empty", 1, 0);
  t.cluster_sync(1, 1);
  t.write(1, 2, t.shared_of(1, 0));
  t.read(1, 3, t.shared_of(1, 0));
  t.fence(1, 4);
  t.arrive(1, 5, empty);
  t.wait(0, 6, empty, 0, 1);
  t.write(0, 7, t.shared_of(1, 0));
  t.cluster_sync(8, 2);
  t.exit_all(9);
  expect_error(t.trace, "HB1", 7);
}
