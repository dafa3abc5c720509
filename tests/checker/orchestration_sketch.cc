// SPDX-License-Identifier: Apache-2.0
#include "tests/checker/orchestration_sketch.h"

#include <algorithm>
#include <set>

namespace turnstile::test {

namespace {

using K = SketchOp::Kind;

struct Word {
  const char* name;
  const char* mechanism;  ///< null: every program has it
};

Word word(K kind) {
  constexpr const char *tx = "mbarrier with bytes", *named = "named barriers", *cluster = "cluster barrier",
                       *flags = "flags", *pool = "pools", *wgmma = "wgmma groups", *bulk = "bulk stores",
                       *copies = "cp.async", *tensor = "tcgen05", *registers = "setmaxnreg";
  switch (kind) {
    case K::arrive:
      return {"arrive", "mbarrier"};
    case K::arrive_tx:
      return {"arrive_tx", tx};
    case K::drop:
      return {"arrive_drop", "mbarrier, arrive_drop"};
    case K::expect:
      return {"expect_tx", "mbarrier, expect_tx alone"};
    case K::wait:
      return {"wait", "mbarrier"};
    case K::load:
      return {"load", tx};
    case K::read:
      return {"read", nullptr};
    case K::write:
      return {"write", nullptr};
    case K::atomic:
      return {"atomic", "atomics"};
    case K::bar_sync:
      return {"bar_sync", named};
    case K::bar_arrive:
      return {"bar_arrive", named};
    case K::sync_all:
      return {"sync_all", "named barriers of the whole CTA"};
    case K::cluster_arrive:
      return {"cluster_arrive", cluster};
    case K::cluster_wait:
      return {"cluster_wait", cluster};
    case K::add:
      return {"add", flags};
    case K::set:
      return {"set", flags};
    case K::spin:
      return {"spin_ge", flags};
    case K::spin_eq:
      return {"spin_eq", flags};
    case K::acquire:
      return {"acquire", pool};
    case K::release:
      return {"release", pool};
    case K::proxy_fence:
      return {"proxy_fence", nullptr};
    case K::wgmma:
      return {"wgmma", wgmma};
    case K::wgmma_commit:
      return {"wgmma_commit", wgmma};
    case K::wgmma_wait:
      return {"wgmma_wait", wgmma};
    case K::store:
      return {"store", bulk};
    case K::store_commit:
      return {"store_commit", bulk};
    case K::store_wait:
      return {"store_wait_read", bulk};
    case K::copy:
      return {"copy", copies};
    case K::copy_commit:
      return {"copy_commit", copies};
    case K::copy_wait:
      return {"copy_wait", copies};
    case K::copy_arrive:
      return {"copy_arrive", "cp.async.mbarrier.arrive"};
    case K::remote_store:
      return {"remote_store", "st.async"};
    case K::mma:
      return {"mma", tensor};
    case K::mma_commit:
      return {"mma_commit", tensor};
    case K::tensor_load:
      return {"tensor_load", tensor};
    case K::tensor_wait:
      return {"tensor_wait", tensor};
    case K::registers_dec:
      return {"registers_dec", registers};
    case K::registers_inc:
      return {"registers_inc", registers};
    case K::tensor_alloc:
      return {"tensor_alloc", "tensor memory allocation"};
    case K::tensor_free:
      return {"tensor_free", "tensor memory allocation"};
    case K::tensor_relinquish:
      return {"tensor_relinquish", "tensor memory allocation"};
  }
  return {"?", nullptr};
}

constexpr K last_kind = K::tensor_relinquish;

class Lowering {
 public:
  explicit Lowering(const Sketch& sketch) : sketch_(sketch) {
    Trace& t = program_.tables;
    t.kernel = sketch.base;
    t.warps = static_cast<uint32_t>(sketch.strands.size());
    t.cluster_ctas = sketch.cluster_ctas;
    t.registers_per_thread = sketch.registers;
    for (size_t s = 0; s < sketch.strands.size(); ++s)
      t.agents.push_back(
          {sketch.ctas[s], static_cast<uint16_t>(s), "role " + std::to_string(s), sketch.threads});
    for (size_t b = 0; b < sketch.counts.size(); ++b)
      t.barriers.push_back({sketch.barrier_ctas[b], 8 * b, "b" + std::to_string(b), sketch.counts[b]});
    for (uint32_t b = 0; b < sketch.buffers; ++b) {
      t.ranges.push_back({uint64_t{1024} * b, uint64_t{1024} * b + 64, 0, 1});
      t.footprints.push_back({Space::shared, b / sketch.buffers_per_cta, b, 1});
    }
    for (uint32_t a = 0; a < sketch.accumulators; ++a) {
      t.footprints.push_back({Space::tensor, 0, static_cast<uint32_t>(t.ranges.size()), 1});
      t.ranges.push_back({uint64_t{128} * a, uint64_t{128} * a + 64, 0, 1});
    }
    for (size_t i = 0; i < sketch.signals.size(); ++i)
      t.signals.push_back({"v" + std::to_string(i), sketch.signals[i]});
    for (size_t i = 0; i < sketch.pools.size(); ++i)
      t.pools.push_back({"p" + std::to_string(i), sketch.pools[i], false});
    if (t.cluster_ctas > 1 || sketch.exits_leave) t.cluster_barrier_count = t.warps;
  }

