// SPDX-License-Identifier: Apache-2.0

// Asynchronous writes to another CTA's shared memory (semantics.md BF2, DX1).

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// Two CTAs of 32 threads. Rank 0's thread 0 executes `send` with %r5, %r6: tile and barrier of rank 1, %r2,
/// %r3: the own ones; rank 1's thread 0 waits for 16 bytes and stores the first word of its tile to out[0].
Setup pair(const std::string& send) {
  Setup s;
  s.ctas = 2;
  s.launch_lines = "cluster = [2, 1, 1]";
  s.variables = ".shared .align 16 .b8 tile[16]; .shared .align 8 .b64 bar;";
  s.body = R"(
    mov.u32 %r2, tile; mov.u32 %r3, bar; mov.u32 %r4, %cluster_ctarank; setp.ne.u32 %p1, %r0, 0; setp.ne.u32 %p2, %r4, 0;
    @%p1 bra READY; mov.u32 %r7, 40; st.shared.u32 [%r2], %r7;
    mbarrier.init.shared.b64 [%r3], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 16;
    fence.mbarrier_init.release.cluster; fence.proxy.async;
  READY: barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    @%p1 bra LEAVE; @%p2 bra RECEIVE;
    mapa.shared::cluster.u32 %r5, %r2, 1; mapa.shared::cluster.u32 %r6, %r3, 1;
)" + send + R"(
    bra LEAVE;
  RECEIVE:
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;
    ld.shared.u32 %r8, [%r2]; st.global.u32 [%rd0], %r8;
  LEAVE: bar.warp.sync 0xffffffff;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; ret;)";
  return s;
}

uint32_t received(const std::string& send) {
  const Ran r = run(pair(send));
  REQUIRE_MESSAGE(r.finished(), r.problem());
  return r.words(1)[0];
}

const std::string kCopy =
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%r2], 16, [%r6];";

}  // namespace

TEST_CASE("st.async, red.async and bulk copies bring their bytes to the other CTA") {
  CHECK(received("mov.u32 %r7, 7; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r5], "
                 "{%r7, %r7, %r7, "
                 "%r7}, [%r6];") == 7);
  CHECK(received(kCopy) == 40);
  const std::string add =
      "mov.u32 %r7, 2; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
      "[%r5], %r7, [%r6];\n";
  CHECK(received(add + add + add + add) == 48);
  CHECK(received("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
                 "[%r5], [%r2], 16, "
                 "[%r6];") == 80);
}

TEST_CASE("BF2, DX1: a destination in the own CTA, a barrier elsewhere, no cluster") {
  auto problem = [](std::string send, const std::string& from, const std::string& to) {
    send.replace(send.find(from), from.size(), to);
    return run(pair(send)).problem();
  };
  CHECK(contains(problem(kCopy, "[%r5]", "[%r2]"), "BF2: "));
  CHECK(contains(problem(kCopy, "[%r6]", "[%r3]"), "DX1: "));
  Setup alone;
  alone.variables = ".shared .align 16 .b8 tile[16]; .shared .align 8 .b64 bar;";
  alone.body =
      "mov.u32 %r2, tile; mov.u32 %r3, bar; mbarrier.init.shared.b64 [%r3], 1;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r2], %r0, [%r3]; ret;";
  alone.threads = 1;
  CHECK(contains(run(alone).problem(), "DX1: "));
}

TEST_CASE("the trace tells of a remote store by its kind and the barrier of the other CTA") {
  const Ran r = run(
      pair("mov.u32 %r7, 7; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r5], {%r7, "
           "%r7, %r7, %r7}, [%r6];"));
  REQUIRE(r.trace().ops.size() == 1);
  CHECK(r.trace().ops[0].kind == AsyncOp::Kind::remote_store);
  CHECK(r.trace().barriers[r.trace().ops[0].barrier].cta == 1);
}
