// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "cli/render_golden.h"
#include "cli/render_text.h"
#include "tests/cli/program.h"

using namespace turnstile;
using namespace turnstile::cli;

namespace {

/// A hang as the checker would report it, with the source beside it.
Diagnostic hang(const std::string& source) {
  Diagnostic d;
  d.finding_class = FindingClass::hang;
  d.rule = "MB12";
  d.message = "warp 4 (consumer 1) waits for a phase that never completes";
  d.where = {source, 2, 3, 77, "mbarrier.try_wait.parity.b64"};
  d.label = "empty[2], phase 1 (parity 1), 3rd tile, k = 5";
  d.sides = {{{source, 3, 1, 90, "mbarrier.arrive.b64"}, "consumer 0 arrives here; consumer 1 does not"}};
  d.facts = {
      "empty[2] has 1 of 2 arrivals in phase 1",
      "waiting on each other: producer warp 0 -> empty[2] <- consumer 1 -> full[2] <- producer warp 0"};
  d.witness = {"warp 0 fills stage 2", "warp 4 skips its arrival"};
  d.witness_is_shortest = true;
  d.help = "arrive on empty[stage] on every path, also for the last k tile";
  d.occurrences = 3;
  return d;
}

CheckOutcome clean_outcome() {
  CheckOutcome o;
  o.launch.entry = "gemm";
  o.launch.grid = {132, 1, 1};
  o.launch.block = {384, 1, 1};
  o.launch.vars = {{"K", 1024}, {"M", 4096}};
  o.target = "sm_90a";
  o.report.verdict = Verdict::clean;
  o.report.guarantee = "every schedule of this launch (one run, certificate ALG-D1 to ALG-D5)";
  o.report.not_examined = {"floating point was not executed"};
  o.report.events = 41212;
  o.report.accesses = 5'100'000;
  o.report.barriers = 10;
  o.report.phases = 640;
  o.ctas_run = 132;
  o.classes = 1;
  o.warps = 12;
  o.execute_seconds = 0.08;
  o.check_seconds = 0.03;
  return o;
}

}  // namespace

TEST_CASE("a hang is told in the order: what and who, where, why, schedule, cure") {
  const test::Folder folder("render");
  const std::string source =
      folder.write("gemm.cu", "x\n  mbarrier_wait(&empty[stage], phase);\n  arrive(&empty[stage]);\n");
  SourceText text({});
  CHECK(render_diagnostic(hang(source), text, {}) ==
        "error[hang]: warp 4 (consumer 1) waits for a phase that never completes\n"
        "  --> gemm.cu:2   mbarrier_wait(&empty[stage], phase);\n"
        "      |           empty[2], phase 1 (parity 1), 3rd tile, k = 5\n"
        "  --> gemm.cu:3   arrive(&empty[stage]);\n"
        "      |           consumer 0 arrives here; consumer 1 does not\n"
        "  = empty[2] has 1 of 2 arrivals in phase 1\n"
        "  = waiting on each other: producer warp 0 -> empty[2] <- consumer 1 -> full[2] <- producer warp 0\n"
        "  shortest schedule that shows it:\n"
        "      1. warp 0 fills stage 2\n"
        "      2. warp 4 skips its arrival\n"
        "  help: arrive on empty[stage] on every path, also for the last k tile\n"
        "  rule MB12 (turnstile check --explain MB12)   seen 3 times\n");
}

TEST_CASE("without the source file the instruction stands for the line") {
  SourceText text({});
  Diagnostic d = hang("/nowhere/gemm.cu");
  d.sides.clear();
  const std::vector<std::string> out = test::lines(render_diagnostic(d, text, {}));
  CHECK(out[1] == "  --> gemm.cu:2   mbarrier.try_wait.parity.b64");
}

TEST_CASE("a long source line is cut, not broken") {
  const test::Folder folder("long-line");
  const std::string source = folder.write("k.cu", std::string(300, 'x') + "\n");
  SourceText text({});
  Diagnostic d = hang(source);
  d.where.line = 1;
  d.sides.clear();
  const std::vector<std::string> out = test::lines(render_diagnostic(d, text, {}));
  CHECK(out[1] == "  --> k.cu:1   " + std::string(82, 'x') + "...");
  CHECK(out[2].starts_with("      |        empty[2]"));
}

TEST_CASE("a source file is found by its name in the folders of the kernel") {
  const test::Folder folder("folders");
  folder.write("gemm.cu", "first\nsecond\n");
  SourceText text({folder.path()});
  CHECK(text.line({"/build/machine/gemm.cu", 2, 1, 0, "mov"}) == "second");
  CHECK(text.line({"/build/machine/gemm.cu", 9, 1, 0, "mov"}) ==
        "mov");  // the line is not there: another version of the file
}

