// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker/check.h"
#include "checker/observations.h"

namespace turnstile::checker {

/// Engine E1 (algorithms.md 5.3, 7): replays a trace once and notes everything that breaks a rule or a
/// condition of the certificate. Of a trace that cannot be used it notes the defect, and nothing else.
Observations single_run(const Trace& trace, const Policies& policies = {});

}  // namespace turnstile::checker
