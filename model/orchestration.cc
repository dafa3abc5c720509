// SPDX-License-Identifier: Apache-2.0
#include "model/orchestration.h"

#include <optional>
#include <utility>

namespace turnstile {

namespace {

/// Cuts a trace. A strand number that is taken again is ordered after its last use by nothing but the number,
/// unless the same strand absorbed it and forks it again: only then is it kept, else the new life gets a
/// number of its own.
class Cutter {
 public:
  explicit Cutter(const Trace& trace)
      : trace_(trace), now_(trace.agents.size()), used_(trace.agents.size(), 0) {
    Trace& t = out_.tables;
    t = trace;
    t.events.clear();
    t.blocked.clear();
    t.live_pollers.clear();
    t.faults.clear();
    out_.strands.resize(t.agents.size());
    absorbed_.resize(t.agents.size());
    out_.operations.resize(t.ops.size());
    for (uint32_t a = 0; a < now_.size(); ++a) now_[a] = a;
  }

  Orchestration run() {
    for (const Event& e : trace_.events) {
      if (!cut(e)) {
        out_.tables.unknowns.push_back(
            {e.place, "the trace has more strands than numbers for them", "check a smaller launch"});
        for (Orchestration::Strand& s : out_.strands) s.whole = false;
        return std::move(out_);
      }
    }
    end();
    return std::move(out_);
  }

 private:
  std::vector<Event>& list(uint32_t strand) { return out_.strands[strand].events; }

  bool cut(const Event& e) {
    Event copy = e;
    const uint32_t strand = now_[e.agent.v];
    copy.agent.v = static_cast<uint16_t>(strand);
    switch (e.kind) {
      case EventKind::fork: {
        const std::optional<uint32_t> child = begin(e.object, strand);
        if (!child) return false;
        copy.object = *child;
        Event mark = copy;
        mark.agent.v = static_cast<uint16_t>(*child);
        list(*child).push_back(mark);
        break;
      }
      case EventKind::join: {
        const uint32_t other = now_[e.object];
        copy.object = other;
        Event mark = copy;
        mark.agent.v = static_cast<uint16_t>(other);
        mark.count = strand;
        list(other).push_back(mark);
        if (e.has(Event::memory)) {
          std::vector<uint32_t>& mine = absorbed_[strand];
          mine.push_back(other);
          mine.insert(mine.end(), absorbed_[other].begin(), absorbed_[other].end());
          absorbed_[other].clear();
        }
        break;
      }
      case EventKind::async_access:
      case EventKind::async_complete:
        copy.agent = out_.tables.ops[e.object].issuer;
        out_.operations[e.object].push_back(copy);
        return true;
      case EventKind::async_issue:
        out_.tables.ops[e.object].issuer = copy.agent;
        break;
      case EventKind::mbarrier_wait:
      case EventKind::named_barrier_pass:
      case EventKind::cluster_wait:
      case EventKind::signal_wait:
        copy.generation = 0;  // of the schedule
        break;
      default:
        break;
    }
    used_[e.agent.v] = 1;
    list(strand).push_back(copy);
    return true;
  }

  /// The number of the strand that `parent` starts under the trace's number `child`; none: they ran out.
  std::optional<uint32_t> begin(uint32_t child, uint32_t parent) {
    if (used_[child] == 0) {
      used_[child] = 1;
      return now_[child];
    }
    if (!absorbed_[parent].empty()) {
      now_[child] = absorbed_[parent].back();
      absorbed_[parent].pop_back();
      return now_[child];
    }
    if (out_.strands.size() > 0xffff) return std::nullopt;
    now_[child] = static_cast<uint32_t>(out_.strands.size());
    out_.tables.agents.push_back(AgentInfo(trace_.agents[child]));
    out_.strands.emplace_back();
    absorbed_.emplace_back();
    return now_[child];
  }

  void end() {
    // An operation that a fault cut short: nobody knows when it would have been done.
    for (std::vector<Event>& events : out_.operations)
      if (!events.empty() && events.back().kind != EventKind::async_complete) events.clear();
    for (const AgentId a : trace_.live_pollers) out_.strands[now_[a.v]].whole = false;
    if (!trace_.faults.empty())
      for (Orchestration::Strand& s : out_.strands)
        s.whole = !s.events.empty() &&
                  (s.events.back().kind == EventKind::exit ||
                   (s.events.back().kind == EventKind::join &&
                    s.events.back().object == s.events.back().agent.v && s.events.back().has(Event::memory)));
    for (const Blocked& b : trace_.blocked) {
      const uint32_t strand = now_[b.agent.v];
      out_.strands[strand].whole = false;
      if (std::optional<Event> wait = wait_of(b, strand)) list(strand).push_back(*wait);
    }
  }

  /// The event that the strand would execute next, where the trace tells enough of it.
  std::optional<Event> wait_of(const Blocked& b, uint32_t strand) {
    Event e;
    e.agent.v = static_cast<uint16_t>(strand);
    e.place = b.place;
    e.object = b.object;
    e.count = b.count;
    switch (b.on) {
      case Blocked::On::mbarrier:
        e.kind = EventKind::mbarrier_wait;
        e.flags = Event::acquire;
        return e;
      case Blocked::On::named_barrier:
        e.kind = EventKind::named_barrier_pass;
        return e;
      case Blocked::On::registers:
        e.kind = EventKind::registers_acquire;
        e.bytes = registers_held(strand);
        return e;
      case Blocked::On::cluster_barrier:
        e.kind = EventKind::cluster_wait;
        e.flags = Event::acquire;
        return e;
      case Blocked::On::pool:
        e.kind = EventKind::pool_acquire;
        return e;
      case Blocked::On::group: {
        e.kind = EventKind::group_wait;
        uint64_t committed = 0;
        for (const Event& earlier : list(strand))
          if (earlier.kind == EventKind::group_commit && earlier.object == b.object)
            committed = earlier.generation;
        e.generation = committed > b.count ? committed - b.count : 0;
        e.count = 0;
        return e;
      }
      case Blocked::On::warp_sync:     // for lanes of a strand that has not come apart yet
      case Blocked::On::signal:        // the value is not in the trace
      case Blocked::On::tensor_alloc:  // nor is the group of CTAs
        return std::nullopt;
    }
    return std::nullopt;
  }

  uint64_t registers_held(uint32_t strand) const {
    const AgentInfo& a = out_.tables.agents[strand];
    uint64_t held = trace_.registers_per_thread;
    for (const Event& e : trace_.events)
      if ((e.kind == EventKind::registers_release || e.kind == EventKind::registers_acquire) &&
          trace_.agents[e.agent.v].warp == a.warp && trace_.agents[e.agent.v].cta == a.cta)
        held = e.count;
    return held;
  }

  const Trace& trace_;
  Orchestration out_;
  std::vector<uint32_t> now_;                    ///< by number in the trace: which strand bears it now
  std::vector<uint8_t> used_;                    ///< by number in the trace
  std::vector<std::vector<uint32_t>> absorbed_;  ///< by strand: strands that ended in it
};

}  // namespace

Orchestration orchestration_of(const Trace& trace) { return Cutter(trace).run(); }

}  // namespace turnstile
