// SPDX-License-Identifier: Apache-2.0
//
// Split-K semaphores: each CTA leaves its part and adds to a counter, and the one that finds all others there
// adds the parts up. Which one that is, is open; one run of all CTAs of a counter for each of them stands for
// every order. What orders the parts before the sum is the atomic, and only if it releases and acquires.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker/decide.h"
#include "cli/check_launch.h"
#include "tests/cli/check_ptx.h"

using namespace turnstile;

namespace {

/// `splits` CTAs in y share the counter of their tile, which is x. Each writes 64 words of `parts`
/// (out[0..]), the last of each tile reads those of all and writes 64 words of the result (out[4096..]).
struct Kernel {
  uint32_t tiles = 2, splits = 4;
  std::string leave = "st.global.u32 [%rd3], %r4;\nbar.sync 0;\n";
  std::string arrive = "atom.acq_rel.gpu.global.add.u32";
  std::string add = "1";
  std::string before = {}, after = {};  ///< the arrival, of the thread that arrives
  std::string tell = "st.shared.u32 [ticket], %r1;";
  std::string meet = "bar.sync 0;";
  std::string is_last = {};  ///< %p2: not the last; of what was returned, in %r2
  std::string sum = {};      ///< instead of reading the parts
  std::string clean_up = {};
  std::string counter = "mul.wide.u32 %rd6, %r4, 4;";  ///< offset of the counter
};

/// `arrival`: what stands in the place of the atomic.
std::string text_of(const Kernel& k, const std::string& arrival) {
  std::string sum = k.sum;
  if (sum.empty()) {
    sum = "mov.u32 %r9, 0;\n";
    for (uint32_t s = 0; s < k.splits; ++s)
      sum += fmt::format("ld.global.u32 %r6, [%rd5+{}]; add.u32 %r9, %r9, %r6;\n", 256 * s);
    sum += "st.global.u32 [%rd7+16384], %r9;\n";
  }
  const std::string is_last =
      k.is_last.empty() ? fmt::format("setp.ne.u32 %p2, %r2, {};", k.splits - 1) : k.is_last;
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 counter, .param .u64 "
         "out)\n"
         "{\n.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;\n.shared .align 4 .b32 ticket;\n"
         ".shared .align 8 .b64 ready;\n"
         "ld.param.u64 %rd0, [counter]; ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x;\n"
         "mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; setp.eq.u32 %p1, %r0, 0;\n" +
         k.counter +
         fmt::format(
             " add.s64 %rd0, %rd0, %rd6;\n"
             // Of the tile: %rd5 its first part, %rd3 the own one, %rd7 the result.
             "mul.lo.u32 %r7, %r4, {}; shl.b32 %r7, %r7, 8; cvt.u64.u32 %rd8, %r7; add.s64 %rd5, %rd1, "
             "%rd8;\n",
             k.splits) +
         "mul.wide.u32 %rd4, %r0, 4; add.s64 %rd5, %rd5, %rd4; mul.wide.u32 %rd9, %r5, 256; add.s64 %rd3, "
         "%rd5, %rd9;\n"
         "mul.wide.u32 %rd10, %r4, 256; add.s64 %rd7, %rd1, %rd10; add.s64 %rd7, %rd7, %rd4;\n" +
         k.leave + k.before + "\n" + arrival + "\n" + k.after + "\n@%p1 " + k.tell + "\n" + k.meet +
         "\nld.shared.u32 %r2, [ticket];\n" + is_last + "\n@%p2 bra DONE;\n" + sum + k.clean_up +
         "\nDONE:\nret;\n}\n";
}

std::string atomic_of(const Kernel& k) { return "@%p1 " + k.arrive + " %r1, [%rd0], " + k.add + ";"; }

/// The same where it is known that the CTA `last` of each tile comes last: there a loop waits for the others.
/// This is decided as all loops are that wait for flags.
std::string waits_for_others(const Kernel& k, uint32_t last) {
  const bool acquires = k.arrive.find("acq") != std::string::npos;
  return fmt::format(
      "setp.eq.u32 %p6, %r5, {}; mov.u32 %r1, 0; @!%p1 bra ARRIVED; @!%p6 bra ADD;\n"
      "WAIT: ld.{}.gpu.global.u32 %r25, [%rd0]; setp.lt.u32 %p7, %r25, {}; @%p7 bra WAIT;\nmov.u32 %r1, {};\n"
      "ADD: {} %r26, [%rd0], 1;\nARRIVED:",
      last, acquires ? "acquire" : "relaxed", k.splits - 1, k.splits - 1, k.arrive);
}

Report report_of(const Kernel& k, const std::string& arrival) {
  return test::check_ptx(
      "last-arrivers", text_of(k, arrival),
      fmt::format(
          "[launch]\nblock = [64, 1, 1]\ngrid = [{}, {}, 1]\n"
          "[[buffers]]\nname = 'counter'\ndtype = 'u32'\nshape = [16]\nrole = 'in_out'\nfill = 'zeros'\n"
          "control_data = true\n[[buffers]]\nname = 'out'\ndtype = 'u32'\nshape = [8192]\nrole = 'out'\n"
          "[[params]]\nbuffer = 'counter'\n[[params]]\nbuffer = 'out'\n",
          k.tiles, k.splits));
}

Report report_of(const Kernel& k) { return report_of(k, atomic_of(k)); }

bool any_reason(const Report& report, const std::string& part) {
  return std::any_of(report.inconclusive.begin(), report.inconclusive.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

bool is_race(const Report& report) {
  return report.verdict == Verdict::finding && report.diagnostics.front().finding_class == FindingClass::race;
}

/// Random semaphores: orders of all strengths, barriers that are missing, parts that overlap, sums of some of
/// them.
Kernel random_kernel(std::mt19937& random) {
  const auto one_in = [&](uint32_t n) { return random() % n == 0; };
  const auto offset = [&](std::initializer_list<uint32_t> of) {
    return 256 * *(of.begin() + random() % of.size());
  };
  Kernel k;
  k.tiles = 1 + random() % 2;
  k.splits = 2 + random() % 2;
  const char* const orders[] = {"acq_rel", "acq_rel", "acq_rel", "release", "acquire", "relaxed"};
  k.arrive = fmt::format("atom.{}.gpu.global.add.u32", orders[random() % 6]);
  const std::string part = fmt::format("st.global.u32 [%rd3+{}], %r5;\n", one_in(5) ? offset({256, 512}) : 0);
  const std::string fence = one_in(4) ? "@%p1 fence.acq_rel.cta;" : "@%p1 fence.acq_rel.gpu;";
  k.leave = part + (one_in(6) ? "" : "bar.sync 0;\n");
  if (one_in(2)) k.before = fence;
  if (one_in(2)) k.after = fence;
  if (one_in(6)) k.after += part;
  if (one_in(8)) k.meet = "";
  for (uint32_t s = 0; s < k.splits; ++s)
    if (!one_in(5)) k.sum += fmt::format("ld.global.u32 %r6, [%rd5+{}]; add.u32 %r9, %r9, %r6;\n", 256 * s);
  k.sum += fmt::format("st.global.u32 [%rd{}+16384], %r9;\n", one_in(6) ? 4 + random() % 2 : 7);
  if (one_in(6)) k.sum += "bar.sync 0; ld.global.u32 %r10, [%rd7+16388]; st.global.u32 [%rd7+20480], %r10;\n";
  return k;
}

}  // namespace

TEST_CASE("the verdict about who is the last is that of a loop that waits for the others, for each of them") {
  std::mt19937 random(7);
  size_t clean = 0, found = 0, open = 0;
  for (int i = 0; i < 120; ++i) {
    const Kernel k = random_kernel(random);
    INFO(text_of(k, atomic_of(k)));
    const Report report = report_of(k);
    bool all_clean = true, any_finding = false;
    for (uint32_t last = 0; last < k.splits; ++last) {
      const Report waits = report_of(k, waits_for_others(k, last));
      all_clean = all_clean && waits.verdict == Verdict::clean;
      any_finding = any_finding || waits.verdict == Verdict::finding;
    }
    if (report.verdict == Verdict::clean) CHECK(all_clean);
    if (report.verdict == Verdict::finding) CHECK(any_finding);
    clean += report.verdict == Verdict::clean ? 1 : 0;
    found += report.verdict == Verdict::finding ? 1 : 0;
    open += report.verdict == Verdict::inconclusive ? 1 : 0;
  }
  MESSAGE(clean, " clean, ", found, " with findings, ", open, " not decided");
  CHECK(clean > 10);
  CHECK(found > 10);
}

TEST_CASE("the last CTA of each tile adds up what all have left: clean, whichever it is") {
  for (const uint32_t splits : {2u, 3u, 8u}) {
    const Report report = report_of({.splits = splits});
    CHECK(report.verdict == Verdict::clean);
    CHECK(report.guarantee.find("whichever CTA comes last") != std::string::npos);
  }
  CHECK(report_of({.tiles = 1, .splits = 4}).verdict == Verdict::clean);
  CHECK(report_of({.splits = 4, .add = "5", .is_last = "setp.ne.u32 %p2, %r2, 15;"}).verdict ==
        Verdict::clean);
}

TEST_CASE("an atomic that does not both release and acquire leaves a race, fences make up for it") {
  CHECK(is_race(report_of({.arrive = "atom.relaxed.gpu.global.add.u32"})));
  CHECK(is_race(report_of({.arrive = "atom.release.gpu.global.add.u32"})));
  CHECK(is_race(report_of({.arrive = "atom.acquire.gpu.global.add.u32"})));
  CHECK(is_race(report_of({.arrive = "atom.global.add.u32"})));
  const std::string fence = "@%p1 fence.acq_rel.gpu;";
  CHECK(report_of({.arrive = "atom.relaxed.gpu.global.add.u32", .before = fence, .after = fence}).verdict ==
        Verdict::clean);
  CHECK(is_race(report_of({.arrive = "atom.relaxed.gpu.global.add.u32", .before = fence})));
  CHECK(is_race(report_of({.arrive = "atom.relaxed.gpu.global.add.u32", .after = fence})));
  CHECK(report_of({.arrive = "atom.acq_rel.cta.global.add.u32"}).verdict == Verdict::finding);
}

TEST_CASE(
    "parts that are written after the arrival, or not before all threads of the CTA have, are raced on") {
  CHECK(is_race(report_of({.leave = "st.global.u32 [%rd3], %r4;\n"})));
  CHECK(is_race(report_of({.leave = "", .after = "st.global.u32 [%rd3], %r4;\n"})));
  CHECK(report_of({.meet = ""}).verdict != Verdict::clean);
}

TEST_CASE("a CTA that takes itself for the last too early is found") {
  const Report report = report_of({.is_last = "setp.ne.u32 %p2, %r2, 2;"});  // the last but one of four
  CHECK(report.verdict != Verdict::clean);
  CHECK(report_of({.is_last = "setp.lt.u32 %p2, %r2, 2;"}).verdict != Verdict::clean);
}

TEST_CASE("two last CTAs of different tiles that write the same result are found") {
  const Report report = report_of({.sum = "st.global.u32 [%rd1+16384], %r5;\n"});
  CHECK(report.verdict == Verdict::finding);
}

TEST_CASE("tiles that share a counter by mistake are not clean") {
  // Eight come, the fourth takes itself for the last of its tile.
  CHECK(report_of({.counter = "mov.u64 %rd6, 0;"}).verdict != Verdict::clean);
}

TEST_CASE("the last CTA may set the counter back, and nobody else") {
  CHECK(report_of({.clean_up = "@%p1 st.global.u32 [%rd0], 0;\n"}).verdict == Verdict::clean);
  CHECK(report_of({.clean_up = "@%p1 atom.relaxed.gpu.global.exch.b32 %r20, [%rd0], 0;\n"}).verdict ==
        Verdict::clean);
  CHECK(report_of({.after = "@%p1 st.global.u32 [%rd0], 0;\n"}).verdict == Verdict::finding);
  CHECK(report_of({.after = "@%p1 atom.relaxed.gpu.global.exch.b32 %r20, [%rd0], 0;\n"}).verdict !=
        Verdict::clean);
  CHECK(report_of({.before = "@%p1 st.global.u32 [%rd0], 0;\n"}).verdict == Verdict::finding);
}

TEST_CASE("what a CTA does may depend on whether it is the last, and on nothing else of what it is told") {
  const Report report =
      report_of({.is_last = "setp.ne.u32 %p2, %r2, 3; setp.eq.u32 %p3, %r2, 1; @%p3 st.shared.u32 "
                            "[ticket+4], 1;"});
  CHECK(report.verdict == Verdict::inconclusive);
}

TEST_CASE("a hang of the last CTA is found") {
  const Report report =
      report_of({.sum = "W: mbarrier.try_wait.parity.shared.b64 %p5, [ready], 0; @!%p5 bra W;\n"});
  CHECK(report.verdict == Verdict::finding);
}

TEST_CASE("CTAs that come to two counters are left open, and said so") {
  const Report report = report_of({.after = "@%p1 atom.acq_rel.gpu.global.add.u32 %r21, [%rd0+32], 1;"});
  CHECK(report.verdict == Verdict::inconclusive);
  CHECK(any_reason(report, "comes to counters more than once"));
}

TEST_CASE("a CTA that changes the counter and asks for no answer leaves it open who is the last") {
  Kernel k;
  k.tiles = 1;
  // The last of four whose red comes before the last atom: its part is read, and a relaxed red orders
  // nothing.
  for (const char* change :
       {"red.relaxed.gpu.global.add.u32 [%rd0], 1;", "st.relaxed.gpu.global.u32 [%rd0], 1;",
        "atom.relaxed.gpu.global.exch.b32 %r20, [%rd0], 1;",
        "atom.acq_rel.gpu.global.add.u32 _, [%rd0], 1;"}) {
    INFO(change);
    const Report report = report_of(
        k, std::string("setp.eq.u32 %p6, %r5, 3; mov.u32 %r1, 0; @!%p1 bra ARRIVED; @!%p6 bra ADD;\n") +
               change + "\nbra.uni ARRIVED;\nADD: atom.acq_rel.gpu.global.add.u32 %r1, [%rd0], 1;\nARRIVED:");
    CHECK(report.verdict != Verdict::clean);
  }
}
