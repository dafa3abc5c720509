// SPDX-License-Identifier: Apache-2.0
#include "cli/handed_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/text.h"
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

Result<HandedOver> HandedOver::create(const sim::Program& program, const Launch& launch,
                                      const sim::TicketCounter* tickets) {
  Result<sim::PositionReplay> replay = sim::PositionReplay::create(program, launch, tickets);
  if (!replay) return tl::unexpected<Error>(replay.error());
  return HandedOver(program, launch, tickets, std::move(*replay));
}

void HandedOver::object(uint32_t place, std::string text) {
  if (!objection_) objection_ = Note{position_of(program_.places[place]), std::move(text)};
}

void HandedOver::add(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape, uint32_t handed) {
  add_run(trace, std::move(tape), handed, false);
}

void HandedOver::add_refusal(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape) {
  add_run(trace, std::move(tape), 0, true);
}

std::set<uint32_t> HandedOver::of_refusal(const Trace& trace, const sim::PositionTape& tape) {
  const sim::TapeParts parts = sim::parts_of(tape, trace, 1);
  std::set<uint32_t> own;
  for (const auto& [footprint, use] : parts.parts[1].moved) own.insert(footprint);
  std::erase_if(own, [&](uint32_t footprint) {
    return parts.names[footprint].part != 1 || tape.moved.contains({footprint, sim::PositionTape::fixed_use});
  });
  return own;
}

/// `refusal_only`: the rest of the run stands for itself.
void HandedOver::add_run(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape, uint32_t handed,
                         bool refusal_only) {
  if (objection_) return;
  if (tape == nullptr || !tape->whole || tape->names) {
    const std::string what = counted(handed, tickets_ != nullptr ? "ticket" : "cluster");
    objection_ =
        Note{{},
             fmt::format("what the run with {} {} owes to each of them is not known: it ended early, "
                         "or its verdict rests on which values are equal",
                         what, tickets_ != nullptr ? "drawn" : "handed over")};
    return;
  }
  if (const std::optional<uint32_t> place = overlapping_request(trace, tape->requests))
    return object(*place,
                  "a cluster is asked for while the answer before may still be on its way: which of the two "
                  "requests fails is not specified, and one order was run");
  sim::TapeParts parts = sim::parts_of(*tape, trace, handed + (tickets_ != nullptr ? 1 : 0));
  if (parts.mixed)
    return object(
        *parts.mixed,
        tickets_ != nullptr
            ? "what is computed here depends on two tickets, or on a ticket and the place of the CTA"
            : "what is computed here depends on two of the clusters that are worked on");
  const auto before =
      std::make_shared<const sim::MovedFootprints>(sim::MovedFootprints{trace.footprints, trace.ranges});
  const auto summary = std::make_shared<const GlobalAccessSummary>(summarize_global(trace));
  const std::vector<uint32_t> written = written_allocations(trace);
  for (uint32_t p = refusal_only ? 1 : 0; p < parts.parts.size(); ++p) {
    const Ids ids = p == 0 || tickets_ == nullptr ? Ids::clusters
                    : p <= handed                 ? Ids::tickets
                                                  : Ids::refusals;
    sim::TapePart& part = parts.parts[p];
    const auto known = [&](const Kind& k) {
      return k.hash == part.kind && k.ids == ids && k.written == written;
    };
    if (std::none_of(kinds_.begin(), kinds_.end(), known))
      kinds_.push_back({ids, p, part.kind, tape, before, summary, written, std::move(part), handed});
  }
  if (refusal_only) return;
  GlobalAccessSummary fixed;
  fixed.names = summary->names;
  for (const GlobalAccessSummary::Range& r : summary->ranges) {
    const auto at = tape->moved.lower_bound({r.footprint, sim::PositionTape::fixed_use});
    if (at != tape->moved.end() && *at == std::pair{r.footprint, sim::PositionTape::fixed_use})
      fixed.ranges.push_back(r);
  }
  const auto known = [&](const Fixed& f) {
    return std::equal(f.accesses.ranges.begin(), f.accesses.ranges.end(), fixed.ranges.begin(),
                      fixed.ranges.end(), same_bytes);
  };
  if (!fixed.ranges.empty() && std::none_of(fixed_.begin(), fixed_.end(), known))
    fixed_.push_back({std::move(fixed), handed});
}

