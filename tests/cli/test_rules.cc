// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/cli/program.h"

using namespace turnstile;

TEST_CASE("a rule is explained in either case, an unknown one is answered with what there is") {
  const golden::Finished known = test::run_turnstile({"check", "--explain", "px1"});
  CHECK(known.exit_code == 0);
  CHECK(known.output.find("PX1") != std::string::npos);
  CHECK(known.output.find("fence") != std::string::npos);
  for (const std::string& line : test::lines(known.output)) CHECK(line.size() <= 100);
  const golden::Finished unknown = test::run_turnstile({"check", "--explain", "PX11"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.errors.find("--explain PX11: no such rule; did you mean 'PX1'?") != std::string::npos);
}
