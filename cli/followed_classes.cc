// SPDX-License-Identifier: Apache-2.0
#include "cli/followed_classes.h"

#include <algorithm>
#include <utility>

#include "sim/grouping.h"

namespace turnstile::cli {

Result<FollowedClasses> FollowedClasses::create(const sim::Program& program, const Launch& launch) {
  Result<sim::PositionReplay> replay = sim::PositionReplay::create(program, launch);
  if (!replay) return tl::unexpected<Error>(replay.error());
  return FollowedClasses(program, launch, std::move(*replay));
}

void FollowedClasses::add(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape,
                          size_t trace_class, GlobalAccessSummary summary) {
  if (tape == nullptr || !tape->whole) return;
  Run run;
  run.tape = std::move(tape);
  run.footprints = {trace.footprints, trace.ranges};
  run.written = written_allocations(trace);
  run.overlaps = overlap_class(trace.footprints, trace.ranges, run.written);
  if (run.tape->names) run.alignment = alignment_class(trace.footprints, trace.ranges);
  run.trace_class = trace_class;
  run.summary = std::move(summary);
  runs_.insert(runs_.begin(), std::move(run));
}

std::optional<FollowedClasses::Match> FollowedClasses::match(uint32_t cluster) {
  for (size_t i = 0; i < runs_.size(); ++i) {
    const Run& run = runs_[i];
    const std::optional<sim::MovedFootprints> moved =
        replay_.replay(*run.tape, run.footprints, run.written, cluster);
    if (!moved || overlap_class(moved->footprints, moved->ranges, run.written) != run.overlaps) continue;
    if (run.tape->names && alignment_class(moved->footprints, moved->ranges) != run.alignment) continue;
    const uint32_t number = sim::cta_of_trace(program_, launch_, cluster);
    const Dim3& grid = launch_.grid;
    const uint32_t at[3] = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
    Match match{run.trace_class, moved_summary(run.summary, at, moved->footprints, moved->ranges)};
    ++matches_;
    std::rotate(runs_.begin(), runs_.begin() + static_cast<ptrdiff_t>(i),
                runs_.begin() + static_cast<ptrdiff_t>(i) + 1);
    return match;
  }
  return std::nullopt;
}

}  // namespace turnstile::cli
