// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "model/must.h"
#include "sim/timeline/engine.h"
#include "sim/timeline/path.h"
#include "sim/timeline/waits.h"

namespace turnstile::sim {

namespace {

uint64_t cycles_of(double value) { return static_cast<uint64_t>(std::llround(std::max(0.0, value))); }

/// What an operation touches, and how many events issue it (a wgmma: four).
struct OpSize {
  uint32_t issues = 0, issued = 0;
  uint64_t shared_read = 0, shared_write = 0, global = 0, tensor_write = 0;
  Moment issue;  ///< the last of its issues so far
  Moment done;   ///< once all have issued it
};

uint64_t bytes_of(const Trace& trace, uint32_t footprint) {
  const Footprint& f = trace.footprints[footprint];
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < f.range_count; ++i) {
    const ByteRange& r = trace.ranges[f.first_range + i];
    bytes += (r.end - r.begin) * r.count;
  }
  return bytes;
}

std::vector<OpSize> sizes_of(const Trace& trace) {
  std::vector<OpSize> sizes(trace.ops.size());
  for (const Event& e : trace.events) {
    if (e.kind == EventKind::async_issue) ++sizes[e.object].issues;
    if (e.kind != EventKind::async_access) continue;
    OpSize& size = sizes[e.object];
    const uint64_t bytes = bytes_of(trace, e.footprint);
    switch (trace.footprints[e.footprint].space) {
      case Space::shared:
        (e.has(Event::write) ? size.shared_write : size.shared_read) += bytes;
        break;
      case Space::global:
        if (!e.has(Event::tensormap)) size.global += bytes;
        break;
      case Space::tensor:
        if (e.has(Event::write)) size.tensor_write += bytes;
        break;
    }
  }
  return sizes;
}

/// One pass over the trace. An agent's clock says when it has done its last event; every event and every
/// operation is a node whose predecessor is what it had to wait for last, so that the longest path is read
/// off backwards.
class TimelineBuilder {
 public:
  TimelineBuilder(const Trace& trace, const LatencyModel& model, const TimelineOptions& options)
      : trace_(trace),
        model_(model),
        sizes_(sizes_of(trace)),
        meetings_(trace),
        agents_(trace.agents.size()) {
    // What all SMs together get, shared by those that ask; bytes that several ask for are brought once.
    const double share = static_cast<double>(options.machine_sms) / std::max(1u, options.active_sms);
    load_rate_ = std::min(model.load_rate_one, model.load_rate_all * share * options.sharing);
    store_rate_ = std::min(model.store_rate_one, model.store_rate_all * share);
  }

  Timeline build() {
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      const Event& e = trace_.events[i];
      step(e, trace_.work.empty() ? 0 : trace_.work[i]);
    }
    for (size_t a = 0; a < agents_.size(); ++a) close_span(agents_[a]);
    finish();
    return std::move(out_);
  }

 private:
  struct Agent {
    Moment now;
    Moment loads;  ///< when what it has asked memory for is there
    uint32_t track = Moment::none;
    uint32_t span = Moment::none;  ///< the open one
    uint32_t work = 0;             ///< less than a cycle, in work units
  };

  uint32_t track(TimelineTrack::Kind kind, uint16_t cta) {
    const auto [it, fresh] =
        engine_tracks_.try_emplace({kind, cta}, static_cast<uint32_t>(out_.tracks.size()));
    if (fresh) out_.tracks.push_back({kind, cta, 0, {}});
    return it->second;
  }

  Agent& agent(AgentId id) {
    Agent& a = agents_[id.v];
    if (a.track != Moment::none) return a;
    const AgentInfo& info = trace_.agents[id.v];
    a.track = static_cast<uint32_t>(out_.tracks.size());
    out_.tracks.push_back({TimelineTrack::Kind::warp, info.cta, info.warp, info.role});
    return a;
  }

  // ---- spans of warps ------------------------------------------------------------------------------

  void open_span(Agent& a, uint64_t begin, uint32_t place) {
    if (a.span != Moment::none) return;
    a.span = static_cast<uint32_t>(out_.spans.size());
    out_.spans.push_back({.track = a.track, .begin = begin, .end = begin, .place = place});
  }
  void close_span(Agent& a) { a.span = Moment::none; }

