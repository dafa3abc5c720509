// SPDX-License-Identifier: Apache-2.0

// Section 4 of semantics.md at PTX level: for each rule a kernel that breaks it and one that keeps it. The
// expected rule is that of the rule's own text.

#include "tests/sim/rule_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// Two CTAs in one cluster; %p14: rank 0, %p15: thread 0, %r91: the word `box` of the peer, %r92: its `bar`.
std::string of_pair(const std::string& body, uint32_t threads = 32) {
  Setup s;
  s.ctas = 2;
  s.threads = threads;
  s.launch_lines = "cluster = [2, 1, 1]";
  s.variables = ".shared .align 16 .b32 box[64]; .shared .align 8 .b64 bar;";
  s.body =
      "mov.u32 %r90, %cluster_ctarank; setp.eq.u32 %p14, %r90, 0; setp.eq.u32 %p15, %r0, 0;\n"
      "xor.b32 %r89, %r90, 1; mov.u32 %r91, box; mapa.shared::cluster.u32 %r91, %r91, %r89;\n"
      "mov.u32 %r92, bar; mapa.shared::cluster.u32 %r92, %r92, %r89;\n" +
      body + "\nret;";
  return judged(s);
}

const std::string arrive = "barrier.cluster.arrive.aligned;\n", wait = "barrier.cluster.wait.aligned;\n";
const std::string meet = arrive + wait;
const std::string put = "@%p15 st.shared.u32 [box], 5;\n", get_peer = "ld.shared::cluster.u32 %r1, [%r91];\n";
const std::string init =
    "@%p15 mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster;\n" + meet;
const std::string arrive_at_peer = "@%p15 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r92];\n";
const std::string wait_own =
    "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;\n";

}  // namespace

TEST_CASE("C1: each thread arrives once in a generation") {
  CHECK(cites(of_pair("@%p14 barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;"), "C1"));
  CHECK(of_pair(meet + meet + meet) == "clean");
}

TEST_CASE("C2: a wait needs an arrival of its own") {
  CHECK(cites(of_pair("@%p14 bra A; barrier.cluster.arrive; ret; A: barrier.cluster.wait;"), "C2"));
  CHECK(of_pair(arrive + "mov.u32 %r1, 1;" + wait) == "clean");
}

TEST_CASE(
    "C3: a relaxed arrival publishes nothing; what lies between arrival and wait is not ordered (LT34)") {
  CHECK(of_pair(meet + put + meet + get_peer + meet) == "clean");
  const std::string relaxed = "barrier.cluster.arrive.relaxed.aligned;\n" + wait;
  CHECK(of_pair(meet + put + relaxed + get_peer + meet) != "clean");
  CHECK(of_pair(meet + arrive + put + wait + get_peer + meet) != "clean");
}

TEST_CASE("C4: .aligned means all threads of the warp") {
  CHECK(of_pair("@%p15 bra A; barrier.cluster.arrive.aligned; bra B; A: barrier.cluster.arrive.aligned; B: " +
                wait) != "clean");
  CHECK(of_pair(meet) == "clean");
}

TEST_CASE("C5: threads that exited are no longer waited for (LT35)") {
  CHECK(of_pair("setp.ge.u32 %p1, %r0, 32; @%p1 ret;\n" + meet, 64) == "clean");
  CHECK(of_pair("@!%p14 ret;\n" + meet) == "clean");
  // One that runs on without arriving is.
  CHECK(cites(of_pair("@!%p14 bra S; " + meet +
                      "ret; S: @%p15 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;\n" + wait_own),
              "C2"));
}

TEST_CASE("D1: a peer may be touched once it has started") {
  CHECK(cites(of_pair("@%p15 st.shared::cluster.u32 [%r91], 5;\n" + meet), "D1"));
  CHECK(of_pair(meet + "@%p15 st.shared::cluster.u32 [%r91], 5;\n" + meet) == "clean");
}

TEST_CASE("D2: a CTA stays until its peers have read its shared memory") {
  CHECK(cites(of_pair(put + meet + get_peer), "D2"));
  CHECK(of_pair(put + meet + get_peer + meet) == "clean");
}

