// SPDX-License-Identifier: Apache-2.0
//
// The table of docs/performance.md. Each figure is the best of several repetitions in CPU (user) seconds of
// this process: other work on the machine makes the others slower, never faster.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "bench/peer.h"
#include "checker/check.h"
#include "checker/explore.h"
#include "model/mimw/mimw.h"
#include "sim/orchestration_run.h"

namespace {

using namespace turnstile;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

Result<Orchestration> load(const std::string& name, const std::string& variant,
                           const std::map<std::string, int64_t>& values) {
  const std::string path = std::string(TURNSTILE_SOURCE_DIR "/bench/programs/") + name;
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const auto program = parse_mimw(text.str(), path);
  if (!program) return tl::unexpected(program.error());
  return unroll(*program, variant, values);
}

struct SingleRunCase {
  const char* title;
  const char* file;
  const char* variant;
  std::map<std::string, int64_t> values;
};

/// E1 on one trace: the checker alone, without parsing, unrolling and execution.
bool measure_single_run(const SingleRunCase& c) {
  const auto program = load(c.file, c.variant, c.values);
  if (!program) {
    fmt::print("{}: {}\n", c.title, program.error().message);
    return false;
  }
  const Trace trace = sim::run_orchestration(*program);
  double best = 1e9;
  Report report;
  for (double spent = 0; spent < 1.5;) {
    const double start = cpu_seconds();
    report = check(trace);
    const double took = cpu_seconds() - start;
    best = std::min(best, took);
    spent += std::max(took, 0.01);
  }
  fmt::print("E1  {:<44} {:>9} events  {:>8.2f} ms  {:>6.1f} M events/s  {}\n", c.title, trace.events.size(),
             best * 1e3, static_cast<double>(trace.events.size()) / best / 1e6, verdict_name(report.verdict));
  return report.verdict == Verdict::clean;
}

/// E3 and SPIN on the same ring, one after the other.
bool measure_search(unsigned stages, unsigned consumers, unsigned trips) {
  const auto program =
      load("ring.mimw", consumers == 2 ? "two" : "three", {{"S", stages}, {"NC", consumers}, {"N", trips}});
  if (!program) {
    fmt::print("{}\n", program.error().message);
    return false;
  }
  checker::SearchOptions options;
  options.limits = {100'000'000, uint64_t{8} << 30, 300};
  double ours = 1e9;
  checker::SearchResult result;
  for (int i = 0; i < 3; ++i) {
    const double start = cpu_seconds();
    result = checker::explore(*program, options);
    ours = std::min(ours, cpu_seconds() - start);
  }
  const std::string title = fmt::format("ring S={} NC={} N={}", stages, consumers, trips);
  fmt::print(
      "E3  {:<20} {:>9} states {:>10} transitions  {:>8.3f} s  {:>5.2f} M transitions/s  {:>5.1f} "
      "B/state{}\n",
      title, result.states, result.transitions, ours, static_cast<double>(result.transitions) / ours / 1e6,
      static_cast<double>(result.bytes) / static_cast<double>(std::max<uint64_t>(result.states, 1)),
      result.complete && result.faults.empty() ? "" : "  NOT COMPLETE");
  const auto spin = bench::run_spin(stages, consumers, trips);
  if (!spin) {
    fmt::print("    SPIN: {}\n", spin.error().message);
    return false;
  }
  fmt::print(
      "    SPIN                 {:>9} states {:>10} transitions  {:>8.3f} s  {:>5.2f} M transitions/s  "
      "{:>5.1f} B/state"
      "  time SPIN/E3 {:.1f}\n",
      spin->states, spin->transitions, spin->cpu_seconds,
      static_cast<double>(spin->transitions) / std::max(spin->cpu_seconds, 1e-3) / 1e6, spin->bytes_per_state,
      spin->cpu_seconds / ours);
  return result.complete && result.faults.empty();
}

bool measure_kernel() {
  bool good = true;
  for (const unsigned trips : {256u, 1024u, 4096u}) {
    double best = 1e9, memory = 0;
    for (int i = 0; i < 5; ++i) {
      const auto cost = bench::run_and_measure({TURNSTILE_BINARY_DIR "/turnstile", "check",
                                                TURNSTILE_SOURCE_DIR "/bench/programs/named_ring.toml",
                                                "--set", fmt::format("trips={}", trips)});
      if (!cost) {
        fmt::print("{}\n", cost.error().message);
        return false;
      }
      good &= cost->exit_code == 0;
      best = std::min(best, cost->cpu_seconds);
      memory = std::max(memory, cost->peak_megabytes);
    }
    fmt::print("PTX named-barrier ring, 2 x 128 threads, 4 stages, {:>4} trips: {:.3f} CPU s, {:.0f} MB{}\n",
               trips, best, memory, trips == 4096 ? "   (Weft, algorithms.md 11.2: 12.6 s, 2.8 GB)" : "");
  }
  return good;
}

}  // namespace

int main() {
  bool good = true;
  good &= measure_single_run(
      {"ring S=8 NC=3 N=65536", "ring.mimw", "three", {{"S", 8}, {"NC", 3}, {"N", 65536}}});
  good &= measure_single_run(
      {"attention S=2 G=3, 55 k-tiles x 8 (FA3-size CTA)", "attention.mimw", "ok", {{"N", 55}, {"T", 8}}});
  good &= measure_single_run(
      {"attention S=2 G=3, 256 k-tiles x 32", "attention.mimw", "ok", {{"N", 256}, {"T", 32}}});
  good &= measure_search(4, 2, 64);
  good &= measure_search(4, 3, 16);
  good &= measure_search(6, 2, 32);
  good &= measure_kernel();
  if (!good) fmt::print("a row above is not as it should be\n");
  return good ? 0 : 1;
}
