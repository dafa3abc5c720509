// SPDX-License-Identifier: Apache-2.0
//
// The contested rules in PTX: the probes P9, P12, P14 and P16 as small kernels, executed and checked. The
// verdict of each variant is what the H200 answered (docs/semantics-probes.md), or the text where it asks for
// more.
#include "checker/policies.h"
#include "tests/checker/expect.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

Report policy_report(const Setup& s, const Policies& policies = {}) {
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  CheckOptions options;
  options.policies = policies;
  Report total;
  for (const Trace& t : r.result.traces) merge_into(total, check(t, options));
  conclude(total);
  return total;
}

bool has_error(const Report& r, const std::string& rule) {
  return std::any_of(r.diagnostics.begin(), r.diagnostics.end(),
                     [&](const Diagnostic& d) { return d.rule == rule && d.severity == Severity::error; });
}

/// A cluster of two; thread 0 of each CTA works. CTA 1 does `one`, CTA 0 does `zero`. %r2: box of 64 bytes,
/// %r3: a barrier of count 1, %r4: another; %r5, %r6, %r7: the same of the other CTA.
Setup cluster_pair(const std::string& one, const std::string& zero) {
  Setup s;
  s.ctas = 2;
  s.domain = sim::Domain::control;
  s.launch_lines = "cluster = [2, 1, 1]";
  s.variables =
      ".shared .align 128 .b8 box[64]; .shared .align 8 .b64 bar[2]; .shared .align 16 .b8 source[64];";
  s.body = R"(
    mov.u32 %r2, box; mov.u32 %r3, bar; add.u32 %r4, %r3, 8; mov.u32 %r9, source;
    mov.u32 %r90, %cluster_ctarank; setp.eq.u32 %p14, %r90, 0; setp.eq.u32 %p15, %r0, 0;
    @!%p15 bra READY;
    mbarrier.init.shared::cta.b64 [%r3], 1; mbarrier.init.shared::cta.b64 [%r4], 1;
    fence.mbarrier_init.release.cluster;
  READY: bar.warp.sync 0xffffffff; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    xor.b32 %r91, %r90, 1; mapa.shared::cluster.u32 %r5, %r2, %r91;
    mapa.shared::cluster.u32 %r6, %r3, %r91; mapa.shared::cluster.u32 %r7, %r4, %r91;
    @!%p15 bra LEAVE;
    @%p14 bra ZERO;
)" + one + "\nbra LEAVE;\nZERO:\n" +
           zero + R"(
  LEAVE: bar.warp.sync 0xffffffff; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;)";
  return s;
}

std::string arrive(const std::string& semantics) {
  return "mbarrier.arrive" + semantics + ".shared::cluster.b64 _, [%r6];\n";
}
std::string poll(const std::string& semantics) {
  return "W: mbarrier.try_wait.parity" + semantics + ".shared::cta.b64 %p3, [%r3], 0; @!%p3 bra W;\n";
}

const std::string kRelease = ".release.cluster", kAcquire = ".acquire.cluster";
const std::string kProxyFence = "fence.proxy.async;\n", kClusterFence = "fence.acq_rel.cluster;\n";

/// P12: CTA 1 stores into CTA 0 and arrives there; CTA 0 waits and loads.
Report payload(const std::string& release, const std::string& acquire, const std::string& before = {},
               const std::string& after = {}) {
  return policy_report(cluster_pair("st.shared::cluster.u32 [%r5], %r0;\n" + before + arrive(release),
                                    poll(acquire) + after + "ld.shared.u32 %r8, [%r2];"));
}

/// P16: CTA 1 loads its box and releases it; CTA 0 waits and refills it with a store.
Report refill(const std::string& release, const std::string& acquire, const std::string& before = {}) {
  return policy_report(cluster_pair("ld.shared.u32 %r8, [%r2];\n" + before + arrive(release),
                                    poll(acquire) + "st.shared::cluster.u32 [%r5], %r0;"));
}

/// P16, bulk: the refill is a copy of shared memory of CTA 0, which completes on a barrier of CTA 1.
Report bulk_refill(const std::string& release, const std::string& acquire, const std::string& before = {},
                   const std::string& after = {}) {
  return policy_report(cluster_pair(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 64; ld.shared.u32 %r8, [%r2];\n" + before +
          arrive(release) +
          "V: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0; @!%p3 bra V;\nld.shared.u32 %r8, "
          "[%r2];",
      poll(acquire) + after +
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%r9], 64, [%r7];"));
}

void expect_hb1(const Report& r) {
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::finding);
  CHECK(has_error(r, "HB1"));
}

