// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
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
    drop,        ///< object, count: arrive_drop
    expect,      ///< object, bytes
    wait,        ///< object, count = parity
    load,        ///< writes buffer, completes bytes on object
    read,        ///< buffer
    write,       ///< buffer
    atomic,      ///< buffer
    bar_sync,    ///< object, count = threads
    bar_arrive,  ///< object, count = threads
    sync_all,    ///< object; no thread count: all of the CTA that have not ended
    cluster_arrive,
    cluster_wait,
    add,            ///< object, bytes = addend
    set,            ///< object, bytes = value
    spin,           ///< object, bytes = value: at least
    spin_eq,        ///< object, bytes = value: equal
    acquire,        ///< object, count = units
    release,        ///< object, count = units
    proxy_fence,    ///< orders nothing that interleavings show
    wgmma,          ///< reads buffer
    wgmma_commit,   ///< closes the group
    wgmma_wait,     ///< count = groups that may be open
    store,          ///< bulk store: reads buffer
    store_commit,   ///<
    store_wait,     ///< count; until the groups have read
    copy,           ///< cp.async: writes buffer
    copy_commit,    ///<
    copy_wait,      ///< count
    copy_arrive,    ///< object; cp.async.mbarrier.arrive, count = 1: without .noinc
    remote_store,   ///< st.async: writes buffer, completes bytes on object
    mma,            ///< tcgen05: reads buffer, writes accumulator `count`
    mma_commit,     ///< arrives on object
    tensor_load,    ///< reads accumulator `count`
    tensor_wait,    ///< for all loads
    registers_dec,  ///< count = registers per thread from now on
    registers_inc,  ///< count
    tensor_alloc,   ///< object = number of the allocation, count = columns
    tensor_free,    ///< object, count
    tensor_relinquish,
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
  uint32_t accumulators = 0;              ///< in tensor memory of CTA 0
  std::vector<uint16_t> ctas;             ///< of strands
  std::vector<std::vector<SketchOp>> strands;
  uint32_t cluster_ctas = 1;
  uint32_t threads = 32;     ///< of every strand
  bool exits_leave = false;  ///< barriers notice the ends of strands (N8); in clusters they always do (C5)
  uint32_t registers = 0;    ///< per thread at entry
  std::vector<int64_t> signals, pools;  ///< initial values

  std::string text() const;  ///< for messages
};

/// Events and tables. Strands end with an exit; line = 1000 * strand + position + 1.
Orchestration lower(const Sketch& sketch);

// Base kernels (algorithms.md 11.4, and one or two for each mechanism that 11.4 leaves out), small.
Sketch ring_sketch(uint32_t stages, uint32_t consumers, uint32_t trips, bool tags);
Sketch attention_sketch(uint32_t stages, uint32_t groups, uint32_t trips, uint32_t tiles);
Sketch cluster_sketch(uint32_t stages, uint32_t ctas, uint32_t trips);
Sketch ping_pong_sketch(uint32_t trips);
Sketch flags_sketch(uint32_t producers, uint32_t trips, bool equal);
Sketch pool_sketch(uint32_t users, uint32_t units, uint32_t trips);
/// A ring whose bytes are expected apart from the arrival (Q19, ALG-D5a).
Sketch expect_sketch(uint32_t stages, uint32_t trips);
/// One of two consumers leaves after a trip, by arrive_drop (MB21, EXT7).
Sketch drop_sketch(uint32_t trips);
/// Consumers read by wgmma and release a stage when `depth` later groups are open (WG3, EXT4).
Sketch wgmma_sketch(uint32_t stages, uint32_t trips, uint32_t depth);
/// One warp fills staging buffers, another stores them (BK1 to BK4), two named barriers between them.
Sketch store_sketch(uint32_t stages, uint32_t trips);
/// How the loader of a ring of cp.async says that its copies have landed.
enum class CopySignal : uint8_t { waits, arrives, arrives_counted };
Sketch copy_sketch(uint32_t stages, uint32_t trips, CopySignal signal);
/// Two CTAs: st.async into the other one, which hands its stages back (DX1, HB3, D2).
Sketch remote_sketch(uint32_t trips);
/// Loads, tcgen05.mma into accumulators, an epilogue (TC15, TC24, EXT5).
Sketch tensor_sketch(uint32_t stages, uint32_t trips, uint32_t tiles, uint32_t accumulators);
/// setmaxnreg: one group gives registers back, others take them (RG4, EXT9).
Sketch registers_sketch(uint32_t takers, bool both_fit);
/// Two warps allocate tensor memory; a third frees what the first one got (TC4 to TC7).
Sketch allocation_sketch(uint32_t columns, uint32_t trips);
/// __syncthreads while warps end (N8).
Sketch whole_cta_sketch(uint32_t warps, uint32_t trips, bool early_end);

/// One after the other, strand by strand, in one CTA: a strand goes on with the second when it is through
/// with the first. Named barriers keep their ids.
Sketch in_sequence(Sketch first, const Sketch& second);

using Random = std::mt19937_64;

/// A base kernel, or two in sequence, chosen uniformly, with 0 to 3 mutations (algorithms.md section 10).
Sketch random_sketch(Random& random);

/// Mechanisms that some operation of a program uses, for counting: "mbarrier with bytes", "wgmma groups", ..
std::vector<std::string> mechanisms(const Sketch& sketch);
/// All that mechanisms() can name.
std::vector<std::string> all_mechanisms();

}  // namespace turnstile::test
