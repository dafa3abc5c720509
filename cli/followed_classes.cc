// SPDX-License-Identifier: Apache-2.0
#include "cli/followed_classes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/grouping.h"

namespace turnstile::cli {

namespace {

/// Besides the written allocations those of which one footprint is read in two ways, of which other CTAs make
/// a difference: atomically and not, certainly and perhaps.
std::vector<uint32_t> exact_allocations(const GlobalAccessSummary& summary, std::vector<uint32_t> written) {
  std::map<uint32_t, const GlobalAccessSummary::Range*> first;
  std::set<uint32_t> out(written.begin(), written.end());
  for (const GlobalAccessSummary::Range& r : summary.ranges) {
    if (!same_sort(r, *first.try_emplace(r.footprint, &r).first->second)) out.insert(r.buffer);
  }
  return {out.begin(), out.end()};
}

}  // namespace

Result<FollowedClasses> FollowedClasses::create(const sim::Program& program, const Launch& launch,
                                                const sim::TicketCounter* tickets) {
  Result<sim::PositionReplay> replay = sim::PositionReplay::create(program, launch, tickets);
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
  run.exact = exact_allocations(summary, run.written);
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
        replay_.replay(*run.tape, run.footprints, run.exact, cluster);
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
