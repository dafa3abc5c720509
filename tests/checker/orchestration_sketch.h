// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/orchestration.h"

namespace turnstile::test {

/// One operation of a strand, small enough to mutate.
struct SketchOp {
  enum class Kind : uint8_t {
    arrive,      ///< object, count
    arrive_tx,   ///< object, bytes
    expect,      ///< object, bytes
    wait,        ///< object, count = parity
    load,        ///< writes buffer, completes bytes on object
    read,        ///< buffer
    write,       ///< buffer
    bar_sync,    ///< object, count = threads
    bar_arrive,  ///< object, count = threads
    cluster_arrive,
    cluster_wait,
    add,      ///< object, bytes = addend
    set,      ///< object, bytes = value
    spin,     ///< object, bytes = value: at least
    spin_eq,  ///< object, bytes = value: equal
    acquire,  ///< object, count = units
    release,  ///< object, count = units
  };
  Kind kind = Kind::read;
  uint32_t object = 0, count = 1, buffer = 0;
  uint64_t bytes = 0;
  uint32_t tag = 0;  ///< 0: none; else 1 + the tag of a write or read
};

struct Sketch {
  std::string base;              ///< which kernel it was made from
  std::vector<uint32_t> counts;  ///< of mbarriers
  std::vector<uint16_t> barrier_ctas;
  uint32_t buffers = 0;
  uint32_t buffers_per_cta = 0xffffffff;  ///< buffer b lies in CTA b / buffers_per_cta
  std::vector<uint16_t> ctas;             ///< of strands
  std::vector<std::vector<SketchOp>> strands;
  uint32_t cluster_ctas = 1;
  std::vector<int64_t> signals, pools;  ///< initial values

  std::string text() const;  ///< for messages
};

/// Events and tables. Strands end with an exit; line = 1000 * strand + position + 1.
Orchestration lower(const Sketch& sketch);

// Base kernels (algorithms.md 11.4), small.
Sketch ring_sketch(uint32_t stages, uint32_t consumers, uint32_t trips, bool tags);
Sketch attention_sketch(uint32_t stages, uint32_t groups, uint32_t trips, uint32_t tiles);
Sketch cluster_sketch(uint32_t stages, uint32_t ctas, uint32_t trips);
Sketch ping_pong_sketch(uint32_t trips);
Sketch flags_sketch(uint32_t producers, uint32_t trips, bool equal);
Sketch pool_sketch(uint32_t users, uint32_t units, uint32_t trips);

using Random = std::mt19937_64;

/// A base kernel, chosen uniformly, with 0 to 3 mutations (algorithms.md section 10).
Sketch random_sketch(Random& random);

}  // namespace turnstile::test
