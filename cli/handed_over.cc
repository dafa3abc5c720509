// SPDX-License-Identifier: Apache-2.0
#include "cli/handed_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/grouping.h"
#include "sim/program.h"

namespace turnstile::cli {

namespace {

/// Whether each request to launch control is issued after one has seen the answer to the one before, in every
/// schedule: otherwise it is not said which of them fails. What a strand knows is followed through forks and
/// joins only.
std::optional<uint32_t> overlapping_request(const Trace& trace,
                                            std::span<const sim::ClusterRequest> requests) {
  std::vector<size_t> request_of(trace.ops.size(), requests.size());
  for (size_t r = 0; r < requests.size(); ++r)
    for (const sim::ClusterRequest::Answer& a : requests[r].answers) request_of[a.op] = r;
  std::vector<bool> told(trace.agents.size());
  size_t current = requests.size();
  for (const Event& e : trace.events) {
    if (e.kind == EventKind::fork) {
      told[e.object] = told[e.agent.v];
    } else if (e.kind == EventKind::join) {
      const bool both = told[e.agent.v] || told[e.object];
      told[e.agent.v] = both;
      if (!e.has(Event::memory)) told[e.object] = both;
    } else if (e.kind == EventKind::mbarrier_wait && current < requests.size()) {
      for (const sim::ClusterRequest::Answer& a : requests[current].answers)
        if (a.barrier == e.object && e.generation > a.generation) told[e.agent.v] = true;
    } else if (e.kind == EventKind::async_issue && trace.ops[e.object].kind == AsyncOp::Kind::clc_query) {
      const size_t r = request_of[e.object];
      if (r == current) continue;  // to another CTA of the cluster
      if (r == requests.size() || (current != requests.size() && !told[e.agent.v])) return e.place;
      current = r;
      std::fill(told.begin(), told.end(), false);
    }
  }
  return std::nullopt;
}

SourcePosition position_of(const Place& place) {
  if (place.file.empty()) return {place.ptx_file, place.ptx_line, 0, place.ptx_line, place.instruction};
  return {place.file, place.line, place.column, place.ptx_line, place.instruction};
}

bool same_access(const GlobalAccessSummary::Range& a, const GlobalAccessSummary::Range& b) {
  return a.footprint == b.footprint && a.place == b.place && same_sort(a, b);
}

/// The same as far as other CTAs can tell, wherever in the kernel it is.
bool same_bytes(const GlobalAccessSummary::Range& a, const GlobalAccessSummary::Range& b) {
  return a.buffer == b.buffer && same_sort(a, b) && a.bytes == b.bytes;
}

}  // namespace

Result<HandedOver> HandedOver::create(const sim::Program& program, const Launch& launch) {
  Result<sim::PositionReplay> replay = sim::PositionReplay::create(program, launch);
  if (!replay) return tl::unexpected<Error>(replay.error());
  return HandedOver(program, launch, std::move(*replay));
}

void HandedOver::object(uint32_t place, std::string text) {
  if (!objection_) objection_ = Note{position_of(program_.places[place]), std::move(text)};
}

void HandedOver::add(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape, uint32_t handed) {
  if (objection_) return;
  if (tape == nullptr || !tape->whole || tape->names) {
    objection_ = Note{
        {},
        fmt::format("what the run with {} handed over owes to each of them is not known: it ended early, "
                    "or its verdict rests on which values are equal",
                    handed == 1 ? "one cluster" : fmt::format("{} clusters", handed))};
    return;
  }
  if (const std::optional<uint32_t> place = overlapping_request(trace, tape->requests))
    return object(*place,
                  "a cluster is asked for while the answer before may still be on its way: which of the two "
                  "requests fails is not specified, and one order was run");
  sim::TapeParts parts = sim::parts_of(*tape, trace, handed);
  if (parts.mixed)
    return object(*parts.mixed, "what is computed here depends on two of the clusters that are worked on");
  const auto before =
      std::make_shared<const sim::MovedFootprints>(sim::MovedFootprints{trace.footprints, trace.ranges});
  const auto summary = std::make_shared<const GlobalAccessSummary>(summarize_global(trace));
  const std::vector<uint32_t> written = written_allocations(trace);
  for (sim::TapePart& part : parts.parts) {
    const auto known = [&](const Kind& k) { return k.hash == part.kind && k.written == written; };
    if (std::none_of(kinds_.begin(), kinds_.end(), known))
      kinds_.push_back({part.kind, tape, before, summary, written, std::move(part), handed});
  }
  GlobalAccessSummary fixed;
  fixed.names = summary->names;
  for (const GlobalAccessSummary::Range& r : summary->ranges) {
    const auto at = tape->moved.lower_bound({r.footprint, sim::PositionTape::fixed_use});
    if (at != tape->moved.end() && *at == std::pair{r.footprint, sim::PositionTape::fixed_use})
      fixed.ranges.push_back(r);
  }
  const auto known = [&](const GlobalAccessSummary& f) {
    return std::equal(f.ranges.begin(), f.ranges.end(), fixed.ranges.begin(), fixed.ranges.end(), same_bytes);
  };
  if (!fixed.ranges.empty() && std::none_of(fixed_.begin(), fixed_.end(), known))
    fixed_.push_back(std::move(fixed));
}

bool HandedOver::knows(const std::vector<sim::Hash128>& kinds) const {
  return std::all_of(kinds.begin(), kinds.end(), [&](const sim::Hash128& kind) {
    return std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.hash == kind; });
  });
}