bool HandedOver::knows(const std::vector<sim::Hash128>& kinds) const {
  return std::all_of(kinds.begin(), kinds.end(), [&](const sim::Hash128& kind) {
    return std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.hash == kind; });
  });
}

std::pair<uint64_t, uint64_t> HandedOver::range_of(Ids ids) const {
  const uint64_t clusters = sim::trace_count(program_, launch_);
  if (ids == Ids::clusters) return {0, clusters};
  if (ids == Ids::tickets) return {0, tickets_->count};
  return {tickets_->count, clusters};  // each cluster draws one
}

std::string HandedOver::id_name(Ids ids, uint64_t id) const {
  if (ids != Ids::clusters) return fmt::format("ticket {}", id);
  const uint32_t first = sim::cta_of_trace(program_, launch_, id);
  const Dim3& grid = launch_.grid;
  return fmt::format("CTA ({}, {}, {})", first % grid[0], first / grid[0] % grid[1],
                     first / grid[0] / grid[1]);
}

/// The part with this id: whether it does the same, and what it accesses.
bool HandedOver::examine_kind(const Kind& kind, uint64_t id, TraceClass overlaps, GlobalAccessSummary& out) {
  const bool drawn = kind.ids != Ids::clusters;
  const auto moved =
      replay_.replay_part(*kind.tape, kind.part, *kind.before, drawn ? 0 : static_cast<uint32_t>(id),
                          drawn ? std::optional(tickets_->value(id)) : std::nullopt);
  const std::string name = id_name(kind.ids, id);
  const std::string_view rule = tickets_ != nullptr ? "LF3" : "CL7";
  if (!moved) {
    if (replay_.differs_at())
      object(
          *replay_.differs_at(),
          tickets_
              ? fmt::format("which tickets a CTA draws decides more than addresses ({} does something else "
                            "here): the order of the CTAs is not specified (LF3), and others were not run",
                            name)
              : fmt::format("which cluster is handed over decides more than addresses ({} does something "
                            "else here): the order is not specified (CL7), and others were not run",
                            name));
    else if (!objection_)
      objection_ = Note{{},
                        fmt::format("an access breaks a rule when the tile of {} is worked on elsewhere, "
                                    "or is no longer that of another access of the tile; others were not "
                                    "run ({})",
                                    name, rule)};
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
                                    "those that were run ({})",
                                    name, rule)};
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

TraceClass HandedOver::overlaps_of(const Kind& kind) {
  std::set<uint32_t> numbers;
  for (const auto& [f, use] : kind.part.moved) numbers.insert(f);
  std::vector<Footprint> footprints;
  for (const uint32_t f : numbers) footprints.push_back(kind.before->footprints[f]);
  return overlap_class(footprints, kind.before->ranges, kind.written);
}

const std::optional<Note>& HandedOver::examine_refusals() {
  for (const Kind& kind : kinds_) {
    if (kind.ids != Ids::refusals) continue;
    const auto [first, count] = range_of(kind.ids);
    for (uint64_t id = first; id < first + count && !objection_; ++id) {
      GlobalAccessSummary unused;
      examine_kind(kind, id, overlaps_of(kind), unused);
    }
  }
  return objection_;
}