  Orchestration run() {
    program_.strands.resize(sketch_.strands.size());
    const bool leaves = sketch_.cluster_ctas > 1 || sketch_.exits_leave;
    for (uint32_t s = 0; s < sketch_.strands.size(); ++s) {
      queues_.clear();
      registers_ = sketch_.registers;
      uint32_t at = 0;
      for (const SketchOp& op : sketch_.strands[s]) lower(s, ++at, op);
      event(s, at + 1, EventKind::exit).count = leaves ? 1 : 0;  // leaves the barriers (C5, N8)
    }
    return std::move(program_);
  }

 private:
  struct Queue {
    uint32_t index = 0;
    uint64_t committed = 0;
  };

  uint32_t place(uint32_t s, uint32_t at) {
    const uint32_t line = 1000 * s + at;
    std::vector<Place>& places = program_.tables.places;
    if (places.empty() || places.back().line != line) places.push_back({"sketch.mimw", line, 1, "", 0, "op"});
    return static_cast<uint32_t>(places.size() - 1);
  }

  Event make(uint32_t s, uint32_t at, EventKind kind, uint32_t object, uint8_t flags) {
    Event e;
    e.kind = kind;
    e.agent = AgentId{static_cast<uint16_t>(s)};
    e.place = place(s, at);
    e.object = object;
    e.flags = flags;
    e.scope = sketch_.cluster_ctas > 1 ? Scope::cluster : Scope::cta;
    return e;
  }

  Event& event(uint32_t s, uint32_t at, EventKind kind, uint32_t object = 0, uint8_t flags = 0) {
    program_.strands[s].events.push_back(make(s, at, kind, object, flags));
    return program_.strands[s].events.back();
  }

  Queue& queue(uint32_t s, QueueInfo::Kind kind) {
    const auto [at, fresh] = queues_.try_emplace(kind);
    if (!fresh) return at->second;
    at->second.index = static_cast<uint32_t>(program_.tables.queues.size());
    QueueInfo info;
    info.kind = kind;
    info.cta = sketch_.ctas[s];
    info.warp = static_cast<uint16_t>(s);
    program_.tables.queues.push_back(info);
    return at->second;
  }

  /// Issue now; the given accesses, then the completion, when it lands.
  void issue(uint32_t s, uint32_t at, AsyncOp op,
             const std::vector<std::pair<uint32_t, bool>>& accesses,  // footprint, writes
             uint32_t tag = 0) {
    const auto number = static_cast<uint32_t>(program_.tables.ops.size());
    op.issuer = AgentId{static_cast<uint16_t>(s)};
    op.place = place(s, at);
    program_.tables.ops.push_back(op);
    event(s, at, EventKind::async_issue, number);
    std::vector<Event>& lands = program_.operations.emplace_back();
    for (const auto& [footprint, writes] : accesses) {
      lands.push_back(make(s, at, EventKind::async_access, number, writes ? Event::write : 0));
      lands.back().footprint = footprint;
      lands.back().generation = tag;
    }
    lands.push_back(make(s, at, EventKind::async_complete, number, 0));
  }