  /// One event of an agent: what it executed before, a wait until `cause` if that is later, then its own
  /// cost.
  void advance(AgentId id, const Event& e, uint32_t work, double cost, Moment cause = {},
               WaitKind kind = WaitKind::none, TimeUse use = TimeUse::wake) {
    Agent& a = agent(id);
    const uint64_t begin = a.now.time;
    const uint64_t units = uint64_t{a.work} + work;
    a.work = static_cast<uint32_t>(units % work_unit);
    uint64_t time = begin + units / work_unit;
    const bool more_loads = e.kind == EventKind::access && !e.has(Event::write);
    if (a.loads.node != Moment::none && !more_loads) {
      if (a.loads.time > time && a.loads.time > cause.time) {
        cause = a.loads;
        kind = WaitKind::memory;
        use = TimeUse::memory;
      }
      a.loads = {};
    }
    open_span(a, begin, e.place);
    uint32_t before = a.now.node;
    TimeUse spent = TimeUse::work;
    if (cause.node != Moment::none && cause.time > time) {
      out_.spans[a.span].end = time;
      close_span(a);
      out_.spans.push_back({.track = a.track,
                            .use = use,
                            .wait = kind,
                            .begin = time,
                            .end = cause.time,
                            .place = e.place,
                            .object = e.object,
                            .phase = e.generation,
                            .cause = nodes_[cause.node].span,
                            .cause_time = nodes_[cause.node].end});
      stalls_.push_back({static_cast<uint32_t>(out_.spans.size() - 1), cause.node});
      time = cause.time;
      before = cause.node;
      spent = use;
      open_span(a, time, e.place);
    }
    const uint64_t end = time + cycles_of(cost);
    out_.spans[a.span].end = end;
    out_.spans[a.span].place = e.place;
    a.now = {end, node(end, before, spent, a.track, e.place, a.span)};
  }

