// SPDX-License-Identifier: Apache-2.0
//
// Launch control: a few runs stand for every number, choice and order of clusters that are handed over. Here
// all of them are executed as well, for random small kernels, and nothing may be wrong where the verdict is
// clean.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "checker/decide.h"
#include "cli/check_launch.h"
#include "model/ptx/parser.h"
#include "sim/grouping.h"
#include "sim/launch_run.h"
#include "sim/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

/// A persistent kernel of one warp or two that works on tile %r13; %r12 is the parity of its answers, %r14
/// counts them.
std::string persistent(const std::string& tile, const std::string& after = {}) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
         ".reg .pred %p<16>; .reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .b128 %q<4>;\n"
         ".shared .align 8 .b64 bar; .shared .align 8 .b64 extra; .shared .align 16 .b8 answer[16];\n"
         ".shared .align 16 .b8 words[256];\n"
         "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r7, words;\n"
         "mov.u32 %r9, bar; mov.u32 %r8, answer; mov.u32 %r10, extra;\n"
         "mov.u32 %r12, 0; mov.u32 %r13, %r1; mov.u32 %r14, 0; setp.eq.u32 %p0, %r0, 0;\n"
         "@%p0 mbarrier.init.shared.b64 [%r9], 1; @%p0 mbarrier.init.shared.b64 [%r10], 2; bar.sync 0;\n"
         "NEXT:\n" +
         tile +
         "\n@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;\n"
         "@%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r8], "
         "[%r9];\n"
         "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], %r12; @!%p2 bra W;\n"
         "ld.shared.b128 %q0, [%r8]; fence.proxy.async.shared::cta;\n"
         "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0; @!%p3 bra DONE;\n"
         "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r13, %q0;\n"
         "add.u32 %r14, %r14, 1; xor.b32 %r12, %r12, 1; bar.sync 0;\nbra NEXT;\nDONE:\n" +
         after + "\nret;\n}\n";
}

/// out[%r20] = %r14, of the first thread.
std::string store(const std::string& index, const std::string& guard = "%p0") {
  return index + " mul.wide.u32 %rd2, %r20, 4; add.s64 %rd2, %rd0, %rd2; @" + guard +
         " st.global.u32 [%rd2], %r14;\n";
}

Launch launch_of(const std::string& ptx, uint32_t grid, const std::string& name = "handed_over_test") {
  const std::filesystem::path folder = std::filesystem::path(TURNSTILE_BINARY_DIR) / name;
  std::filesystem::create_directories(folder);
  std::ofstream((folder / "k.ptx").string()) << ptx;
  auto launch = parse_launch(
      fmt::format("kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\nblock = [64, 1, 1]\ngrid = [{}, 1, 1]\n"
                  "[[buffers]]\nname = \"out\"\ndtype = \"u32\"\nshape = [4096]\nrole = \"in_out\"\nfill = "
                  "\"zeros\"\n[[params]]\nbuffer = \"out\"\n",
                  grid),
      (folder / "k.toml").string(), {});
  if (!launch) FAIL(launch.error().text());
  return *launch;
}

CheckOutcome check_grid(const std::string& ptx, uint32_t grid) {
  auto outcome = check_launch(launch_of(ptx, grid), {}, {});
  if (!outcome) FAIL(outcome.error().text());
  return *outcome;
}

