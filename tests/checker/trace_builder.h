// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/trace.h"

namespace turnstile::test {

/// Writes traces by hand, one call an event. Line numbers are those of an imaginary kernel.cu; buffer i is 64
/// bytes of shared memory at 1024*i, global buffer i its own allocation, slot i of tensor memory 64 bytes.
class TraceBuilder {
 public:
  Trace trace;

  explicit TraceBuilder(uint32_t warps) {
    trace.kernel = "kernel";
    trace.warps = warps;
    for (uint32_t w = 0; w < warps; ++w) strand(w);
  }

  uint32_t strand(uint32_t warp, std::string role = {}) {
    trace.agents.push_back({0, static_cast<uint16_t>(warp), std::move(role)});
    return static_cast<uint32_t>(trace.agents.size() - 1);
  }
  uint32_t barrier(std::string name) {
    trace.barriers.push_back({0, 8 * trace.barriers.size(), std::move(name)});
    return static_cast<uint32_t>(trace.barriers.size() - 1);
  }
  /// One that is there from the start.
  uint32_t barrier(std::string name, uint32_t count, uint16_t cta = 0) {
    const uint32_t b = barrier(std::move(name));
    trace.barriers[b].cta = cta;
    trace.barriers[b].initial_count = count;
    return b;
  }
  /// Makes it a cluster: warp w of the trace becomes warp w / ctas of CTA w % ctas; `count` arrivals complete
  /// its barrier.
  void cluster(uint16_t ctas, uint32_t count) {
    trace.cluster_ctas = ctas;
    trace.cluster_barrier_count = count;
    for (size_t a = 0; a < trace.agents.size(); ++a) {
      trace.agents[a].cta = static_cast<uint16_t>(a % ctas);
      trace.agents[a].warp = static_cast<uint16_t>(a / ctas);
    }
  }
  uint32_t signal(std::string name, int64_t initial = 0) {
    trace.signals.push_back({std::move(name), initial});
    return static_cast<uint32_t>(trace.signals.size() - 1);
  }
  uint32_t pool(std::string name, int64_t units, bool must_return = false) {
    trace.pools.push_back({std::move(name), units, must_return});
    return static_cast<uint32_t>(trace.pools.size() - 1);
  }
  uint32_t queue(QueueInfo::Kind kind, uint32_t warp, uint8_t lane = 0) {
    trace.queues.push_back({kind, 0, static_cast<uint16_t>(warp), lane});
    return static_cast<uint32_t>(trace.queues.size() - 1);
  }
  uint32_t place(uint32_t line) {
    for (uint32_t p = 0; p < trace.places.size(); ++p)
      if (trace.places[p].line == line) return p;
    trace.places.push_back({"kernel.cu", line, 1, "kernel.ptx", 10 * line, "op"});
    return static_cast<uint32_t>(trace.places.size() - 1);
  }
  uint32_t footprint(Space space, uint32_t allocation, ByteRange range) {
    for (uint32_t f = 0; f < trace.footprints.size(); ++f) {
      const Footprint& g = trace.footprints[f];
      const ByteRange& r = trace.ranges[g.first_range];
      if (g.space == space && g.allocation == allocation && r.begin == range.begin && r.end == range.end &&
          r.stride == range.stride && r.count == range.count)
        return f;
    }
    trace.ranges.push_back(range);
    trace.footprints.push_back({space, allocation, static_cast<uint32_t>(trace.ranges.size() - 1), 1});
    return static_cast<uint32_t>(trace.footprints.size() - 1);
  }
  uint32_t shared(uint32_t buffer) {
    return footprint(Space::shared, 0, {1024 * buffer, 1024 * buffer + 64, 0, 1});
  }
  uint32_t shared_of(uint16_t cta, uint32_t buffer) {
    return footprint(Space::shared, cta, {1024 * buffer, 1024 * buffer + 64, 0, 1});
  }
  uint32_t tensor(uint32_t slot) { return footprint(Space::tensor, 0, {64 * slot, 64 * slot + 64, 0, 1}); }
  uint32_t global(uint32_t buffer) { return footprint(Space::global, buffer, {0, 64, 0, 1}); }

  Event& event(EventKind kind, uint32_t agent, uint32_t line, uint32_t object = 0, uint8_t flags = 0) {
    Event e;
    e.kind = kind;
    e.agent = AgentId{static_cast<uint16_t>(agent)};
    e.place = place(line);
    e.object = object;
    e.flags = flags;
    trace.events.push_back(e);
    return trace.events.back();
  }

