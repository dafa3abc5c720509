// SPDX-License-Identifier: Apache-2.0
#include "bench/peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>

#include "golden/subprocess.h"

namespace turnstile::bench {

namespace {

constexpr double spin_timeout_seconds = 300;

/// First number that stands in front of `label`, as SPIN prints its statistics.
double number_before(const std::string& text, const std::string& label) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex("([0-9.]+(?:e\\+[0-9]+)?)[ \t]*" + label))) return 0;
  return std::strtod(match[1].str().c_str(), nullptr);
}

}  // namespace

Result<SpinRun> run_spin(unsigned stages, unsigned consumers, unsigned trips, bool reduce) {
  auto folder = golden::ScratchFolder::make(TURNSTILE_BINARY_DIR, "spin");
  if (!folder) return tl::unexpected(folder.error());
  const std::string& at = folder->path();
  // spin writes pan.c into the current folder, so each step starts there.
  const std::string model = TURNSTILE_SOURCE_DIR "/bench/programs/ring.pml";
  const std::vector<std::vector<std::string>> steps = {
      {"/usr/bin/env", "-C", at, "spin", fmt::format("-DS={}", stages), fmt::format("-DNC={}", consumers),
       fmt::format("-DN={}", trips), "-a", model},
      {"/usr/bin/env", "-C", at, "gcc", "-O2", "-DSAFETY", reduce ? "-w" : "-DNOREDUCE", "-w", "-o", "pan",
       "pan.c"}};
  for (const auto& step : steps) {
    const auto finished = golden::run_program(step, spin_timeout_seconds);
    if (!finished) return tl::unexpected(finished.error());
    if (finished->exit_code != 0)
      return fail(fmt::format("{} failed: {}{}", step[3], finished->errors, finished->output));
  }
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  const auto finished = golden::run_program({at + "/pan", "-m4000000", "-w24"}, spin_timeout_seconds);
  getrusage(RUSAGE_CHILDREN, &after);
  if (!finished) return tl::unexpected(finished.error());
  const std::string& text = finished->output;
  if (finished->exit_code != 0 || text.find("errors: 0") == std::string::npos ||
      text.find("max search depth too small") != std::string::npos)
    return fail("SPIN did not complete its search: " + text);
  SpinRun run;
  run.states = static_cast<uint64_t>(number_before(text, "states, stored"));
  run.transitions = static_cast<uint64_t>(number_before(text, "transitions"));
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  run.cpu_seconds = seconds(after.ru_utime) - seconds(before.ru_utime);
  const double stored_megabytes = number_before(text, "actual memory usage for states");
  const double memory =
      stored_megabytes > 0 ? stored_megabytes : number_before(text, "equivalent memory usage");
  if (run.states > 0) run.bytes_per_state = memory * 1048576 / static_cast<double>(run.states);
  return run;
}

Result<ProcessCost> run_and_measure(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return fail("a process cannot be started");
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) return fail("a process was lost");
  ProcessCost cost;
  cost.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (cost.exit_code == 127) return fail(arguments[0] + " cannot be started");
  cost.cpu_seconds =
      static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
  cost.peak_megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  return cost;
}

}  // namespace turnstile::bench
