// SPDX-License-Identifier: Apache-2.0
#include "golden/predict.h"

#include <fmt/format.h>

#include <chrono>

#include "sim/launch_run.h"

namespace turnstile::golden {

namespace {

constexpr size_t most_problems = 8;

std::string place_text(const Trace& trace, uint32_t place) {
  if (place >= trace.places.size()) return "unknown place";
  const Place& p = trace.places[place];
  return p.file.empty() ? fmt::format("{}:{}", p.ptx_file, p.ptx_line) : fmt::format("{}:{}", p.file, p.line);
}

std::string cta_text(const Trace& trace) {
  return fmt::format("CTA ({}, {}, {})", trace.first_cta[0], trace.first_cta[1], trace.first_cta[2]);
}

/// Why this CTA's results are not what the launch leaves; empty if it ran to its end.
std::string problem_of(const Trace& trace) {
  if (!trace.faults.empty())
    return fmt::format("{}: {} at {}", cta_text(trace), trace.faults[0].message,
                       place_text(trace, trace.faults[0].place));
  if (!trace.unknowns.empty())
    return fmt::format("{}: {} at {}", cta_text(trace), trace.unknowns[0].message,
                       place_text(trace, trace.unknowns[0].place));
  if (!trace.blocked.empty())
    return fmt::format("{} hangs: a wait at {} is never answered", cta_text(trace),
                       place_text(trace, trace.blocked[0].place));
  if (!trace.live_pollers.empty())
    return fmt::format("{} did not end within the step limit", cta_text(trace));
  return {};
}

}  // namespace

Result<Prediction> predict(const Launch& launch) {
  const auto start = std::chrono::steady_clock::now();
  const Result<sim::ProgramHandle> program = sim::load_program(launch);
  if (!program) return tl::unexpected(program.error());
  sim::RunOptions options;
  options.domain = sim::Domain::bits;
  Result<sim::RunResult> run = sim::run_launch(**program, launch, options);
  if (!run) return tl::unexpected(run.error());
  Prediction prediction;
  prediction.buffers = std::move(run->buffers);
  prediction.buffers.resize(launch.buffers.size());
  prediction.instructions = run->instructions;
  prediction.not_predicted = std::move(run->not_predicted);
  for (const Trace& trace : run->traces) {
    std::string problem = problem_of(trace);
    if (!problem.empty() && prediction.problems.size() < most_problems)
      prediction.problems.push_back(std::move(problem));
  }
  prediction.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return prediction;
}

}  // namespace turnstile::golden
