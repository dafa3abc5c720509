// SPDX-License-Identifier: Apache-2.0

// "The last CTA adds up what all have written": it knows by what an atomic returned. Nothing in the launch
// says which CTA that is, and an error would be a false alarm; that nothing else orders the CTAs is no proof
// either.

#include <doctest/doctest.h>

#include "tests/cli/check_ptx.h"

using namespace turnstile;

namespace {

/// Four CTAs, or two clusters of two, write their part of `out`; then `guard` stands before reading all
/// parts.
Report check_sum(const std::string& guard, const std::string& cluster = {}) {
  return test::check_ptx(
      "last-arriver",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 counter, .param "
      ".u64 out)\n{\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n.shared .align 4 .b32 ticket;\n"
      "ld.param.u64 %rd0, [counter];\nld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\n"
      "mov.u32 %r4, %ctaid.x;\nsetp.eq.u32 %p1, %r0, 0;\nmul.wide.u32 %rd3, %r4, 256;\n"
      "mul.wide.u32 %rd4, %r0, 4;\nadd.s64 %rd3, %rd1, %rd3;\nadd.s64 %rd3, %rd3, %rd4;\n"
      "st.global.u32 [%rd3], %r4;\nbar.sync 0;\n" +
          guard +
          "add.s64 %rd5, %rd1, %rd4;\nld.global.u32 %r5, [%rd5];\nld.global.u32 %r6, [%rd5+256];\n"
          "add.u32 %r5, %r5, %r6;\nst.global.u32 [%rd5+1024], %r5;\nDONE:\nret;\n}\n",
      test::counter_launch("grid = [4, 1, 1]\n" + cluster, 512));
}

const std::string ticket =
    "@%p1 atom.acq_rel.gpu.global.add.u32 %r1, [%rd0], 1;\n@%p1 st.shared.u32 [ticket], %r1;\nbar.sync 0;\n"
    "ld.shared.u32 %r2, [ticket];\n";

}  // namespace

TEST_CASE("what the last CTA does is decided for each CTA as the last") {
  CHECK(check_sum(ticket + "setp.ne.u32 %p2, %r2, 3;\n@%p2 bra DONE;\n").verdict == Verdict::clean);
}

TEST_CASE("what the last CTA does is not decided where a cluster comes more than once, and no error") {
  const Report report =
      check_sum(ticket + "setp.ne.u32 %p2, %r2, 3;\n@%p2 bra DONE;\n", "cluster = [2, 1, 1]\n");
  CHECK(report.verdict == Verdict::inconclusive);
  CHECK(report.diagnostics.empty());
  REQUIRE(!report.inconclusive.empty());
  CHECK(test::has(report.inconclusive[0].text, "what that value says of the other CTA is not known"));
}

TEST_CASE("without asking who is the last one it is a race") {
  for (const char* cluster : {"", "cluster = [2, 1, 1]\n"})
    CHECK(check_sum(ticket, cluster).verdict == Verdict::finding);
}