  static AsyncOp on_barrier(AsyncOp::Kind kind, const SketchOp& o) {
    AsyncOp op;
    op.kind = kind;
    op.barrier = o.object;
    op.bytes = o.bytes;
    return op;
  }
  AsyncOp in_queue(AsyncOp::Kind kind, uint32_t s, QueueInfo::Kind queue_kind) {
    const Queue& q = queue(s, queue_kind);
    AsyncOp op;
    op.kind = kind;
    op.queue = q.index;
    op.group = q.committed + 1;
    return op;
  }
  void commit(uint32_t s, uint32_t at, QueueInfo::Kind kind) {
    Queue& q = queue(s, kind);
    event(s, at, EventKind::group_commit, q.index).generation = ++q.committed;
  }
  void wait_groups(uint32_t s, uint32_t at, QueueInfo::Kind kind, uint64_t open, uint8_t flags = 0) {
    const Queue& q = queue(s, kind);
    event(s, at, EventKind::group_wait, q.index, flags).generation =
        q.committed > open ? q.committed - open : 0;
  }

  void named(uint32_t s, uint32_t at, const SketchOp& o, uint8_t flags, uint32_t count) {
    const uint32_t object = 16u * sketch_.ctas[s] + o.object;
    Event& e = event(s, at, EventKind::named_barrier_arrive, object, flags);
    e.count = count;
    e.bytes = sketch_.threads;
    if ((flags & Event::waits) != 0) event(s, at, EventKind::named_barrier_pass, object);
  }
  uint32_t threads_of_cta(uint32_t cta) const {
    return sketch_.threads * static_cast<uint32_t>(std::count(sketch_.ctas.begin(), sketch_.ctas.end(), cta));
  }

  void lower(uint32_t s, uint32_t at, const SketchOp& o) {
    using Q = QueueInfo::Kind;
    using A = AsyncOp::Kind;
    switch (o.kind) {
      case K::arrive:
      case K::drop:
        event(s, at, EventKind::mbarrier_arrive, o.object,
              o.kind == K::drop ? Event::release | Event::drops : Event::release)
            .count = o.count;
        break;
      case K::arrive_tx: {
        Event& e = event(s, at, EventKind::mbarrier_arrive, o.object, Event::release | Event::expects_bytes);
        e.count = 1;
        e.bytes = o.bytes;
        break;
      }
      case K::expect:
        event(s, at, EventKind::mbarrier_expect_tx, o.object).bytes = o.bytes;
        break;
      case K::wait:
        event(s, at, EventKind::mbarrier_wait, o.object, Event::acquire).count = o.count;
        break;
      case K::load:
        issue(s, at, on_barrier(A::bulk_load, o), {{o.buffer, true}}, o.tag);
        break;
      case K::remote_store:
        issue(s, at, on_barrier(A::remote_store, o), {{o.buffer, true}}, o.tag);
        break;
      case K::read:
      case K::write:
      case K::atomic: {
        Event& e = event(s, at, EventKind::access, 0,
                         o.kind == K::atomic  ? Event::write | Event::atomic
                         : o.kind == K::write ? Event::write
                                              : 0);
        e.footprint = o.buffer;
        e.generation = o.tag;
        break;
      }
      case K::bar_sync:
        named(s, at, o, Event::waits, o.count);
        break;
      case K::bar_arrive:
        named(s, at, o, 0, o.count);
        break;
      case K::sync_all:
        named(s, at, o, Event::waits | Event::whole_cta, threads_of_cta(sketch_.ctas[s]));
        break;
      case K::cluster_arrive:
        event(s, at, EventKind::cluster_arrive, 0, Event::release).count = 1;
        break;
      case K::cluster_wait:
        event(s, at, EventKind::cluster_wait, 0, Event::acquire);
        break;
      case K::add:
        event(s, at, EventKind::signal_add, o.object, Event::release).bytes = o.bytes;
        break;
      case K::set:
        event(s, at, EventKind::signal_set, o.object, Event::release).bytes = o.bytes;
        break;
      case K::spin:
      case K::spin_eq:
        event(s, at, EventKind::signal_wait, o.object,
              o.kind == K::spin_eq ? Event::acquire | Event::equal : Event::acquire)
            .bytes = o.bytes;
        break;
      case K::acquire:
        event(s, at, EventKind::pool_acquire, o.object).count = o.count;
        break;
      case K::release:
        event(s, at, EventKind::pool_release, o.object).count = o.count;
        break;
      case K::proxy_fence:
        event(s, at, EventKind::fence_proxy_async, 0, Event::shared_space | Event::global_space);
        break;
      case K::wgmma:
        issue(s, at, in_queue(A::wgmma, s, Q::wgmma), {{o.buffer, false}}, o.tag);
        break;
      case K::wgmma_commit:
        commit(s, at, Q::wgmma);
        break;
      case K::wgmma_wait:
        wait_groups(s, at, Q::wgmma, o.count);
        break;
      case K::store:
        issue(s, at, in_queue(A::bulk_store, s, Q::bulk), {{o.buffer, false}}, o.tag);
        break;
      case K::store_commit:
        commit(s, at, Q::bulk);
        break;
      case K::store_wait:
        wait_groups(s, at, Q::bulk, o.count, Event::read_only);
        break;
      case K::copy:
        issue(s, at, in_queue(A::cp_async, s, Q::cp_async), {{o.buffer, true}}, o.tag);
        break;
      case K::copy_commit:
        commit(s, at, Q::cp_async);
        break;
      case K::copy_wait:
        wait_groups(s, at, Q::cp_async, o.count);
        break;
      case K::copy_arrive: {
        AsyncOp op = in_queue(A::cp_async, s, Q::cp_async);
        op.barrier = o.object;
        op.bytes = o.count;  // MB20: 1 raises pending when it is executed
        issue(s, at, op, {});
        break;
      }
      case K::mma:
        issue(s, at, in_queue(A::tensor_mma, s, Q::tensor),
              {{o.buffer, false}, {sketch_.buffers + o.count, true}});
        break;
      case K::mma_commit: {
        AsyncOp op = in_queue(A::tensor_commit, s, Q::tensor);
        op.barrier = o.object;
        issue(s, at, op, {});
        break;
      }
      case K::tensor_load: {
        const AsyncOp op = in_queue(A::tensor_load, s, Q::tensor_load);
        ++queue(s, Q::tensor_load).committed;  // TC17: each is a group of its own
        issue(s, at, op, {{sketch_.buffers + o.count, false}});
        break;
      }
      case K::tensor_wait:
        wait_groups(s, at, Q::tensor_load, 0);
        break;
      case K::tensor_alloc:
      case K::tensor_free: {
        Event& e =
            event(s, at, o.kind == K::tensor_alloc ? EventKind::tensor_alloc : EventKind::tensor_dealloc);
        e.count = o.count;
        e.bytes = 1;  // cta_group
        e.generation = 32 * o.object;
        break;
      }
      case K::tensor_relinquish:
        event(s, at, EventKind::tensor_relinquish);
        break;
      case K::registers_dec:
      case K::registers_inc: {
        Event& e = event(
            s, at, o.kind == K::registers_dec ? EventKind::registers_release : EventKind::registers_acquire);
        e.count = o.count;
        e.bytes = registers_;
        registers_ = o.count;
        break;
      }
    }
  }

