// SPDX-License-Identifier: Apache-2.0

// Clusters: CTAs of one cluster run together, reach each other's shared memory and meet at the cluster
// barrier (semantics.md section 4, MB7, MB8, MB30; ptx.md PE7). Expected values follow from the rule texts.

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

/// CTAs in clusters of `size`; %r90 is the rank, `box` a word and `bar` an mbarrier in shared memory.
Setup cluster_of_size(uint32_t size, const std::string& body, uint32_t ctas = 0, uint32_t threads = 32) {
  Setup s;
  s.ctas = ctas == 0 ? size : ctas;
  s.threads = threads;
  s.launch_lines = "cluster = [" + std::to_string(size) + ", 1, 1]";
  s.variables = ".shared .align 16 .b32 box[32]; .shared .align 8 .b64 bar;";
  s.body = "mov.u32 %r90, %cluster_ctarank; setp.eq.u32 %p14, %r90, 0; setp.eq.u32 %p15, %r0, 0;\n" + body +
           "\nret;";
  return s;
}

const std::string meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
/// bar with this many arrivals, known to the whole cluster.
std::string init(int count) {
  return "@%p15 mbarrier.init.shared::cta.b64 [bar], " + std::to_string(count) +
         "; fence.mbarrier_init.release.cluster;\n" + meet;
}
const std::string wait0 =
    "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;\n";

}  // namespace

TEST_CASE("a cluster is one trace: its CTAs know their rank, its size and their place") {
  Setup s = cluster_of_size(2,
                            "mov.u32 %r1, %cluster_nctarank; mad.lo.u32 %r1, %r90, 10, %r1;\n"
                            "mov.u32 %r2, %clusterid.x; mad.lo.u32 %r1, %r2, 100, %r1;\n"
                            "mov.u32 %r2, %nclusterid.x; mad.lo.u32 %r1, %r2, 1000, %r1;\n"
                            "mov.u32 %r2, %cluster_ctaid.x; mad.lo.u32 %r1, %r2, 10000, %r1;\n"
                            "mov.pred %p1, %is_explicit_cluster; @%p1 add.u32 %r1, %r1, 100000;\n"
                            "st.global.u32 [%rd1], %r1;",
                            4, 1);
  const Ran r = run(s);
  INFO(r.problem());
  REQUIRE(r.finished());
  REQUIRE(r.result.traces.size() == 2);
  CHECK(r.words(4) == std::vector<uint32_t>{102002, 112012, 102102, 112112});
  CHECK(r.trace(1).first_cta[0] == 2);
  CHECK(r.trace(0).cluster_ctas == 2);
  CHECK(r.trace(0).warps == 2);
  REQUIRE(r.trace(0).agents.size() == 2);
  CHECK(r.trace(0).agents[1].cta == 1);
}

TEST_CASE("clusters in two dimensions: rank runs along x first") {
  Setup s = cluster_of_size(1, "st.global.u32 [%rd1], %r90;", 1, 1);
  s.launch_lines = "";
  const std::string toml =
      "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [4, 2, 1]\nblock = [1, 1, 1]\ncluster = [2, 2, "
      "1]\n"
      "[[buffers]]\nname = \"out\"\ndtype = \"u32\"\nshape = [64]\nrole = \"out\"\n[[params]]\nbuffer = "
      "\"out\"\n";
  s.body =
      "mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r2, %r2, 4, %r3; mul.wide.u32 %rd2, %r2, "
      "4;\n"
      "add.s64 %rd2, %rd2, %rd0; mov.u32 %r90, %cluster_ctarank; st.global.u32 [%rd2], %r90; ret;";
  const auto launch = parse_launch(toml, "k.toml", {});
  REQUIRE(launch);
  const auto program = program_of(s, *launch);
  REQUIRE(program);
  sim::RunOptions options;
  options.domain = sim::Domain::bits;
  auto result = sim::run_launch(**program, *launch, options);
  REQUIRE(result);
  CHECK(result->traces.size() == 2);
  const Ran r{std::move(*result), *launch};
  CHECK(r.words(8) == std::vector<uint32_t>{0, 1, 0, 1, 2, 3, 2, 3});
}

