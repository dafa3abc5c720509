// SPDX-License-Identifier: Apache-2.0
//
// Z3 derives D1 to D3 from the edges of the trace, the engine from clocks: they must agree.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "checker/certificate_z3.h"
#include "checker/single_run.h"
#include "tests/checker/role_program.h"

using namespace turnstile;
using namespace turnstile::test;

TEST_CASE("Z3 and the clocks agree on the certificate of rings with one mutation") {
  if (!certificate_available()) {
    CHECK(!confirm_certificate(execute(ring({}), 0)).has_value());
    return;
  }
  size_t held = 0, failed = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    std::mt19937_64 random(seed);
    RoleProgram p = ring({1 + static_cast<uint32_t>(random() % 2), 1 + static_cast<uint32_t>(random() % 2), 3,
                          1 + static_cast<uint32_t>(random() % 2), random() % 2 == 0});
    if (seed % 4 != 0) {
      Role& r = p.roles[random() % p.roles.size()];
      const size_t at = random() % r.steps.size();
      if (random() % 2 == 0)
        r.steps.erase(r.steps.begin() + static_cast<std::ptrdiff_t>(at));
      else if (at + 1 < r.steps.size())
        std::swap(r.steps[at], r.steps[at + 1]);
    }
    const Trace trace = execute(p, seed);
    if (!trace.faults.empty()) continue;
    const checker::Observations seen = checker::single_run(trace);
    const bool breached =
        std::any_of(seen.breaches.begin(), seen.breaches.end(), [](const checker::Breach& b) {
          using Kind = checker::Breach::Kind;
          return b.kind == Kind::early_pass || b.kind == Kind::blocked_early || b.kind == Kind::lapped ||
                 b.kind == Kind::foreign_arrival;
        });
    const Result<bool> confirmed = confirm_certificate(trace);
    CAPTURE(seed);
    REQUIRE(confirmed.has_value());
    CHECK(*confirmed == !breached);
    ++(breached ? failed : held);
  }
  CHECK(held > 20);
  CHECK(failed > 20);
}

TEST_CASE("a long trace is refused with a reason, not half confirmed") {
  if (!certificate_available()) return;
  CertificateLimits limits;
  limits.max_events = 10;
  const Result<bool> r = confirm_certificate(execute(ring({}), 0), limits);
  REQUIRE(!r.has_value());
  CHECK(r.error().message.find("at most 10") != std::string::npos);
}