  void init(uint32_t agent, uint32_t line, uint32_t b, uint32_t count) {
    event(EventKind::mbarrier_init, agent, line, b).count = count;
  }
  void arrive(uint32_t agent, uint32_t line, uint32_t b, uint32_t n = 1, bool release = true) {
    event(EventKind::mbarrier_arrive, agent, line, b, release ? Event::release : 0).count = n;
  }
  void arrive_expect(uint32_t agent, uint32_t line, uint32_t b, uint64_t bytes) {
    Event& e = event(EventKind::mbarrier_arrive, agent, line, b, Event::release | Event::expects_bytes);
    e.count = 1;
    e.bytes = bytes;
  }
  void expect(uint32_t agent, uint32_t line, uint32_t b, uint64_t bytes) {
    event(EventKind::mbarrier_expect_tx, agent, line, b).bytes = bytes;
  }
  void wait(uint32_t agent, uint32_t line, uint32_t b, uint32_t parity, uint64_t generation,
            bool acquire = true) {
    Event& e = event(EventKind::mbarrier_wait, agent, line, b, acquire ? Event::acquire : 0);
    e.count = parity;
    e.generation = generation;
  }
  void bar_contribute(uint32_t agent, uint32_t line, uint32_t id, uint32_t count, bool waits) {
    Event& e = event(EventKind::named_barrier_arrive, agent, line, id, waits ? Event::waits : 0);
    e.count = count;
    e.bytes = 32;
  }
  void bar_pass(uint32_t agent, uint32_t line, uint32_t id, uint64_t instance) {
    event(EventKind::named_barrier_pass, agent, line, id).generation = instance;
  }
  void read(uint32_t agent, uint32_t line, uint32_t footprint_id) {
    event(EventKind::access, agent, line).footprint = footprint_id;
  }
  void write(uint32_t agent, uint32_t line, uint32_t footprint_id) {
    event(EventKind::access, agent, line, 0, Event::write).footprint = footprint_id;
  }
  void atomic(uint32_t agent, uint32_t line, uint32_t footprint_id) {
    Event& e = event(EventKind::access, agent, line, 0, Event::write | Event::atomic);
    e.footprint = footprint_id;
    e.scope = Scope::gpu;  // M1: what atom and red are without a word
  }
  void fence(uint32_t agent, uint32_t line, uint8_t spaces = Event::shared_space) {
    event(EventKind::fence_proxy_async, agent, line, 0, spaces);
  }

  uint32_t op(AsyncOp::Kind kind, uint32_t agent, uint32_t line) {
    AsyncOp o;
    o.kind = kind;
    o.issuer = AgentId{static_cast<uint16_t>(agent)};
    o.place = place(line);
    trace.ops.push_back(o);
    return static_cast<uint32_t>(trace.ops.size() - 1);
  }
  uint32_t load(uint32_t agent, uint32_t line, uint32_t b, uint64_t bytes) {
    const uint32_t o = op(AsyncOp::Kind::bulk_load, agent, line);
    trace.ops[o].barrier = b;
    trace.ops[o].bytes = bytes;
    event(EventKind::async_issue, agent, line, o);
    return o;
  }
  uint32_t queued(AsyncOp::Kind kind, uint32_t agent, uint32_t line, uint32_t queue_id, uint64_t group) {
    const uint32_t o = op(kind, agent, line);
    trace.ops[o].queue = queue_id;
    trace.ops[o].group = group;
    return o;
  }
  uint32_t store(uint32_t agent, uint32_t line, uint32_t queue_id, uint64_t group) {
    const uint32_t o = queued(AsyncOp::Kind::bulk_store, agent, line, queue_id, group);
    event(EventKind::async_issue, agent, line, o);
    return o;
  }
  void touch(uint32_t o, uint32_t footprint_id, bool writes) {
    const uint32_t line = trace.places[trace.ops[o].place].line;
    event(EventKind::async_access, trace.ops[o].issuer.v, line, o, writes ? Event::write : 0).footprint =
        footprint_id;
  }
  void complete(uint32_t o) {
    event(EventKind::async_complete, trace.ops[o].issuer.v, trace.places[trace.ops[o].place].line, o);
  }
  void commit(uint32_t agent, uint32_t line, uint32_t queue_id, uint64_t group) {
    event(EventKind::group_commit, agent, line, queue_id).generation = group;
  }
  void group_wait(uint32_t agent, uint32_t line, uint32_t queue_id, uint64_t group, bool read_only = false) {
    event(EventKind::group_wait, agent, line, queue_id, read_only ? Event::read_only : 0).generation = group;
  }
  void exit(uint32_t agent, uint32_t line) { event(EventKind::exit, agent, line); }

