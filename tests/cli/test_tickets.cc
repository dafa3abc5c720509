// SPDX-License-Identifier: Apache-2.0
//
// Persistent kernels whose CTAs draw tickets from a counter. Which CTA gets which, and how many, is open:
// here every way to deal the tickets out is executed as well, for random small kernels, by another mechanism
// (RunOptions::others_add), and nothing may be wrong where the verdict is clean.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "checker/decide.h"
#include "cli/check_launch.h"
#include "sim/launch_run.h"
#include "sim/program.h"
#include "tests/cli/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

struct Kernel {
  uint32_t grid = 3, tickets = 4;
  std::string tile;                  ///< works on ticket %r13; %r14 counts those of this CTA
  std::string after = {};            ///< when %r13 is no ticket
  std::string before = {};           ///< the first draw
  std::string add = "1";             ///< to the counter
  std::string meet = "bar.sync 0;";  ///< before the next one is drawn
  std::string draw = "atom.global.add.u32";
  std::string drawn = {};    ///< what is done with what was drawn, in %r13
  std::string buffers = {};  ///< lines for the buffer of the counter, instead of zeros
};

std::string text_of(const Kernel& k) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 counter, .param .u64 "
         "out)\n"
         "{\n.reg .pred %p<16>; .reg .b32 %r<64>; .reg .b64 %rd<16>;\n.shared .align 4 .b32 ticket;\n"
         ".shared .align 8 .b64 extra; .shared .align 16 .b8 words[256];\n"
         "ld.param.u64 %rd0, [counter]; ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, "
         "%ctaid.x;\n"
         "mov.u32 %r7, words; mov.u32 %r10, extra; mov.u32 %r14, 0; setp.eq.u32 %p0, %r0, 0;\n"
         "@%p0 mbarrier.init.shared.b64 [%r10], 2; bar.sync 0;\n" +
         k.before + "\nNEXT:\n" + k.meet + "\n@%p0 " + k.draw + " %r11, [%rd0], " + k.add +
         ";\n@%p0 st.shared.u32 [ticket], %r11;\nbar.sync 0;\nld.shared.u32 %r13, [ticket];\n" + k.drawn +
         fmt::format("\nsetp.ge.u32 %p1, %r13, {};\n@%p1 bra DONE;\n", k.tickets) + k.tile +
         "\nadd.u32 %r14, %r14, 1;\nbra NEXT;\nDONE:\n" + k.after + "\nret;\n}\n";
}

/// out[%r20] = %r14, by one thread.
std::string store(const std::string& index, const std::string& guard = "%p0") {
  return index + " mul.wide.u32 %rd2, %r20, 4; add.s64 %rd2, %rd1, %rd2; @" + guard +
         " st.global.u32 [%rd2], %r14;\n";
}

const std::string own_tile = store("mov.u32 %r20, %r13;");

Launch launch_of(const test::Folder& folder, const Kernel& k) {
  folder.write("k.ptx", text_of(k));
  const std::string start = k.buffers.empty() ? "fill = 'zeros'" : k.buffers;
  auto launch = parse_launch(
      fmt::format(
          "kernel = 'k.ptx'\nentry = 'k'\n[launch]\nblock = [64, 1, 1]\ngrid = [{}, 1, 1]\n"
          "[[buffers]]\nname = 'counter'\ndtype = 'u32'\nshape = [4]\nrole = 'in_out'\n{}\n"
          "control_data = true\n[[buffers]]\nname = 'out'\ndtype = 'u32'\nshape = [4096]\nrole = 'out'\n"
          "[[params]]\nbuffer = 'counter'\n[[params]]\nbuffer = 'out'\n",
          k.grid, start),
      folder / "k.toml", {});
  if (!launch) FAIL(launch.error().text());
  return *launch;
}

CheckOutcome outcome_of(const Kernel& k) {
  const test::Folder folder("tickets");
  auto outcome = check_launch(launch_of(folder, k), {}, {});
  if (!outcome) FAIL(outcome.error().text());
  return *outcome;
}

Report report_of(const Kernel& k) { return outcome_of(k).report; }

