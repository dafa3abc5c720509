// SPDX-License-Identifier: Apache-2.0

// Triton lets every warp store a value that all of them computed, without order (M4). Names of values tell
// such stores from those that leave different bytes, also where a kernel has both. It lets threads that have
// no element of their own load one, too, which matters if the value goes anywhere.

#include <doctest/doctest.h>

#include "tests/cli/check_ptx.h"

using namespace turnstile;

namespace {

/// Two warps load one word of global memory; `stores` follows.
Report check_stores(const std::string& stores, const std::string& load = "ld.global.u32 %r2, [%rd0];\n") {
  return test::check_ptx(
      "replicated-stores",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n"
      ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<4>;\n.shared .align 4 .b32 same; .shared "
      ".align 4 .b32 other;\n"
      "ld.param.u64 %rd0, [in];\nmov.u32 %r0, %tid.x;\nshr.u32 %r1, %r0, 5;\n" +
          load + stores + "ret;\n}\n",
      "[launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n[[buffers]]\nname = 'in'\ndtype = 'u32'\nshape = "
      "[64]\nrole = 'in_out'\n"
      "fill = 'normal'\nseed = 1\n[[params]]\nbuffer = 'in'\n");
}

const std::string replicated = "st.shared.u32 [same], %r2;\n";
const std::string different = "add.u32 %r3, %r2, %r1;\nst.shared.u32 [other], %r3;\n";

}  // namespace

TEST_CASE("what all warps computed alike and stored is advice") {
  const Report report = check_stores(replicated);
  CHECK(report.verdict == Verdict::clean);
  REQUIRE(report.diagnostics.size() == 1);
  CHECK(report.diagnostics[0].severity == Severity::lint);
}

TEST_CASE("a race elsewhere does not make an error of what all warps stored alike") {
  const Report report = check_stores(replicated + different);
  CHECK(report.verdict == Verdict::finding);
  REQUIRE(report.diagnostics.size() == 2);
  CHECK(report.diagnostics[0].severity == Severity::error);
  CHECK(test::has(report.diagnostics[0].message, "other"));
  CHECK(report.diagnostics[1].severity == Severity::lint);
  CHECK(test::has(report.diagnostics[1].message, "same"));
}

namespace {

/// 32 elements, in place, by 64 threads: each loads one, those of warp 0 store. `between` has the value in
/// r2.
Report check_in_place(const std::string& between) {
  return check_stores(
      between + "setp.lt.u32 %p1, %r0, 32;\nadd.u32 %r2, %r2, 1;\n@%p1 st.global.u32 [%rd1], %r2;\n",
      "and.b32 %r4, %r0, 31;\nmul.wide.u32 %rd1, %r4, 4;\nadd.s64 %rd1, %rd0, %rd1;\n"
      "ld.global.u32 %r2, [%rd1];\n");
}

}  // namespace

TEST_CASE("a load whose value reaches nothing is no race that anybody can see") {
  for (const char* within_the_warp :
       {"", "shfl.sync.bfly.b32 %r5, %r2, 1, 31, -1;\nadd.u32 %r2, %r2, %r5;\n"}) {
    const Report report = check_in_place(within_the_warp);
    CHECK(report.verdict == Verdict::clean);
    REQUIRE(report.diagnostics.size() == 1);
    CHECK(report.diagnostics[0].rule == "M4");
    CHECK(report.diagnostics[0].severity == Severity::lint);
  }
}

TEST_CASE("a load that competes with a store, and whose value goes anywhere, is a race") {
  for (const char* used : {
           "st.shared.u32 [same], %r2;\n",                                   // by both warps
           "setp.gt.u32 %p2, %r0, 40;\n@%p2 st.shared.u32 [other], %r2;\n",  // by lanes of warp 1 only
           "red.global.add.u32 [%rd0+128], %r2;\n"                           // an atomic
       }) {
    INFO(used);
    CHECK(check_in_place(used).verdict == Verdict::finding);
  }
}
