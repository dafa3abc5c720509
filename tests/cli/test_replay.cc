// SPDX-License-Identifier: Apache-2.0

// From a finding that only some schedules show to the file that shows it again.

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/program.h"

using namespace turnstile;
using golden::Finished;
using test::has;
using test::run_turnstile;

namespace {

/// The file that a report names; empty if it names none.
std::string witness_in(const std::string& output) {
  const std::string before = "  replay: turnstile replay ";
  const size_t at = output.find(before);
  if (at == std::string::npos) return {};
  const size_t start = at + before.size();
  return output.substr(start, output.find('\n', start) - start);
}

}  // namespace

TEST_CASE("a warp of a real kernel that can be overtaken: the schedule is told, kept, and shown again") {
  const std::string folder = TURNSTILE_SOURCE_DIR "/kernels/gemm_bf16_hopper/";
  const std::vector<std::string> launch = {folder + "gemm.toml",
                                           "--ptx",
                                           folder + "mutants/sibling_overtaken.ptx",
                                           "--set",
                                           "M=128",
                                           "--set",
                                           "N=256",
                                           "--set",
                                           "K=576",
                                           "--set",
                                           "sms=1"};
  std::vector<std::string> words = launch;
  words.insert(words.begin(), "check");
  const Finished checked = run_turnstile(words);
  CAPTURE(checked.output);
  REQUIRE(checked.exit_code == 1);
  CHECK(has(checked.output, "error[overtaken]: "));
  CHECK(has(checked.output, "schedule that shows it:\n      1. "));
  const std::string witness = witness_in(checked.output);
  REQUIRE(!witness.empty());
  const Finished again = run_turnstile({"replay", witness});
  CHECK(again.exit_code == 1);
  CHECK(has(again.output, "the fault shows again\n"));
  // The kernel without the fault is another program: the schedule does not fit, or shows nothing.
  std::string text = test::slurp(witness);
  const std::string from = "input ptx " + folder + "mutants/sibling_overtaken.ptx\n";
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), "input ptx " + folder + "gemm_bf16_hopper.ptx\n");
  const test::Folder scratch("repaired");
  const Finished repaired = run_turnstile({"replay", scratch.write("repaired.witness", text)});
  CHECK(repaired.exit_code == 3);
  CHECK(has(repaired.output, "the program is not the one that this witness was made from"));
  std::filesystem::remove(witness);
}

TEST_CASE("a witness remembers under which policies its finding is one") {
  const test::Folder folder("replay-policy");
  const std::string file = folder.write("k.mimw", R"(k
mbar full:1 empty:1
agent P
  arrive_tx full, 64
  tma_load b#0 -> full, 64
  wait empty, 0
  arrive_tx full, 64
  tma_load b#1 -> full, 64
agent C
  wait full, 0
  arrive empty
  wgmma b#0
  wg_commit
  wg_wait 0
  wait full, 1
)");
  const Finished checked = run_turnstile({"check", file, "--strict"});
  CAPTURE(checked.output);
  CHECK(checked.exit_code == 1);
  const std::string witness = witness_in(checked.output);
  if (witness.empty()) return;  // the run shows it itself, whatever the schedule
  CHECK(has(test::slurp(witness), "input policy strict\n"));
  CHECK(run_turnstile({"replay", witness}).exit_code == 1);
  std::filesystem::remove(witness);
}
