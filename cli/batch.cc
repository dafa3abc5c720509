// SPDX-License-Identifier: Apache-2.0

// turnstile batch check: does a row keep its bits when the batch around it changes?

#include "golden/batch.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <memory>

#include "cli/launch_options.h"
#include "cli/render_json.h"
#include "cli/verbs.h"
#include "golden/matrix.h"

namespace turnstile::cli {

namespace {

struct BatchArguments {
  LaunchOptions launch;
  std::string vary = "M=1,77,300,4096";
  uint64_t row = 0;
  std::string output;
  unsigned seeds = 8;
  bool json = false;
};

/// "M=1,77,300" -> variable and values.
Result<void> read_vary(const std::string& text, golden::RowQuestion& q) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(fmt::format("--vary '{}': expected NAME=V,V,... as in M=1,77,300", text));
  q.variable = text.substr(0, equals);
  size_t at = equals + 1;
  while (at <= text.size()) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failure != std::errc() || end != word.data() + word.size() || word.empty())
      return fail(fmt::format("--vary '{}': '{}' is not an integer", text, word));
    q.values.push_back(value);
    at = comma + 1;
  }
  if (q.values.size() < 2 || q.values.size() > 1000)
    return fail(fmt::format("--vary '{}': give between 2 and 1000 values", text));
  return {};
}

Exit exit_of_rows(const golden::RowAnswer& answer) {
  switch (answer.kind) {
    case golden::RowAnswer::Kind::proved:
      return Exit::clean;
    case golden::RowAnswer::Kind::refuted:
      return Exit::findings;
    case golden::RowAnswer::Kind::inconclusive:
      return Exit::inconclusive;
  }
  return Exit::inconclusive;
}

std::string refutation(const golden::RowQuestion& q, const golden::RowAnswer& a) {
  return fmt::format(
      "{} inputs, seed {}: {} of {} elements differ; {}[{},{}] is {} ({}) at {} = {} and {} ({}) at {} = {}",
      a.family, a.seed, a.differing_columns, a.batches.front().columns, a.output, q.row, a.column,
      golden::bits_text(a.type, a.bits_a), golden::value_text(a.type, a.bits_a), q.variable, a.value_a,
      golden::bits_text(a.type, a.bits_b), golden::value_text(a.type, a.bits_b), q.variable, a.value_b);
}

std::string render(const golden::RowQuestion& q, const golden::RowAnswer& a, const Style& style) {
  std::string out = fmt::format("{}  row {} of {}\n", q.launch_path, q.row, a.output);
  for (const golden::RowBatch& b : a.batches)
    out += spread(fmt::format("  {} {:<6} {} of {} CTAs write the row   {} elements   {}", q.variable,
                              b.value, b.ctas_run, b.ctas, b.columns,
                              &b == &a.batches.front() ? "reference"
                              : b.same
                                  ? "same expressions"
                                  : fmt::format("other expressions, first at column {}", b.first_difference)),
                  seconds_text(b.seconds)) +
           "\n";
  for (const std::string& line : a.explanation) out += wrapped("  = ", "    ", line);
  switch (a.kind) {
    case golden::RowAnswer::Kind::proved:
      return out + style.good("proved equal for all inputs") +
             fmt::format(": row {} of {} has the same bits in all {} batches\n", q.row, a.output,
                         a.batches.size());
    case golden::RowAnswer::Kind::refuted:
      return out + style.error("refuted") +
             wrapped(": ", "  ", a.family.empty() ? a.reason : refutation(q, a));
    case golden::RowAnswer::Kind::inconclusive:
      return out + style.warning("inconclusive") + wrapped(": ", "  ", a.reason);
  }
  return out;
}

Exit run_batch(const BatchArguments& arguments, const Terminal& terminal) {
  golden::RowQuestion question;
  question.launch_path = arguments.launch.file;
  question.row = arguments.row;
  question.output = arguments.output;
  question.search_seeds = arguments.seeds;
  if (const Result<void> fine = read_vary(arguments.vary, question); !fine)
    return refuse(terminal, "batch check", arguments.json, fine.error());
  const Result<LaunchOverrides> overrides = overrides_of(arguments.launch);
  if (!overrides) return refuse(terminal, "batch check", arguments.json, overrides.error());
  question.overrides = *overrides;
  terminal.progress(fmt::format("  row {} in {} batches", question.row, question.values.size()));
  const Result<golden::RowAnswer> answer = golden::ask_row(question);
  if (!answer) return refuse(terminal, "batch check", arguments.json, answer.error());
  terminal.clear_progress();
  const Exit exit = exit_of_rows(*answer);
  terminal.print(arguments.json ? json_of_batch(question, *answer, exit)
                                : render(question, *answer, terminal.out()));
  return exit;
}

constexpr const char* batch_examples = R"(Examples:
  turnstile batch check kernels/gemm_bf16_hopper/gemm.toml --vary M=1,77,300,4096
      Proves that row 0 of C has the same bits in batches of 1, 77, 300 and 4096 rows, whatever the inputs are. Only
      the CTAs that write the row are run, with every floating-point value replaced by the hash of its expression.
  turnstile batch check gemm.toml --vary M=128,129 --row 5 --ptx variant.ptx
      Asks the same of row 5 and another kernel. If the expressions differ, inputs that show different bits are searched.

Exit codes: 0 proved, 1 refuted, 2 usage or unreadable input, 3 not decided.)";

}  // namespace

void add_batch(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* batch = app.add_subcommand("batch", "Does a row keep its bits when the batch around it changes?");
  batch->require_subcommand(1);
  CLI::App* verb =
      batch->add_subcommand("check", "Prove or refute that a row has the same bits in several batches");
  const auto arguments = std::make_shared<BatchArguments>();
  add_launch_options(*verb, arguments->launch);
  verb->add_option("--vary", arguments->vary, "The batches: a variable of the launch file and its values")
      ->type_name("NAME=V,V,...")
      ->capture_default_str();
  verb->add_option("--row", arguments->row, "The row under test")->capture_default_str();
  verb->add_option("--output", arguments->output, "The output buffer, if several have a batch axis")
      ->type_name("NAME");
  verb->add_option("--seeds", arguments->seeds, "Inputs of each family to try before giving up")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  verb->add_flag("--json", arguments->json, "Print one JSON document (docs/json.md)");
  verb->footer(batch_examples);
  verb->callback([arguments, &terminal, &exit] { exit = run_batch(*arguments, terminal); });
}

}  // namespace turnstile::cli