TEST_CASE("the kernel may say how its CTAs form clusters; the launch file must not say otherwise") {
  Setup s = cluster_of_size(2, "st.global.u32 [%rd1], %r90;", 4, 1);
  s.launch_lines = "";
  auto module_with = [&](const std::string& directive) {
    std::string text = kernel_text(s);
    const size_t at = text.find(")\n{");
    text.insert(at + 1, directive);
    return *ptx::parse(text, "k.ptx");
  };
  const Launch launch = launch_of(s);
  auto program = sim::build_program(module_with("\n.explicitcluster .reqnctapercluster 2, 1, 1"), launch);
  REQUIRE(program);
  auto result = sim::run_launch(**program, launch, {});
  REQUIRE(result);
  CHECK(result->traces.size() == 2);

  Launch other = launch;
  other.cluster = {4, 1, 1};
  const auto refused = sim::build_program(module_with("\n.reqnctapercluster 2, 1, 1"), other);
  REQUIRE(!refused);
  CHECK(contains(refused.error().text(), ".reqnctapercluster"));
  CHECK(!sim::build_program(module_with("\n.maxclusterrank 2"), other));
}

TEST_CASE("a CTA reads and writes the shared memory of its peer (mapa, ld and st.shared::cluster)") {
  const Ran r = run(cluster_of_size(
      2,
      "add.u32 %r1, %r90, 70; @%p15 st.shared.u32 [box], %r1;\n" + meet +
          "mov.u32 %r2, box; xor.b32 %r3, %r90, 1; mapa.shared::cluster.u32 %r4, %r2, %r3;\n"
          "ld.shared::cluster.u32 %r5, [%r4]; st.global.u32 [%rd1], %r5;\n"
          "add.u32 %r6, %r90, 90; @%p15 st.shared::cluster.u32 [%r4+4], %r6;\n" +
          meet + "ld.shared.u32 %r7, [box+4]; mad.lo.u32 %r5, %r7, 1000, %r5; st.global.u32 [%rd1], %r5;",
      2, 1));
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.words(2) == std::vector<uint32_t>{91071, 90070});
  // The trace says whose shared memory it was.
  size_t foreign = 0;
  for (const Event& e : r.trace().events) {
    if (e.kind != EventKind::access) continue;
    const Footprint& f = r.trace().footprints[e.footprint];
    foreign += f.space == Space::shared && f.allocation != r.trace().agents[e.agent.v].cta ? 1 : 0;
  }
  CHECK(foreign == 4);
}

TEST_CASE("generic addresses reach a peer's shared memory too") {
  const Ran r = run(cluster_of_size(
      2,
      "add.u32 %r1, %r90, 70; st.shared.u32 [box], %r1;\n" + meet +
          "mov.u64 %rd2, box; cvta.shared.u64 %rd3, %rd2; xor.b32 %r3, %r90, 1; mapa.u64 %rd4, %rd3, %r3;\n"
          "ld.u32 %r5, [%rd4]; getctarank.u64 %r6, %rd4; mad.lo.u32 %r5, %r6, 1000, %r5;\n"
          "isspacep.shared::cta %p1, %rd4; @%p1 add.u32 %r5, %r5, 10000;\n"
          "isspacep.shared::cluster %p1, %rd4; @%p1 add.u32 %r5, %r5, 100000;\n"
          "isspacep.shared %p1, %rd3; @%p1 add.u32 %r5, %r5, 1000000;\n"
          "isspacep.global %p1, %rd3; @%p1 add.u32 %r5, %r5, 10000000;\n"
          "st.global.u32 [%rd1], %r5;\n" +
          meet,
      2, 1));
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.words(2) == std::vector<uint32_t>{1101071, 1100070});
}

TEST_CASE("shared addresses carry the rank in bits 24 and up: a mask names the even CTA of a pair (PE7)") {
  const Ran r = run(cluster_of_size(2,
                                    "add.u32 %r1, %r90, 70; st.shared.u32 [box], %r1;\n" + meet +
                                        "mov.u32 %r2, box; and.b32 %r2, %r2, 0xfeffffff;\n"
                                        "ld.shared::cluster.u32 %r5, [%r2]; st.global.u32 [%rd1], %r5;\n" +
                                        meet,
                                    2, 1));
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.words(2) == std::vector<uint32_t>{70, 70});
}

