// SPDX-License-Identifier: Apache-2.0

// The program as a user meets it: exit codes, texts and JSON of build/turnstile.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

using namespace turnstile;
using golden::Finished;
using nlohmann::json;
using test::run_turnstile;

namespace {

/// Exit code 2, nothing on stdout, and one line on stderr that holds `text`.
void check_refused(const std::vector<std::string>& arguments, const std::string& text) {
  const Finished r = run_turnstile(arguments);
  CAPTURE(r.errors);
  CHECK(r.exit_code == 2);
  CHECK(r.output == "");
  CHECK(test::lines(r.errors).size() == 1);
  CHECK(r.errors.starts_with("turnstile: error: "));
  CHECK_MESSAGE(r.errors.find(text) != std::string::npos, "wanted: " << text);
}

}  // namespace

TEST_CASE("help is an answer, not an error, and each verb shows two examples") {
  CHECK(run_turnstile({"--help"}).exit_code == 0);
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"check"},
                                                                                    {"simulate"},
                                                                                    {"batch", "check"},
                                                                                    {"golden", "record"},
                                                                                    {"golden", "verify"},
                                                                                    {"golden", "crossval"}}) {
    std::vector<std::string> words = verb;
    words.push_back("--help");
    const Finished r = run_turnstile(words);
    CHECK(r.exit_code == 0);
    std::string command = "\n  turnstile";
    for (const std::string& word : verb) command += " " + word;
    const size_t first = r.output.find(command);
    REQUIRE(first != std::string::npos);
    CHECK(r.output.find(command, first + 1) != std::string::npos);
    for (const std::string& line : test::lines(r.output)) CHECK(line.size() <= 130);
  }
}

TEST_CASE("wrong usage ends with exit code 2 and one line") {
  check_refused({}, "subcommand is required");
  check_refused({"chek"}, "no verb 'chek'; did you mean 'check'?");
  check_refused({"check", "--frobnicate", "x.toml"}, "--frobnicate");
  check_refused({"check"}, "check needs a launch file");
  check_refused({"simulate"}, "LAUNCH");
  check_refused({"check", test::data("squares.toml"), "--set", "ctas"}, "--set ctas: expected NAME=VALUE");
  check_refused({"check", test::data("squares.toml"), "--set", "ctas=1", "--set", "ctas=2"},
                "ctas is set twice");
  check_refused({"check", test::data("squares.toml"), "--set", "ctas=99999999999999999999"},
                "expected NAME=VALUE");
  check_refused({"check", test::data("squares.toml"), "--sweep", "ctas"}, "--sweep ctas: expected");
  check_refused({"simulate", test::data("squares.toml"), "--fill", "wild"}, "--fill wild: expected zeros");
  check_refused({"golden", "record", test::data("squares.toml"), "--repeat", "0"}, "--repeat");
}

TEST_CASE("unreadable input ends with exit code 2 and one line that says where") {
  const test::Folder folder("bad-input");
  check_refused({"check", folder / "none.toml"}, "none.toml");
  check_refused({"check", folder.write("broken.toml", "kernel = \n")}, "broken.toml:1");
  check_refused({"check", test::data("squares.toml"), "--ptx", folder / "none.ptx"}, "none.ptx");
  check_refused({"check", test::data("squares.toml"), "--case", "three"}, "three");
  std::string ptx = test::slurp(test::data("squares.ptx"));
  check_refused(
      {"check", test::data("squares.toml"), "--ptx", folder.write("cut.ptx", ptx.substr(0, ptx.size() - 40))},
      "cut.ptx:");
  const size_t at = ptx.find("mul.lo.s32");
  ptx.replace(at, 10, "frob.lo.s32");
  check_refused({"check", test::data("squares.toml"), "--ptx", folder.write("odd.ptx", ptx)}, "frob.lo.s32");
}

TEST_CASE("errors are JSON too when JSON was asked for") {
  const Finished r = run_turnstile({"check", "/no/such/launch.toml", "--json"});
  CHECK(r.exit_code == 2);
  const json document = json::parse(r.output, nullptr, false);
  REQUIRE(document.is_object());
  CHECK(document["exit_code"] == 2);
  CHECK(document["error"]["file"] == "/no/such/launch.toml");
}

