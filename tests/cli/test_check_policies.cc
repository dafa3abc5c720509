// SPDX-License-Identifier: Apache-2.0

// Contested rules: decided on the command line, in the launch file, in a file beside the input.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "checker/policies.h"
#include "tests/cli/program.h"

using namespace turnstile;
using golden::Finished;
using nlohmann::json;
using test::has;
using test::run_turnstile;

namespace {

/// A generic read, then a copy into the same bytes, ordered but without a proxy fence (E4 of the catalogue).
const char* const kRead = R"(reader
let B=100
mbar full:1 empty:1
agent P
  for i < 2
    if i > 0
      wait empty, (i&1)^1
    arrive_tx full, B
    tma_load b -> full, B
agent C
  wait full, 0
  read b
  arrive empty
  wait full, 1
  read b
)";

}  // namespace

TEST_CASE("a contested rule is advice or an error, as the command line says") {
  const test::Folder folder("policy");
  const std::string file = folder.write("reader.mimw", kRead);
  const Finished lint = run_turnstile({"check", file, "--policy", "read_fence=lint"});
  CHECK_MESSAGE(lint.exit_code == 0, lint.output);
  CHECK(has(lint.output, "lint[proxy_fence]: "));
  CHECK(has(lint.output, "  policies    read_fence=lint (--policy)\n"));
  const Finished error = run_turnstile({"check", file, "--policy", "read_fence=error"});
  CHECK(error.exit_code == 1);
  CHECK(has(error.output, "error[proxy_fence]: "));
  const Finished strict = run_turnstile({"check", file, "--strict"});
  CHECK(strict.exit_code == 1);
  CHECK(has(strict.output, "  policies    strict (--strict)\n"));
  // The word that is more exact wins, wherever it stands.
  const Finished both = run_turnstile({"check", file, "--policy", "read_fence=lint", "--strict"});
  CHECK(both.exit_code == 0);
  CHECK(has(both.output, "strict (--strict), read_fence=lint (--policy)"));
}

TEST_CASE("a file beside the input decides for all that lies there, the command line overrules it") {
  const test::Folder folder("policy-file");
  const std::string file = folder.write("reader.mimw", kRead);
  folder.write("turnstile.toml", "[policies]\nread_fence = \"error\"\n");
  CHECK(run_turnstile({"check", file}).exit_code == 1);
  CHECK(run_turnstile({"check", file, "--policy", "read_fence=lint"}).exit_code == 0);
  const std::string other = folder.write("other.toml", "\n[policies]\nread_fence = \"lint\"\n");
  const Finished r = run_turnstile({"check", file, "--config", other});
  CHECK(r.exit_code == 0);
  CHECK(has(r.output, "read_fence=lint (other.toml:3)"));
}

TEST_CASE("a launch file may decide contested rules, and JSON tells what was decided") {
  const test::Folder folder("policy-launch");
  folder.write("squares.ptx", test::slurp(test::data("squares.ptx")));
  const std::string launch = test::slurp(test::data("squares.toml"));
  const std::string file = folder.write("squares.toml", launch + "\n[policies]\nread_fence = \"error\"\n");
  const Finished r = run_turnstile({"check", file, "--policy", "tensor_fence=error", "--json"});
  CHECK(r.exit_code == 0);
  const json document = json::parse(r.output, nullptr, false);
  REQUIRE(document.is_object());
  const json& words = document["launches"][0]["policies"];
  REQUIRE(words.size() == 2);
  CHECK(words[0]["policy"] == "read_fence=error");
  CHECK(has(words[0]["source"], "squares.toml:"));
  CHECK(words[1]["source"] == "--policy");
  // simulate has no contested rules, and reads the same file.
  CHECK(run_turnstile({"simulate", file}).exit_code == 0);
}

TEST_CASE("a policy that does not exist is answered with those that do, and says where it stands") {
  const test::Folder folder("policy-errors");
  const std::string file = folder.write("reader.mimw", kRead);
  const Finished name = run_turnstile({"check", file, "--policy", "read_fense=lint"});
  CHECK(name.exit_code == 2);
  for (const PolicyName& p : policy_names()) CHECK(has(name.errors, std::string(p.name)));
  CHECK(has(name.errors, "did you mean 'read_fence'?"));
  const Finished value = run_turnstile({"check", file, "--policy", "read_fence=maybe"});
  CHECK(value.exit_code == 2);
  CHECK(has(value.errors, "'maybe' is none of"));
  CHECK(has(run_turnstile({"check", file, "--policy", "read_fence"}).errors, "expected NAME=VALUE"));
  folder.write("turnstile.toml", "[policies]\n\nfence = \"error\"\n");
  CHECK(has(run_turnstile({"check", file}).errors, "turnstile.toml:3:"));
  folder.write("turnstile.toml", "[policy]\nread_fence = \"error\"\n");
  CHECK(has(run_turnstile({"check", file}).errors, "did you mean 'policies'?"));
}