TEST_CASE("addresses of no CTA, and addresses of a peer where only own ones may stand, are faults") {
  auto problem = [](const std::string& body) { return run(cluster_of_size(2, body)).problem(); };
  CHECK(contains(problem("mov.u32 %r2, box; mov.u32 %r3, 2; mapa.shared::cluster.u32 %r4, %r2, %r3;"),
                 "DX3: "));
  CHECK(contains(problem("mov.u32 %r2, box; xor.b32 %r3, %r90, 1; mapa.shared::cluster.u32 %r4, %r2, %r3;\n"
                         "ld.shared.u32 %r5, [%r4];"),
                 "(MB8)"));
  CHECK(contains(problem("mov.u32 %r2, box; or.b32 %r2, %r2, 0x7000000; ld.shared::cluster.u32 %r5, [%r2];"),
                 "memory: "));
  Setup alone;
  alone.variables = ".shared .align 16 .b32 box[32];";
  alone.body = "mov.u32 %r2, box; mov.u32 %r3, 1; mapa.shared::cluster.u32 %r4, %r2, %r3; ret;";
  CHECK(contains(run(alone).problem(), "DX3: "));
}

TEST_CASE(
    "the cluster barrier completes when all running threads have arrived, those that exited left out (C1, "
    "C5)") {
  // Warp 1 of each CTA leaves at once.
  const Ran r = run(cluster_of_size(2,
                                    "setp.ge.u32 %p1, %r0, 32; @%p1 ret;\n" + meet +
                                        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
                                    2, 64));
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.trace().cluster_barrier_count == 128);
  uint32_t contributed = 0, exits = 0;
  std::vector<uint64_t> generations;
  for (const Event& e : r.trace().events) {
    if (e.kind == EventKind::cluster_arrive) contributed += e.count;
    if (e.kind == EventKind::cluster_wait) generations.push_back(e.generation);
    if (e.kind == EventKind::exit) exits += e.count;
  }
  CHECK(contributed == 4 * 32);
  CHECK(exits == 128);
  CHECK(generations == std::vector<uint64_t>{1, 1, 2, 2});
}

TEST_CASE("what release, acquire and relaxed at the cluster barrier say is in the trace (C3)") {
  const Ran r = run(cluster_of_size(
      2,
      "barrier.cluster.arrive.release; barrier.cluster.wait.acquire; barrier.cluster.arrive.relaxed;\n"
      "barrier.cluster.wait;"));
  REQUIRE(r.finished());
  std::vector<bool> released;
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::cluster_arrive) released.push_back(e.has(Event::release));
  CHECK(released == std::vector<bool>{true, true, false, false});
}

TEST_CASE("a wait without an arrival of its own never ends, a second arrival too early is a fault (C1, C2)") {
  const Ran r = run(cluster_of_size(2, "@%p14 bra A; barrier.cluster.arrive; ret; A: barrier.cluster.wait;"));
  REQUIRE(r.trace().blocked.size() == 1);
  CHECK(r.trace().blocked[0].on == Blocked::On::cluster_barrier);
  CHECK(
      contains(run(cluster_of_size(2, "@%p14 barrier.cluster.arrive; @%p14 barrier.cluster.arrive;\n" + meet))
                   .problem(),
               "C1: "));
}

TEST_CASE("threads of one CTA arrive on a barrier of another (MB7)") {
  const Ran r =
      run(cluster_of_size(2, init(64) +
                                 "mov.u32 %r2, bar; mov.u32 %r3, 0; mapa.shared::cluster.u32 %r4, %r2, %r3;\n"
                                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];\n"
                                 "@!%p14 bra END;\n" +
                                 wait0 + "END:\n" + meet));
  INFO(r.problem());
  REQUIRE(r.finished());
  size_t remote = 0;
  for (const Event& e : r.trace().events)
    if (e.kind == EventKind::mbarrier_arrive &&
        r.trace().barriers[e.object].cta != r.trace().agents[e.agent.v].cta) {
      CHECK(e.scope == Scope::cluster);
      ++remote;
    }
  CHECK(remote == 32);
}

TEST_CASE(
    "waits on a peer's barrier, and own-CTA forms with a peer's address, are faults (MB8); others are "
    "refused (MB7)") {
  const std::string peer =
      "mov.u32 %r2, bar; xor.b32 %r3, %r90, 1; mapa.shared::cluster.u32 %r4, %r2, %r3;\n";
  auto problem = [&](const std::string& body) {
    return run(cluster_of_size(2, init(1) + peer + body)).problem();
  };
  CHECK(
      contains(problem("W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0; @!%p1 bra W;"), "MB8: "));
  CHECK(contains(problem("mbarrier.arrive.shared::cta.b64 _, [%r4];"), "MB8: "));
  CHECK(contains(problem("mbarrier.inval.shared.b64 [%r4];"), "MB8: "));
  for (const char* body :
       {"mbarrier.arrive.shared::cluster.b64 %rd5, [%r4];",
        "mbarrier.try_wait.parity.shared::cluster.b64 %p1, [%r4], 0;",
        "mbarrier.init.shared::cluster.b64 [%r4], 1;", "mbarrier.inval.shared::cluster.b64 [%r4];"}) {
    INFO(body);
    CHECK(contains(refusal(cluster_of_size(2, body)), "is not implemented"));
  }
}

