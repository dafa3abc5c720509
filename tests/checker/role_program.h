// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/checker/trace_builder.h"

namespace turnstile::test {

/// One operation of a role, as in the language of orchestration_bugs.md 2.2.
struct Step {
  enum class Kind : uint8_t {
    arrive,      ///< object, count
    arrive_tx,   ///< object, bytes
    expect,      ///< object, bytes
    wait,        ///< object, count = parity
    load,        ///< buffer -> object, bytes
    read,        ///< buffer
    write,       ///< buffer
    wgmma,       ///< buffer; object = queue of the warp group
    commit,      ///< object = queue
    group_wait,  ///< object = queue, count = groups that may be pending, flag = .read
    store,       ///< buffer -> global buffer `bytes`; object = queue
    bar_sync,    ///< object = id, count = threads
    bar_arrive,
    fence,  ///< fence.proxy.async.shared::cta
    dec,    ///< count = registers
    inc,
  };
  Kind kind = Kind::read;
  uint32_t object = 0, count = 0, buffer = 0;
  uint64_t bytes = 0;
  bool flag = false;
  uint32_t line = 0;
};

struct Role {
  std::string name;
  std::vector<Step> steps;
  uint32_t line = 1;

  Role& at(uint32_t l) { return line = l, *this; }
  Role& add(Step s) {
    s.line = line;
    steps.push_back(s);
    return *this;
  }
  using K = Step::Kind;
  Role& arrive(uint32_t b, uint32_t n = 1) { return add({K::arrive, b, n, 0, 0, false, 0}); }
  Role& arrive_tx(uint32_t b, uint64_t bytes) { return add({K::arrive_tx, b, 1, 0, bytes, false, 0}); }
  Role& expect(uint32_t b, uint64_t bytes) { return add({K::expect, b, 0, 0, bytes, false, 0}); }
  Role& wait(uint32_t b, uint32_t parity) { return add({K::wait, b, parity, 0, 0, false, 0}); }
  Role& load(uint32_t buffer, uint32_t b, uint64_t bytes) {
    return add({K::load, b, 0, buffer, bytes, false, 0});
  }
  Role& read(uint32_t buffer) { return add({K::read, 0, 0, buffer, 0, false, 0}); }
  Role& write(uint32_t buffer) { return add({K::write, 0, 0, buffer, 0, false, 0}); }
  Role& wgmma(uint32_t buffer, uint32_t q) { return add({K::wgmma, q, 0, buffer, 0, false, 0}); }
  Role& commit(uint32_t q) { return add({K::commit, q, 0, 0, 0, false, 0}); }
  Role& group_wait(uint32_t q, uint32_t pending, bool read = false) {
    return add({K::group_wait, q, pending, 0, 0, read, 0});
  }
  Role& store(uint32_t buffer, uint32_t global, uint32_t q) {
    return add({K::store, q, 0, buffer, global, false, 0});
  }
  Role& bar_sync(uint32_t id, uint32_t threads) { return add({K::bar_sync, id, threads, 0, 0, false, 0}); }
  Role& bar_arrive(uint32_t id, uint32_t threads) {
    return add({K::bar_arrive, id, threads, 0, 0, false, 0});
  }
  Role& fence() { return add({K::fence, 0, 0, 0, 0, false, 0}); }
  Role& dec(uint32_t n) { return add({K::dec, 0, n, 0, 0, false, 0}); }
  Role& inc(uint32_t n) { return add({K::inc, 0, n, 0, 0, false, 0}); }
};

struct RoleProgram {
  struct Barrier {
    std::string name;
    uint32_t count;
  };
  struct Queue {
    QueueInfo::Kind kind;
    std::vector<uint32_t> warps;  ///< bulk: one; wgmma: all warps of the group
  };
  std::vector<Barrier> barriers;
  std::vector<Queue> queues;
  std::vector<Role> roles;  ///< one warp each
  uint32_t registers = 0;   ///< per thread at entry

  uint32_t barrier(std::string name, uint32_t count) {
    barriers.push_back({std::move(name), count});
    return static_cast<uint32_t>(barriers.size() - 1);
  }
  /// Returns the warp's number, not a reference: adding a role moves the others.
  uint32_t role(std::string name) {
    roles.push_back({std::move(name), {}, 1});
    return static_cast<uint32_t>(roles.size() - 1);
  }
  uint32_t queue(QueueInfo::Kind kind, std::vector<uint32_t> warps) {
    queues.push_back({kind, std::move(warps)});
    return static_cast<uint32_t>(queues.size() - 1);
  }
};

/// Executes a program under one schedule and writes its trace. Seed 0: warps in bursts, copies land when
/// nothing else can move; else every choice is random. Init of all barriers by warp 0 and a __syncthreads
/// come first.
Trace execute(const RoleProgram& program, uint64_t seed);

/// The canonical ring of orchestration_bugs.md 2.5 with generic or wgmma reads; `warps` warps a consumer
/// group, of which the first releases.
struct RingOptions {
  uint32_t stages = 2, consumers = 2, trips = 5, warps = 1;
  bool wgmma = false;
  bool fenced = false;  ///< consumers that read with loads execute a proxy fence before they release (PX2)
};
RoleProgram ring(const RingOptions& options);

}  // namespace turnstile::test
