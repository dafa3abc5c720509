// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker/observations.h"

namespace turnstile::checker {

/// Engine E0 (algorithms.md 7.2): faults that can be counted, without any order. Bytes expected against bytes
/// of the copies issued, for each barrier and generation; generations that a warp consumes twice. Its
/// messages name causes where E1 sees symptoms.
void check_structure(const Trace& trace, Observations& seen);

}  // namespace turnstile::checker
