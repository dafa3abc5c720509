// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

uint32_t line_of_the_branch(const std::string& loc) {
  Setup s;
  s.domain = sim::Domain::control;
  s.body = "ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0;\n" + loc +
           "\n@%p1 bra DONE; st.global.u32 [%rd1], 1; DONE: ret;";
  const Ran r = run(s);
  REQUIRE(r.trace().unknowns.size() == 1);
  return r.trace().places.at(r.trace().unknowns[0].place).line;
}

TEST_CASE("a helper's instruction is named by the line that calls it, a role's by its own") {
  CHECK(line_of_the_branch(".loc 1 42 13") == 42);
  CHECK(line_of_the_branch(".loc 1 42 13, function_name F, inlined_at 1 30 5") == 30);
  // Triton "calls" the roles of a kernel from its `def`, column 1.
  CHECK(line_of_the_branch(".loc 1 42 13, function_name F, inlined_at 1 55 1") == 42);
  CHECK(line_of_the_branch(".loc 1 0 0, function_name F, inlined_at 1 55 1") == 55);
  // A helper in a role: the role's line.
  CHECK(line_of_the_branch(".loc 1 42 13, function_name F, inlined_at 1 55 1\n"
                           ".loc 1 7 3, function_name G, inlined_at 1 42 13") == 42);
}

}  // namespace