bool any_reason(const Report& report, const std::string& part) {
  return std::any_of(report.inconclusive.begin(), report.inconclusive.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

/// One run of a cluster with what it is handed.
struct Run {
  std::vector<uint32_t> tiles;  ///< its own first
  bool clean = false;
  GlobalAccessSummary summary;
};

Run run_with(const sim::Program& program, const Launch& launch, const std::vector<uint32_t>& tiles) {
  sim::RunOptions options;
  options.ctas = {tiles.front()};
  options.clusters_in_turn.assign(tiles.begin() + 1, tiles.end());
  options.clusters_to_cancel = static_cast<uint32_t>(tiles.size() - 1);
  options.every_cancel_count = true;
  auto result = sim::run_launch(program, launch, options);
  if (!result) FAIL(result.error().text());
  Run run;
  run.tiles = tiles;
  run.clean = decide(result->traces.front()).report.verdict == Verdict::clean;
  run.summary = summarize_global(result->traces.front());
  return run;
}

sim::ProgramHandle program_of(const std::string& ptx, const Launch& launch) {
  auto module = ptx::parse(ptx, "k.ptx");
  if (!module) FAIL(module.error().text());
  auto program = sim::build_program(std::move(*module), launch);
  if (!program) FAIL(program.error().text());
  return std::move(*program);
}

/// Random tiles: accesses to places that depend on the tile or not, branches on it and on the count, arrivals
/// too many, words of shared memory that are handed on with a barrier or without.
class TileGenerator {
 public:
  explicit TileGenerator(uint32_t seed) : random_(seed) {}

  std::string tile() {
    std::string out;
    for (uint32_t n = 1 + below(4); n != 0; --n) out += piece();
    return out;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string index() {
    switch (below(9)) {
      case 0:
        return "shr.u32 %r20, %r13, 1;";  // two tiles, one word
      case 1:
        return fmt::format("add.u32 %r20, %r13, {};", 64 * below(2));
      case 2:
        return "add.u32 %r20, %r13, %r1; add.u32 %r20, %r20, 256;";  // of two ids
      case 3:
        return "add.u32 %r20, %r1, 512;";  // the own one
      case 4:
        return "mad.lo.u32 %r20, %r13, 2, 1024; and.b32 %r21, %r14, 1; add.u32 %r20, %r20, %r21;";
      default:
        return "mad.lo.u32 %r20, %r13, 4, 2048;";
    }
  }
  std::string condition() {
    const uint32_t at = below(6);
    switch (below(5)) {
      case 0:
        return fmt::format("setp.eq.u32 %p5, %r13, {};\n", at);
      case 1:
        return fmt::format("setp.lt.u32 %p5, %r14, {};\n", at);
      case 2:
        return fmt::format("and.b32 %r22, %r14, {}; setp.eq.u32 %p5, %r22, 0;\n", 1 + below(3));
      case 3:
        return fmt::format("setp.gt.u32 %p5, %r13, {};\n", 50 + at);
      default:
        return fmt::format("setp.eq.u32 %p5, %r14, {};\n", at);
    }
  }
  std::string piece() {
    const std::string word = fmt::format("[%r7+{}]", 4 * below(3));
    switch (below(11)) {
      case 0:
        return condition() + "and.pred %p6, %p5, %p0;\n" + store(index(), "%p6");
      case 1:
        return condition() + "and.pred %p6, %p5, %p0;\n@%p6 mbarrier.arrive.shared.b64 _, [%r10];\n";
      case 2:
        return fmt::format("@%p0 st.shared.u32 {}, %r14; bar.sync 0; ld.shared.u32 %r23, {}; bar.sync 0;\n",
                           word, word);
      case 3:
        return fmt::format("@%p0 st.shared.u32 {}, %r13; bar.sync 0; ld.shared.u32 %r23, {};\n", word, word) +
               (below(2) == 0 ? "bar.sync 0;\n" : "") + "mov.u32 %r20, %r23;\n" +
               store("add.u32 %r20, %r20, 128;");
      case 4:
        return condition() + fmt::format("@%p5 bar.sync 1, 64;\n");
      case 5:
        return condition() + fmt::format("@%p5 bra S{0}; bar.sync 0; S{0}:\n", labels_++);
      case 6:
        return condition() + fmt::format("and.pred %p6, %p5, %p0; @%p6 st.shared.u32 {}, 7;\n", word) +
               (below(3) == 0 ? "" : "bar.sync 0;\n");
      case 7:
        return "shr.u32 %r20, %r13, 1; mul.wide.u32 %rd3, %r20, 4; add.s64 %rd3, %rd0, %rd3; "
               "@%p0 red.global.add.u32 [%rd3+12288], 1;\n";
      default:
        return store(index());
    }
  }

  std::mt19937 random_;
  uint32_t labels_ = 0;
};

/// All ordered choices of up to `most` of the clusters.
void sequences(std::vector<uint32_t>& tiles, uint32_t clusters, std::vector<std::vector<uint32_t>>& out) {
  out.push_back(tiles);
  for (uint32_t c = 0; c < clusters; ++c) {
    if (std::find(tiles.begin(), tiles.end(), c) != tiles.end()) continue;
    tiles.push_back(c);
    sequences(tiles, clusters, out);
    tiles.pop_back();
  }
}

bool disjoint(const Run& a, const Run& b) {
  return std::none_of(a.tiles.begin(), a.tiles.end(), [&](uint32_t t) {
    return std::find(b.tiles.begin(), b.tiles.end(), t) != b.tiles.end();
  });
}

}  // namespace

TEST_CASE("clean for launch control means clean for every choice and order of clusters") {
  size_t clean = 0, faulty = 0, open = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const uint32_t clusters = 3 + seed % 2;
    const std::string ptx = persistent(TileGenerator(seed).tile());
    INFO(ptx);
    const CheckOutcome outcome = check_grid(ptx, clusters);
    const Launch launch = launch_of(ptx, clusters);
    const sim::ProgramHandle program = program_of(ptx, launch);
    std::vector<Run> runs;
    for (uint32_t c = 0; c < clusters; ++c) {
      std::vector<std::vector<uint32_t>> all;
      std::vector<uint32_t> tiles{c};
      sequences(tiles, clusters, all);
      for (const auto& s : all) runs.push_back(run_with(*program, launch, s));
    }
    bool fine = std::all_of(runs.begin(), runs.end(), [](const Run& r) { return r.clean; });
    for (const Run& a : runs)
      for (const Run& b : runs)
        if (fine && a.tiles.front() < b.tiles.front() && disjoint(a, b))
          fine = check_between(std::vector{a.summary, b.summary}).verdict == Verdict::clean;
    if (outcome.report.verdict == Verdict::clean) {
      REQUIRE(fine);
      ++clean;
    } else {
      ++(fine ? open : faulty);
    }
    // A finding is one of some choice.
    if (outcome.report.verdict == Verdict::finding) CHECK(!fine);
  }
  MESSAGE(clean, " clean, ", faulty, " with faults, ", open, " fine and not decided");
  CHECK(clean > 15);
  CHECK(faulty > 15);
}

TEST_CASE("clean for launch control on a large grid means clean for every number of clusters") {
  constexpr uint32_t clusters = 36;
  size_t clean = 0, faulty = 0, open = 0;
  std::mt19937 random(5);
  for (uint32_t seed = 1000; seed < 1060; ++seed) {
    const std::string ptx = persistent(TileGenerator(seed).tile());
    INFO(ptx);
    const CheckOutcome outcome = check_grid(ptx, clusters);
    const Launch launch = launch_of(ptx, clusters);
    const sim::ProgramHandle program = program_of(ptx, launch);
    bool fine = true;
    for (uint32_t n = 0; n < clusters && fine; ++n) {
      std::vector<uint32_t> tiles(clusters);
      std::iota(tiles.begin(), tiles.end(), 0u);
      std::shuffle(tiles.begin(), tiles.end(), random);
      tiles.resize(n + 1);
      fine = run_with(*program, launch, tiles).clean;
    }
    if (outcome.report.verdict == Verdict::clean) {
      REQUIRE(fine);
      ++clean;
    } else {
      ++(fine ? open : faulty);
    }
  }
  MESSAGE(clean, " clean, ", faulty, " with faults, ", open, " fine and not decided");
  CHECK(clean > 5);
  CHECK(faulty > 3);
}

TEST_CASE("a kernel that only addresses its tile is clean for every number and choice of clusters") {
  const CheckOutcome outcome = check_grid(persistent(store("mov.u32 %r20, %r13;")), 200);
  CHECK(outcome.report.verdict == Verdict::clean);
  CHECK(outcome.report.guarantee.find("every choice and order") != std::string::npos);
  CHECK(outcome.ctas_followed == 199);
}

TEST_CASE("a fault that needs seven handovers is found") {
  // The arrival that completes `extra` comes twice with the seventh tile: one too many.
  const CheckOutcome outcome =
      check_grid(persistent(store("mov.u32 %r20, %r13;") +
                            "setp.eq.u32 %p5, %r14, 7; and.pred %p6, %p5, %p0;\n"
                            "@%p6 mbarrier.arrive.shared.b64 _, [%r10]; @%p6 mbarrier.arrive.shared.b64 _, "
                            "[%r10]; @%p6 st.shared.u32 [%r10], 7;\n"),
                 200);
  REQUIRE(outcome.report.verdict == Verdict::finding);
  bool told = false;
  for (const std::string& fact : outcome.report.diagnostics.front().facts)
    told = told || fact.find("hands 7 clusters over") != std::string::npos;
  CHECK(told);
}

TEST_CASE("a fault that only one certain cluster shows when it is handed over leaves the verdict open") {
  // Tile 5 as the first or second one that is handed over: the runs are handed the last of the grid first.
  for (const uint32_t clusters : {20u, 200u}) {
    const CheckOutcome outcome = check_grid(
        persistent(store("mov.u32 %r20, %r13;") + "sub.u32 %r31, %r14, 1; setp.lt.u32 %p6, %r31, 2;\n"
                                                  "setp.eq.u32 %p5, %r13, 5; and.pred %p6, %p5, %p6;\n"
                                                  "@%p6 st.shared.u32 [%r7], %r0;\n"),
        clusters);
    REQUIRE(outcome.report.verdict == Verdict::inconclusive);
    CHECK(any_reason(outcome.report, "CL7"));
    const Note& reason = outcome.report.inconclusive.back();
    CHECK((reason.position.line == 16 || reason.position.line == 15));
  }
}

TEST_CASE("two tiles of one CTA that touch the same bytes are a race, wherever they are worked on") {
  // Only what is handed over writes there, so that the CTAs alone do not conflict.
  const CheckOutcome outcome = check_grid(
      persistent(store("mov.u32 %r20, %r13;") + "setp.gt.u32 %p5, %r14, 0; and.pred %p6, %p5, %p0;\n" +
                 store("shr.u32 %r20, %r13, 1; add.u32 %r20, %r20, 1024;", "%p6")),
      200);
  REQUIRE(outcome.report.verdict == Verdict::finding);
  CHECK(outcome.report.diagnostics.front().rule == "GM1");
}

TEST_CASE("what depends on two tiles at once is not decided, and named") {
  const CheckOutcome outcome =
      check_grid(persistent(store("add.u32 %r20, %r13, %r1; add.u32 %r20, %r20, 1024;")), 200);
  REQUIRE(outcome.report.verdict == Verdict::inconclusive);
  CHECK(any_reason(outcome.report, "depends on two of the clusters"));
}

TEST_CASE("which of two requests fails that are on their way at a time is not decided") {
  const std::string second =
      "setp.eq.u32 %p7, %r14, 0; xor.b32 %r30, %r12, 1; @%p7 bra SKIP;\n"
      "W2: mbarrier.try_wait.parity.shared.b64 %p8, [%r10], %r30; @!%p8 bra W2;\nSKIP: bar.sync 0;\n"
      "@%p0 mbarrier.arrive.shared.b64 _, [%r10]; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r10], 16;\n"
      "@%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r7], "
      "[%r10];\n";
  const CheckOutcome outcome = check_grid(
      persistent(second, "W3: mbarrier.try_wait.parity.shared.b64 %p8, [%r10], %r12; @!%p8 bra W3;"), 8);
  CHECK(outcome.report.diagnostics.empty());
  CHECK(any_reason(outcome.report, "is asked for while the answer before"));
}
