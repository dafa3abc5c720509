// SPDX-License-Identifier: Apache-2.0

// turnstile corpus: holds check to a table of what it must find in each variant of a kernel.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>

#include "cli/check_mimw_verb.h"
#include "cli/corpus.h"
#include "cli/mimw_corpus.h"
#include "cli/render_corpus.h"
#include "cli/render_json.h"
#include "cli/render_mimw.h"
#include "cli/verbs.h"

namespace turnstile::cli {

namespace {

struct CorpusArguments {
  std::string file;
  bool json = false;
};

/// The table of all .mimw texts below a directory.
Exit run_cases(const CorpusArguments& arguments, const Terminal& terminal) {
  const Result<std::vector<std::string>> files = mimw_files(arguments.file);
  if (!files) return refuse(terminal, "corpus", arguments.json, files.error());
  std::vector<CorpusLine> lines;
  size_t done = 0;
  if (!arguments.json) terminal.print(render_case_head());
  for (const std::string& file : *files) {
    if (interrupted()) break;
    terminal.progress(fmt::format("  {} of {} texts", done++, files->size()));
    const Result<MimwProgram> program = read_mimw(file);
    if (!program) return refuse(terminal, "corpus", arguments.json, program.error());
    Result<std::vector<CorpusLine>> more = judge_mimw(*program);
    if (interrupted()) break;
    if (!more) return refuse(terminal, "corpus", arguments.json, more.error());
    for (CorpusLine& line : *more) {
      if (!arguments.json) terminal.print(render_case_row(line, terminal.out()));
      lines.push_back(std::move(line));
    }
  }
  Exit exit = Exit::clean;
  for (const CorpusLine& line : lines)
    if (!line.right) exit = Exit::findings;
  if (interrupted()) exit = worst(exit, Exit::inconclusive);
  if (arguments.json) {
    terminal.print(json_of_cases(arguments.file, lines, exit));
    return exit;
  }
  terminal.print("\n" + render_case_summary(lines, terminal.out()));
  if (interrupted()) terminal.print("stopped by the user before the end of the table\n");
  return exit;
}

Exit run_corpus(const CorpusArguments& arguments, const Terminal& terminal) {
  std::error_code ignored;
  if (is_mimw(arguments.file) || std::filesystem::is_directory(arguments.file, ignored))
    return run_cases(arguments, terminal);
  const Result<golden::Expectations> table = golden::read_expectations(arguments.file);
  if (!table) return refuse(terminal, "corpus", arguments.json, table.error());
  const auto print = [&](const std::string& text) {
    if (!arguments.json) terminal.print(text);
  };
  std::vector<MutantAnswer> mutants;
  std::vector<CorpusAnswer> clean;
  Exit exit = Exit::clean;
  if (!table->mutants.empty()) print(render_mutant_head());
  for (const golden::Mutant& mutant : table->mutants) {
    if (interrupted()) break;
    terminal.progress(fmt::format("  {} of {} mutants", mutants.size(), table->mutants.size()));
    Result<MutantAnswer> answer = judge_mutant(*table, mutant);
    if (!answer) return refuse(terminal, "corpus", arguments.json, answer.error());
    if (!answer->right()) exit = Exit::findings;
    print(render_mutant_row(mutant, *answer, terminal.out()));
    mutants.push_back(std::move(*answer));
  }
  if (!table->clean.empty() && !interrupted()) print(render_clean_head());
  for (const golden::CleanLaunch& launch : table->clean) {
    if (interrupted()) break;
    terminal.progress(fmt::format("  {} of {} launches", clean.size(), table->clean.size()));
    Result<CorpusAnswer> answer = judge_clean(*table, launch);
    if (!answer) return refuse(terminal, "corpus", arguments.json, answer.error());
    if (!answer->right()) exit = Exit::findings;
    print(render_clean_row(launch, *answer, terminal.out()));
    clean.push_back(std::move(*answer));
  }
  const bool all = mutants.size() == table->mutants.size() && clean.size() == table->clean.size();
  if (!all) exit = worst(exit, Exit::inconclusive);
  if (arguments.json) terminal.print(json_of_corpus(*table, mutants, clean, exit));
  print("\n" + render_corpus_summary(mutants, clean, terminal.out()));
  if (!all) print("stopped by the user before the end of the table\n");
  return exit;
}

constexpr const char* corpus_examples = R"(Examples:
  turnstile corpus kernels/gemm_bf16_hopper/mutants.toml
      Checks each faulty variant of the kernel (mutants/NAME.ptx beside the table) in the launches given
      for it, and the kernel itself in those that must be clean. The first error must have the class and
      name the source line that the table says.
  turnstile corpus tests/corpus
      Checks every variant of every .mimw text below a directory and compares with its verdict lines.

Exit codes: 0 all as the table says, 1 something is not, 2 usage or unreadable input, 3 interrupted.)";

}  // namespace

void add_corpus(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* verb = app.add_subcommand("corpus", "Hold check to a table of kernels with known faults");
  const auto arguments = std::make_shared<CorpusArguments>();
  verb->add_option("TABLE", arguments->file,
                   "Table of what must be found (TOML), or a directory of .mimw texts")
      ->required();
  verb->add_flag("--json", arguments->json, "Print one JSON document (docs/json.md)");
  verb->footer(corpus_examples);
  verb->callback([arguments, &terminal, &exit] { exit = run_corpus(*arguments, terminal); });
}

}  // namespace turnstile::cli