TEST_CASE("D3: the last arrival at a peer's barrier must find the peer alive") {
  CHECK(cites(of_pair(init + "@%p14 bra END; " + arrive_at_peer + "END:"), "D3"));
  CHECK(of_pair(init + arrive_at_peer + wait_own) == "clean");
  CHECK(of_pair(init + "@%p14 bra END; " + arrive_at_peer + "END:\n" + meet) == "clean");
}

TEST_CASE("DX3: mapa wants a rank of the cluster") {
  CHECK(cites(of_pair("mov.u32 %r1, box; mov.u32 %r2, 2; mapa.shared::cluster.u32 %r3, %r1, %r2;"), "DX3"));
  CHECK(of_pair("mov.u32 %r1, box; mov.u32 %r2, 1; mapa.shared::cluster.u32 %r3, %r1, %r2;") == "clean");
}

TEST_CASE("MB7, MB8: a barrier of another CTA takes arrivals, never waits") {
  CHECK(cites(of_pair(init + "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r92], 0; @!%p1 bra W;"),
              "MB8"));
  CHECK(of_pair(init + arrive_at_peer + wait_own + meet) == "clean");
}

TEST_CASE("MB11: peers see an initialisation after its fence and a cluster barrier (LT12)") {
  const std::string unseen = "@%p15 mbarrier.init.shared::cta.b64 [bar], 1;\n";
  CHECK(of_pair(init + arrive_at_peer + wait_own + meet) == "clean");
  CHECK(of_pair(unseen + "barrier.cluster.arrive.relaxed.aligned;\n" + wait + arrive_at_peer + wait_own +
                meet) != "clean");
}

namespace {

/// Thread 0 of the CTA of this rank arrives and expects so many bytes; with -1 it does not arrive.
std::string expect(int rank, int bytes) {
  if (bytes < 0) return {};
  return "setp.eq.u32 %p3, %r90, " + std::to_string(rank) +
         "; and.pred %p3, %p3, %p15;\n@%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
         std::to_string(bytes) + ";\n";
}

/// CTA 0 multicasts 64 bytes to both; each expects what the arguments say.
std::string of_multicast(int bytes0, int bytes1, const std::string& end) {
  Setup s;
  s.ctas = 2;
  s.launch_lines = "cluster = [2, 1, 1]";
  s.variables = ".shared .align 16 .b32 box[64]; .shared .align 8 .b64 bar;";
  s.parameters = ", .param .u64 src";
  s.launch_text =
      "[[buffers]]\nname = \"src\"\ndtype = \"u32\"\nshape = [16]\nrole = \"in\"\nfill = "
      "\"iota\"\n[[params]]\n"
      "buffer = \"src\"\n";
  s.body = "mov.u32 %r90, %cluster_ctarank; setp.eq.u32 %p14, %r90, 0; setp.eq.u32 %p15, %r0, 0;\n" + init +
           expect(0, bytes0) + expect(1, bytes1) +
           "and.pred %p2, %p14, %p15; ld.param.u64 %rd9, [src]; mov.u16 %rs1, 3;\n" + meet +
           "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [box], "
           "[%rd9], 64, "
           "[bar], %rs1;\n" +
           end + "ret;";
  return judged(s);
}

}  // namespace

TEST_CASE("MB30: each destination of a multicast expects what it receives (LT15)") {
  CHECK(of_multicast(64, 64, wait_own + "ld.shared.u32 %r6, [box+4];\n" + meet) == "clean");
  // CTA 1 waits for ever, and CTA 0 at the cluster barrier for it: either may be named.
  const std::string hang = of_multicast(64, -1, wait_own + "ld.shared.u32 %r6, [box+4];\n" + meet);
  CHECK((cites(hang, "MB16") || cites(hang, "C2")));
  // It arrives without expecting: its phase is over before the bytes come (MB24).
  CHECK(of_multicast(64, 0, wait_own + "ld.shared.u32 %r6, [box+4];\n" + meet) != "clean");
}

TEST_CASE("D5: a copy in flight must not outlive the CTA that it writes") {
  const std::string found = of_multicast(64, 64, "@!%p14 ret;\n" + wait_own);
  CHECK((cites(found, "D5") || cites(found, "D2")));
}