bool any_reason(const Report& report, const std::string& part) {
  return std::any_of(report.inconclusive.begin(), report.inconclusive.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

/// One CTA with what it drew.
struct Run {
  uint32_t cta = 0;
  std::vector<uint32_t> drawn;  ///< the last is no ticket
  bool clean = false;
  GlobalAccessSummary summary;
};

/// Executes a CTA that draws these, because others have drawn those in between.
Run run_with(const sim::Program& program, const Launch& launch, uint32_t cta,
             const std::vector<uint32_t>& drawn) {
  sim::RunOptions options;
  options.ctas = {cta};
  options.atomics_in_order = true;
  uint32_t next = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i] != next) options.others_add[i] = drawn[i] - next;
    next = drawn[i] + 1;
  }
  auto result = sim::run_launch(program, launch, options);
  if (!result) FAIL(result.error().text());
  Trace& trace = result->traces.front();
  // That other orders are possible is what is looked at here, and each of them is one that certainly is.
  std::erase_if(trace.unknowns,
                [](const Unknown& u) { return u.message.find("one of several") != std::string::npos; });
  for (Event& e : trace.events)
    if (e.kind == EventKind::access || e.kind == EventKind::async_access)
      e.flags = static_cast<uint8_t>(e.flags & ~Event::conditional);
  Run run;
  run.cta = cta;
  run.drawn = drawn;
  for (const sim::AtomicAnswer& a : result->atomic_answers.front())
    if (run.drawn.size() != result->atomic_answers.front().size() || a.offset != 0) run.drawn.clear();
  run.clean = decide(trace).report.verdict == Verdict::clean;
  run.summary = summarize_global(trace);
  return run;
}

/// Both are possible in one execution of the launch.
bool together(const Run& a, const Run& b, const Kernel& k) {
  size_t both = 0;
  for (const uint32_t t : a.drawn) {
    if (std::find(b.drawn.begin(), b.drawn.end(), t) != b.drawn.end()) return false;
    both += t < k.tickets ? 1 : 0;
  }
  for (const uint32_t t : b.drawn) both += t < k.tickets ? 1 : 0;
  return k.grid > 2 || both == k.tickets;
}

/// Whether no way to deal out the tickets, to whomever, goes wrong. `strange`: CTAs drew something else.
bool fine_in_every_order(const Kernel& k, bool& strange) {
  const test::Folder folder("tickets_oracle");
  const Launch launch = launch_of(folder, k);
  auto program = sim::load_program(launch);
  if (!program) FAIL(program.error().text());
  std::vector<Run> runs;
  for (uint32_t cta = 0; cta < k.grid; ++cta)
    for (uint32_t which = 0; which < 1u << k.tickets; ++which)
      for (uint32_t end = 0; end < k.grid; ++end) {
        std::vector<uint32_t> drawn;
        for (uint32_t t = 0; t < k.tickets; ++t)
          if ((which >> t & 1) != 0) drawn.push_back(t);
        drawn.push_back(k.tickets + end);
        runs.push_back(run_with(**program, launch, cta, drawn));
        strange = strange || runs.back().drawn.empty();
        if (!runs.back().clean) return false;
      }
  for (const Run& a : runs)
    for (const Run& b : runs)
      if (a.cta < b.cta && together(a, b, k) &&
          check_between(std::vector{a.summary, b.summary}).verdict != Verdict::clean)
        return false;
  return true;
}

/// Random tiles: accesses to places that depend on the ticket or not, branches on it, on the count and on
/// what was drawn last, arrivals too many, words of shared memory that are handed on with a barrier or
/// without.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Kernel kernel() {
    Kernel k;
    k.grid = 2 + below(2);
    k.tickets = 1 + below(4);
    for (uint32_t n = 1 + below(3); n != 0; --n) k.tile += piece();
    if (below(4) == 0) k.after = piece();
    if (below(4) == 0) k.before = store(index());
    if (below(8) == 0) k.meet = "";
    if (below(4) == 0) k.draw = "atom.acq_rel.gpu.global.add.u32";
    return k;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string index() {
    switch (below(9)) {
      case 0:
        return "shr.u32 %r20, %r13, 1;";  // two tickets, one word
      case 1:
        return fmt::format("add.u32 %r20, %r13, {};", 64 * below(2));
      case 2:
        return "add.u32 %r20, %r13, %r1; add.u32 %r20, %r20, 256;";  // of ticket and CTA
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
    switch (below(4)) {
      case 0:
        return fmt::format("setp.eq.u32 %p5, %r13, {};\n", at);
      case 1:
        return fmt::format("setp.lt.u32 %p5, %r14, {};\n", at);
      case 2:
        return fmt::format("and.b32 %r22, %r14, {}; setp.eq.u32 %p5, %r22, 0;\n", 1 + below(3));
      default:
        return fmt::format("setp.eq.u32 %p5, %r14, {};\n", at);
    }
  }
  std::string piece() {
    const std::string word = fmt::format("[%r7+{}]", 4 * below(3));
    switch (below(12)) {
      case 0:
        return condition() + "and.pred %p6, %p5, %p0;\n" + store(index(), "%p6");
      case 1:
        return condition() + "and.pred %p6, %p5, %p0;\n@%p6 mbarrier.arrive.shared.b64 _, [%r10];\n";
      case 2:
        return fmt::format("@%p0 st.shared.u32 {}, %r14; bar.sync 0; ld.shared.u32 %r23, {};\n", word, word) +
               (below(3) == 0 ? "" : "bar.sync 0;\n");
      case 3:
        return fmt::format("@%p0 st.shared.u32 {}, %r13; bar.sync 0; ld.shared.u32 %r23, {}; bar.sync 0;\n",
                           word, word) +
               "mov.u32 %r20, %r23;\n" + store("add.u32 %r20, %r20, 128;");
      case 4:
        return condition() + "@%p5 bar.sync 1, 64;\n";
      case 5:
        return condition() + fmt::format("@%p5 bra S{0}; bar.sync 0; S{0}:\n", labels_++);
      case 6:
        return "shr.u32 %r20, %r13, 1; mul.wide.u32 %rd3, %r20, 4; add.s64 %rd3, %rd1, %rd3; "
               "@%p0 red.global.add.u32 [%rd3+12288], 1;\n";
      case 7:
        return below(4) != 0 ? std::string{} : "@%p0 ld.global.u32 %r24, [%rd0];\n";
      default:
        return store(index());
    }
  }

  std::mt19937 random_;
  uint32_t labels_ = 0;
};

}  // namespace

