// SPDX-License-Identifier: Apache-2.0

// What a launch file says beside grid and buffers: clusters that launch control hands over, and buffers that
// the kernel before in the stream still uses (semantics.md sections 10 and 11).

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "cli/check_launch.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

CheckOutcome check_kernel(const std::string& body, const std::string& launch_lines,
                          const std::string& buffer_lines = {}) {
  const std::filesystem::path folder = std::filesystem::path(TURNSTILE_BINARY_DIR) / "launch_choices_test";
  std::filesystem::create_directories(folder);
  std::ofstream((folder / "k.ptx").string())
      << ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
         ".reg .pred %p<16>; .reg .b32 %r<96>; .reg .b64 %rd<32>; .reg .b128 %q<4>;\n"
         ".shared .align 8 .b64 bar; .shared .align 16 .b8 answer[16];\n"
         "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"
         "mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd0, %rd1;\n"
      << body << "\nret;\n}\n";
  const auto launch =
      parse_launch("kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\nblock = [1, 1, 1]\n" + launch_lines +
                       "\n[[buffers]]\nname = \"out\"\ndtype = \"u32\"\nshape = [64]\nrole = "
                       "\"in_out\"\nfill = \"zeros\"\n" +
                       buffer_lines + "\n[[params]]\nbuffer = \"out\"\n",
                   (folder / "k.toml").string(), {});
  if (!launch) FAIL(launch.error().text());
  auto outcome = check_launch(*launch, {}, {});
  if (!outcome) FAIL(outcome.error().text());
  return *outcome;
}

/// Writes out[first CTA of the cluster] for its own cluster, then for each that is handed over.
std::string persistent(const std::string& flip) {
  return "mov.u32 %r9, bar; mov.u32 %r8, answer; mov.u32 %r12, 0; mov.u32 %r13, %r1;\n"
         "mbarrier.init.shared.b64 [%r9], 1;\n"
         "NEXT: mul.wide.u32 %rd2, %r13, 4; add.s64 %rd2, %rd0, %rd2; st.global.u32 [%rd2], %r12;\n"
         "mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;\n"
         "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r8], [%r9];\n"
         "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], %r12; @!%p2 bra W;\n"
         "ld.shared.b128 %q0, [%r8]; fence.proxy.async.shared::cta;\n"
         "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0; @!%p3 bra DONE;\n"
         "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r13, %q0;\n" +
         flip + "bra NEXT;\nDONE:";
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Diagnostic* of_rule(const Report& report, const std::string& rule) {
  for (const Diagnostic& d : report.diagnostics)
    if (d.rule == rule) return &d;
  return nullptr;
}

}  // namespace

TEST_CASE("a persistent kernel is checked for every number of clusters that it may be handed (CL1)") {
  const CheckOutcome outcome = check_kernel(persistent("xor.b32 %r12, %r12, 1; "), "grid = [2, 1, 1]");
  CHECK(outcome.report.verdict == Verdict::clean);
  CHECK(outcome.classes >= 2);  // handed over: none, or the other one
  CHECK(mentions(outcome.report.guarantee, "every number of clusters that launch control hands over"));
  // Of three other clusters any may be handed over first, but only addresses depend on it.
  const CheckOutcome larger = check_kernel(persistent("xor.b32 %r12, %r12, 1; "), "grid = [4, 1, 1]");
  CHECK(larger.ctas_run == 4);
  CHECK(larger.classes >= 4);
  CHECK(larger.report.diagnostics.empty());
  CHECK(larger.report.verdict == Verdict::clean);
  CHECK(mentions(larger.report.guarantee, "every choice and order"));
}

TEST_CASE("a fault that only a second answer shows is found, and the report says when") {
  // The parity never flips: the wait for the second answer passes at once.
  const CheckOutcome outcome = check_kernel(persistent(""), "grid = [4, 1, 1]");
  REQUIRE(outcome.report.verdict == Verdict::finding);
  bool told = false;
  for (const std::string& fact : outcome.report.diagnostics.front().facts)
    told = told || mentions(fact, "when launch control hands 1 cluster over to CTA (0, 0, 0)");
  CHECK(told);
}

TEST_CASE("numbers of clusters that were not tried leave the verdict open") {
  const std::string fine = persistent("xor.b32 %r12, %r12, 1; ");
  const CheckOutcome some = check_kernel(fine, "grid = [2, 1, 1]\nclusters_to_cancel = [0]");
  CHECK(some.report.verdict == Verdict::inconclusive);
  const CheckOutcome all = check_kernel(fine, "grid = [2, 1, 1]\nclusters_to_cancel = [0, 1]");
  CHECK(all.report.verdict == Verdict::clean);
  // 33 clusters: too many runs to do unasked, but they repeat.
  CHECK(check_kernel(fine, "grid = [32, 1, 1]").ctas_run == 32);
  const CheckOutcome large = check_kernel(fine, "grid = [33, 1, 1]");
  CHECK(large.report.verdict == Verdict::clean);
  CHECK(mentions(large.launch_control, "one round of the same 2 tiles"));
}

TEST_CASE("a buffer that the kernel before still uses must not be touched before griddepcontrol.wait (PD5)") {
  const std::string access = "ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd1], %r5; ";
  const std::string shared = "previous_kernel = true";
  const CheckOutcome late = check_kernel("griddepcontrol.wait; " + access, "grid = [2, 1, 1]", shared);
  CHECK(late.report.verdict == Verdict::clean);
  CHECK(late.report.diagnostics.empty());
  const CheckOutcome early = check_kernel(access + "griddepcontrol.wait;", "grid = [2, 1, 1]", shared);
  REQUIRE(of_rule(early.report, "PD5") != nullptr);
  CHECK(of_rule(early.report, "PD5")->severity == Severity::error);
  CHECK(early.report.verdict == Verdict::finding);
  const CheckOutcome never = check_kernel(access, "grid = [2, 1, 1]", shared);
  REQUIRE(of_rule(never.report, "PD5") != nullptr);
  CHECK(mentions(of_rule(never.report, "PD5")->facts.front(), "PD3"));
  // Without that line the launch is an ordinary one: what stands before the wait is advice at most.
  CHECK(check_kernel(access, "grid = [2, 1, 1]").report.diagnostics.empty());
  CHECK(check_kernel(access + "griddepcontrol.wait;", "grid = [2, 1, 1]").report.verdict == Verdict::clean);
}

TEST_CASE("a word that the first CTAs read and the last one writes is a race between them (GM1)") {
  const CheckOutcome outcome = check_kernel(
      "mov.u32 %r6, 1; setp.eq.u32 %p1, %r1, 7; @!%p1 ld.global.u32 %r5, [%rd0]; @%p1 st.global.u32 [%rd0], "
      "%r6;",
      "grid = [8, 1, 1]");
  REQUIRE(outcome.report.verdict == Verdict::finding);
  CHECK(outcome.report.diagnostics.front().rule == "GM1");
  CHECK(outcome.ctas_run == 8);
  CHECK(outcome.ctas_followed == 6);
}

TEST_CASE(
    "clusters that wait for each other may be handed over too: none was, which leaves the verdict open") {
  const CheckOutcome outcome =
      check_kernel("W2: ld.acquire.gpu.global.u32 %r20, [%rd0]; setp.ne.u32 %p5, %r20, 0; @%p5 bra W2;\n" +
                       persistent("xor.b32 %r12, %r12, 1; "),
                   "grid = [2, 1, 1]", "control_data = true");
  bool told = false;
  for (const Note& reason : outcome.report.inconclusive)
    told = told || mentions(reason.text, "whether a cluster is handed over");
  CHECK(told);
}
