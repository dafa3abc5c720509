// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/path.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace turnstile::sim {

namespace {

/// Nobody looks further back than this for what a wait waited for.
constexpr uint32_t most_causes = 4096;

std::string object_name(const Trace& trace, const TimelineSpan& span) {
  switch (span.wait) {
    case WaitKind::mbarrier: {
      // The stages of a ring are one thing to wait for.
      const std::string& name = trace.barriers[span.object].name;
      const size_t bracket = name.rfind('[');
      return bracket == std::string::npos || bracket == 0 ? name : name.substr(0, bracket) + "[*]";
    }
    case WaitKind::named_barrier:
      return "named barrier " + std::to_string(span.object % 16);
    case WaitKind::cluster_barrier:
      return "the cluster barrier";
    case WaitKind::group:
      switch (trace.queues[span.object].kind) {
        case QueueInfo::Kind::bulk:
          return "bulk groups";
        case QueueInfo::Kind::wgmma:
          return "wgmma groups";
        case QueueInfo::Kind::cp_async:
          return "cp.async groups";
        case QueueInfo::Kind::tensor:
        case QueueInfo::Kind::tensor_load:
        case QueueInfo::Kind::tensor_store:
          return "loads and stores of tensor memory";
        case QueueInfo::Kind::lds_read:
          return "reads of LDS";
      }
      return {};
    case WaitKind::memory:
      return "its own loads";
    case WaitKind::flag:
      return trace.signals[span.object].name;
    case WaitKind::registers:
      return "registers";
    case WaitKind::other:
      return "other lanes of its warp";
    case WaitKind::none:
      break;
  }
  return {};
}

/// The role, or the warps of the warp group.
std::string waiting_group(const Trace& trace, const TimelineTrack& track) {
  if (!track.role.empty()) return track.role;
  const uint32_t first = track.warp / 4 * 4, warps = trace.warps / (trace.cluster_ctas * trace.clusters);
  if (warps <= first + 1) return "warp " + std::to_string(track.warp);
  return "warps " + std::to_string(first) + "-" + std::to_string(std::min(first + 3, warps - 1));
}

struct Sum {
  TimelineStall stall;
  uint64_t longest = 0;
};

}  // namespace

const char* name_of(TimeUse use) {
  switch (use) {
    case TimeUse::work:
      return "warps executing";
    case TimeUse::wake:
      return "waking up";
    case TimeUse::copy:
      return "copy engine";
    case TimeUse::copy_latency:
      return "latency of copies";
    case TimeUse::matrix:
      return "tensor core";
    case TimeUse::matrix_latency:
      return "latency of the tensor core";
    case TimeUse::memory:
      return "memory accesses of threads";
  }
  return "";
}

void mark_critical_path(const std::vector<TimelineNode>& nodes, uint32_t last, Timeline& timeline) {
  for (uint32_t n = last; n != TimelineNode::none;) {
    const TimelineNode& node = nodes[n];
    const uint64_t begin = node.before == TimelineNode::none ? 0 : nodes[node.before].end;
    if (node.end > begin) {
      PathStep* next = timeline.path.empty() ? nullptr : &timeline.path.back();
      if (next != nullptr && next->track == node.track && next->use == node.use)
        next->begin = begin;
      else
        timeline.path.push_back({begin, node.end, node.use, node.track, node.place});
    }
    n = node.before;
  }
  std::reverse(timeline.path.begin(), timeline.path.end());
}

void list_stalls(const Trace& trace, const std::vector<TimelineNode>& nodes,
                 const std::vector<StallSeen>& seen, Timeline& timeline) {
  std::map<std::tuple<std::string, std::string, uint32_t>, Sum> sums;  // who, what, track
  for (const StallSeen& s : seen) {
    const TimelineSpan& span = timeline.spans[s.span];
    const TimelineTrack& track = timeline.tracks[span.track];
    Sum& sum = sums[{waiting_group(trace, track), object_name(trace, span), span.track}];
    TimelineStall& stall = sum.stall;
    const uint64_t cycles = span.end - span.begin;
    stall.kind = span.wait;
    ++stall.waits;
    stall.cycles += cycles;
    if (cycles >= sum.longest) {
      sum.longest = cycles;
      stall.place = span.place;
    }
    // What the chain of causes did since the wait began; the last part of it is the waking up.
    uint64_t until = span.end;
    const auto spend = [&](TimeUse use, uint64_t from) {
      from = std::max(from, span.begin);
      if (until > from) stall.used[static_cast<size_t>(use)] += until - from;
      until = std::min(until, from);
    };
    spend(span.use, nodes[s.cause].end);
    uint32_t looked = 0;
    for (uint32_t n = s.cause; n != TimelineNode::none && until > span.begin && looked < most_causes;
         ++looked) {
      const TimelineNode& node = nodes[n];
      spend(node.use, node.before == TimelineNode::none ? 0 : nodes[node.before].end);
      n = node.before;
    }
  }
  std::map<std::pair<std::string, std::string>, TimelineStall>
      by_role;  // the warp of each that waits longest
  for (auto& [key, sum] : sums) {
    TimelineStall& kept = by_role[{std::get<0>(key), std::get<1>(key)}];
    if (sum.stall.cycles <= kept.cycles) continue;
    kept = sum.stall;
    kept.who = std::get<0>(key);
    kept.what = std::get<1>(key);
  }
  for (auto& [key, stall] : by_role)
    if (stall.cycles != 0) timeline.stalls.push_back(std::move(stall));
  std::stable_sort(timeline.stalls.begin(), timeline.stalls.end(),
                   [](const TimelineStall& a, const TimelineStall& b) { return a.cycles > b.cycles; });
}

void sort_spans(Timeline& timeline) {
  std::vector<TimelineSpan>& spans = timeline.spans;
  std::vector<uint32_t> order(spans.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(spans[a].track, spans[a].begin, spans[a].end) <
           std::tie(spans[b].track, spans[b].begin, spans[b].end);
  });
  // A stretch of no length is left out; what referred to it refers to the stretch before it on its track.
  std::vector<uint32_t> moved(spans.size(), TimelineSpan::none);
  std::vector<TimelineSpan> sorted;
  for (const uint32_t i : order) {
    const bool keep = spans[i].end > spans[i].begin;
    if (keep) sorted.push_back(spans[i]);
    if (!sorted.empty() && sorted.back().track == spans[i].track)
      moved[i] = static_cast<uint32_t>(sorted.size() - 1);
  }
  for (TimelineSpan& s : sorted)
    if (s.cause != TimelineSpan::none) s.cause = moved[s.cause];
  spans = std::move(sorted);
  // Stretches of the path and spans of one track are both in order of time.
  std::vector<size_t> first(timeline.tracks.size() + 1, spans.size());
  for (size_t i = spans.size(); i-- > 0;) first[spans[i].track] = i;
  for (const PathStep& step : timeline.path)
    for (size_t& i = first[step.track];
         i < spans.size() && spans[i].track == step.track && spans[i].begin < step.end; ++i) {
      if (spans[i].end > step.begin) spans[i].critical = true;
      if (spans[i].end > step.end) break;  // the next stretch may lie in it too
    }
}

}  // namespace turnstile::sim