TEST_CASE("clean for tickets means clean in every order of the CTAs, and a finding is one of some order") {
  size_t clean = 0, faulty = 0, open = 0, found = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Kernel k = Generator(seed).kernel();
    INFO(k.grid, " CTAs\n", text_of(k));
    const Report report = report_of(k);
    bool strange = false;
    const bool fine = fine_in_every_order(k, strange);
    if (report.verdict == Verdict::clean) {
      REQUIRE(fine);
      REQUIRE(!strange);
      ++clean;
    } else {
      ++(fine ? open : faulty);
    }
    if (report.verdict == Verdict::finding) {
      CHECK(!fine);
      ++found;
    }
  }
  MESSAGE(clean, " clean, ", faulty, " with faults (", found, " found), ", open, " fine and not decided");
  CHECK(clean > 20);
  CHECK(found > 20);
}

TEST_CASE("a persistent kernel that draws its tiles from a counter is clean for every order of its CTAs") {
  for (const uint32_t tickets : {1u, 16u, 300u}) {
    Kernel k{.grid = 6, .tickets = tickets, .tile = own_tile};
    const Report report = report_of(k);
    CHECK(report.verdict == Verdict::clean);
    CHECK(report.guarantee.find(
              "for every number of tickets that a cluster draws, and every choice and order") !=
          std::string::npos);
  }
}

TEST_CASE("one CTA alone draws all tickets in their order") {
  const Report report =
      report_of({.grid = 1, .tile = own_tile + store("shr.u32 %r20, %r13, 1; add.u32 %r20, %r20, 64;")});
  CHECK(report.verdict == Verdict::clean);
}

TEST_CASE("counters that start elsewhere, count in steps, or after a first tile that needs no ticket") {
  CHECK(
      report_of({.tile = own_tile, .drawn = "sub.u32 %r13, %r13, 1;", .buffers = "fill = 'ones'"}).verdict ==
      Verdict::clean);
  CHECK(report_of({.tile = own_tile, .add = "2", .drawn = "shr.u32 %r13, %r13, 1;"}).verdict ==
        Verdict::clean);
  const std::string first = store("mov.u32 %r20, %r1;") + "add.u32 %r14, %r14, 1;";
  CHECK(report_of({.tickets = 9, .tile = own_tile, .before = first, .drawn = "add.u32 %r13, %r13, 3;"})
            .verdict == Verdict::clean);
}

TEST_CASE("a first tile that is also given out as a ticket is worked on twice") {
  const std::string first = store("mov.u32 %r20, %r1;") + "add.u32 %r14, %r14, 1;";
  const Report report =
      report_of({.tickets = 9, .tile = own_tile, .before = first, .drawn = "add.u32 %r13, %r13, 2;"});
  REQUIRE(report.verdict == Verdict::finding);
  CHECK(report.diagnostics.front().rule == "GM1");
}

TEST_CASE("a step that makes two tickets of one tile is a race") {
  // 0, 1, 2, .. by twos: tickets 0 and 1 are both tile 0.
  const Report report = report_of({.tickets = 8, .tile = own_tile, .drawn = "shr.u32 %r13, %r13, 1;"});
  REQUIRE(report.verdict == Verdict::finding);
  CHECK(report.diagnostics.front().rule == "GM1");
  CHECK(report.diagnostics.front().message.find("ticket") != std::string::npos);
}

