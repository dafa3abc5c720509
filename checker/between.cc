// SPDX-License-Identifier: Apache-2.0
//
// Global memory between the CTAs of one launch. Nothing orders CTAs, so any overlap of two of them with a
// write is a race. Sweep over the sorted intervals of a buffer; for each kind of access it is enough to
// remember the two intervals of different CTAs that reach farthest: if any interval that is still open
// conflicts with the next one, one of these does.
#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "checker/check.h"
#include "checker/narrative.h"
#include "checker/trace_defect.h"

namespace turnstile {

namespace {

using AccessKind = GlobalAccessSummary::Kind;

/// What decides whether two accesses conflict.
struct Sort {
  AccessKind kind;
  bool writes, async;
  uint8_t element;
  bool conditional;
  auto operator<=>(const Sort&) const = default;
};

Sort sort_of(const GlobalAccessSummary::Range& r) {
  return {r.kind, r.writes, r.async, r.element, r.conditional};
}

struct Interval {
  uint64_t begin, end;
  uint32_t cta, place;
  Sort sort;
  uint32_t tile;  ///< the first summary with this CTA: a tile is worked on once, by whomever
};

class Farthest {
 public:
  void add(const Interval& i) {
    if (first_ && first_->tile == i.tile) {
      if (i.end > first_->end) first_ = i;
    } else if (!first_ || i.end > first_->end) {
      second_ = first_;
      first_ = i;
    } else if (!second_ || i.end > second_->end) {
      second_ = i;
    }
  }
  /// An interval of another CTA that reaches beyond `begin`.
  const Interval* other(const Interval& i) const {
    if (first_ && first_->tile != i.tile) return first_->end > i.begin ? &*first_ : nullptr;
    return second_ && second_->end > i.begin ? &*second_ : nullptr;
  }

 private:
  std::optional<Interval> first_, second_;  // of different CTAs, first_ reaches farthest
};

bool of_two_sizes(const Sort& a, const Sort& b) {
  return a.element != 0 && b.element != 0 && a.element != b.element;
}

/// M3: two atomics of one proxy on the same bytes are in the order of that word; of different sizes (M5) not.
bool conflict(const Sort& a, const Sort& b) {
  if (!a.writes && !b.writes) return false;
  if (a.kind != AccessKind::atomic || b.kind != AccessKind::atomic) return true;
  return a.async != b.async || of_two_sizes(a, b);
}

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates atomically";
}

std::string cta_name(const GlobalAccessSummary& s) {
  if (s.cta[1] == GlobalAccessSummary::of_ticket) return "the CTA of ticket " + std::to_string(s.cta[0]);
  return "CTA (" + std::to_string(s.cta[0]) + ", " + std::to_string(s.cta[1]) + ", " +
         std::to_string(s.cta[2]) + ")";
}

std::string bytes_text(std::span<const GlobalAccessSummary> ctas, uint32_t buffer, const Interval& a,
                       const Interval& b) {
  const std::vector<std::string>& names = ctas[b.cta].names->buffers;
  std::string name = buffer < names.size() ? names[buffer] : "";
  if (name.empty()) name = "buffer " + std::to_string(buffer);
  const uint64_t begin = std::max(a.begin, b.begin), end = std::min(a.end, b.end);
  return name + "[" + std::to_string(begin) + ".." + std::to_string(end - 1) + "]";
}

/// A pair of which one is made only if a value says so that nobody knows. That value may be what an atomic
/// returned ("I am the last one"), and then say that the other CTA is done.
Note doubt(std::span<const GlobalAccessSummary> ctas, uint32_t buffer, const Interval& a, const Interval& b) {
  const GlobalAccessSummary &first = ctas[a.cta], &second = ctas[b.cta];
  return {second.names->places[b.place],
          cta_name(second) + " " + verb(b.sort.kind) + " " + bytes_text(ctas, buffer, a, b) + ", which " +
              cta_name(first) + " " + verb(a.sort.kind) +
              ", and whether both do depends on a value that this launch does not give; what that value says "
              "of the other CTA is not known"};
}

Diagnostic explain(std::span<const GlobalAccessSummary> ctas, uint32_t buffer, const Interval& a,
                   const Interval& b) {
  const GlobalAccessSummary &first = ctas[a.cta], &second = ctas[b.cta];
  const std::string bytes = bytes_text(ctas, buffer, a, b), name = bytes.substr(0, bytes.rfind('['));
  Diagnostic d;
  d.finding_class = FindingClass::race;
  const bool sizes =
      a.sort.kind == AccessKind::atomic && b.sort.kind == AccessKind::atomic && of_two_sizes(a.sort, b.sort);
  d.rule = sizes ? "M5" : "GM1";
  d.subject = name;
  d.message = cta_name(second) + " " + verb(b.sort.kind) + " " + bytes + ", which " + cta_name(first) + " " +
              verb(a.sort.kind) + " in no order";
  d.where = second.names->places[b.place];
  d.label = cta_name(second) + " " + verb(b.sort.kind) + " " + bytes;
  d.sides.push_back({first.names->places[a.place], cta_name(first) + " " + verb(a.sort.kind) + " it here"});
  d.facts.push_back("nothing orders the CTAs of a launch");
  if (sizes)
    d.facts.push_back("their elements are of " + std::to_string(a.sort.element) + " and of " +
                      std::to_string(b.sort.element) + " bytes");
  d.witness = {cta_name(first) + " runs before " + cta_name(second) + ", or after it, or at the same time"};
  d.witness_is_shortest = true;
  d.help = "give each CTA its own part of " + name + ", or combine with atomics or in a second kernel";
  return d;
}

}  // namespace