  const Sketch& sketch_;
  Orchestration program_;
  std::map<QueueInfo::Kind, Queue> queues_;  ///< of the strand under way
  uint32_t registers_ = 0;                   ///< that it owns
};

}  // namespace

std::string Sketch::text() const {
  std::string out = base + ", mbarrier counts";
  for (uint32_t c : counts) out += " " + std::to_string(c);
  for (size_t s = 0; s < strands.size(); ++s) {
    out += "\nstrand " + std::to_string(s) + " @" + std::to_string(ctas[s]) + ":";
    for (const SketchOp& o : strands[s])
      out += std::string(" ") + word(o.kind).name + "(" + std::to_string(o.object) + "," +
             std::to_string(o.count) + ",x" + std::to_string(o.buffer) + "," + std::to_string(o.bytes) +
             (o.tag ? "#" + std::to_string(o.tag - 1) : "") + ")";
  }
  return out + "\n";
}

Orchestration lower(const Sketch& sketch) { return Lowering(sketch).run(); }

std::vector<std::string> mechanisms(const Sketch& sketch) {
  std::set<std::string> all;
  for (size_t s = 0; s < sketch.strands.size(); ++s)
    for (const SketchOp& o : sketch.strands[s]) {
      if (const char* name = word(o.kind).mechanism) all.insert(name);
      const bool arrives = o.kind == K::arrive || o.kind == K::arrive_tx || o.kind == K::drop;
      if (arrives && sketch.barrier_ctas[o.object] != sketch.ctas[s]) all.insert("remote arrivals");
      if (o.kind == K::load && sketch.barrier_ctas[o.object] != sketch.ctas[s]) all.insert("multicast");
    }
  return {all.begin(), all.end()};
}

std::vector<std::string> all_mechanisms() {
  std::set<std::string> all = {"remote arrivals", "multicast"};
  for (int k = 0; k <= static_cast<int>(last_kind); ++k)
    if (const char* name = word(static_cast<K>(k)).mechanism) all.insert(name);
  return {all.begin(), all.end()};
}

}  // namespace turnstile::test