void expect_fine(const Report& r) {
  INFO(text_of(r));
  CHECK(r.verdict == Verdict::clean);
}

}  // namespace

TEST_CASE("P12 in PTX: stores for another CTA need .release.cluster and .acquire.cluster, or fences") {
  expect_hb1(payload("", ""));
  expect_hb1(payload("", kAcquire));
  expect_hb1(payload(kRelease, ""));
  expect_hb1(payload("", "", kProxyFence));
  expect_hb1(payload("", "", kClusterFence));
  expect_fine(payload(kRelease, kAcquire));
  expect_fine(payload("", "", kClusterFence, kClusterFence));
  expect_fine(payload("", kAcquire, kClusterFence));
}

TEST_CASE("P16 in PTX: loads before a default remote arrive, the peer stores") {
  expect_hb1(refill("", ""));
  expect_hb1(refill("", kAcquire));
  expect_fine(refill(kRelease, kAcquire));
  expect_fine(refill(kRelease, ""));  // the loads are over; a lint tells of the wait
  expect_fine(refill("", "", kProxyFence));
  expect_fine(refill("", "", kClusterFence));
}

TEST_CASE("P16 in PTX: loads before a default remote arrive, the peer copies") {
  expect_hb1(bulk_refill("", ""));
  expect_fine(bulk_refill("", "", kProxyFence));
  expect_fine(bulk_refill(kRelease, kAcquire, kProxyFence));
  expect_fine(bulk_refill(kRelease, kAcquire, {}, kProxyFence));
  const Report unfenced = bulk_refill(kRelease, kAcquire);
  INFO(text_of(unfenced));
  CHECK(has_error(unfenced, "PX2"));
}

TEST_CASE("P9 and P14 in PTX: policies read_fence and exit_in_flight") {
  Setup s;
  s.domain = sim::Domain::control;
  s.parameters = ", .param .u64 in";
  s.launch_text =
      "[[params]]\nbuffer = \"in\"\n[[buffers]]\nname = \"in\"\ndtype = \"u32\"\nshape = [64]\nrole = "
      "\"in\"\nfill = \"iota\"\n";
  s.variables = ".shared .align 128 .b8 tile[64]; .shared .align 8 .b64 bar;";
  const std::string setup = R"(
    ld.param.u64 %rd2, [in]; mov.u32 %r2, bar; mov.u32 %r3, tile; setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
    mbarrier.init.shared.b64 [%r2], 1;
)";
  const auto read_then_copy = [&](const std::string& fence) {
    Setup k = s;
    k.body = setup + "ld.shared.u32 %r6, [%r3];\n" + fence + R"(
      mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2], 64, [%r2];
    W: mbarrier.try_wait.parity.shared.b64 %p5, [%r2], 0; @!%p5 bra W;
    END: ret;)";
    return k;
  };
  Policies lint;
  lint.read_fence = Severity::lint;
  CHECK(has_error(policy_report(read_then_copy("")), "PX2"));
  CHECK(policy_report(read_then_copy(""), lint).verdict == Verdict::clean);
  CHECK(
      has_error(policy_report(read_then_copy("fence.acq_rel.cta;")), "PX2"));  // M10: the generic proxy only
  CHECK(policy_report(read_then_copy(kProxyFence)).diagnostics.empty());

  const auto store_and_exit = [&](const std::string& wait) {
    Setup k = s;
    k.body = setup + "st.shared.u32 [%r3], %r0; fence.proxy.async;\n" +
             "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 64; cp.async.bulk.commit_group;\n" +
             wait + "END: ret;";
    return k;
  };
  const Report left = policy_report(store_and_exit(""));
  INFO(text_of(left));
  CHECK(left.verdict == Verdict::clean);
  REQUIRE(!left.diagnostics.empty());
  CHECK(left.diagnostics.front().rule == "BK6");
  CHECK(has_error(policy_report(store_and_exit(""), strict_policies()), "BK6"));
  CHECK(
      policy_report(store_and_exit("cp.async.bulk.wait_group 0;\n"), strict_policies()).diagnostics.empty());
}