bool same_sort(const GlobalAccessSummary::Range& a, const GlobalAccessSummary::Range& b) {
  return sort_of(a) == sort_of(b);
}

GlobalAccessSummary summarize_global(const Trace& trace) {
  GlobalAccessSummary summary;
  std::copy_n(trace.first_cta, 3, summary.cta);
  if (!checker::trace_defect(trace).empty()) return summary;
  auto shared = std::make_shared<GlobalAccessSummary::Names>();
  shared->buffers = trace.allocation_names;
  const checker::Names names(trace);
  std::map<uint32_t, uint32_t> places;
  std::set<std::tuple<uint32_t, uint32_t, Sort>> known;
  for (const Event& e : trace.events) {
    if (e.kind != EventKind::access && e.kind != EventKind::async_access) continue;
    const Footprint& f = trace.footprints[e.footprint];
    if (f.space != Space::global) continue;
    const bool async = e.kind == EventKind::async_access;
    // M3: an atomic counts as one only if its scope reaches the other CTAs.
    const bool atomic = e.has(Event::atomic) && e.scope >= Scope::gpu;
    const bool writes = e.has(Event::write);
    const Sort sort{atomic   ? AccessKind::atomic
                    : writes ? AccessKind::write
                             : AccessKind::read,
                    writes, atomic && async, static_cast<uint8_t>(atomic ? e.count : 0),
                    e.has(Event::conditional)};
    const uint32_t place = async ? trace.ops[e.object].place : e.place;
    if (!known.insert({place, e.footprint, sort}).second) continue;
    const auto [at, fresh] = places.try_emplace(place, static_cast<uint32_t>(shared->places.size()));
    if (fresh) shared->places.push_back(names.position(place));
    for (uint32_t r = f.first_range; r < f.first_range + f.range_count; ++r)
      summary.ranges.push_back({f.allocation, at->second, sort.kind, sort.writes, sort.async, sort.element,
                                sort.conditional, trace.ranges[r], e.footprint});
  }
  summary.names = std::move(shared);
  return summary;
}