TEST_CASE("a clean kernel says for what it is clean, and what was not looked at") {
  SourceText text({});
  CHECK(
      render_check(clean_outcome(), text, {}, false) ==
      "gemm  sm_90a  grid 132  cluster 1  384 threads   K=1024 M=4096\n"
      "  traced      132 CTAs in 1 class (same control flow)    12 warps, 41 212 events              0.08 s\n"
      "  hangs       none      every wait is answered, in every schedule\n"
      "  races       none      5.1 M byte-range accesses, all ordered and visible\n"
      "  protocol    ok        10 mbarriers, 640 phases completed; nobody can be lapped\n"
      "  drained     ok        asynchronous work completes before exit\n"
      "  operands    ok        addresses in bounds and aligned; registers of pending wgmma untouched\n"
      "  not seen    floating point was not executed\n"
      "clean: every schedule of this launch (one run, certificate ALG-D1 to ALG-D5)                  0.11 "
      "s\n");
  CHECK(render_check(clean_outcome(), text, {}, true).empty());
}

TEST_CASE("an unclean report never claims what only a clean one may") {
  SourceText text({});
  CheckOutcome o = clean_outcome();
  o.report.verdict = Verdict::inconclusive;
  o.report.inconclusive = {{{}, "only 3 of 132 CTAs were executed (--ctas)"}};
  const std::string undecided = render_check(o, text, {}, false);
  CHECK(undecided.find("every wait is answered") == std::string::npos);
  CHECK(undecided.find("every schedule") == std::string::npos);
  CHECK(undecided.find("inconclusive: only 3 of 132 CTAs were executed (--ctas)\n") != std::string::npos);
  o.report.verdict = Verdict::finding;
  o.report.diagnostics = {hang("")};
  const std::string found = render_check(o, text, {}, false);
  CHECK(found.find("every schedule") == std::string::npos);
  CHECK(found.find("  hangs       1 finding\n  races       no finding\n") != std::string::npos);
  CHECK(test::lines(found).back().starts_with("1 finding (hang)"));
}

TEST_CASE(
    "no line is wider than 100 columns while its words allow it, and control characters do not reach the "
    "terminal") {
  SourceText text({});
  Diagnostic d = hang("");
  d.facts = {std::string(30, 'a') + " " + std::string(60, 'b') + " " + std::string(50, 'c')};
  d.message = "red \x1b[31m text\nnext";
  const std::string out = render_diagnostic(d, text, {});
  CHECK(out.find('\x1b') == std::string::npos);
  for (const std::string& line : test::lines(out)) CHECK(line.size() <= 100);
}

TEST_CASE("colours change no letter") {
  SourceText text({});
  const std::string plain = render_check(clean_outcome(), text, {}, false);
  std::string coloured = render_check(clean_outcome(), text, Style{true}, false);
  CHECK(coloured != plain);
  for (size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) - at + 1);
  CHECK(coloured == plain);
}

TEST_CASE(
    "the table of GPU, simulator and record shows how many elements agree and the first that does not") {
  GoldenRow row;
  row.case_name = "M=77";
  row.status = GoldenRow::Status::different;
  golden::Comparison same;
  same.elements = 39424;
  same.rows = 77;
  golden::Comparison other = same;
  other.differing = 1;
  other.differing_rows = 1;
  other.first_differing_row = 12;
  other.first = golden::ElementDifference{12, 301, 0x7fff, 0x7fc0};
  row.matches = {{"GPU", "sim", "C", ElementType::bf16, other},
                 {"GPU", "record", "C", ElementType::bf16, same}};
  CHECK(render_golden_head("crossval") ==
        "  case                                 elements    GPU = sim GPU = record\n");
  CHECK(
      render_golden_row("crossval", row, {}) ==
      "  M=77                                    39424        39423        39424\n"
      "error[bits]: C[12,301]  GPU 0x7fff (nan)  sim 0x7fc0 (nan);  1 of 39 424 elements differ, in 1 row\n");
  CHECK(render_golden_summary("crossval", {row}, {}) == "0 of 1 case equal, 1 differing elements\n");
}

TEST_CASE("counts are written for people") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1 000");
  CHECK(grouped(1234567) == "1 234 567");
  CHECK(rounded(99'999) == "99 999");
  CHECK(rounded(100'000) == "100 k");
  CHECK(rounded(5'100'000) == "5.1 M");
  CHECK(rounded(999'600'000) == "1.0 G");
  CHECK(counted(1, "class") == "1 class");
  CHECK(counted(2, "class") == "2 classes");
}