TEST_CASE("a CTA that has ended can be reached by nobody (D2, D3)") {
  // CTA 1 completes the cluster barrier and ends in one go; CTA 0 comes after that.
  const std::string late = init(1) +
                           "@!%p14 bra END; mov.u32 %r2, bar; mov.u32 %r3, 1;\n"
                           "mapa.shared::cluster.u32 %r4, %r2, %r3;\n";
  CHECK(contains(
      run(cluster_of_size(2, late + "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];\nEND:"))
          .problem(),
      "D3: "));
  CHECK(contains(run(cluster_of_size(2, late + "ld.shared::cluster.u32 %r5, [%r4+-128];\nEND:")).problem(),
                 "D2: "));
}

namespace {

/// Both CTAs expect `bytes0` and `bytes1` on their own barrier, CTA 0 multicasts 64 bytes to `mask`.
Setup multicast(int bytes0, int bytes1, int mask) {
  Setup s = cluster_of_size(
      2, init(1) + "selp.u32 %r5, " + std::to_string(bytes0) + ", " + std::to_string(bytes1) +
             ", %p14; @%p15 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r5;\n" + meet +
             "and.pred %p2, %p14, %p15; ld.param.u64 %rd9, [src]; mov.u16 %rs1, " + std::to_string(mask) +
             ";\n@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
             "[box], "
             "[%rd9], 64, [bar], %rs1;\n" +
             wait0 + "ld.shared.u32 %r6, [box+4]; st.global.u32 [%rd1], %r6;\n" + meet);
  s.parameters = ", .param .u64 src";
  s.launch_text =
      "[[buffers]]\nname = \"src\"\ndtype = \"u32\"\nshape = [16]\nrole = \"in\"\nfill = "
      "\"iota\"\n[[params]]\nbuffer "
      "= \"src\"\n";
  return s;
}

}  // namespace

TEST_CASE("a multicast is one copy for each CTA of its mask and completes on the barrier of each (MB30)") {
  const Ran r = run(multicast(64, 64, 3));
  INFO(r.problem());
  REQUIRE(r.finished());
  CHECK(r.words(64)[0] == r.words(64)[32]);
  REQUIRE(r.trace().ops.size() == 2);
  std::vector<uint16_t> ctas;
  for (const AsyncOp& op : r.trace().ops) {
    CHECK(op.bytes == 64);
    ctas.push_back(r.trace().barriers[op.barrier].cta);
  }
  CHECK(ctas == std::vector<uint16_t>{0, 1});
}

TEST_CASE(
    "a CTA that is not sent what it expects hangs; one that expects nothing does not wait (MB18, MB24)") {
  CHECK(!run(multicast(64, 64, 1)).trace().blocked.empty());
  const Ran early = run(multicast(64, 0, 3));
  size_t before = 0;  // CTA 1 passes its wait before the copy has landed there
  bool landed = false;
  for (const Event& e : early.trace().events) {
    landed = landed || (e.kind == EventKind::async_complete &&
                        early.trace().barriers[early.trace().ops[e.object].barrier].cta == 1);
    before +=
        e.kind == EventKind::mbarrier_wait && early.trace().agents[e.agent.v].cta == 1 && !landed ? 1 : 0;
  }
  CHECK(before == 1);
  CHECK(contains(run(multicast(64, 64, 7)).problem(), "DX3: "));
}

TEST_CASE("a copy that lands in a CTA that has ended is a fault (D5)") {
  Setup s = multicast(64, 64, 3);
  s.body = "mov.u32 %r90, %cluster_ctarank; setp.eq.u32 %p14, %r90, 0; setp.eq.u32 %p15, %r0, 0;\n" +
           init(1) +
           "and.pred %p2, %p14, %p15; ld.param.u64 %rd9, [src]; mov.u16 %rs1, 2;\n"
           "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [box], "
           "[%rd9], "
           "64, [bar], %rs1;\n" +
           meet + "ret;";
  CHECK(contains(run(s).problem(), "D5: "));
}
