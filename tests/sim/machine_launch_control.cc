// SPDX-License-Identifier: Apache-2.0

// Cluster launch control and dependent launch (semantics.md sections 10 and 11).

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// A persistent CTA: thread 0 asks for clusters until it is refused; the number of clusters that it got goes
/// to out[0], the sum of their first x to out[1].
const char* kPersistent = R"(
    mov.u32 %r9, bar; mov.u32 %r8, answer; mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0;
    setp.ne.u32 %p1, %r0, 0; @%p1 ret;
    mbarrier.init.shared.b64 [%r9], 1;
  NEXT:
    mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r8], [%r9];
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], %r12; @!%p2 bra W;
    ld.shared.b128 %q0, [%r8];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0;
    @!%p3 bra DONE;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r13, %r14, %r15, _}, %q0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r16, %q0;
    add.u32 %r10, %r10, 1; add.u32 %r11, %r11, %r16; xor.b32 %r12, %r12, 1;
    bra NEXT;
  DONE: st.global.u32 [%rd0], %r10; st.global.u32 [%rd0+4], %r11; ret;)";

Setup persistent(const std::string& body = kPersistent) {
  Setup s;
  s.ctas = 8;
  s.variables = ".shared .align 8 .b64 bar; .shared .align 16 .b8 answer[16]; .reg .b128 %q<4>;";
  s.body = body;
  return s;
}

Ran run_with(const Setup& s, uint32_t clusters, bool every) {
  Ran out;
  out.launch = launch_of(s);
  const auto program = program_of(s, out.launch);
  if (!program) FAIL(program.error().text());
  sim::RunOptions options;
  options.domain = s.domain;
  options.ctas = {0};
  options.clusters_to_cancel = clusters;
  options.every_cancel_count = every;
  Result<sim::RunResult> result = sim::run_launch(**program, out.launch, options);
  if (!result) FAIL(result.error().text());
  out.result = std::move(*result);
  return out;
}

std::string edited(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("a kernel gets as many clusters as the run hands out, the last ones first [CL1 CL7 shows]") {
  for (uint32_t n : {0u, 1u, 3u}) {
    const Ran r = run_with(persistent(), n, true);
    REQUIRE_MESSAGE(r.finished(), r.problem());
    CHECK(r.words(2)[0] == n);
    CHECK(r.words(2)[1] == (n == 0 ? 0 : n == 1 ? 7 : 7 + 6 + 5));
  }
}

TEST_CASE("one number of clusters does not stand for the others") {
  const Ran r = run_with(persistent(), 2, false);
  CHECK(contains(r.problem(), "?: whether a cluster is handed over to this one depends on the schedule"));
  CHECK(r.trace().unknowns.size() == 1);
}

TEST_CASE("the answer is written through the async proxy and completes 16 bytes") {
  const Ran r = run_with(persistent(), 0, true);
  REQUIRE(r.trace().ops.size() == 1);
  CHECK(r.trace().ops[0].kind == AsyncOp::Kind::clc_query);
  CHECK(r.trace().ops[0].bytes == 16);
  CHECK(r.count(EventKind::async_access) == 1);
}

TEST_CASE("CL4: no request after a refusal was seen; CL9: a refusal has no first CTA") {
  CHECK(contains(
      run_with(persistent(edited(kPersistent, "@!%p3 bra DONE;", "xor.b32 %r12, %r12, 1; @!%p3 bra NEXT;")),
               0, true)
          .problem(),
      "CL4: "));
  CHECK(
      contains(run_with(persistent(edited(kPersistent, "@!%p3 bra DONE;", "")), 0, true).problem(), "CL9: "));
}

TEST_CASE("the answer is told apart by the query instructions only: its high half is not known") {
  const Ran r =
      run_with(persistent(edited(
                   kPersistent, "@!%p3 bra DONE;",
                   "mov.b128 {%rd4, %rd5}, %q0; setp.eq.s64 %p4, %rd5, 0; @%p4 bra DONE; @!%p3 bra DONE;")),
               0, true);
  CHECK(contains(r.problem(), "?: the guard of 'bra'"));
}

TEST_CASE("MB18: a request whose bytes nobody expects") {
  const Ran r = run_with(persistent(edited(kPersistent, "mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;",
                                           "mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 32;")),
                         0, true);
  CHECK(contains(r.problem(), "blocked"));
}

TEST_CASE("griddepcontrol is recorded, and the wait passes") {
  const Ran r = run("griddepcontrol.launch_dependents; griddepcontrol.wait; ret;");
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.count(EventKind::dependents_launch) == 1);
  CHECK(r.count(EventKind::dependency_wait) == 1);
}

TEST_CASE("CL2: with multicast every CTA of the cluster gets the answer, on a barrier of its own") {
  const std::string body = R"(
    mov.u32 %r9, bar; mov.u32 %r8, answer; setp.ne.u32 %p1, %r0, 0; mov.u32 %r4, %cluster_ctarank; setp.ne.u32 %p4, %r4, 0;
    @%p1 bra READY; mbarrier.init.shared.b64 [%r9], 1; EXPECT
    fence.mbarrier_init.release.cluster;
  READY: barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    @%p1 bra LEAVE; @%p4 bra W;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r8], [%r9];
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0; @!%p2 bra W;
    ld.shared.b128 %q0, [%r8];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0; selp.u32 %r5, 1, 2, %p3;
    st.global.u32 [%rd1], %r5;
  LEAVE: bar.warp.sync 0xffffffff; barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; ret;)";
  auto pair = [&](const std::string& expect) {
    Setup s = persistent(edited(body, "EXPECT", expect));
    s.ctas = 4;
    s.launch_lines = "cluster = [2, 1, 1]";
    return s;
  };
  Setup s = pair("mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;");
  Ran r;
  r.launch = launch_of(s);
  const auto program = program_of(s, r.launch);
  REQUIRE(program);
  sim::RunOptions options;
  options.domain = s.domain;
  options.ctas = {0, 1};
  options.clusters_to_cancel = 1;
  options.every_cancel_count = true;
  auto result = sim::run_launch(**program, r.launch, options);
  REQUIRE(result);
  r.result = std::move(*result);
  REQUIRE_MESSAGE(r.finished(), r.problem());
  CHECK(r.words(64)[0] == 1);
  CHECK(r.words(64)[32] == 1);
  CHECK(r.trace().ops.size() == 2);
  // Only rank 0 expects: the other CTA waits for ever.
  CHECK(run(pair("@!%p4 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;")).problem() != "");
}
