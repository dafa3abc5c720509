// SPDX-License-Identifier: Apache-2.0

// Many launches of one command: sweeps of launch files and of orchestration texts.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/parallel.h"
#include "cli/progress.h"
#include "cli/sweep_grid.h"
#include "tests/cli/program.h"

using namespace turnstile;
using golden::Finished;
using nlohmann::json;
using test::has;
using test::run_turnstile;

namespace {

/// A ring of S stages whose consumer never gives a stage back: the producer hangs from k_tiles = S + 1 on.
const char* const kRing = R"(ring
let S=2
param k_tiles = 1
mbar full[S]:1 empty[S]:1
agent producer
  for i < k_tiles
    wait empty[i%S], (i/S&1)^1
    arrive_tx full[i%S], 64
    tma_load tile[i%S]#i -> full[i%S], 64
agent consumer
  for i < k_tiles
    wait full[i%S], i/S&1
    wgmma tile[i%S]#i
    wg_commit
    wg_wait 0
    [good] arrive empty[i%S]
=> good: safe
=> bad: deadlock
)";

}  // namespace

TEST_CASE("a sweep of a text shows where the fault begins and tells the smallest in full") {
  const test::Folder folder("sweep");
  const std::string file = folder.write("ring.mimw", kRing);
  const Finished r =
      run_turnstile({"check", file, "--variant", "bad", "--sweep", "k_tiles=0..2S+1", "--sweep", "S=1..3"});
  CAPTURE(r.output);
  CHECK(r.exit_code == 1);
  // S + 1 tiles need a stage for the second time; with S = 1 there are no more than 2 S + 1 = 3 tiles.
  CHECK(has(r.output,
            "  variant bad\n"
            "  k_tiles  0 1 2 3 4 5 6 7\n"
            "  S=1      . . H H\n"
            "  S=2      . . . H H H\n"
            "  S=3      . . . . H H H H\n"
            "  H: hang, first at k_tiles=2 S=1\n"));
  CHECK(has(r.output, "\nThe smallest that fails, variant bad  k_tiles=2 S=1:\n\n"));
  CHECK(has(r.output, "error[hang]: "));
  CHECK(has(r.output, "= smallest launch of the sweep that fails: k_tiles=2 S=1 (k_tiles=1 is clean)\n"));
  CHECK(has(r.output, "\n9 of 18 variants clean\n"));
  CHECK(run_turnstile({"check", file, "--variant", "good", "--sweep", "k_tiles=0..2S+1"}).exit_code == 0);
}

TEST_CASE("a sweep as JSON names the smallest failing one") {
  const test::Folder folder("sweep-json");
  const std::string file = folder.write("ring.mimw", kRing);
  const Finished r = run_turnstile({"check", file, "--variant", "bad", "--sweep", "k_tiles=0..4", "--json"});
  const json document = json::parse(r.output, nullptr, false);
  REQUIRE(document.is_object());
  CHECK(document["exit_code"] == 1);
  CHECK(document["variants"].size() == 5);
  CHECK(document["smallest_failing"] == 3);
  CHECK(document["variants"][3]["values"]["k_tiles"] == 3);
  CHECK(document["variants"][3]["verdict"] == "finding");
  CHECK(document["variants"][2]["verdict"] == "clean");
}

TEST_CASE("a sweep that cannot be computed says why") {
  const test::Folder folder("sweep-errors");
  const std::string file = folder.write("ring.mimw", kRing);
  const auto refused = [&](const std::vector<std::string>& options, const std::string& why) {
    std::vector<std::string> words = {"check", file};
    words.insert(words.end(), options.begin(), options.end());
    const Finished r = run_turnstile(words);
    CHECK(r.exit_code == 2);
    CHECK_MESSAGE(has(r.errors, why), r.errors);
  };
  refused({"--sweep", "k_tiles=0..2Q"}, "--sweep k_tiles=0..2Q: ");
  refused({"--sweep", "k_tile=0..2"}, "did you mean 'k_tiles'?");
  refused({"--set", "S=1", "--sweep", "S=1..2"}, "S is both set and swept");
  const std::string derived =
      folder.write("derived.mimw", "let S=2 W=2*S\nparam n = 1\nagent A\n  for i < n\n    nop\n");
  const Finished r = run_turnstile({"check", derived, "--sweep", "n=0..W", "--sweep", "S=1..3"});
  CHECK(r.exit_code == 2);
  CHECK_MESSAGE(has(r.errors, "--sweep n=0..W: W depends on what is swept"), r.errors);
  CHECK(run_turnstile({"check", derived, "--sweep", "n=0..W"}).exit_code == 0);
}

TEST_CASE("a sweep of a launch file may use its variables, and is refused where it has none") {
  const Finished r =
      run_turnstile({"check", test::data("squares.toml"), "--set", "ctas=3", "--sweep", "ctas=1..2"});
  CHECK(r.exit_code == 2);
  CHECK(has(r.errors, "ctas is both set and swept"));
  const Finished unknown = run_turnstile({"check", test::data("squares.toml"), "--sweep", "cta=1..2"});
  CHECK(unknown.exit_code == 2);
  CHECK(has(unknown.errors, "the launch file has no variable 'cta' in [vars]; did you mean 'ctas'?"));
  const Finished clean = run_turnstile({"check", test::data("squares.toml"), "--sweep", "ctas=1..4,8"});
  CHECK(clean.exit_code == 0);
  CHECK(has(clean.output, "  ctas  1 2 3 4 8\n        . . . . .\n"));
  CHECK(has(clean.output, "5 of 5 launches clean\n"));
}

TEST_CASE("what is done in parallel is shown in order, each once") {
  std::vector<size_t> shown;
  cli::run_in_order(
      200, [](size_t) {}, [&](size_t i) { shown.push_back(i); }, [](size_t) {}, [] { return false; });
  REQUIRE(shown.size() == 200);
  for (size_t i = 0; i < shown.size(); ++i) CHECK(shown[i] == i);
}

TEST_CASE("the bar of long work shows rate and estimate once there is something to estimate from") {
  CHECK(cli::progress_bar({0, 40, 0, 0.0}) == "  [------------------------]  0/40   0 findings");
  CHECK(cli::progress_bar({27, 40, 3, 2.25}) ==
        "  [################--------]  27/40   3 findings   12/s   ETA 2 s");
  CHECK(cli::progress_bar({40, 40, 1, 80.0}) == "  [########################]  40/40   1 finding   0.5/s");
  CHECK(cli::progress_bar({3, 12, std::nullopt, 1.0}) ==
        "  [######------------------]  3/12   3.0/s   ETA 3 s");
}
