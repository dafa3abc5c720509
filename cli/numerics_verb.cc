// SPDX-License-Identifier: Apache-2.0

// turnstile numerics selftest: the models of arithmetic against recorded outputs of real GPUs.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cli/progress.h"
#include "cli/render_json.h"
#include "cli/verbs.h"
#include "golden/captures.h"
#include "golden/numerics/record_families.h"

namespace turnstile::cli {

namespace {

struct SelftestArguments {
  std::string captures = "tests/sim/data/tensor_core_captures";
  std::string records = "golden/records/numerics";
  std::string only;
  bool whole = false;
  bool json = false;
};

std::string row_text(const golden::CaptureFamily& f, const Style& style) {
  const std::string count = grouped(f.mismatches);
  const std::string pad(count.size() < 12 ? 12 - count.size() : 1, ' ');
  return fmt::format("  {:<14} {:<9} {:<12} {:<6} {:>10}{}{}\n", printable(f.gpu), printable(f.instruction),
                     printable(f.types), printable(f.model), grouped(f.vectors), pad,
                     f.mismatches != 0 ? style.error(count) : count);
}

void print_captures(const std::string& folder, const std::vector<golden::CaptureFamily>& families,
                    const Terminal& terminal) {
  const Style& style = terminal.out();
  terminal.print(fmt::format("Recorded outputs of tensor cores, from {}\n", printable(folder)));
  terminal.print(style.strong(fmt::format("  {:<14} {:<9} {:<12} {:<6} {:>10}{:>12}", "GPU", "made by",
                                          "types", "model", "vectors", "mismatches")) +
                 "\n");
  for (const golden::CaptureFamily& f : families) terminal.print(row_text(f, style));
  for (const golden::CaptureFamily& f : families)
    if (f.mismatches != 0)
      terminal.print(fmt::format("  {} row {}: recorded {:08x}, computed {:08x}\n", printable(f.file),
                                 f.first_mismatch, f.expected, f.got));
}

void print_records(const SelftestArguments& arguments, const std::vector<golden::RecordFamily>& families,
                   const Terminal& terminal) {
  const Style& style = terminal.out();
  terminal.print(fmt::format("Checksums of an H200's arithmetic, from {}{}\n", printable(arguments.records),
                             arguments.whole ? ", all of them" : ", a part of each (--whole: all)"));
  terminal.print(style.strong(fmt::format("  {:<14} {:<21} {:>6} {:>16}{:>12}", "operation", "operands",
                                          "forms", "results", "mismatches")) +
                 "\n");
  for (const golden::RecordFamily& f : families) {
    const std::string count = fmt::format("{:>12}", grouped(f.differing));
    terminal.print(fmt::format("  {:<14} {:<21} {:>6} {:>16}{}\n", printable(f.operation), f.operands,
                               f.forms, grouped(f.results), f.differing != 0 ? style.error(count) : count));
  }
  for (const golden::RecordFamily& f : families) {
    if (f.differing != 0) terminal.print(fmt::format("  {}: another checksum\n", printable(f.first)));
    for (const std::string& why : f.not_predicted)
      terminal.print(fmt::format("  not predicted: {}\n", printable(why)));
  }
}

Exit selftest(const SelftestArguments& arguments, const Terminal& terminal) {
  const auto captures = golden::compare_captures(arguments.captures);
  if (!captures) return refuse(terminal, "numerics selftest", arguments.json, captures.error());
  const auto start = std::chrono::steady_clock::now();
  const auto records = golden::compare_records(
      arguments.records, {arguments.whole ? golden::Extent::whole : golden::Extent::sample, arguments.only},
      [&](uint64_t done, uint64_t all) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        terminal.progress(progress_bar({done, all, std::nullopt, passed.count()}) + "   checksums");
      });
  terminal.clear_progress();
  if (!records) return refuse(terminal, "numerics selftest", arguments.json, records.error());
  uint64_t vectors = 0, results = 0, forms = 0, mismatches = 0;
  for (const golden::CaptureFamily& f : *captures) {
    vectors += f.vectors;
    mismatches += f.mismatches;
  }
  for (const golden::RecordFamily& f : *records) {
    forms += f.forms;
    results += f.results;
    mismatches += f.differing;
  }
  const Exit exit = mismatches == 0 && vectors != 0 && results != 0 ? Exit::clean : Exit::findings;
  if (arguments.json) {
    terminal.print(json_of_selftest(arguments.captures, *captures, arguments.records, *records, exit));
    return exit;
  }
  print_captures(arguments.captures, *captures, terminal);
  print_records(arguments, *records, terminal);
  const Style& style = terminal.out();
  terminal.print(
      fmt::format("{} families of captures, {} vectors; {} forms of an H200, {} results; {} mismatches\n",
                  captures->size(), grouped(vectors), forms, grouped(results),
                  mismatches == 0 ? style.good("0") : style.error(grouped(mismatches))));
  return exit;
}

}  // namespace

void add_numerics(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* numerics = app.add_subcommand("numerics", "The models of what GPU arithmetic gives");
  numerics->require_subcommand(1);
  auto arguments = std::make_shared<SelftestArguments>();
  CLI::App* verb =
      numerics->add_subcommand("selftest", "Compares the models of arithmetic with recorded outputs of GPUs");
  verb->add_option("--captures", arguments->captures,
                   "Folder of recorded outputs, with its manifest.csv (default: that of the source tree)");
  verb->add_option("--records", arguments->records,
                   "Folder of an H200's checksums, with sweeps.txt and matrix.txt (default: as above)");
  verb->add_flag("--whole", arguments->whole,
                 "Compute every recorded result: 2^32 of many forms, a minute or two each, hours in all");
  verb->add_option("--only", arguments->only,
                   "Of the checksums only forms whose names begin so: sqrt.approx, cvt.rn.f16, wgmma");
  verb->add_flag("--json", arguments->json, "One JSON document on stdout");
  verb->footer(
      "Examples:\n"
      "  turnstile numerics selftest\n"
      "      All captures, and of each form that an H200 was asked about a part: half a minute.\n"
      "  turnstile numerics selftest --whole --only tanh\n"
      "      All 2^32 results of one function.\n\n"
      "Exit codes: 0 no mismatch, 1 mismatches, 2 a folder cannot be read.  docs/numerics.md");
  verb->callback([arguments, &terminal, &exit] { exit = selftest(*arguments, terminal); });
}

}  // namespace turnstile::cli