  /// An operation that a strand issues at once: into a queue, onto a barrier, or both.
  uint32_t issue(AsyncOp::Kind kind, uint32_t agent, uint32_t line, uint32_t queue_id, uint64_t group = 1,
                 uint32_t b = AsyncOp::none, uint64_t bytes = 0) {
    const uint32_t o = queued(kind, agent, line, queue_id, group);
    trace.ops[o].barrier = b;
    trace.ops[o].bytes = bytes;
    event(EventKind::async_issue, agent, line, o);
    return o;
  }
  /// ... and that has one access and is over.
  uint32_t run(AsyncOp::Kind kind, uint32_t agent, uint32_t line, uint32_t queue_id, uint64_t group,
               uint32_t footprint_id, bool writes) {
    const uint32_t o = issue(kind, agent, line, queue_id, group);
    touch(o, footprint_id, writes);
    complete(o);
    return o;
  }
  void tagged(uint32_t agent, uint32_t line, uint32_t footprint_id, bool writes, uint64_t tag) {
    Event& e = event(EventKind::access, agent, line, 0, writes ? Event::write : 0);
    e.footprint = footprint_id;
    e.generation = tag + 1;
  }
  void cluster_arrive(uint32_t agent, uint32_t line, bool release = true) {
    event(EventKind::cluster_arrive, agent, line, 0, release ? Event::release : 0).count = 1;
  }
  void cluster_wait(uint32_t agent, uint32_t line, uint64_t generation, bool acquire = true) {
    event(EventKind::cluster_wait, agent, line, 0, acquire ? Event::acquire : 0).generation = generation;
  }
  /// Arrive and wait of all warps, each counting once.
  void cluster_sync(uint32_t line, uint64_t generation) {
    for (uint32_t a = 0; a < trace.warps; ++a) cluster_arrive(a, line);
    for (uint32_t a = 0; a < trace.warps; ++a) cluster_wait(a, line, generation);
  }
  void add(uint32_t agent, uint32_t line, uint32_t signal_id, int64_t amount = 1, bool release = true,
           Scope scope = Scope::gpu) {
    Event& e = event(EventKind::signal_add, agent, line, signal_id, release ? Event::release : 0);
    e.bytes = static_cast<uint64_t>(amount);
    e.scope = scope;
  }
  void set(uint32_t agent, uint32_t line, uint32_t signal_id, int64_t value, bool release = true) {
    Event& e = event(EventKind::signal_set, agent, line, signal_id, release ? Event::release : 0);
    e.bytes = static_cast<uint64_t>(value);
    e.scope = Scope::gpu;
  }
  void spin(uint32_t agent, uint32_t line, uint32_t signal_id, int64_t value, bool acquire = true,
            bool equal = false, Scope scope = Scope::gpu) {
    const auto flags = static_cast<uint8_t>((acquire ? Event::acquire : 0) | (equal ? Event::equal : 0));
    Event& e = event(EventKind::signal_wait, agent, line, signal_id, flags);
    e.bytes = static_cast<uint64_t>(value);
    e.scope = scope;
  }
  void memory_fence(uint32_t agent, uint32_t line, uint8_t flags) {
    event(EventKind::fence, agent, line, 0, flags).scope = Scope::gpu;
  }
  void take(uint32_t agent, uint32_t line, uint32_t pool_id, uint32_t units) {
    event(EventKind::pool_acquire, agent, line, pool_id).count = units;
  }
  void give(uint32_t agent, uint32_t line, uint32_t pool_id, uint32_t units) {
    event(EventKind::pool_release, agent, line, pool_id).count = units;
  }
  void tensor_alloc(uint32_t agent, uint32_t line, uint32_t first, uint32_t columns, uint64_t ctas = 1) {
    Event& e = event(EventKind::tensor_alloc, agent, line);
    e.count = columns;
    e.bytes = ctas;
    e.generation = first;
  }
  void tensor_dealloc(uint32_t agent, uint32_t line, uint32_t first, uint32_t columns, uint64_t ctas = 1) {
    tensor_alloc(agent, line, first, columns, ctas);
    trace.events.back().kind = EventKind::tensor_dealloc;
  }

  /// __syncthreads of all warps.
  void sync_all(uint32_t line, uint64_t instance) {
    const uint32_t count = 32 * trace.warps;
    for (uint32_t w = 0; w < trace.warps; ++w) bar_contribute(w, line, 0, count, true);
    for (uint32_t w = 0; w < trace.warps; ++w) bar_pass(w, line, 0, instance);
  }
  void exit_all(uint32_t line) {
    for (uint32_t w = 0; w < trace.warps; ++w) exit(w, line);
  }
};

}  // namespace turnstile::test
