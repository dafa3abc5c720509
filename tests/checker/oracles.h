// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "model/trace.h"
#include "tests/checker/role_program.h"

namespace turnstile::test {

// Deliberately naive second implementations. They share no code with checker/ and are never in production.

/// What some schedule of a program does.
struct Truth {
  bool hang = false;
  bool race = false;  ///< two conflicting accesses enabled in one state; a copy that has not written counts
                      ///< as an enabled write
  bool refused = false;  ///< an operation that a barrier has no defined result for
  uint64_t states = 0;
};

/// All interleavings by depth-first search over states (algorithms.md section 10): a copy is two steps, write
/// and then completion. Knows arrive, arrive_tx, expect, wait, load, read, write, bar_sync, bar_arrive.
/// Nothing if there are more states than the limit.
std::optional<Truth> explore(const RoleProgram& program, uint64_t limit);

/// Conditions and races of one trace by reachability in a graph of its events, all pairs of accesses
/// compared.
struct NaiveFindings {
  bool early_pass = false;         ///< D1, passed and blocked waits
  bool lapped = false;             ///< D2
  bool foreign = false;            ///< D3, named barriers included
  size_t first_race = ~size_t{0};  ///< smallest event that races with an earlier one
  size_t first_unfenced =
      ~size_t{0};  ///< smallest event that is ordered after a generic write but not fenced from it
};
NaiveFindings examine(const Trace& trace);

}  // namespace turnstile::test
