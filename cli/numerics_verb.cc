// SPDX-License-Identifier: Apache-2.0

// turnstile numerics selftest: the matrix models against recorded outputs of real tensor cores.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "cli/render_json.h"
#include "cli/verbs.h"
#include "golden/captures.h"

namespace turnstile::cli {

namespace {

struct SelftestArguments {
  std::string captures = "tests/sim/data/tensor_core_captures";
  bool json = false;
};

std::string row_text(const golden::CaptureFamily& f, const Style& style) {
  const std::string count = grouped(f.mismatches);
  const std::string pad(count.size() < 12 ? 12 - count.size() : 1, ' ');
  return fmt::format("  {:<14} {:<9} {:<12} {:<6} {:>10}{}{}\n", printable(f.gpu), printable(f.instruction),
                     printable(f.types), printable(f.model), grouped(f.vectors), pad,
                     f.mismatches != 0 ? style.error(count) : count);
}

Exit selftest(const SelftestArguments& arguments, const Terminal& terminal) {
  const auto families = golden::compare_captures(arguments.captures);
  if (!families) return refuse(terminal, "numerics selftest", arguments.json, families.error());
  uint64_t vectors = 0, mismatches = 0;
  for (const golden::CaptureFamily& f : *families) {
    vectors += f.vectors;
    mismatches += f.mismatches;
  }
  const Exit exit = mismatches == 0 && vectors != 0 ? Exit::clean : Exit::findings;
  if (arguments.json) {
    terminal.print(json_of_selftest(arguments.captures, *families, exit));
    return exit;
  }
  const Style& style = terminal.out();
  terminal.print(fmt::format("Recorded outputs of tensor cores, from {}\n", printable(arguments.captures)));
  terminal.print(style.strong(fmt::format("  {:<14} {:<9} {:<12} {:<6} {:>10}{:>12}", "GPU", "made by",
                                          "types", "model", "vectors", "mismatches")) +
                 "\n");
  for (const golden::CaptureFamily& f : *families) terminal.print(row_text(f, style));
  for (const golden::CaptureFamily& f : *families)
    if (f.mismatches != 0)
      terminal.print(fmt::format("  {} row {}: recorded {:08x}, computed {:08x}\n", printable(f.file),
                                 f.first_mismatch, f.expected, f.got));
  terminal.print(fmt::format("{} families, {} vectors, {} mismatches\n", families->size(), grouped(vectors),
                             mismatches == 0 ? style.good("0") : style.error(grouped(mismatches))));
  return exit;
}

}  // namespace

void add_numerics(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* numerics = app.add_subcommand("numerics", "The models of what GPU arithmetic gives");
  numerics->require_subcommand(1);
  auto arguments = std::make_shared<SelftestArguments>();
  CLI::App* verb = numerics->add_subcommand(
      "selftest", "Compares the models of tensor cores with recorded outputs of GPUs, vector by vector");
  verb->add_option("--captures", arguments->captures,
                   "Folder of recorded outputs, with its manifest.csv (default: that of the source tree)");
  verb->add_flag("--json", arguments->json, "One JSON document on stdout");
  verb->footer("Exit codes: 0 no mismatch, 1 mismatches, 2 the folder cannot be read.  docs/numerics.md");
  verb->callback([arguments, &terminal, &exit] { exit = selftest(*arguments, terminal); });
}

}  // namespace turnstile::cli
