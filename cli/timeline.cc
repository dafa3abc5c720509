// SPDX-License-Identifier: Apache-2.0
#include "cli/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/render_text.h"
#include "sim/launch_run.h"
#include "sim/program.h"

namespace turnstile::cli {

namespace {

constexpr uint32_t h200_sms = 132;
/// A picture of more is of no use to anybody.
constexpr uint64_t most_timeline_events = 2'000'000;
constexpr size_t most_stalls = 12;

/// Why a trace has no timeline; empty: it has one. `undecided`: the launch does not say how it goes on.
std::string trace_problem(const Trace& trace, bool& undecided) {
  undecided = false;
  if (!trace.faults.empty()) return trace.faults.front().message;
  undecided = true;
  if (!trace.unknowns.empty()) return trace.unknowns.front().message;
  if (!trace.live_pollers.empty()) return "the CTA did not reach its end";
  undecided = false;
  return trace.blocked.empty() ? std::string() : "the kernel hangs: turnstile check says where";
}

Result<Trace> trace_of(const sim::Program& program, const Launch& launch, uint32_t cta, sim::Domain domain) {
  sim::RunOptions options;
  options.domain = domain;
  options.ctas = {cta};
  options.atomics_in_order = domain == sim::Domain::control;
  options.event_limit = most_timeline_events;
  options.work_of = sim::instruction_work;
  Result<sim::RunResult> run = sim::run_launch(program, launch, options);
  if (!run) return tl::unexpected(run.error());
  if (run->traces.empty()) return fail("the launch has no CTA of that number");
  return std::move(run->traces.front());
}

std::string uses_text(const uint64_t (&used)[sim::time_uses], uint64_t whole) {
  std::vector<size_t> order;
  for (size_t i = 0; i < sim::time_uses; ++i)
    if (used[i] * 100 >= whole) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return used[a] > used[b]; });
  std::string text;
  for (const size_t i : order)
    text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", sim::name_of(static_cast<sim::TimeUse>(i)),
                        100.0 * static_cast<double>(used[i]) / static_cast<double>(whole));
  return text;
}

std::string timeline_place(const Trace& trace, uint32_t place) {
  if (place >= trace.places.size()) return {};
  const Place& p = trace.places[place];
  const auto name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  return p.file.empty() ? fmt::format("{}:{}", name(p.ptx_file), p.ptx_line)
                        : fmt::format("{}:{}", name(p.file), p.line);
}

std::string percent(uint64_t part, uint64_t whole) {
  return fmt::format("{:.0f}%",
                     whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Result<LaunchTimeline> timeline_of(const Launch& launch, uint32_t cta) {
  if (cta >= launch.cta_count())
    return fail(fmt::format("--cta {}: the launch has {}", cta, counted(launch.cta_count(), "CTA")));
  const Result<sim::ProgramHandle> program = sim::load_program(launch);
  if (!program) return tl::unexpected(program.error());
  LaunchTimeline result;
  result.cta = cta;
  Result<Trace> trace = trace_of(**program, launch, cta, sim::Domain::control);
  if (!trace) return tl::unexpected(trace.error());
  result.problem = trace_problem(*trace, result.undecided);
  if (result.undecided) {  // values decide: they are computed then
    trace = trace_of(**program, launch, cta, sim::Domain::bits);
    if (!trace) return tl::unexpected(trace.error());
    result.problem = trace_problem(*trace, result.undecided);
  }
  result.trace = std::move(*trace);
  result.model = sim::h200_model();
  if (!result.problem.empty()) return result;
  sim::TimelineOptions options;
  options.machine_sms = h200_sms;
  options.active_sms = sim::active_sms(launch, h200_sms);
  options.sharing = sim::load_sharing(launch, result.trace, h200_sms);
  result.timeline = sim::make_timeline(result.trace, result.model, options);
  result.grid = sim::estimate_grid(launch, sim::resident_ctas(**program, launch), result.timeline,
                                   result.model, h200_sms);
  return result;
}

std::string render_timeline(const Launch& launch, const LaunchTimeline& result, const std::string& file,
                            const Style& style) {
  std::string out = render_launch_line(launch, "");
  const Trace& trace = result.trace;
  const sim::Timeline& timeline = result.timeline;
  const std::string who =
      fmt::format("CTA ({}, {}, {})", trace.first_cta[0], trace.first_cta[1], trace.first_cta[2]);
  if (!result.problem.empty())
    return out + wrapped("  no timeline   ", "                ", fmt::format("{}: {}", who, result.problem));
  const uint64_t cycles = timeline.cycles;
  out += wrapped("  CTA           ", "                ",
                 fmt::format("{}{}: {} cycles; tensor core busy {}, copy engine {}", who,
                             trace.cluster_ctas > 1 ? " and its cluster" : "", grouped(cycles),
                             percent(timeline.matrix_busy, cycles), percent(timeline.copy_busy, cycles)));
  const sim::GridEstimate& grid = result.grid;
  out += wrapped("  launch        ", "                ",
                 fmt::format("{}, {} on an SM at a time, in {}: {} cycles, at {:.0f} MHz "
                             "and with {:.1f} us for the launch {:.1f} us{}",
                             counted(launch.cta_count(), "CTA"), grid.resident, counted(grid.waves, "wave"),
                             grouped(grid.cycles), grid.clock_mhz, result.model.launch_us, grid.microseconds,
                             grid.bound_by_memory ? ", bound by DRAM" : ""));
  uint64_t used[sim::time_uses] = {};
  for (const sim::PathStep& step : timeline.path)
    used[static_cast<size_t>(step.use)] += step.end - step.begin;
  out += wrapped("  critical path ", "                ", uses_text(used, std::max<uint64_t>(1, cycles)));
  size_t shown = 0;
  for (const sim::TimelineStall& s : timeline.stalls) {
    if (shown == most_stalls || s.cycles * 100 < cycles) break;  // under one per cent
    out += wrapped(
        shown++ == 0 ? "  stalls        " : "                ", "                  ",
        fmt::format("{} wait{} for {} {} ({}): {}", s.who, s.who.starts_with("warps ") ? "" : "s", s.what,
                    s.waits == 1 ? fmt::format("once, {} cycles", grouped(s.cycles))
                                 : fmt::format("{} times, {} cycles each", grouped(s.waits),
                                               grouped(s.cycles / s.waits)),
                    timeline_place(trace, s.place), uses_text(s.used, s.cycles)));
  }
  out += wrapped("  picture       ", "                ",
                 fmt::format("{} (open it at https://ui.perfetto.dev)", file));
  if (timeline.has_tensor_memory)
    out += wrapped("  note          ", "                ",
                   "the kernel uses what an H200 does not have (tcgen05, launch control): nobody measured "
                   "these constants");
  const std::string verdict = "an estimate, not a measurement";
  return out + style.strong(verdict) +
         spread(verdict, "constants of an NVIDIA H200, docs/timeline.md").substr(verdict.size()) + "\n";
}

}  // namespace turnstile::cli