GlobalAccessSummary moved_summary(const GlobalAccessSummary& of, const uint32_t (&first_cta)[3],
                                  std::span<const Footprint> footprints, std::span<const ByteRange> ranges) {
  GlobalAccessSummary out;
  std::copy_n(first_cta, 3, out.cta);
  out.names = of.names;
  out.ranges.reserve(of.ranges.size());
  const auto same_access = [](const GlobalAccessSummary::Range& a, const GlobalAccessSummary::Range& b) {
    return a.footprint == b.footprint && a.place == b.place && same_sort(a, b);
  };
  for (size_t i = 0; i < of.ranges.size();) {
    GlobalAccessSummary::Range range = of.ranges[i];
    const Footprint& f = footprints[range.footprint];
    for (uint32_t r = f.first_range; r < f.first_range + f.range_count; ++r) {
      range.bytes = ranges[r];
      out.ranges.push_back(range);
    }
    while (i < of.ranges.size() && same_access(of.ranges[i], range)) ++i;
  }
  return out;
}

Report check_between(std::span<const GlobalAccessSummary> ctas, const CheckOptions& options) {
  constexpr uint64_t kMaxIntervals = 50'000'000;
  Report report;
  report.engine = "global memory between CTAs";
  report.guarantee = "every schedule of this launch";
  std::map<uint32_t, bool> written;
  for (const GlobalAccessSummary& s : ctas)
    for (const GlobalAccessSummary::Range& r : s.ranges) written[r.buffer] |= r.writes;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> first_of;
  std::vector<uint32_t> tiles;
  for (uint32_t c = 0; c < ctas.size(); ++c) {
    const auto at = std::tuple(ctas[c].cta[0], ctas[c].cta[1], ctas[c].cta[2]);
    tiles.push_back(first_of.try_emplace(at, c).first->second);
  }
  uint64_t total = 0;
  for (const auto& [buffer, any] : written) {
    if (!any) continue;
    std::vector<Interval> intervals;
    for (uint32_t c = 0; c < ctas.size(); ++c)
      for (const GlobalAccessSummary::Range& r : ctas[c].ranges) {
        if (r.buffer != buffer || r.bytes.begin >= r.bytes.end) continue;
        total += r.bytes.count;
        if (total > kMaxIntervals) {
          report.inconclusive.push_back({{}, "too many byte ranges to compare between CTAs"});
          conclude(report);
          return report;
        }
        for (uint32_t i = 0; i < r.bytes.count; ++i)
          intervals.push_back({r.bytes.begin + i * r.bytes.stride, r.bytes.end + i * r.bytes.stride, c,
                               r.place, sort_of(r), tiles[c]});
      }
    std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
      return std::tuple(a.begin, a.end, a.cta, a.place, a.sort) <
             std::tuple(b.begin, b.end, b.cta, b.place, b.sort);
    });
    std::vector<std::pair<Sort, Farthest>> open;  // a handful
    std::set<std::tuple<std::string, uint32_t, std::string, uint32_t>> reported;
    bool doubtful = false;  // one such pair of a buffer says it all
    for (const Interval& i : intervals) {
      for (const auto& [sort, farthest] : open) {
        const Interval* other = conflict(sort, i.sort) ? farthest.other(i) : nullptr;
        if (other == nullptr) continue;
        const SourcePosition &a = ctas[other->cta].names->places[other->place],
                             &b = ctas[i.cta].names->places[i.place];
        const bool perhaps = sort.conditional || i.sort.conditional;
        if (perhaps) {
          if (!std::exchange(doubtful, true)) report.inconclusive.push_back(doubt(ctas, buffer, *other, i));
        } else if (reported.insert({a.file, a.ptx_line, b.file, b.ptx_line}).second &&
                   report.diagnostics.size() < options.max_diagnostics) {
          report.diagnostics.push_back(explain(ctas, buffer, *other, i));
        }
      }
      auto same = std::find_if(open.begin(), open.end(), [&](const auto& o) { return o.first == i.sort; });
      if (same == open.end()) same = open.insert(open.end(), {i.sort, {}});
      same->second.add(i);
    }
    report.accesses += intervals.size();
  }
  conclude(report);
  return report;
}

}  // namespace turnstile
