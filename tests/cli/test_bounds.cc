// SPDX-License-Identifier: Apache-2.0

// What bounds a check of a launch, and that the report says so.

#include <doctest/doctest.h>

#include "cli/check_launch.h"
#include "tests/cli/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

/// 64 CTAs, in each of which two warps write a word without meeting.
CheckOutcome checked(const CheckLimits& limits) {
  const test::Folder folder("bounds");
  folder.write("k.ptx",
               ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
               ".shared .align 4 .b32 word[64];\n.reg .b32 %r<4>;\n"
               "mov.u32 %r1, %tid.x; st.shared.u32 [word], %r1;\nret;\n}\n");
  const std::string text =
      "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [64, 1, 1]\nblock = [64, 1, 1]\n";
  const std::string file = folder.write("k.toml", text);
  const auto launch = parse_launch(text, file, {});
  REQUIRE(launch);
  auto outcome = check_launch(*launch, limits, {});
  if (!outcome) FAIL(outcome.error().text());
  return *outcome;
}

std::string reasons(const Report& report) {
  std::string all;
  for (const Note& n : report.inconclusive) all += n.text + "\n";
  return all;
}

}  // namespace

TEST_CASE("an error stands: the other CTAs are not waited for, and the report says how many were executed") {
  CheckLimits limits;
  limits.seconds_after_error = 0;
  const CheckOutcome cut = checked(limits);
  CHECK(cut.report.verdict == Verdict::finding);
  CHECK(cut.ctas_run < 64);
  CHECK(reasons(cut.report).find("of 64 CTAs, 0 s after the first error (--ctas 64 executes all)") !=
        std::string::npos);
  limits.ctas = 64;
  const CheckOutcome all = checked(limits);
  CHECK(all.report.verdict == Verdict::finding);
  CHECK(all.ctas_run == 64);
  CHECK(reasons(all.report).empty());
  CHECK(checked({}).ctas_run == 64);
}
