// SPDX-License-Identifier: Apache-2.0

// turnstile simulate: the outputs of a launch, bit for bit, as the simulator predicts them.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "cli/launch_options.h"
#include "cli/render_json.h"
#include "cli/render_text.h"
#include "cli/render_why.h"
#include "cli/timeline.h"
#include "cli/verbs.h"
#include "golden/digest.h"
#include "golden/explain.h"
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
  std::vector<std::string> why;
  std::string got;
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

std::optional<uint64_t> number_in(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// "C:3,17": an index for each dimension of the buffer, or one of all elements.
Result<golden::ElementQuestion> question_of(const Launch& launch, const std::string& text,
                                            const std::string& got) {
  const auto refuse_it = [&](std::string words) -> tl::unexpected<Error> {
    return fail(launch.path, 0, 0, fmt::format("--why {}: {}", printable(text), words));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return refuse_it("expected BUFFER:INDEX[,INDEX...], as C:3,17");
  const std::string name = text.substr(0, colon);
  const auto buffer = std::find_if(launch.buffers.begin(), launch.buffers.end(),
                                   [&](const Buffer& b) { return b.name == name; });
  if (buffer == launch.buffers.end()) {
    std::string names;
    for (const Buffer& b : launch.buffers) names += (names.empty() ? "" : ", ") + b.name;
    return refuse_it(fmt::format("there is no such buffer; there are {}", names));
  }
  std::vector<uint64_t> indices;
  for (size_t at = colon + 1; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::optional<uint64_t> index = number_in(std::string_view(text).substr(at, end - at), 10);
    if (!index) return refuse_it("an index is a number from 0 on");
    indices.push_back(*index);
    at = end + 1;
  }
  golden::ElementQuestion question;
  question.buffer = static_cast<uint32_t>(buffer - launch.buffers.begin());
  const std::vector<uint64_t>& shape = buffer->shape;
  if (indices.size() == 1 && shape.size() > 1) {
    question.row = indices[0] / std::max<uint64_t>(buffer->columns(), 1);
    question.column = indices[0] % std::max<uint64_t>(buffer->columns(), 1);
  } else {
    if (indices.size() != shape.size())
      return refuse_it(fmt::format("{} has {}", name, counted(shape.size(), "dimension")));
    for (size_t i = 0; i < shape.size(); ++i) {
      if (indices[i] >= shape[i])
        return refuse_it(fmt::format("dimension {} of {} has {} elements", i, name, shape[i]));
      if (i + 1 < shape.size()) question.row = question.row * shape[i] + indices[i];
    }
    question.column = indices.empty() ? 0 : indices.back();
  }
  if (got.empty()) return question;
  question.got = got.starts_with("0x") ? number_in(std::string_view(got).substr(2), 16) : std::nullopt;
  if (!question.got)
    return fail(launch.path, 0, 0, fmt::format("--got {}: expected bits, as 0x3f80", printable(got)));
  return question;
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
  std::vector<golden::Explanation> explanations;
  for (const std::string& text : arguments.why) {
    const Result<golden::ElementQuestion> question = question_of(*launch, text, arguments.got);
    if (!question) return refuse(terminal, "simulate", arguments.json, question.error());
    if (!prediction->usable()) break;
    terminal.progress(fmt::format("  following {} back", printable(text)));
    Result<golden::Explanation> answer = golden::explain_element(*launch, *question);
    if (!answer) return refuse(terminal, "simulate", arguments.json, answer.error());
    explanations.push_back(std::move(*answer));
  }
  const Exit exit = !prediction->usable()                ? Exit::findings
                    : !prediction->not_predicted.empty() ? Exit::inconclusive
                                                         : Exit::clean;
  terminal.print(arguments.json ? json_of_simulate(*launch, *prediction, *outputs, explanations, exit)
                                : render(*launch, *prediction, *outputs, terminal.out()));
  for (const golden::Explanation& e : explanations)
    if (!arguments.json) terminal.print(render_why(e, "the GPU", "sim", shown_why_steps));
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
  turnstile simulate gemm.toml --why C:3,17
      The path of element [3, 17] of C: each instruction with operands, result and rounding, tensor core
      operations k group by k group (docs/differences.md).
  turnstile simulate gemm.toml --why C:3,17 --got 0x3f81
      And which change of one step (rounding, .ftz, fma, group length, ...) would give 0x3f81.

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
  verb->add_option("--why", arguments->why,
                   "Where the bits of an element come from: instruction by instruction, back to the inputs")
      ->type_name("BUFFER:INDEX[,INDEX...]")
      ->excludes(timeline);
  verb->add_option("--got", arguments->got,
                   "The GPU's bits of that element: which change of the arithmetic gives them")
      ->type_name("0xBITS")
      ->needs("--why");
  verb->add_flag("--json", arguments->json, "Print one JSON document (docs/json.md)");
  verb->footer(simulate_examples);
  verb->callback([arguments, &terminal, &exit] { exit = run_simulate(*arguments, terminal); });
}

}  // namespace turnstile::cli
