// SPDX-License-Identifier: Apache-2.0

// turnstile simulate: the outputs of a launch, bit for bit, as the simulator predicts them.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/launch_options.h"
#include "cli/render_json.h"
#include "cli/render_text.h"
#include "cli/timeline.h"
#include "cli/verbs.h"
#include "golden/digest.h"
#include "golden/predict.h"
#include "golden/record.h"
#include "model/files.h"
#include "model/launch/npy.h"

namespace turnstile::cli {

namespace {

constexpr uint64_t shown_elements = 8;

struct SimulateArguments {
  LaunchOptions launch;
  std::string out_folder;
  std::string timeline_file;
  uint32_t cta = 0;
  bool json = false;
};

OutputSummary summarize(const std::string& buffer, const golden::MatrixView& view) {
  OutputSummary s{buffer, view.type, view.rows, view.columns, golden::matrix_sha256(view), 0, 0, {}, {}};
  for (uint64_t r = 0; r < view.rows; ++r)
    for (uint64_t c = 0; c < view.columns; ++c) {
      const uint64_t bits = view.bits(r, c);
      s.nans += golden::is_nan(view.type, bits) ? 1 : 0;
      s.infinities += golden::is_infinite(view.type, bits) ? 1 : 0;
    }
  for (uint64_t c = 0; view.rows != 0 && c < std::min(view.columns, shown_elements); ++c)
    s.first.push_back(view.bits(0, c));
  return s;
}

Result<void> write_output(const Buffer& buffer, const golden::MatrixView& view, const std::string& folder,
                          OutputSummary& summary) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return fail(folder, 0, 0, fmt::format("cannot make this folder: {}", failure.message()));
  summary.file = (std::filesystem::path(folder) / (golden::safe_file_name(buffer.name) + ".npy")).string();
  return write_npy(summary.file, buffer.type, buffer.shape, golden::packed(view));
}

Result<std::vector<OutputSummary>> outputs_of(const SimulateArguments& arguments, const Launch& launch,
                                              const golden::Prediction& prediction) {
  std::vector<OutputSummary> outputs;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer& buffer = launch.buffers[i];
    if (buffer.role == BufferRole::in) continue;
    const Result<golden::MatrixView> view = golden::view_of(buffer, prediction.buffers[i]);
    if (!view) return tl::unexpected(view.error());
    outputs.push_back(summarize(buffer.name, *view));
    if (arguments.out_folder.empty() || !prediction.usable()) continue;
    if (const Result<void> written = write_output(buffer, *view, arguments.out_folder, outputs.back());
        !written)
      return tl::unexpected(written.error());
  }
  return outputs;
}

std::string output_text(const OutputSummary& output) {
  std::string out =
      fmt::format("  {:<11} {} [{}, {}]   sha256 {}...   {} NaN, {} Inf\n", output.buffer,
                  element_name(output.type), output.rows, output.columns, output.sha256.substr(0, 16),
                  grouped(output.nans), grouped(output.infinities));
  std::string values;
  for (uint64_t bits : output.first)
    values += fmt::format("{}{} ({})", values.empty() ? "" : ", ", golden::value_text(output.type, bits),
                          golden::bits_text(output.type, bits));
  out += wrapped("              row 0: ", "                     ", values);
  if (!output.file.empty()) out += fmt::format("              written to {}\n", output.file);
  return out;
}

std::string render(const Launch& launch, const golden::Prediction& prediction,
                   const std::vector<OutputSummary>& outputs, const Style& style) {
  std::string out = render_launch_line(launch, "");
  for (const OutputSummary& output : outputs) out += output_text(output);
  for (const std::string& problem : prediction.problems)
    out += wrapped("  problem     ", "              ", problem);
  for (const std::string& what : prediction.not_predicted)
    out += wrapped("  not predicted ", "              ",
                   what + ": no exact model, so the outputs that depend on it may differ on a GPU");
  const std::string time = fmt::format("{} warp instructions, {}", rounded(prediction.instructions),
                                       seconds_text(prediction.seconds));
  const bool exact = prediction.usable() && prediction.not_predicted.empty();
  const std::string verdict = !prediction.usable() ? "the kernel did not reach its end"
                              : exact              ? "predicted, every bit"
                                                   : "not predicted in every bit";
  const std::string line = spread(verdict, time);
  return out + (exact ? style.good(verdict) : style.error(verdict)) + line.substr(verdict.size()) + "\n";
}

