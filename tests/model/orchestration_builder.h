// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/orchestration.h"
#include "model/protocol/orchestration_machine.h"

namespace turnstile::test {

/// Writes orchestrations for tests, one call an event.
class OrchestrationBuilder {
 public:
  OrchestrationBuilder() { program_.tables.places.resize(1); }

  uint32_t agent(uint16_t cta = 0, uint32_t threads = 32) {
    const auto s = static_cast<uint32_t>(program_.strands.size());
    program_.tables.agents.push_back({cta, static_cast<uint16_t>(s), "agent " + std::to_string(s), threads});
    program_.strands.emplace_back();
    if (cta >= program_.tables.cluster_ctas) program_.tables.cluster_ctas = cta + 1u;
    program_.tables.warps = s + 1;
    return s;
  }
  uint32_t barrier(const std::string& name, uint32_t count, uint16_t cta = 0) {
    const auto b = static_cast<uint32_t>(program_.tables.barriers.size());
    program_.tables.barriers.push_back({cta, 8 * b, name, count});
    return b;
  }
  uint32_t queue(QueueInfo::Kind kind, bool in_order = false) {
    program_.tables.queues.push_back({kind, in_order, 0, 0, 0});
    return static_cast<uint32_t>(program_.tables.queues.size() - 1);
  }
  uint32_t signal(int64_t initial) {
    program_.tables.signals.push_back({"signal", initial});
    return static_cast<uint32_t>(program_.tables.signals.size() - 1);
  }
  uint32_t pool(int64_t initial, bool must_return = false) {
    program_.tables.pools.push_back({"pool", initial, must_return});
    return static_cast<uint32_t>(program_.tables.pools.size() - 1);
  }
  void cluster(uint32_t members) { program_.tables.cluster_barrier_count = members; }
  uint32_t memory(Space space, uint32_t allocation, uint64_t first = 0, uint64_t bytes = 16) {
    program_.tables.footprints.push_back(
        {space, allocation, static_cast<uint32_t>(program_.tables.ranges.size()), 1});
    program_.tables.ranges.push_back({first, first + bytes, 0, 1});
    return static_cast<uint32_t>(program_.tables.footprints.size() - 1);
  }

  Event& event(uint32_t strand, EventKind kind, uint32_t object = 0, uint32_t count = 0, uint64_t bytes = 0,
               uint8_t flags = 0) {
    Event e;
    e.kind = kind;
    e.agent.v = static_cast<uint16_t>(strand);
    e.object = object;
    e.count = count;
    e.bytes = bytes;
    e.flags = flags;
    program_.strands[strand].events.push_back(e);
    return program_.strands[strand].events.back();
  }
  void wait(uint32_t s, uint32_t b, uint32_t parity) {
    event(s, EventKind::mbarrier_wait, b, parity, 0, Event::acquire);
  }
  void arrive(uint32_t s, uint32_t b, uint32_t count = 1) {
    event(s, EventKind::mbarrier_arrive, b, count, 0, Event::release);
  }
  void arrive_tx(uint32_t s, uint32_t b, uint64_t bytes) {
    event(s, EventKind::mbarrier_arrive, b, 1, bytes, Event::release | Event::expects_bytes);
  }
  void bar_sync(uint32_t s, uint32_t id, uint32_t threads) {
    event(s, EventKind::named_barrier_arrive, id, threads, program_.tables.agents[s].threads, Event::waits);
    event(s, EventKind::named_barrier_pass, id);
  }
  void bar_arrive(uint32_t s, uint32_t id, uint32_t threads) {
    event(s, EventKind::named_barrier_arrive, id, threads, program_.tables.agents[s].threads);
  }
  void cluster_arrive(uint32_t s) { event(s, EventKind::cluster_arrive, 0, 1, 0, Event::release); }
  void cluster_wait(uint32_t s) { event(s, EventKind::cluster_wait, 0, 0, 0, Event::acquire); }
  void access(uint32_t s, uint32_t footprint, bool write) {
    event(s, EventKind::access, 0, 0, 0, static_cast<uint8_t>(write ? Event::write : 0)).footprint =
        footprint;
  }

  /// An operation with its issue by `strand`; reads, then writes, then completion.
  uint32_t issue(uint32_t strand, AsyncOp::Kind kind, uint32_t barrier, uint64_t bytes, uint32_t queue,
                 uint64_t group, const std::vector<uint32_t>& reads, const std::vector<uint32_t>& writes) {
    const auto op = static_cast<uint32_t>(program_.tables.ops.size());
    AsyncOp info;
    info.kind = kind;
    info.issuer.v = static_cast<uint16_t>(strand);
    info.barrier = barrier;
    info.bytes = bytes;
    info.queue = queue;
    info.group = group;
    program_.tables.ops.push_back(info);
    program_.operations.emplace_back();
    event(strand, EventKind::async_issue, op);
    Event e;
    e.agent = info.issuer;
    e.object = op;
    e.kind = EventKind::async_access;
    for (uint32_t f : reads) {
      e.footprint = f;
      program_.operations.back().push_back(e);
    }
    e.flags = Event::write;
    for (uint32_t f : writes) {
      e.footprint = f;
      program_.operations.back().push_back(e);
    }
    e.flags = 0;
    e.kind = EventKind::async_complete;
    program_.operations.back().push_back(e);
    return op;
  }
  uint32_t load(uint32_t s, uint32_t footprint, uint32_t barrier, uint64_t bytes) {
    return issue(s, AsyncOp::Kind::bulk_load, barrier, bytes, AsyncOp::none, 0, {}, {footprint});
  }

  Orchestration& program() { return program_; }

 private:
  Orchestration program_;
};

/// The producer and consumers of orchestration_bugs.md 2.5, variant `ok`, without the reads.
inline Orchestration ring(uint32_t n, uint32_t stages, uint32_t consumers, bool producer_waits = true) {
  OrchestrationBuilder b;
  const uint32_t p = b.agent();
  std::vector<uint32_t> full, empty, buffer, queues, c;
  for (uint32_t k = 0; k < consumers; ++k) {
    c.push_back(b.agent(0, 128));
    queues.push_back(b.queue(QueueInfo::Kind::wgmma));
  }
  for (uint32_t s = 0; s < stages; ++s) {
    full.push_back(b.barrier("full", 1));
    empty.push_back(b.barrier("empty", consumers));
    buffer.push_back(b.memory(Space::shared, 0, 1024 + 16 * s));
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t s = i % stages, phase = i / stages & 1;
    if (producer_waits) b.wait(p, empty[s], phase ^ 1);
    b.arrive_tx(p, full[s], 100);
    b.load(p, buffer[s], full[s], 100);
    for (uint32_t k = 0; k < consumers; ++k) {
      b.wait(c[k], full[s], phase);
      b.issue(c[k], AsyncOp::Kind::wgmma, AsyncOp::none, 0, queues[k], i + 1, {buffer[s]}, {});
      b.event(c[k], EventKind::group_commit, queues[k]).generation = i + 1;
      b.event(c[k], EventKind::group_wait, queues[k]).generation = i + 1;
      b.arrive(c[k], empty[s]);
    }
  }
  return b.program();
}

}  // namespace turnstile::test
