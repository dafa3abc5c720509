// SPDX-License-Identifier: Apache-2.0

// A timeline in the trace event format: complete events ("X") on threads, metadata that names them, flow
// events ("s", "f") from the cause of a wait to its end. Times are microseconds at the nominal clock;
// `cycles` in the arguments are exact.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/timeline.h"

namespace turnstile::cli {

namespace {

using EventJson = nlohmann::ordered_json;
using sim::TimelineSpan;
using sim::TimelineTrack;

/// Thread numbers of one CTA: the path first, then the engines, then warps.
constexpr uint32_t path_thread = 1, first_thread = 2;

class TraceEvents {
 public:
  explicit TraceEvents(const LaunchTimeline& result)
      : result_(result), trace_(result.trace), timeline_(result.timeline), mhz_(result.model.clock_mhz) {}

  std::string text() {
    name_tracks();
    for (const TimelineSpan& s : timeline_.spans) span(s);
    for (const sim::PathStep& step : timeline_.path) path_step(step);
    uint64_t flow_id = 1;
    for (const TimelineSpan& s : timeline_.spans)
      if (s.cause != TimelineSpan::none && s.cause < timeline_.spans.size()) flow(s, flow_id++);
    const std::string head = fmt::format(
        R"({{"displayTimeUnit":"ns","otherData":{{"what":"an estimate by turnstile simulate --timeline, not a measurement","cycles":"{}","clock_mhz":"{:.0f}"}},"traceEvents":[)",
        timeline_.cycles, mhz_);
    return head + "\n" + events_ + "\n]}\n";
  }

 private:
  double us(uint64_t cycles) const { return static_cast<double>(cycles) / mhz_; }

  void add(const EventJson& event) {
    if (!events_.empty()) events_ += ",\n";
    // Names need not be UTF-8: replace rather than throw.
    events_ += event.dump(-1, ' ', false, EventJson::error_handler_t::replace);
  }

  uint32_t process(uint32_t track) const { return timeline_.tracks[track].cta + 1u; }

  std::string where(uint32_t place) const {
    if (place >= trace_.places.size()) return {};
    const Place& p = trace_.places[place];
    return p.file.empty() ? fmt::format("{}:{}", p.ptx_file, p.ptx_line)
                          : fmt::format("{}:{}", p.file, p.line);
  }