/// Times instead of values: one CTA is executed, and no output computed.
Exit run_timeline(const SimulateArguments& arguments, const Launch& launch, const Terminal& terminal) {
  terminal.progress(fmt::format("  executing CTA {}", arguments.cta));
  const Result<LaunchTimeline> result = timeline_of(launch, arguments.cta);
  if (!result) return refuse(terminal, "simulate", arguments.json, result.error());
  if (result->problem.empty())
    if (const Result<void> written = write_file_atomically(arguments.timeline_file, trace_events_of(*result));
        !written)
      return refuse(terminal, "simulate", arguments.json, written.error());
  const Exit exit = result->problem.empty() ? Exit::clean
                    : result->undecided     ? Exit::inconclusive
                                            : Exit::findings;
  terminal.print(arguments.json ? json_of_timeline(launch, *result, arguments.timeline_file, exit)
                                : render_timeline(launch, *result, arguments.timeline_file, terminal.out()));
  return exit;
}

Exit run_simulate(const SimulateArguments& arguments, const Terminal& terminal) {
  const Result<Launch> launch = launch_of(arguments.launch);
  if (!launch) return refuse(terminal, "simulate", arguments.json, launch.error());
  if (!arguments.timeline_file.empty()) return run_timeline(arguments, *launch, terminal);
  terminal.progress(fmt::format("  simulating {} CTAs", launch->cta_count()));
  const Result<golden::Prediction> prediction = golden::predict(*launch);
  if (!prediction) return refuse(terminal, "simulate", arguments.json, prediction.error());
  const Result<std::vector<OutputSummary>> outputs = outputs_of(arguments, *launch, *prediction);
  if (!outputs) return refuse(terminal, "simulate", arguments.json, outputs.error());
  const Exit exit = !prediction->usable()                ? Exit::findings
                    : !prediction->not_predicted.empty() ? Exit::inconclusive
                                                         : Exit::clean;
  terminal.print(arguments.json ? json_of_simulate(*launch, *prediction, *outputs, exit)
                                : render(*launch, *prediction, *outputs, terminal.out()));
  return exit;
}

constexpr const char* simulate_examples = R"(Examples:
  turnstile simulate kernels/gemm_bf16_hopper/gemm.toml --case m77_n512_k333_wide
      Runs the whole kernel on the CPU, tensor cores included, and prints digests of what it leaves in its
      output buffers. These are the bits that the GPU would give.
  turnstile simulate gemm.toml --set M=64 --fill special --out results
      Inputs with Inf, NaN and subnormals; writes results/C.npy (bf16 as 16-bit integers).
  turnstile simulate gemm.toml --set K=4096 --timeline gemm.json
      When each warp, the copy engine and the tensor core of one CTA do what: an estimate for an H200. Lists
      where warps wait, and writes a picture for https://ui.perfetto.dev (docs/timeline.md).

Exit codes: 0 predicted, 1 the kernel hangs or faults, 2 usage or unreadable input, 3 something has no exact model.)";

}  // namespace

void add_simulate(CLI::App& app, const Terminal& terminal, Exit& exit) {
  CLI::App* verb = app.add_subcommand("simulate", "Compute what the GPU would compute, bit for bit");
  const auto arguments = std::make_shared<SimulateArguments>();
  add_launch_options(*verb, arguments->launch);
  verb->add_option("--out", arguments->out_folder, "Write each output as a .npy file into this folder")
      ->type_name("FOLDER");
  CLI::Option* timeline = verb->add_option("--timeline", arguments->timeline_file,
                                           "Write a Perfetto trace of one CTA's estimated times; no outputs")
                              ->type_name("FILE")
                              ->excludes("--out");
  verb->add_option("--cta", arguments->cta, "The CTA of the timeline, x fastest (default 0)")
      ->type_name("N")
      ->needs(timeline);
  verb->add_flag("--json", arguments->json, "Print one JSON document (docs/json.md)");
  verb->footer(simulate_examples);
  verb->callback([arguments, &terminal, &exit] { exit = run_simulate(*arguments, terminal); });
}

}  // namespace turnstile::cli