TEST_CASE("a kernel whose threads write to places of their own is clean") {
  const Finished r = run_turnstile({"check", test::data("squares.toml")});
  CHECK(r.exit_code == 0);
  CHECK(r.output.starts_with("squares  sm_90a  grid 2  cluster 1  64 threads"));
  CHECK(r.output.find("\nclean: ") != std::string::npos);
  CHECK(r.output.find("2 CTAs in 1 class") != std::string::npos);
  CHECK(r.errors == "");
  CHECK(run_turnstile({"check", test::data("squares.toml"), "-q"}).output == "");
  const Finished machine = run_turnstile({"check", test::data("squares.toml"), "--json"});
  const json document = json::parse(machine.output, nullptr, false);
  REQUIRE(document.is_object());
  CHECK(document["launches"][0]["verdict"] == "clean");
  CHECK(document["launches"][0]["ctas_executed"].get<int>() +
            document["launches"][0]["ctas_followed"].get<int>() ==
        2);
}

TEST_CASE("two CTAs that write the same bytes race, and one alone is clean") {
  const test::Folder folder("race");
  std::string ptx = test::slurp(test::data("squares.ptx"));
  // All CTAs write where CTA 0 does.
  ptx.replace(ptx.find("mov.u32 \t%r2, %ctaid.x"), 22, "mov.u32 \t%r2, 0");
  const std::string file = folder.write("same.ptx", ptx);
  const Finished r = run_turnstile({"check", test::data("squares.toml"), "--ptx", file});
  CHECK(r.exit_code == 1);
  CHECK(r.output.find("error[race]: ") != std::string::npos);
  CHECK(run_turnstile({"check", test::data("squares.toml"), "--ptx", file, "--set", "ctas=1"}).exit_code ==
        0);
  const Finished sweep =
      run_turnstile({"check", test::data("squares.toml"), "--ptx", file, "--sweep", "ctas=1..3"});
  CHECK(sweep.exit_code == 1);
  CHECK(sweep.output.find("\n1 of 3 launches clean\n") != std::string::npos);
}

TEST_CASE("a part of the CTAs can find but not clear") {
  const Finished r = run_turnstile({"check", test::data("squares.toml"), "--ctas", "1"});
  CHECK(r.exit_code == 3);
  CHECK(r.output.find("only 1 of 2 CTAs were executed") != std::string::npos);
}

TEST_CASE("all cases of a launch file are one line each") {
  const Finished r = run_turnstile({"check", test::data("squares.toml"), "--all-cases"});
  CHECK(r.exit_code == 0);
  CHECK(r.output.find("2 of 2 launches clean\n") != std::string::npos);
}

TEST_CASE("simulate gives the squares, and writes them where numpy can read them") {
  const test::Folder folder("simulate");
  const Finished r = run_turnstile({"simulate", test::data("squares.toml"), "--json", "--out", folder / "o"});
  CHECK(r.exit_code == 0);
  const json document = json::parse(r.output, nullptr, false);
  REQUIRE(document.is_object());
  const json& out = document["outputs"][0];
  CHECK(out["type"] == "u32");
  CHECK(out["rows"] == 2);
  CHECK(out["first"] == json({"0x00000000", "0x00000001", "0x00000004", "0x00000009", "0x00000010",
                              "0x00000019", "0x00000024", "0x00000031"}));
  const std::string npy = test::slurp(folder / "o/out.npy");
  REQUIRE(npy.size() > 512);
  CHECK(npy.starts_with("\x93NUMPY"));
  // The last element is 127 * 127 = 0x3f01, little endian.
  CHECK(npy.substr(npy.size() - 4) == std::string("\x01\x3f\0\0", 4));
  CHECK(run_turnstile({"simulate", test::data("squares.toml")}).output.find("predicted, every bit") !=
        std::string::npos);
}

TEST_CASE("a store outside of its buffer is a finding of check and ends simulate with exit code 1") {
  const test::Folder folder("bounds");
  std::string ptx = test::slurp(test::data("squares.ptx"));
  ptx.replace(ptx.find("[%rd3]"), 6, "[%rd3+4096]");
  const std::string file = folder.write("far.ptx", ptx);
  const Finished r = run_turnstile({"check", test::data("squares.toml"), "--ptx", file});
  CHECK(r.exit_code == 1);
  CHECK(r.output.find("error[memory]: ") != std::string::npos);
  const Finished s =
      run_turnstile({"simulate", test::data("squares.toml"), "--ptx", file, "--out", folder / "o"});
  CHECK(s.exit_code == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "o"));
}
