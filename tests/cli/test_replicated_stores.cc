// SPDX-License-Identifier: Apache-2.0

// Triton lets every warp store a value that all of them computed, without order (M4). Names of values tell
// such stores from those that leave different bytes, also where a kernel has both.

#include <doctest/doctest.h>

#include "cli/check_launch.h"
#include "tests/cli/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

/// Two warps load one word of global memory; `stores` follows.
Report check_stores(const std::string& stores) {
  const test::Folder folder("replicated-stores");
  folder.write(
      "k.ptx",
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n"
      ".reg .b32 %r<16>; .reg .b64 %rd<4>;\n.shared .align 4 .b32 same; .shared .align 4 .b32 other;\n"
      "ld.param.u64 %rd0, [in];\nmov.u32 %r0, %tid.x;\nshr.u32 %r1, %r0, 5;\n"
      "ld.global.u32 %r2, [%rd0];\n" +
          stores + "ret;\n}\n");
  const auto launch = parse_launch(
      "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n[[buffers]]\nname "
      "= "
      "\"in\"\ndtype = \"u32\"\nshape = [64]\nrole = \"in\"\nfill = \"normal\"\nseed = 1\n[[params]]\nbuffer "
      "= "
      "\"in\"\n",
      folder / "k.toml", {});
  REQUIRE_MESSAGE(launch.has_value(), (launch ? std::string() : launch.error().text()));
  const auto outcome = check_launch(*launch, {}, {});
  REQUIRE_MESSAGE(outcome.has_value(), (outcome ? std::string() : outcome.error().text()));
  return outcome->report;
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