/// What all runs do for this id, added to `out`.
void HandedOver::examine_id(Ids ids, uint64_t id, bool first_tickets, std::span<const TraceClass> overlaps,
                            const std::set<uint32_t>& of_interest, std::vector<GlobalAccessSummary>& out) {
  const auto keep = [&](GlobalAccessSummary s) {
    if (ids == Ids::clusters) {
      const uint32_t first = sim::cta_of_trace(program_, launch_, id);
      const Dim3& grid = launch_.grid;
      s.cta[0] = first % grid[0];
      s.cta[1] = first / grid[0] % grid[1];
      s.cta[2] = first / grid[0] / grid[1];
    } else {
      s.cta[0] = static_cast<uint32_t>(id);
      s.cta[1] = GlobalAccessSummary::of_ticket;
      s.cta[2] = 0;
    }
    std::erase_if(s.ranges, [&](const auto& range) { return !of_interest.contains(range.buffer); });
    s.ranges.shrink_to_fit();
    if (!s.ranges.empty()) out.push_back(std::move(s));
  };
  for (size_t k = 0; k < kinds_.size() && !objection_; ++k) {
    if (kinds_[k].ids != ids) continue;
    if (first_tickets && ids == Ids::tickets && kinds_[k].number != 1) continue;
    GlobalAccessSummary accesses;
    accesses.names = kinds_[k].summary->names;
    if (examine_kind(kinds_[k], id, overlaps[k], accesses)) keep(std::move(accesses));
  }
  if (ids != Ids::clusters) return;
  for (const Fixed& f : fixed_) keep(f.accesses);
}

HandedOver::Examined HandedOver::examine(const std::set<uint32_t>& written) {
  const uint64_t clusters = sim::trace_count(program_, launch_);
  std::set<uint32_t> of_interest = written;
  bool side_by_side = true;  // any two kinds may meet in two CTAs
  const auto meets = [&](uint32_t handed) {
    side_by_side = side_by_side && (tickets_ != nullptr ? 2 * uint64_t{handed} <= tickets_->count
                                                        : 2 * (uint64_t{handed} + 1) <= clusters);
  };
  std::vector<TraceClass> overlaps;
  size_t ticket_kinds = 0;
  for (const Kind& kind : kinds_) {
    of_interest.insert(kind.written.begin(), kind.written.end());
    meets(kind.handed);
    ticket_kinds += kind.ids == Ids::tickets ? 1 : 0;
    overlaps.push_back(overlaps_of(kind));
  }
  if (tickets_ != nullptr)
    for (const Fixed& f : fixed_) meets(f.handed);
  Examined out;
  const auto accesses = [&](bool first_tickets) {
    std::vector<GlobalAccessSummary> all;
    for (const Ids ids : {Ids::clusters, Ids::tickets, Ids::refusals}) {
      if (ids != Ids::clusters && tickets_ == nullptr) continue;
      const auto [first, count] = range_of(ids);
      for (uint64_t id = first; id < first + count && !objection_; ++id)
        examine_id(ids, id, first_tickets, overlaps, of_interest, all);
    }
    return all;
  };
  out.accesses = accesses(false);
  // A cluster draws its tickets in their order, so that its third is none of the first two. Any two tickets,
  // though, are the first ones of two clusters if a third one takes all others.
  const bool any_order = tickets_ == nullptr || ticket_kinds <= 1;
  // Tiles that conflict, and that perhaps only one CTA can work on, one after the other: no finding by
  // itself.
  if (!objection_ && !(side_by_side && any_order) && check_between(out.accesses).verdict != Verdict::clean) {
    if (tickets_ != nullptr && side_by_side && clusters > 2) out.accesses = accesses(true);
    if (tickets_ == nullptr || !side_by_side || clusters <= 2 ||
        check_between(out.accesses).verdict != Verdict::finding)
      objection_ =
          Note{{},
               tickets_ != nullptr
                   ? "what is done for one ticket conflicts with what is done for another, and whether "
                     "both can be done at the same time depends on who draws which (LF3)"
                   : "what is done for one cluster conflicts with what is done for another, and whether "
                     "both can be done at the same time depends on which are handed over (CL7)"};
  }
  if (objection_) out.accesses.clear();
  out.objection = objection_;
  return out;
}

}  // namespace turnstile::cli
