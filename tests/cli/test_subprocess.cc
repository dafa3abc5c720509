// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>

#include "tests/cli/program.h"

using namespace turnstile;
using golden::run_program;

TEST_CASE("a program's output, errors and exit code come back; its stdin is empty") {
  const auto r = run_program({"/bin/sh", "-c", "cat; echo out; echo err >&2; exit 7"}, 20);
  REQUIRE(r);
  CHECK(r->output == "out\n");
  CHECK(r->errors == "err\n");
  CHECK(r->exit_code == 7);
  CHECK_FALSE(r->timed_out);
}

TEST_CASE("no shell reads the arguments") {
  const auto r = run_program({"/bin/echo", "$(id); *"}, 20);
  REQUIRE(r);
  CHECK(r->output == "$(id); *\n");
}

TEST_CASE("a program that does not end is killed, also if it closed its output") {
  const auto start = std::chrono::steady_clock::now();
  for (const char* script : {"exec sleep 60", "exec sleep 60 >&- 2>&-"}) {
    const auto r = run_program({"/bin/sh", "-c", script}, 0.3);
    REQUIRE(r);
    CHECK(r->timed_out);
    CHECK(r->exit_code == 128 + 9);
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("more output than is kept does not block the program") {
  const auto r = run_program({"/bin/sh", "-c", "head -c 5000000 /dev/zero"}, 60);
  REQUIRE(r);
  CHECK(r->exit_code == 0);
  CHECK(r->output.size() >= 1u << 20);
  CHECK(r->output.size() < 2u << 20);
}

TEST_CASE("a program that is not there is an error that names it") {
  const auto r = run_program({"/no/such/program"}, 1);
  REQUIRE_FALSE(r);
  CHECK(r.error().text() == "/no/such/program: cannot be started: No such file or directory");
}

TEST_CASE("a scratch folder goes with all that is in it") {
  const test::Folder folder("scratch");
  {
    const auto scratch = golden::ScratchFolder::make(folder / "deep/down", "gpu");
    REQUIRE(scratch);
    std::ofstream(scratch->path() + "/file") << "x";
    CHECK(folder.files() == 1);
  }
  CHECK(folder.files() == 0);
}
