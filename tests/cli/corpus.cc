// SPDX-License-Identifier: Apache-2.0

// The mutant table, held by CI; and that holding it means something: a wrong expectation must fail.

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "golden/expectations.h"
#include "tests/cli/program.h"

using namespace turnstile;
using golden::Finished;
using nlohmann::json;
using test::has;
using test::run_turnstile;

namespace {

const std::string kKernel = TURNSTILE_SOURCE_DIR "/kernels/gemm_bf16_hopper/";

/// A folder with mutants of the GEMM, and gemm.toml for the kernel in `kernel`.
struct Corpus {
  test::Folder folder{"corpus"};

  explicit Corpus(const std::vector<std::string>& mutants, const std::string& kernel = {}) {
    std::filesystem::create_directory(folder / "mutants");
    for (const std::string& name : mutants)
      std::filesystem::copy_file(kKernel + "mutants/" + name + ".ptx", folder / ("mutants/" + name + ".ptx"));
    std::string launch = test::slurp(kKernel + "gemm.toml");
    const auto replace = [&](const std::string& from, const std::string& to) {
      const size_t at = launch.find(from);
      REQUIRE(at != std::string::npos);
      launch.replace(at, from.size(), to);
    };
    replace("\"gemm_bf16_hopper.ptx\"",
            '"' + (kernel.empty() ? kKernel + "gemm_bf16_hopper.ptx" : kernel) + '"');
    replace("\"gemm_bf16_hopper.cu\"", '"' + kKernel + "gemm_bf16_hopper.cu\"");
    folder.write("gemm.toml", launch);
  }

  Finished run(const std::string& table, bool as_json = false) const {
    std::vector<std::string> words = {"corpus",
                                      folder.write("table.toml", "launch = \"gemm.toml\"\n" + table)};
    if (as_json) words.push_back("--json");
    return run_turnstile(words);
  }
};

std::string mutant(const std::string& name, const std::string& rest) {
  return "[[mutants]]\nname = \"" + name + "\"\nfault = \"f\"\n" + rest + "\n";
}

const std::string kRelease =
    "line = \"mbarrier_arrive(&empty[stage]);  // its wgmma group may still read\"\n";
const std::string kFive = "show = { M = 128, N = 256, K = 320, sms = 1 }\n";
const std::string kFour = "{ M = 128, N = 256, K = 256, sms = 1 }\n";

}  // namespace

TEST_CASE("every mutant of the GEMM is found, by class and line, and the GEMM itself is clean") {
  const auto table = golden::read_expectations(kKernel + "mutants.toml");
  REQUIRE(table);
  const Finished r = run_turnstile({"corpus", kKernel + "mutants.toml"});
  CHECK_MESSAGE(r.exit_code == 0, r.output);
  const std::string mutants = std::to_string(table->mutants.size());
  const std::string clean = std::to_string(table->clean.size());
  CHECK_MESSAGE(has(r.output, "\n" + mutants + " of " + mutants + " right class and line, " + clean + " of " +
                                  clean + " clean\n"),
                r.output);
  CHECK(r.errors == "");
}

TEST_CASE("an expectation that is right, on a side of the finding too, ends with exit code 0") {
  const Corpus corpus({"early_release"});
  // The release stands beside the finding, which is at the load.
  const Finished r =
      corpus.run(mutant("early_release", "class = \"race\"\n" + kRelease + kFive + "clean = " + kFour));
  CHECK_MESSAGE(r.exit_code == 0, r.output);
  CHECK(has(r.output, "  early_release         race             race             1/1   1/1   right  "));
  CHECK(has(r.output, "\n1 of 1 right class and line, 0 of 0 clean\n"));
}

TEST_CASE("an expectation that is wrong ends with exit code 1 and says what differs") {
  const Corpus corpus({"early_release"});
  const auto check_wrong = [&](const std::string& rest, const std::string& why) {
    const Finished r = corpus.run(mutant("early_release", rest));
    CHECK(r.exit_code == 1);
    CHECK_MESSAGE(has(r.output, why), r.output);
    CHECK(has(r.output, "\n0 of 1 right class and line"));
  };
  check_wrong("class = \"hang\"\n" + kRelease + kFive, "must be hang; got race: ");
  check_wrong("class = \"hang\"\nor = [\"stale\"]\n" + kRelease + kFive, "must be hang or stale; got race: ");
  check_wrong("class = \"race\"\nline = \"bulk_wait_group_0();  // BK6\"\n" + kFive, "and names no expected");
  check_wrong("class = \"race\"\n" + kRelease + "show = " + kFour, "must be race; got clean");
  check_wrong("class = \"race\"\n" + kRelease + kFive + "clean = { M = 128, N = 256, K = 320, sms = 1 }",
              "must be clean; got race: ");
}

TEST_CASE("a kernel that must be clean and is not ends with exit code 1") {
  const Corpus corpus({}, kKernel + "mutants/no_drain.ptx");
  const Finished r = corpus.run("[[clean]]\nname = \"one tile\"\nset = " + kFour);
  CHECK(r.exit_code == 1);
  CHECK(has(r.output, "\n0 of 0 right class and line, 0 of 1 clean\n"));
  CHECK(has(r.output, "lifetime\n"));
}

TEST_CASE("the table is JSON when JSON is asked for") {
  const Corpus corpus({"early_release"});
  const Finished r =
      corpus.run(mutant("early_release", "class = \"stale\"\nor = [\"race\"]\n" + kRelease + kFive) +
                     "[[clean]]\nname = \"four\"\nset = " + kFour,
                 true);
  CHECK(r.exit_code == 0);
  const json document = json::parse(r.output, nullptr, false);
  REQUIRE(document.is_object());
  CHECK(document["verb"] == "corpus");
  CHECK(document["exit_code"] == 0);
  const json& row = document["mutants"][0];
  CHECK(row["expected"] == "stale");
  CHECK(row["or"] == json({"race"}));
  CHECK(row["right"] == true);
  CHECK(row["launches"][0]["got"] == "race");
  CHECK(has(row["launches"][0]["where"]["text"], "tma_load(base"));
  CHECK(document["clean"][0]["got"] == "clean");
}

TEST_CASE("a table that cannot be used ends with exit code 2 and one line") {
  const Corpus corpus({"early_release"});
  const auto check_refused = [](const Finished& r, const std::string& text) {
    CHECK(r.exit_code == 2);
    CHECK(test::lines(r.errors).size() == 1);
    CHECK_MESSAGE(has(r.errors, text), r.errors);
  };
  check_refused(run_turnstile({"corpus", corpus.folder / "none.toml"}), "none.toml");
  check_refused(run_turnstile({"corpus"}), "TABLE");
  check_refused(corpus.run(mutant("early_release", "class = \"rays\"\n" + kRelease + kFive)), "table.toml:5");
  check_refused(corpus.run(mutant("never_built", "class = \"race\"\n" + kRelease + kFive)),
                "never_built.ptx");
  check_refused(corpus.run(mutant("early_release", "class = \"race\"\n" + kRelease + "show = { Q = 3 }\n")),
                "Q");
  corpus.folder.write("gemm.toml", "kernel = 3\n");
  check_refused(corpus.run(mutant("early_release", "class = \"race\"\n" + kRelease + kFive)), "gemm.toml:1");
}
