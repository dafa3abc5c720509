// SPDX-License-Identifier: Apache-2.0
//
// Global memory between the CTAs of one launch. Nothing orders CTAs, so any overlap of two of them with a
// write is a race. Sweep over the sorted intervals of a buffer; for each kind of access it is enough to
// remember the two intervals of different CTAs that reach farthest: if any interval that is still open
// conflicts with the next one, one of these does.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "checker/check.h"
#include "checker/narrative.h"
#include "checker/single_run.h"

namespace turnstile {

namespace {

using AccessKind = GlobalAccessSummary::Kind;

struct Interval {
  uint64_t begin, end;
  uint32_t cta, place;
  AccessKind kind;
};

class Farthest {
 public:
  void add(const Interval& i) {
    if (first_ && first_->cta == i.cta) {
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
    if (first_ && first_->cta != i.cta) return first_->end > i.begin ? &*first_ : nullptr;
    return second_ && second_->end > i.begin ? &*second_ : nullptr;
  }

 private:
  std::optional<Interval> first_, second_;  // of different CTAs, first_ reaches farthest
};

bool conflict(AccessKind a, AccessKind b) {
  if (a == AccessKind::read && b == AccessKind::read) return false;
  return !(a == AccessKind::atomic && b == AccessKind::atomic);
}

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates atomically";
}

std::string cta_name(const GlobalAccessSummary& s) {
  return "CTA (" + std::to_string(s.cta[0]) + ", " + std::to_string(s.cta[1]) + ", " +
         std::to_string(s.cta[2]) + ")";
}

Diagnostic explain(std::span<const GlobalAccessSummary> ctas, uint32_t buffer, const Interval& a,
                   const Interval& b) {
  const GlobalAccessSummary &first = ctas[a.cta], &second = ctas[b.cta];
  std::string name = buffer < second.buffer_names.size() ? second.buffer_names[buffer] : "";
  if (name.empty()) name = "buffer " + std::to_string(buffer);
  const uint64_t begin = std::max(a.begin, b.begin), end = std::min(a.end, b.end);
  const std::string bytes = name + "[" + std::to_string(begin) + ".." + std::to_string(end - 1) + "]";
  Diagnostic d;
  d.finding_class = FindingClass::race;
  d.rule = "GM1";
  d.subject = name;
  d.message = cta_name(second) + " " + verb(b.kind) + " " + bytes + ", which " + cta_name(first) + " " +
              verb(a.kind) + " in no order";
  d.where = second.places[b.place];
  d.label = cta_name(second) + " " + verb(b.kind) + " " + bytes;
  d.sides.push_back({first.places[a.place], cta_name(first) + " " + verb(a.kind) + " it here"});
  d.facts.push_back("nothing orders the CTAs of a launch");
  d.witness = {cta_name(first) + " runs before " + cta_name(second) + ", or after it, or at the same time"};
  d.witness_is_shortest = true;
  d.help = "give each CTA its own part of " + name + ", or combine with atomics or in a second kernel";
  return d;
}

}  // namespace

GlobalAccessSummary summarize_global(const Trace& trace) {
  GlobalAccessSummary summary;
  std::copy_n(trace.first_cta, 3, summary.cta);
  if (!checker::trace_defect(trace).empty()) return summary;
  summary.buffer_names = trace.allocation_names;
  const checker::Names names(trace);
  std::map<uint32_t, uint32_t> places;
  std::set<std::tuple<uint32_t, uint32_t, AccessKind>> known;
  for (const Event& e : trace.events) {
    if (e.kind != EventKind::access && e.kind != EventKind::async_access) continue;
    const Footprint& f = trace.footprints[e.footprint];
    if (f.space != Space::global) continue;
    const bool async = e.kind == EventKind::async_access;
    // M3: an atomic counts as one only if its scope reaches the other CTAs.
    const bool atomic = !async && e.has(Event::atomic) && e.scope >= Scope::gpu;
    const AccessKind kind = atomic                ? AccessKind::atomic
                            : e.has(Event::write) ? AccessKind::write
                                                  : AccessKind::read;
    const uint32_t place = async ? trace.ops[e.object].place : e.place;
    if (!known.insert({place, e.footprint, kind}).second) continue;
    const auto [at, fresh] = places.try_emplace(place, static_cast<uint32_t>(summary.places.size()));
    if (fresh) summary.places.push_back(names.position(place));
    for (uint32_t r = f.first_range; r < f.first_range + f.range_count; ++r)
      summary.ranges.push_back({f.allocation, at->second, kind, trace.ranges[r]});
  }
  return summary;
}

Report check_between(std::span<const GlobalAccessSummary> ctas, const CheckOptions& options) {
  constexpr uint64_t kMaxIntervals = 50'000'000;
  Report report;
  report.engine = "global memory between CTAs";
  report.guarantee = "every schedule of this launch";
  std::map<uint32_t, bool> written;
  for (const GlobalAccessSummary& s : ctas)
    for (const GlobalAccessSummary::Range& r : s.ranges) written[r.buffer] |= r.kind != AccessKind::read;
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
          intervals.push_back(
              {r.bytes.begin + i * r.bytes.stride, r.bytes.end + i * r.bytes.stride, c, r.place, r.kind});
      }
    std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
      return std::tuple(a.begin, a.end, a.cta, a.place, a.kind) <
             std::tuple(b.begin, b.end, b.cta, b.place, b.kind);
    });
    std::array<Farthest, 3> open;
    std::set<std::tuple<std::string, uint32_t, std::string, uint32_t>> reported;
    for (const Interval& i : intervals) {
      for (const AccessKind kind : {AccessKind::read, AccessKind::write, AccessKind::atomic}) {
        const Interval* other = conflict(kind, i.kind) ? open[static_cast<size_t>(kind)].other(i) : nullptr;
        if (other == nullptr) continue;
        const SourcePosition &a = ctas[other->cta].places[other->place], &b = ctas[i.cta].places[i.place];
        if (reported.insert({a.file, a.ptx_line, b.file, b.ptx_line}).second &&
            report.diagnostics.size() < options.max_diagnostics)
          report.diagnostics.push_back(explain(ctas, buffer, *other, i));
      }
      open[static_cast<size_t>(i.kind)].add(i);
    }
    report.accesses += intervals.size();
  }
  conclude(report);
  return report;
}

}  // namespace turnstile
