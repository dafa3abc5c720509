// SPDX-License-Identifier: Apache-2.0
// turnstile fmt, as a user runs it.
#include <doctest/doctest.h>

#include "tests/cli/program.h"

namespace turnstile::test {
namespace {

const std::string kMessy = "agent   P   -- the only one\n     nop\n";
const std::string kNeat = "agent P  -- the only one\n  nop\n";

}  // namespace

TEST_CASE("fmt lays a file out in place, and says so; the second time there is nothing to do") {
  const Folder folder("fmt");
  const std::string file = folder.write("a.mimw", kMessy);
  const auto first = run_turnstile({"fmt", file});
  CHECK(first.exit_code == 0);
  CHECK(first.output == file + ": laid out\n");
  CHECK(slurp(file) == kNeat);
  const auto second = run_turnstile({"fmt", file});
  CHECK(second.exit_code == 0);
  CHECK(second.output.empty());
  CHECK(slurp(file) == kNeat);
  CHECK(folder.files() == 1);  // nothing is left beside it
}

TEST_CASE("fmt --check changes nothing and tells by its exit code") {
  const Folder folder("fmt-check");
  const std::string messy = folder.write("messy.mimw", kMessy), neat = folder.write("neat.mimw", kNeat);
  const auto both = run_turnstile({"fmt", "--check", neat, messy});
  CHECK(both.exit_code == 1);
  CHECK(both.output == messy + ": not in canonical layout\n");
  CHECK(slurp(messy) == kMessy);
  CHECK(run_turnstile({"fmt", neat, "--check"}).exit_code == 0);
}

TEST_CASE("fmt leaves a file that it cannot read as it is, and goes on with the others") {
  const Folder folder("fmt-error");
  const std::string wrong = folder.write("wrong.mimw", "agent P\n  nopp\n"),
                    messy = folder.write("messy.mimw", kMessy);
  const auto run = run_turnstile({"fmt", wrong, messy, folder / "missing.mimw"});
  CHECK(run.exit_code == 2);
  CHECK(slurp(wrong) == "agent P\n  nopp\n");
  CHECK(slurp(messy) == kNeat);
  CHECK(run.errors.find("turnstile: error: " + wrong + ":2:3: there is no operation 'nopp'") !=
        std::string::npos);
  CHECK(run.errors.find("missing.mimw") != std::string::npos);
}

TEST_CASE("fmt follows a link and keeps the permissions of the file") {
  const Folder folder("fmt-link");
  const std::string file = folder.write("a.mimw", kMessy), link = folder / "link.mimw";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(file, link);
  CHECK(run_turnstile({"fmt", link}).exit_code == 0);
  CHECK(slurp(file) == kNeat);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::status(file).permissions() == std::filesystem::perms::owner_all);
}

TEST_CASE("fmt leaves the file as it is where it cannot write beside it") {
  const Folder folder("fmt-locked");
  const std::string file = folder.write("a.mimw", kMessy);
  std::filesystem::permissions(folder.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto run = run_turnstile({"fmt", file});
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  // An administrator may write anywhere.
  CHECK(slurp(file) == (run.exit_code == 2 ? kMessy : kNeat));
}

}  // namespace turnstile::test