  uint32_t node(uint64_t end, uint32_t before, TimeUse use, uint32_t track, uint32_t place, uint32_t span) {
    nodes_.push_back({end, before, use, track, place, span});
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  static Moment after(Moment m, double cycles) {
    return m.node == Moment::none ? m : Moment{m.time + cycles_of(cycles), m.node};
  }

  // ---- operations ----------------------------------------------------------------------------------

  /// Occupies an engine, then ends after `latency`. Returns the end of both.
  std::pair<Moment, Moment> occupy(Engine& engine, uint32_t on, uint32_t number, Moment from, uint64_t cycles,
                                   double latency) {
    const bool matrix = out_.tracks[on].kind == TimelineTrack::Kind::tensor_core;
    const TimeUse use = matrix ? TimeUse::matrix : TimeUse::copy;
    const AsyncOp& op = trace_.ops[number];
    const auto occupied = static_cast<uint32_t>(nodes_.size());
    const Engine::Slot slot = engine.take(from.time, cycles, occupied);
    const uint64_t end = slot.begin + cycles;
    const auto span = static_cast<uint32_t>(out_.spans.size());
    out_.spans.push_back(
        {.track = on, .use = use, .begin = slot.begin, .end = end, .place = op.place, .object = number});
    node(end, slot.before == Engine::none ? from.node : slot.before, use, on, op.place, span);
    const uint64_t done = end + cycles_of(latency);
    const uint32_t last =
        node(done, occupied, matrix ? TimeUse::matrix_latency : TimeUse::copy_latency, on, op.place, span);
    return {{end, occupied}, {done, last}};
  }

  Moment later(const AsyncOp& op, Moment from, double cycles, TimeUse use) {
    const uint64_t end = from.time + cycles_of(cycles);
    return {end, node(end, from.node, use, agent(op.issuer).track, op.place, nodes_[from.node].span)};
  }

  void copy(uint32_t number, Moment from, uint64_t bytes, double rate, double latency, double read_latency) {
    const AsyncOp& op = trace_.ops[number];
    const auto cycles = static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) / rate));
    // A multicast copy is one operation for each CTA that it goes to.
    const uint16_t cta =
        op.barrier != AsyncOp::none ? trace_.barriers[op.barrier].cta : trace_.agents[op.issuer.v].cta;
    const auto [occupied, done] = occupy(copy_engines_[cta], track(TimelineTrack::Kind::copy_engine, cta),
                                         number, from, cycles, latency);
    finish_op(number, done,
              read_latency < 0 ? done : later(op, occupied, read_latency, TimeUse::copy_latency));
  }

  void finish_op(uint32_t number, Moment done, Moment read) {
    sizes_[number].done = done;
    meetings_.queue_op(trace_.ops[number], done, read);
  }

  /// Operations of one queue compute in the order of issue.
  void matrix(uint32_t number, Moment from, uint64_t cycles, double latency) {
    const AsyncOp& op = trace_.ops[number];
    Moment& last = matrix_order_[op.queue];
    from.later_of(last.time > from.time ? last : Moment{});
    const uint16_t cta = trace_.agents[op.issuer.v].cta;
    const auto [occupied, done] = occupy(tensor_cores_[cta], track(TimelineTrack::Kind::tensor_core, cta),
                                         number, from, cycles, latency);
    last = occupied;
    finish_op(number, done, done);
  }

  uint64_t tensor_cycles(const OpSize& size) const {
    // D has 4 bytes an element, A and B 32 bytes a row: rows of D x columns of D x 32. What is not in shared
    // memory is in tensor memory, and then 128 rows.
    const double rows = 128;
    const double columns = static_cast<double>(size.tensor_write) / 4 / rows;
    return std::max<uint64_t>(1, cycles_of(std::ceil(rows * columns * 32 / model_.tensor_rate)));
  }

  void issue(const Event& e, uint32_t work) {
    const AsyncOp& op = trace_.ops[e.object];
    OpSize& size = sizes_[e.object];
    advance(e.agent, e, work, issue_cost(op, size));
    size.issue.later_of(agents_[e.agent.v].now);
    if (++size.issued < size.issues) return;
    const Moment from = size.issue;
    using K = AsyncOp::Kind;
    switch (op.kind) {
      case K::bulk_load:
        if (size.shared_write == 0)  // mbarrier.complete_tx
          finish_op(e.object, from, from);
        else
          copy(e.object, from, size.shared_write, load_rate_, model_.load_latency, -1);
        break;
      case K::bulk_store:
        copy(e.object, from, size.shared_read, store_rate_, model_.store_done, model_.store_read);
        break;
      case K::wgmma:
        matrix(e.object, from, matrix_cycles(model_, mnemonic(op.place)), model_.matrix_latency);
        break;
      case K::cp_async: {
        Moment done = size.global == 0 ? from : later(op, from, model_.global_load, TimeUse::memory);
        // An arrival stands for all copies of its thread before it.
        if (op.barrier != AsyncOp::none && op.queue != AsyncOp::none)
          done.later_of(meetings_.all_done(op.queue));
        if (op.barrier != AsyncOp::none && op.bytes != 0) meetings_.raise_pending(op.barrier);
        finish_op(e.object, done, done);
        break;
      }
      case K::remote_store: {
        const Moment done = later(op, from, model_.remote_arrive, TimeUse::memory);
        finish_op(e.object, done, done);
        break;
      }
      case K::tensor_mma:
        matrix(e.object, from, tensor_cycles(size), model_.tensor_latency);
        break;
      case K::tensor_copy:
        matrix(e.object, from, cycles_of(model_.tensor_copy), 0);
        break;
      case K::tensor_load:
      case K::tensor_store: {
        const Moment done = later(op, from, model_.tensor_access, TimeUse::memory);
        finish_op(e.object, done, done);
        break;
      }
      case K::tensor_commit: {
        Moment done = from;
        done.later_of(meetings_.all_done(op.queue));
        size.done = done;
        break;
      }
      case K::clc_query: {
        const Moment done = later(op, from, model_.launch_control, TimeUse::memory);
        finish_op(e.object, done, done);
        break;
      }
      case K::lds_read:  // AMD: no launch has it
        finish_op(e.object, from, from);
        break;
    }
  }

  double issue_cost(const AsyncOp& op, const OpSize& size) const {
    using K = AsyncOp::Kind;
    switch (op.kind) {
      case K::bulk_load:
        return size.shared_write == 0 ? model_.mbarrier_arrive : model_.copy_issue;
      case K::bulk_store:
        return model_.store_issue;
      case K::wgmma:
      case K::tensor_mma:
      case K::tensor_copy:
        return model_.matrix_issue;
      case K::cp_async:
      case K::remote_store:
        return model_.global_row;
      case K::tensor_load:
      case K::tensor_store:
      case K::tensor_commit:
      case K::clc_query:
      case K::lds_read:
        return model_.instruction;
    }
    return 0;
  }

  // ---- events --------------------------------------------------------------------------------------

  std::string_view mnemonic(uint32_t place) const {
    return place < trace_.places.size() ? std::string_view(trace_.places[place].instruction)
                                        : std::string_view();
  }

  void access(const Event& e, uint32_t work) {
    const Footprint& f = trace_.footprints[e.footprint];
    const double rows = std::ceil(static_cast<double>(bytes_of(trace_, e.footprint)) / 128);
    const bool global = f.space == Space::global;
    advance(e.agent, e, work, std::max(1.0, rows) * (global ? model_.global_row : model_.shared_row));
    Agent& a = agents_[e.agent.v];
    const bool returns = !e.has(Event::write) || mnemonic(e.place).starts_with("atom");
    if (!returns) return;
    const double latency = !global               ? model_.shared_load
                           : e.has(Event::write) ? model_.atomic
                                                 : model_.global_load;
    const uint64_t there = a.now.time + cycles_of(latency);
    a.loads.later_of(
        {there, node(there, a.now.node, TimeUse::memory, a.track, e.place, nodes_[a.now.node].span)});
  }

  void fork(const Event& e, uint32_t work) {
    advance(e.agent, e, work, 0);
    const Moment now = agents_[e.agent.v].now;
    Agent& child = agent({static_cast<uint16_t>(e.object)});
    close_span(child);
    // A number that is used again never goes back in time: its strand before has been joined or has ended.
    child.now = now.time >= child.now.time ? now : child.now;
    child.loads = {};
    child.work = 0;
  }

  void join(const Event& e, uint32_t work) {
    const AgentId other{static_cast<uint16_t>(e.object)};
    const Moment now = agents_[other.v].now;
    advance(e.agent, e, work, 0, now, WaitKind::other);
    if (e.has(Event::memory)) {
      close_span(agents_[other.v]);
      return;
    }
    Event back = e;
    back.agent = other;
    advance(other, back, 0, 0, agents_[e.agent.v].now, WaitKind::other);
  }

  void step(const Event& e, uint32_t work) {
    const LatencyModel& m = model_;
    switch (e.kind) {
      case EventKind::fork:
        return fork(e, work);
      case EventKind::join:
        return join(e, work);
      case EventKind::mbarrier_init:
        advance(e.agent, e, work, m.mbarrier_arrive);
        return meetings_.mbarrier_init(e);
      case EventKind::mbarrier_arrive: {
        advance(e.agent, e, work, m.mbarrier_arrive);
        const bool remote = trace_.barriers[e.object].cta != trace_.agents[e.agent.v].cta;
        return meetings_.arrive(e, after(agents_[e.agent.v].now, remote ? m.remote_arrive : 0));
      }
      case EventKind::mbarrier_expect_tx:
        advance(e.agent, e, work, m.mbarrier_arrive);
        return meetings_.expect(e);
      case EventKind::mbarrier_wait:
        return advance(e.agent, e, work, m.mbarrier_wait, after(meetings_.phase(e), m.mbarrier_wake),
                       WaitKind::mbarrier);
      case EventKind::named_barrier_arrive:
        advance(e.agent, e, work, m.instruction);
        return meetings_.named_arrive(e, agents_[e.agent.v].now);
      case EventKind::named_barrier_pass:
        return advance(e.agent, e, work, 0, after(meetings_.named_pass(e), m.named_barrier),
                       WaitKind::named_barrier);
      case EventKind::cluster_arrive:
        advance(e.agent, e, work, m.instruction);
        return meetings_.cluster_arrive(e, agents_[e.agent.v].now);
      case EventKind::cluster_wait:
        return advance(e.agent, e, work, 0, after(meetings_.cluster_pass(e), m.cluster_barrier),
                       WaitKind::cluster_barrier);
      case EventKind::fence_proxy_async:
      case EventKind::fence_tensormap:
        return advance(e.agent, e, work, m.fence_proxy);
      case EventKind::fence:
        return advance(e.agent, e, work, e.scope == Scope::cta ? m.fence_cta : m.fence_gpu);
      case EventKind::access:
        return access(e, work);
      case EventKind::async_issue:
        return issue(e, work);
      case EventKind::async_access:
        return;
      case EventKind::async_complete:
        return meetings_.complete(trace_.ops[e.object], sizes_[e.object].done);
      case EventKind::group_wait:
        return advance(e.agent, e, work, m.instruction,
                       meetings_.queue_done(e.object, e.generation, e.has(Event::read_only)),
                       WaitKind::group);
      case EventKind::registers_release:
        advance(e.agent, e, work, m.registers_release);
        return released_[trace_.agents[e.agent.v].cta].later_of(agents_[e.agent.v].now);
      case EventKind::registers_acquire:
        return advance(e.agent, e, work, m.registers_acquire, released_[trace_.agents[e.agent.v].cta],
                       WaitKind::registers);
      case EventKind::signal_add:
      case EventKind::signal_set:
        advance(e.agent, e, work, m.global_row);
        return meetings_.signal_write(e, agents_[e.agent.v].now);
      case EventKind::signal_wait:
        return advance(e.agent, e, work, m.global_load,
                       after(meetings_.signal_read(e), m.global_visible - m.global_load), WaitKind::flag);
      case EventKind::tensor_alloc:
      case EventKind::tensor_dealloc:
      case EventKind::tensor_relinquish:
        return advance(e.agent, e, work, m.tensor_alloc);
      case EventKind::mbarrier_inval:
      case EventKind::fence_mbarrier_init:
      case EventKind::group_commit:
      case EventKind::register_hazard:
      case EventKind::pool_acquire:
      case EventKind::pool_release:
      case EventKind::tensor_fence_before:
      case EventKind::tensor_fence_after:
      case EventKind::dependents_launch:
      case EventKind::dependency_wait:
      case EventKind::exit:
        return advance(e.agent, e, work, 0);
    }
  }

  void finish() {
    uint32_t last = Moment::none;
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      if (last == Moment::none || nodes_[i].end > nodes_[last].end) last = i;
    out_.cycles = last == Moment::none ? 0 : nodes_[last].end;
    for (const auto& [cta, engine] : copy_engines_) out_.copy_busy = std::max(out_.copy_busy, engine.total());
    for (const auto& [cta, engine] : tensor_cores_)
      out_.matrix_busy = std::max(out_.matrix_busy, engine.total());
    out_.has_tensor_memory = std::any_of(trace_.ops.begin(), trace_.ops.end(), [](const AsyncOp& op) {
      return op.kind >= AsyncOp::Kind::tensor_mma && op.kind <= AsyncOp::Kind::clc_query;
    });
    mark_critical_path(nodes_, last, out_);
    list_stalls(trace_, nodes_, stalls_, out_);
    sort_spans(out_);
  }

  const Trace& trace_;
  const LatencyModel& model_;
  std::vector<OpSize> sizes_;
  Meetings meetings_;
  std::vector<Agent> agents_;
  double load_rate_ = 1, store_rate_ = 1;
  std::map<uint16_t, Engine> copy_engines_, tensor_cores_;  // by CTA
  std::map<std::pair<TimelineTrack::Kind, uint16_t>, uint32_t> engine_tracks_;
  std::map<uint32_t, Moment> matrix_order_;  // by queue
  std::map<uint16_t, Moment> released_;      // setmaxnreg.dec, by CTA
  std::vector<TimelineNode> nodes_;
  std::vector<StallSeen> stalls_;
  Timeline out_;
};

}  // namespace

Timeline make_timeline(const Trace& trace, const LatencyModel& model, const TimelineOptions& options) {
  return TimelineBuilder(trace, model, options).build();
}

}  // namespace turnstile::sim