TEST_CASE("a ticket that is overwritten while others still read it is found with the number of tickets") {
  const Report report = report_of({.tile = own_tile, .meet = ""});
  REQUIRE(report.verdict == Verdict::finding);
  CHECK(report.diagnostics.front().finding_class == FindingClass::race);
  bool told = false;
  for (const std::string& fact : report.diagnostics.front().facts)
    told = told || fact.find("draws 1 ticket") != std::string::npos;
  CHECK(told);
}

TEST_CASE("a buffer of the second tile that is filled before the first one has been read is found") {
  // Ring of two words: only a third tile comes round.
  const std::string ring =
      "and.b32 %r30, %r14, 1; shl.b32 %r30, %r30, 2; add.u32 %r30, %r30, %r7;\n"
      "setp.eq.u32 %p8, %r0, 32; @%p8 ld.shared.u32 %r31, [%r30+16];\n"
      "@%p0 st.shared.u32 [%r30+16], %r14;\n"
      "mad.lo.u32 %r32, %r13, 4, 512; mul.wide.u32 %rd4, %r32, 4; add.s64 %rd4, %rd1, %rd4;\n"
      "@%p8 st.global.u32 [%rd4], %r31;\n";
  const Report report = report_of({.tickets = 40, .tile = own_tile + ring, .meet = "bar.sync 0;"});
  CHECK(report.verdict == Verdict::finding);
}

TEST_CASE("a fault that needs seven tickets is found, and one after 40 as well") {
  for (const uint32_t at : {7u, 40u}) {
    const Report report = report_of(
        {.grid = 4,
         .tickets = 60,
         .tile =
             own_tile + fmt::format("setp.eq.u32 %p5, %r14, {}; @%p5 st.shared.u32 [%r7], %r0;\n", at - 1)});
    CHECK(report.verdict == Verdict::finding);
  }
}

TEST_CASE("what is done for one ticket only is not decided, and named") {
  const Report report =
      report_of({.tile = own_tile +
                         "setp.eq.u32 %p5, %r13, 2; and.pred %p6, %p5, %p0; @%p6 st.shared.u32 [%r7], 1;\n"});
  CHECK(report.verdict == Verdict::inconclusive);
  CHECK(any_reason(report, "which tickets a CTA draws decides more than addresses"));
}

TEST_CASE("what the CTA does that draws the last value of all is not decided, and no error") {
  const Report report = report_of({.tile = own_tile,
                                   .after = "setp.eq.u32 %p5, %r13, 6; and.pred %p6, %p5, %p0;\n"
                                            "@%p6 st.global.u32 [%rd0], 0;\n"});
  CHECK(report.verdict == Verdict::inconclusive);
  CHECK(report.diagnostics.empty());
}

TEST_CASE("a counter that is used in another way, too, is not decided") {
  // A flag and a counter in one.
  CHECK(report_of({.tile = own_tile + "@%p0 ld.relaxed.gpu.global.u32 %r30, [%rd0];\n"}).verdict !=
        Verdict::clean);
  CHECK(report_of({.tile = own_tile + "@%p0 red.global.add.u32 [%rd0], 1;\n"}).verdict != Verdict::clean);
  CHECK(report_of({.tile = own_tile, .before = "@%p0 st.global.u32 [%rd0], 0;"}).verdict == Verdict::finding);
  // Two threads draw.
  CHECK(
      report_of({.tile = own_tile + "setp.eq.u32 %p5, %r0, 32; @%p5 atom.global.add.u32 %r30, [%rd0], 1;\n"})
          .verdict != Verdict::clean);
  // One more is drawn after the end.
  CHECK(report_of({.tile = own_tile, .after = "@%p0 atom.global.add.u32 %r30, [%rd0], 1;\n"}).verdict !=
        Verdict::clean);
  // Two counters.
  CHECK(
      report_of({.tile = own_tile + "@%p0 atom.global.add.u32 %r30, [%rd0+4], 1; setp.eq.u32 %p5, %r30, 1;\n"
                                    "@%p5 st.shared.u32 [%r7], %r0;\n"})
          .verdict != Verdict::clean);
}

TEST_CASE("a counter that is added to with the scope of a CTA gives tickets out twice") {
  const Report report = report_of({.tile = own_tile, .draw = "atom.relaxed.cta.global.add.u32"});
  REQUIRE(report.verdict == Verdict::finding);
}
