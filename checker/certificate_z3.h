// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/result.h"
#include "model/trace.h"

namespace turnstile {

struct CertificateLimits {
  uint32_t max_events = 600;  ///< synchronisation events; accesses do not count
  uint32_t timeout_ms = 20'000;
};

/// Second derivation of conditions D1 to D3 (algorithms.md 3.2), independent of the clocks: the causal edges
/// of the trace as integer difference constraints, a phase completes at the last of its contributions, and Z3
/// is asked for an order of the events that violates a condition. True: there is none. False: there is one.
/// An Error if the trace is too long, Z3 gives up, or was not found at build time.
Result<bool> confirm_certificate(const Trace& trace, const CertificateLimits& limits = {});

/// Was Z3 there when this was built?
bool certificate_available();

}  // namespace turnstile
