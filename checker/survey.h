// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checker/clocks.h"
#include "checker/structure.h"
#include "model/trace.h"

namespace turnstile::checker {

/// What the single run has to know of a trace before the first event, found in one pass, in which every index
/// is looked at before it is used.
struct Survey {
  explicit Survey(const Trace& trace);

  std::string defect;  ///< not empty: the trace cannot be used, and the rest says nothing
  Views::Uses uses;
  bool dependent_launch = false;
  std::vector<uint32_t> named;  ///< named barriers that occur, sorted
  /// Allocations that somebody writes, or reads with a tag: nobody may have written what it demands. Sorted.
  std::vector<std::pair<Space, uint32_t>> written;
  Guards guards;
  /// By queue: all that is issued to it and all its waits are of one strand, which no fork ever overwrote.
  /// Such a strand knows what it knew at its own issues; the queue need not keep it.
  std::vector<uint8_t> of_one_strand;
  uint32_t agents = 0;  ///< strands that did anything, or wait to
};

}  // namespace turnstile::checker
