// SPDX-License-Identifier: Apache-2.0
//
// Prints the tables of docs/performance.md. Each figure is the best of several repetitions in CPU
// seconds: other work on the machine makes the others slower, never faster.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "bench/numerics.h"
#include "bench/peer.h"
#include "checker/check.h"
#include "checker/explore.h"
#include "model/mimw/mimw.h"
#include "sim/orchestration_run.h"

namespace {

using namespace turnstile;

/// Of this process, in the system too: finer than what getrusage tells.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

bool trouble(const std::string& what, const std::string& message) {
  fmt::print("| {} | {} |\n", what, message);
  return false;
}

const char* met(bool good) { return good ? "met" : "NOT MET"; }

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
  double most_ms = 0;  ///< 0: no bar
};

/// E1 on one trace: the checker alone, without parsing, unrolling and execution.
bool measure_single_run(const SingleRunCase& c) {
  constexpr double bar = 20;  // M events/s
  const auto program = load(c.file, c.variant, c.values);
  if (!program) return trouble(c.title, program.error().message);
  const Trace trace = sim::run_orchestration(*program);
  double best = 1e9;
  Report report;
  for (double spent = 0; spent < 2;) {
    const double start = cpu_seconds();
    report = check(trace);
    const double took = cpu_seconds() - start;
    best = std::min(best, took);
    spent += std::max(took, 0.01);
  }
  const double rate = static_cast<double>(trace.events.size()) / best / 1e6;
  const std::string most = c.most_ms > 0 ? fmt::format("{} ms", c.most_ms) : "–";
  fmt::print("| {} | {} | {:.2f} ms | {} | {:.1f} M/s | {} M/s | {} |\n", c.title, trace.events.size(),
             best * 1e3, most, rate, bar, met(rate >= bar && (c.most_ms == 0 || best * 1e3 < c.most_ms)));
  return report.verdict == Verdict::clean;
}

struct Ring {
  unsigned stages, consumers, trips;
};

/// E3 and SPIN on the same ring, one after the other. Both with what they have to search less (`reduce`), or
/// both without.
bool measure_search(const Ring& ring, bool reduce) {
  constexpr double bar_rate = 3, bar_bytes = 40;
  const std::string title = fmt::format("S={} NC={} N={}", ring.stages, ring.consumers, ring.trips);
  const auto program = load("ring.mimw", ring.consumers == 2 ? "two" : "three",
                            {{"S", ring.stages}, {"NC", ring.consumers}, {"N", ring.trips}});
  if (!program) return trouble(title, program.error().message);
  checker::SearchOptions options;
  options.limits = {100'000'000, uint64_t{8} << 30, 300};
  options.reduce = options.symmetry = reduce;
  double ours = 1e9;
  checker::SearchResult result;
  double spent = 0;
  for (int i = 0; i < 5 || spent < 0.2; ++i) {
    const double start = cpu_seconds();
    result = checker::explore(*program, options);
    const double took = cpu_seconds() - start;
    ours = std::min(ours, took);
    spent += took;
  }
  const auto spin = bench::run_spin(ring.stages, ring.consumers, ring.trips, reduce);
  if (!spin) return trouble(title, "SPIN: " + spin.error().message);
  const auto rate = [](uint64_t transitions, double seconds) {
    return static_cast<double>(transitions) / std::max(seconds, 1e-6) / 1e6;
  };
  const double bytes =
      static_cast<double>(result.bytes) / static_cast<double>(std::max<uint64_t>(result.states, 1));
  const double mine = rate(result.transitions, ours);
  const std::string verdict = reduce ? "–" : met(mine >= bar_rate && bytes <= bar_bytes);
  fmt::print("| {} | E3 | {} | {} | {:.4f} s | {:.2f} M/s | {:.1f} B | {} |\n", title, result.states,
             result.transitions, ours, mine, bytes, verdict);
  fmt::print("| | SPIN | {} | {} | {:.4f} s | {:.2f} M/s | {:.1f} B | time SPIN / E3: {:.1f} |\n",
             spin->states, spin->transitions, spin->cpu_seconds, rate(spin->transitions, spin->cpu_seconds),
             spin->bytes_per_state, spin->cpu_seconds / ours);
  return result.complete && result.faults.empty();
}

struct KernelCase {
  std::string title;
  std::string file;  ///< under the source folder
  std::vector<std::string> settings;
  double most_seconds = 0, most_megabytes = 0;  ///< 0: no bar
  std::string peer;
  std::string verb = "check";
};

