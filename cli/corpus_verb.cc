// SPDX-License-Identifier: Apache-2.0

// turnstile corpus: holds check to a table of what it must find in each variant of a kernel.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "cli/check_mimw_verb.h"
#include "cli/corpus.h"
#include "cli/mimw_corpus.h"
#include "cli/parallel.h"
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

/// Judges all lines of a table in parallel and shows each in its place. If the user interrupts, what is left
/// are the lines before the first that was not judged.
template <typename Answer>
Result<std::vector<Answer>> judge_all(size_t count, const char* noun, const Terminal& terminal,
                                      const std::function<Result<Answer>(size_t)>& judge,
                                      const std::function<void(size_t, const Answer&)>& show) {
  std::vector<std::optional<Result<Answer>>> judged(count);
  std::vector<Answer> answers;
  std::optional<Error> error;
  std::atomic<bool> failed = false;
  run_in_order(
      count,
      [&](size_t i) {
        judged[i] = judge(i);
        if (!judged[i]->has_value()) failed = true;
      },
      [&](size_t i) {
        if (error || interrupted()) return;  // what was cut short says nothing
        if (!judged[i]->has_value()) {
          error = judged[i]->error();
          return;
        }
        show(i, **judged[i]);
        answers.push_back(std::move(**judged[i]));
      },
      [&](size_t done) { terminal.progress(fmt::format("  {} of {} {}", done, count, noun)); },
      [&] { return interrupted() || failed; });
  terminal.clear_progress();
  if (error) return tl::unexpected(*error);
  return answers;
}

/// The table of all .mimw texts below a directory.
Exit run_cases(const CorpusArguments& arguments, const Terminal& terminal) {
  using Lines = std::vector<CorpusLine>;
  const Result<std::vector<std::string>> files = mimw_files(arguments.file);
  if (!files) return refuse(terminal, "corpus", arguments.json, files.error());
  if (!arguments.json) terminal.print(render_case_head());
  const Result<std::vector<Lines>> judged = judge_all<Lines>(
      files->size(), "texts", terminal,
      [&](size_t i) -> Result<Lines> {
        const Result<MimwProgram> program = read_mimw((*files)[i]);
        if (!program) return tl::unexpected(program.error());
        return judge_mimw(*program);
      },
      [&](size_t, const Lines& more) {
        for (const CorpusLine& line : more)
          if (!arguments.json) terminal.print(render_case_row(line, terminal.out()));
      });
  if (!judged) return refuse(terminal, "corpus", arguments.json, judged.error());
  Lines lines;
  for (const Lines& more : *judged) lines.insert(lines.end(), more.begin(), more.end());
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
  Exit exit = Exit::clean;
  if (!table->mutants.empty()) print(render_mutant_head());
  const auto judged_mutants = judge_all<MutantAnswer>(
      table->mutants.size(), "mutants", terminal,
      [&](size_t i) { return judge_mutant(*table, table->mutants[i]); },
      [&](size_t i, const MutantAnswer& answer) {
        print(render_mutant_row(table->mutants[i], answer, terminal.out()));
      });
  if (!judged_mutants) return refuse(terminal, "corpus", arguments.json, judged_mutants.error());
  if (!table->clean.empty() && !interrupted()) print(render_clean_head());
  const auto judged_clean = judge_all<CorpusAnswer>(
      table->clean.size(), "launches", terminal,
      [&](size_t i) { return judge_clean(*table, table->clean[i]); },
      [&](size_t i, const CorpusAnswer& answer) {
        print(render_clean_row(table->clean[i], answer, terminal.out()));
      });
  if (!judged_clean) return refuse(terminal, "corpus", arguments.json, judged_clean.error());
  const std::vector<MutantAnswer>& mutants = *judged_mutants;
  const std::vector<CorpusAnswer>& clean = *judged_clean;
  for (const MutantAnswer& answer : mutants)
    if (!answer.right()) exit = Exit::findings;
  for (const CorpusAnswer& answer : clean)
    if (!answer.right()) exit = Exit::findings;
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