  void metadata(const char* what, uint32_t process, uint32_t thread, EventJson arguments) {
    add({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", std::move(arguments)}});
  }

  static std::string track_title(const TimelineTrack& track, bool again) {
    switch (track.kind) {
      case TimelineTrack::Kind::copy_engine:
        return "copy engine";
      case TimelineTrack::Kind::tensor_core:
        return "tensor core";
      case TimelineTrack::Kind::warp:
        break;
    }
    return fmt::format("warp {}{}{}", track.warp, track.role.empty() ? "" : ": " + track.role,
                       again ? " (other lanes)" : "");
  }

  void name_tracks() {
    std::vector<uint32_t> order;
    for (const TimelineSpan& s : timeline_.spans)
      if (order.empty() || order.back() != s.track) order.push_back(s.track);  // spans lie by track
    const auto rank = [&](uint32_t t) {
      const TimelineTrack& track = timeline_.tracks[t];
      return std::tuple(track.cta, track.kind == TimelineTrack::Kind::warp, track.warp, t);
    };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
    threads_.assign(timeline_.tracks.size(), 0);
    uint32_t next = first_thread;
    for (size_t i = 0; i < order.size(); ++i) {
      const TimelineTrack& track = timeline_.tracks[order[i]];
      const TimelineTrack* before = i == 0 ? nullptr : &timeline_.tracks[order[i - 1]];
      if (before == nullptr || before->cta != track.cta) {
        next = first_thread;
        metadata("process_name", track.cta + 1u, 0,
                 {{"name", fmt::format("{}: CTA {}{} (estimate)", trace_.kernel, result_.cta,
                                       trace_.cluster_ctas > 1 ? fmt::format(", rank {}", track.cta) : "")}});
        metadata("thread_name", track.cta + 1u, path_thread, {{"name", "critical path"}});
        metadata("thread_sort_index", track.cta + 1u, path_thread, {{"sort_index", path_thread}});
      }
      const bool again = before != nullptr && before->cta == track.cta && before->warp == track.warp &&
                         before->kind == TimelineTrack::Kind::warp && track.kind == TimelineTrack::Kind::warp;
      threads_[order[i]] = next;
      metadata("thread_name", track.cta + 1u, next, {{"name", track_title(track, again)}});
      metadata("thread_sort_index", track.cta + 1u, next, {{"sort_index", next}});
      ++next;
    }
  }

  std::string awaited(const TimelineSpan& s) const {
    switch (s.wait) {
      case sim::WaitKind::mbarrier:
        return trace_.barriers[s.object].name;
      case sim::WaitKind::named_barrier:
        return fmt::format("named barrier {}", s.object % 16);
      case sim::WaitKind::cluster_barrier:
        return "cluster barrier";
      case sim::WaitKind::group:
        return trace_.queues[s.object].kind == QueueInfo::Kind::wgmma ? "wgmma group" : "group of operations";
      case sim::WaitKind::memory:
        return "loads";
      case sim::WaitKind::flag:
        return trace_.signals[s.object].name;
      case sim::WaitKind::registers:
        return "registers";
      case sim::WaitKind::other:
        return "other lanes";
      case sim::WaitKind::none:
        break;
    }
    return {};
  }

  std::string span_title(const TimelineSpan& s) const {
    if (s.wait != sim::WaitKind::none) return "wait " + awaited(s);
    const TimelineTrack::Kind kind = timeline_.tracks[s.track].kind;
    if (kind == TimelineTrack::Kind::warp) return "run";
    const AsyncOp& op = trace_.ops[s.object];
    if (kind == TimelineTrack::Kind::tensor_core) {
      const std::string& mnemonic = trace_.places[op.place].instruction;
      const size_t shape = mnemonic.find(".m64n");
      return shape == std::string::npos ? mnemonic : "wgmma " + mnemonic.substr(shape + 1);
    }
    if (op.kind == AsyncOp::Kind::bulk_store) return "store";
    return op.barrier == AsyncOp::none ? "load" : "load for " + trace_.barriers[op.barrier].name;
  }

  void span(const TimelineSpan& s) {
    EventJson arguments = {
        {"where", where(s.place)}, {"cycles", s.end - s.begin}, {"begin", s.begin}, {"end", s.end}};
    if (s.wait != sim::WaitKind::none) {
      const std::string barrier = awaited(s);
      arguments["for"] = barrier;
      const size_t bracket = barrier.rfind('[');
      if (bracket != std::string::npos && barrier.ends_with(']'))
        arguments["stage"] = barrier.substr(bracket + 1, barrier.size() - bracket - 2);
      // The completion that it waited for, counted from 0.
      if (s.phase != 0) arguments["phase"] = s.phase - 1;
      arguments["cause_at"] = s.cause_time;
    } else if (timeline_.tracks[s.track].kind != TimelineTrack::Kind::warp) {
      arguments["bytes"] = trace_.ops[s.object].bytes;
    }
    const char* category = s.wait != sim::WaitKind::none                                 ? "wait"
                           : timeline_.tracks[s.track].kind == TimelineTrack::Kind::warp ? "run"
                                                                                         : "engine";
    EventJson event = {{"ph", "X"},
                       {"name", span_title(s)},
                       {"cat", s.critical ? fmt::format("{},critical", category) : category},
                       {"pid", process(s.track)},
                       {"tid", threads_[s.track]},
                       {"ts", us(s.begin)},
                       {"dur", us(s.end) - us(s.begin)},
                       {"args", std::move(arguments)}};
    if (s.critical) event["cname"] = "terrible";
    add(event);
  }

  void path_step(const sim::PathStep& step) {
    add({{"ph", "X"},
         {"name", sim::name_of(step.use)},
         {"cat", "critical path"},
         {"pid", process(step.track)},
         {"tid", path_thread},
         {"ts", us(step.begin)},
         {"dur", us(step.end) - us(step.begin)},
         {"args",
          {{"on", track_title(timeline_.tracks[step.track], false)},
           {"where", where(step.place)},
           {"cycles", step.end - step.begin},
           {"begin", step.begin},
           {"end", step.end}}}});
  }

  /// Arrows start and end inside their slices, or viewers do not find them.
  void flow(const TimelineSpan& to, uint64_t id) {
    const TimelineSpan& from = timeline_.spans[to.cause];
    const uint64_t leave = std::clamp(std::min(to.cause_time, to.end - 1), from.begin, from.end - 1);
    add({{"ph", "s"},
         {"name", "wakes"},
         {"cat", "cause"},
         {"id", id},
         {"pid", process(from.track)},
         {"tid", threads_[from.track]},
         {"ts", us(leave)}});
    add({{"ph", "f"},
         {"bp", "e"},
         {"name", "wakes"},
         {"cat", "cause"},
         {"id", id},
         {"pid", process(to.track)},
         {"tid", threads_[to.track]},
         {"ts", us(to.end - 1)}});
  }

  const LaunchTimeline& result_;
  const Trace& trace_;
  const sim::Timeline& timeline_;
  double mhz_;
  std::vector<uint32_t> threads_;  // by track
  std::string events_;
};

}  // namespace

std::string trace_events_of(const LaunchTimeline& result) { return TraceEvents(result).text(); }

}  // namespace turnstile::cli
