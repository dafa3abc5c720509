// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/trace.h"

namespace turnstile {

struct CheckOptions {
  bool strict_war_fence =
      false;  ///< PX2 is an error, not a lint: generic read, then async overwrite without a proxy fence
  uint32_t max_diagnostics = 24;  ///< beyond it the report says how many were left out
};

/// Engine E1 (algorithms.md 7): hangs, races, missing fences, stale data, protocol, lifetime and resource
/// faults of one CTA, and whether they are those of every schedule (conditions ALG-D1 to ALG-D5). A trace
/// that contradicts itself gives an inconclusive report. Linear in events times lanes.
Report check(const Trace& trace, const CheckOptions& options = {});

/// What one CTA does to global memory, for check_between.
struct GlobalAccessSummary {
  enum class Kind : uint8_t { read, write, atomic };
  struct Range {
    uint32_t buffer = 0;
    uint32_t place = 0;  ///< into `places`
    Kind kind = Kind::read;
    ByteRange bytes;
  };
  uint32_t cta[3] = {0, 0, 0};
  std::vector<std::string> buffer_names;  ///< by buffer number
  std::vector<SourcePosition> places;
  std::vector<Range> ranges;  ///< each (place, footprint) once
};

GlobalAccessSummary summarize_global(const Trace& trace);

/// Races in global memory between different CTAs of one launch, which nothing orders (semantics.md section
/// 12): any overlap with at least one write, atomics on both sides excepted. Sort and sweep; buffers that
/// nobody writes cost nothing. Finds at least one pair for every byte that is raced on, not all pairs.
Report check_between(std::span<const GlobalAccessSummary> ctas, const CheckOptions& options = {});

}  // namespace turnstile
