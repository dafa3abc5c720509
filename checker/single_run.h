// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker/check.h"
#include "checker/observations.h"

namespace turnstile::checker {

/// Engine E1 (algorithms.md 5.3, 7): replays a trace once and notes everything that breaks a rule or a
/// condition of the certificate.
Observations single_run(const Trace& trace, const Policies& policies = {});

/// First reason why a trace cannot be used: an index out of range, or more lanes than we keep clocks for.
/// Empty if there is none.
std::string trace_defect(const Trace& trace);

}  // namespace turnstile::checker