/// The part with this id: whether it does the same, and what it accesses.
bool HandedOver::examine_kind(const Kind& kind, uint32_t cluster, TraceClass overlaps,
                              GlobalAccessSummary& out) {
  const auto moved = replay_.replay_part(*kind.tape, kind.part, *kind.before, cluster);
  const uint32_t first = sim::cta_of_trace(program_, launch_, cluster);
  const Dim3& grid = launch_.grid;
  const std::string cta =
      fmt::format("CTA ({}, {}, {})", first % grid[0], first / grid[0] % grid[1], first / grid[0] / grid[1]);
  if (!moved) {
    constexpr std::string_view text =
        "which cluster is handed over decides more than addresses ({} does something else here): the order "
        "is "
        "not specified (CL7), and others were not run";
    if (replay_.differs_at())
      object(*replay_.differs_at(), fmt::format(fmt::runtime(text), cta));
    else if (!objection_)
      objection_ = Note{{},
                        fmt::format("an access breaks a rule when the tile of {} is worked on elsewhere, "
                                    "or is no longer that of another access of the tile; others were not "
                                    "run (CL7)",
                                    cta)};
    return false;
  }
  std::vector<Footprint> footprints;
  std::vector<ByteRange> ranges;
  for (const sim::MovedFootprint& m : *moved) {
    Footprint f = kind.before->footprints[m.number];
    f.first_range = static_cast<uint32_t>(ranges.size());
    f.range_count = static_cast<uint32_t>(m.ranges.size());
    ranges.insert(ranges.end(), m.ranges.begin(), m.ranges.end());
    footprints.push_back(f);
  }
  if (overlap_class(footprints, ranges, kind.written) != overlaps) {
    if (!objection_)
      objection_ = Note{{},
                        fmt::format("the accesses to the tile of {} overlap each other in another way than "
                                    "those that were run (CL7)",
                                    cta)};
    return false;
  }
  for (size_t i = 0; i < kind.summary->ranges.size(); ++i) {
    GlobalAccessSummary::Range range = kind.summary->ranges[i];
    const auto at = std::lower_bound(moved->begin(), moved->end(), range.footprint,
                                     [](const auto& m, uint32_t number) { return m.number < number; });
    if (at == moved->end() || at->number != range.footprint) continue;
    // All ranges of one access follow each other: one of them stands for all.
    if (i > 0 && same_access(kind.summary->ranges[i - 1], range)) continue;
    for (const ByteRange& bytes : at->ranges) {
      range.bytes = bytes;
      out.ranges.push_back(range);
    }
  }
  return true;
}

HandedOver::Examined HandedOver::examine(const std::set<uint32_t>& written) {
  const uint64_t clusters = sim::trace_count(program_, launch_);
  std::set<uint32_t> of_interest = written;
  bool side_by_side = true;  // any two kinds may meet in two CTAs
  std::vector<TraceClass> overlaps;
  for (const Kind& kind : kinds_) {
    of_interest.insert(kind.written.begin(), kind.written.end());
    side_by_side = side_by_side && 2 * (uint64_t{kind.handed} + 1) <= clusters;
    std::set<uint32_t> numbers;
    for (const auto& [f, use] : kind.part.moved) numbers.insert(f);
    std::vector<Footprint> footprints;
    for (const uint32_t f : numbers) footprints.push_back(kind.before->footprints[f]);
    overlaps.push_back(overlap_class(footprints, kind.before->ranges, kind.written));
  }
  Examined out;
  for (uint32_t c = 0; c < clusters && !objection_; ++c) {
    const uint32_t first = sim::cta_of_trace(program_, launch_, c);
    const Dim3& grid = launch_.grid;
    const auto keep = [&](GlobalAccessSummary s) {
      s.cta[0] = first % grid[0];
      s.cta[1] = first / grid[0] % grid[1];
      s.cta[2] = first / grid[0] / grid[1];
      std::erase_if(s.ranges, [&](const auto& range) { return !of_interest.contains(range.buffer); });
      s.ranges.shrink_to_fit();
      if (!s.ranges.empty()) out.accesses.push_back(std::move(s));
    };
    for (size_t k = 0; k < kinds_.size() && !objection_; ++k) {
      GlobalAccessSummary accesses;
      accesses.names = kinds_[k].summary->names;
      if (examine_kind(kinds_[k], c, overlaps[k], accesses)) keep(std::move(accesses));
    }
    for (const GlobalAccessSummary& f : fixed_) keep(f);
  }
  // Tiles that conflict, and that perhaps only one CTA can work on, one after the other: no finding by
  // itself.
  if (!objection_ && !side_by_side && check_between(out.accesses).verdict != Verdict::clean)
    objection_ =
        Note{{},
             "what is done for one cluster conflicts with what is done for another, and whether both "
             "can be done at the same time depends on which are handed over (CL7)"};
  if (objection_) out.accesses.clear();
  out.objection = objection_;
  return out;
}

}  // namespace turnstile::cli
