// SPDX-License-Identifier: Apache-2.0

// Launches whose CTAs wait for each other: checked together, and asked how many of them have to be resident
// at the same time (semantics.md F2; litmus LT41).

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "cli/check_launch.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

/// The verdict about a grid of `ctas`, one thread each; %r1 is ctaid.x, `flag` an array of words that are 0.
CheckOutcome check_grid(uint32_t ctas, const std::string& body, uint64_t resident,
                        const std::string& lines = {}) {
  const std::filesystem::path folder = std::filesystem::path(TURNSTILE_BINARY_DIR) / "residency_test";
  std::filesystem::create_directories(folder);
  const std::string ptx = (folder / "k.ptx").string();
  std::ofstream(ptx) << ".version 8.0\n.target sm_90a\n.address_size 64\n.global .align 4 .b32 flag[64];\n"
                        ".visible .entry k()\n{\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"
                        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u64 %rd0, flag;\n"
                        "mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd1, %rd0;\n"
                     << body << "\nret;\n}\n";
  const auto launch = parse_launch("kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [" +
                                       std::to_string(ctas) + ", 1, 1]\nblock = [1, 1, 1]\n" + lines,
                                   (folder / "k.toml").string(), {});
  REQUIRE(launch);
  CheckLimits limits;
  limits.resident = resident;
  auto outcome = check_launch(*launch, limits, {});
  if (!outcome) FAIL(outcome.error().text());
  return *outcome;
}

std::string told(const Report& report, Severity severity) {
  for (const Diagnostic& d : report.diagnostics)
    if (d.rule == "F2" && d.severity == severity) return d.message;
  return {};
}

/// All count up, all wait for all.
const std::string grid_barrier =
    "red.release.gpu.global.add.u32 [flag], 1;\n"
    "W: ld.acquire.gpu.global.u32 %r5, [flag]; setp.lt.u32 %p5, %r5, %r2; @%p5 bra W;";
/// Each waits for the next, the last for nobody.
const std::string chain_backwards =
    "add.u32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, %r2; @%p1 bra SET;\n"
    "W: ld.acquire.gpu.global.u32 %r5, [%rd1+4]; setp.eq.u32 %p5, %r5, 0; @%p5 bra W;\n"
    "SET: st.release.gpu.global.u32 [%rd1], 1;";
/// Even ones wait for the odd one after them.
const std::string pairs =
    "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; @%p1 bra SET;\n"
    "W: ld.acquire.gpu.global.u32 %r5, [%rd1+4]; setp.ne.u32 %p5, %r5, 1; @%p5 bra W; ret;\n"
    "SET: st.release.gpu.global.u32 [%rd1], 1;";

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a grid barrier needs all CTAs at once [F2 GM6 violates]") {
  const CheckOutcome all = check_grid(4, grid_barrier, 0);
  CHECK(all.ctas_run == 4);
  CHECK(all.report.verdict == Verdict::clean);
  CHECK(mentions(told(all.report, Severity::lint), "co-residency of 4 clusters"));
  CHECK(check_grid(4, grid_barrier, 4).report.diagnostics.empty());
  const CheckOutcome three = check_grid(4, grid_barrier, 3);
  CHECK(three.report.verdict == Verdict::finding);
  CHECK(mentions(told(three.report, Severity::error), "co-residency of 4 clusters"));
}

TEST_CASE("a spin on a later CTA hangs with one slot [F2 violates] [LT41 shows]") {
  CHECK(mentions(told(check_grid(2, chain_backwards, 1).report, Severity::error),
                 "co-residency of 2 clusters"));
  // In the worst order of launching a chain fills all slots but one.
  CHECK(
      mentions(told(check_grid(5, chain_backwards, 0).report, Severity::lint), "co-residency of 5 clusters"));
}

TEST_CASE("pairs need a slot more than there are waiters") {
  const CheckOutcome six = check_grid(6, pairs, 0);
  CHECK(
      mentions(told(six.report, Severity::lint), "co-residency of 4 clusters"));  // three may wait, one sets
  CHECK(check_grid(6, pairs, 4).report.diagnostics.empty());
  CHECK(check_grid(6, pairs, 3).report.verdict == Verdict::finding);
}

TEST_CASE(
    "CTAs that do not wait for each other need no slots, and one cluster is always resident [F2 GM6 obeys]") {
  CHECK(check_grid(4, "red.release.gpu.global.add.u32 [flag], 1;", 1).report.verdict == Verdict::clean);
  CHECK(check_grid(2, grid_barrier, 1, "cluster = [2, 1, 1]\n").report.verdict == Verdict::clean);
}

TEST_CASE("clusters are counted as clusters") {
  const CheckOutcome outcome = check_grid(4, grid_barrier, 1, "cluster = [2, 1, 1]\n");
  CHECK(outcome.ctas_run == 4);
  CHECK(mentions(told(outcome.report, Severity::error), "co-residency of 2 clusters"));
}