/// The whole program: PTX from file to verdict, or to the bits of the outputs.
bool measure_kernel(const KernelCase& c) {
  std::vector<std::string> command = {TURNSTILE_BINARY_DIR "/turnstile", c.verb,
                                      TURNSTILE_SOURCE_DIR "/" + c.file};
  for (const std::string& s : c.settings) command.insert(command.end(), {"--set", s});
  double seconds = 1e9, memory = 0;
  bool good = true;
  for (int i = 0; i < 5; ++i) {
    const auto cost = bench::run_and_measure(command);
    if (!cost) return trouble(c.title, cost.error().message);
    good &= cost->exit_code == 0;
    seconds = std::min(seconds, cost->cpu_seconds);
    memory = std::max(memory, cost->peak_megabytes);
  }
  const std::string verdict =
      c.most_seconds == 0 ? "–" : met(seconds < c.most_seconds && memory < c.most_megabytes);
  fmt::print("| {} | {:.3f} s | {:.0f} MB | {} | {} |\n", c.title, seconds, memory, verdict, c.peer);
  return good;
}

bool measure_single_runs() {
  fmt::print("### E1, single run\n\n");
  fmt::print("| trace | events | CPU | at most | rate | at least | bars |\n|---|--:|--:|--:|--:|--:|---|\n");
  bool good = measure_single_run(
      {"ring S=8 NC=3 N=65536", "ring.mimw", "three", {{"S", 8}, {"NC", 3}, {"N", 65536}}});
  good &= measure_single_run(
      {"attention S=2 G=3, 82 k-tiles x 8 (FA3-size CTA)", "attention.mimw", "ok", {{"N", 82}, {"T", 8}}, 5});
  good &= measure_single_run(
      {"attention S=2 G=3, 256 k-tiles x 32", "attention.mimw", "ok", {{"N", 256}, {"T", 32}}});
  return good;
}

bool measure_searches(bool reduce) {
  fmt::print("\n| ring | engine | states | transitions | CPU | rate | a state | bars |\n");
  fmt::print("|---|---|--:|--:|--:|--:|--:|---|\n");
  bool good = true;
  for (const Ring& ring : {Ring{4, 2, 64}, Ring{4, 3, 16}, Ring{6, 2, 32}})
    good &= measure_search(ring, reduce);
  return good;
}

bool measure_kernels() {
  fmt::print("\n### From PTX to verdict\n\n");
  fmt::print("| kernel | CPU | memory | bars | peer |\n|---|--:|--:|---|---|\n");
  bool good = true;
  for (const unsigned trips : {256u, 1024u, 4096u}) {
    KernelCase c{fmt::format("named-barrier ring, 2 x 128 threads, 4 stages, {} trips", trips),
                 "bench/programs/named_ring.toml",
                 {fmt::format("trips={}", trips)},
                 0,
                 0,
                 ""};
    if (trips == 4096) {
      c.most_seconds = 0.2;
      c.most_megabytes = 100;
      c.peer = "Weft: 12.6 s, 2.8 GB (algorithms.md 11.2)";
    }
    good &= measure_kernel(c);
  }
  for (const unsigned k : {4096u, 16384u, 65536u})
    good &= measure_kernel({fmt::format("gemm_bf16_hopper 512 x 512 x {}", k),
                            "kernels/gemm_bf16_hopper/gemm.toml",
                            {"M=512", "N=512", fmt::format("K={}", k)},
                            0,
                            0,
                            ""});
  for (const unsigned m : {2048u, 4096u})
    good &= measure_kernel({fmt::format("gemm_bf16_hopper {0} x {0} x 1024", m),
                            "kernels/gemm_bf16_hopper/gemm.toml",
                            {fmt::format("M={}", m), fmt::format("N={}", m), "K=1024"},
                            0,
                            0,
                            ""});
  return good;
}

bool measure_simulated() {
  fmt::print("\n### From PTX to the bits of the outputs\n\n");
  fmt::print("| kernel | CPU | memory | bars | peer |\n|---|--:|--:|---|---|\n");
  return measure_kernel({"gemm_bf16_hopper 1024 x 1024 x 1024, `simulate`",
                         "kernels/gemm_bf16_hopper/gemm.toml",
                         {"M=1024", "N=1024", "K=1024"},
                         3,
                         1000,
                         "",
                         "simulate"});
}

}  // namespace

int main(int count, char** words) {
  // For bench/emulator.py: `turnstile-bench numerics FOLDER`.
  if (count == 3 && words[1] == std::string_view("numerics"))
    return bench::measure_numerics(words[2]) ? 0 : 1;
  if (count != 1) {
    fmt::print(stderr, "turnstile-bench [numerics FOLDER]\n");
    return 2;
  }
  fmt::print("Machine: {}, {} cores; compiler {}; CPU seconds, best of several.\n\n", processor(),
             std::thread::hardware_concurrency(), __VERSION__);
  bool good = measure_single_runs();
  fmt::print(
      "\n### E3, search, beside SPIN\n\nEvery interleaving (E3 without its reductions, SPIN with "
      "-DNOREDUCE):\n");
  good &= measure_searches(false);
  fmt::print("\nAs they are used (E3: steps that go alone, symmetry; SPIN: its partial-order reduction):\n");
  good &= measure_searches(true);
  good &= measure_kernels();
  good &= measure_simulated();
  good &= bench::measure_numerics();
  if (!good) fmt::print("\na row above is not as it should be\n");
  return good ? 0 : 1;
}
