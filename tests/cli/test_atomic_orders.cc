// SPDX-License-Identifier: Apache-2.0

// Tile schedulers that draw tickets from a counter (LF3): which tiles a CTA gets is the other CTAs' doing as
// well. Where the tickets decide more than addresses (test_tickets.cc), some orders are run, what goes wrong
// in one of them is an error, and the rest is left open and said so.

#include <doctest/doctest.h>

#include "tests/cli/check_ptx.h"

using namespace turnstile;

namespace {

/// Four CTAs share 16 tiles. `body` works on the tile in r2; `meet` stands before the next ticket is drawn.
Report check_tickets(const std::string& body, const std::string& meet = "bar.sync 0;\n") {
  return test::check_ptx(
      "atomic-orders",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 counter, .param "
      ".u64 out)\n{\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n.shared .align 4 .b32 ticket;\n"
      ".shared .align 8 .b64 ready;\n"
      "ld.param.u64 %rd0, [counter];\nld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r9, 0;\n"
      "setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [ready], 1;\n"
      "NEXT:\n" +
          meet +
          "@%p1 atom.global.add.u32 %r1, [%rd0], 1;\n@%p1 st.shared.u32 [ticket], %r1;\nbar.sync 0;\n"
          "ld.shared.u32 %r2, [ticket];\nsetp.ge.u32 %p2, %r2, 16;\n@%p2 bra DONE;\n"
          "shl.b32 %r3, %r2, 6;\nadd.u32 %r3, %r3, %r0;\nmul.wide.u32 %rd2, %r3, 4;\n"
          "add.s64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r2;\n" +
          body + "bra NEXT;\nDONE:\nret;\n}\n",
      test::counter_launch("grid = [4, 1, 1]\n", 1024));
}

bool says(const Report& report, const std::string& part) {
  for (const Note& n : report.inconclusive)
    if (test::has(n.text, part)) return true;
  return false;
}

}  // namespace

TEST_CASE("a scheduler that draws tickets is run in several orders, and others are said to be open") {
  const Report report = check_tickets("setp.eq.u32 %p3, %r2, 3;\n@%p3 bar.sync 1, 64;\n");
  CHECK(report.verdict == Verdict::inconclusive);
  CHECK(report.diagnostics.empty());
  CHECK(says(report, "for the first 4 of 4 clusters, others were not run"));
  CHECK(says(report, "which tickets a CTA draws decides more than addresses"));
}

TEST_CASE("a ticket that is overwritten while others still read it is found") {
  const Report report = check_tickets("", "");
  REQUIRE(report.verdict == Verdict::finding);
  CHECK(report.diagnostics[0].finding_class == FindingClass::race);
  bool told = false;
  for (const std::string& fact : report.diagnostics[0].facts)
    told = told || test::has(fact, "draws 1 ticket");
  CHECK(told);
}

TEST_CASE("a hang that needs a tile to be skipped is found in an order where another CTA has taken it") {
  // Tile 0 arrives on the barrier that the others wait for: whoever draws ticket 1 without 0 waits for ever.
  const Report report = check_tickets(
      "setp.eq.u32 %p3, %r2, 0;\nand.pred %p4, %p3, %p1;\n@%p4 mbarrier.arrive.shared.b64 _, [ready];\n"
      "W: mbarrier.try_wait.parity.shared.b64 %p5, [ready], 0;\n@!%p5 bra W;\n");
  REQUIRE(report.verdict == Verdict::finding);
  CHECK(report.diagnostics[0].finding_class == FindingClass::hang);
  bool told = false;
  for (const std::string& fact : report.diagnostics[0].facts)
    told = told || test::has(fact, "when its atomics return 1");
  CHECK(told);
}
