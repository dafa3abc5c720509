// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turnstile {

/// The contract between sim/ and checker/ (design.md section 2): what one execution of one cluster did, in
/// the order in which it was executed. The checker knows nothing else: no PTX, no launch. One Trace holds one
/// cluster (today: one CTA).

/// An agent is a strand: a set of lanes of one warp that share their program order. A warp starts as one
/// strand; a divergent branch forks it; only a warp-level synchronisation joins strands (M14, M15: lanes of a
/// warp are not ordered by executing together). Numbers are re-used after a join, always by the same warp;
/// the clock of a lane goes on counting.
struct AgentId {
  uint16_t v = 0;
  friend bool operator==(AgentId, AgentId) = default;
};

struct AgentInfo {
  uint16_t cta = 0;   ///< rank in the cluster
  uint16_t warp = 0;  ///< in its CTA
  std::string role;   ///< "consumer 0", empty if not named
  uint32_t threads =
      32;  ///< what it adds to a named or cluster barrier; more than 32 for a role of a .mimw text
};

/// Where an event comes from; index = instruction number of the kernel.
struct Place {
  std::string file;  ///< source file from .loc; empty without line information
  uint32_t line = 0;
  uint32_t column = 0;
  std::string ptx_file;
  uint32_t ptx_line = 0;
  std::string instruction;  ///< mnemonic as written
};

struct BarrierInfo {  // mbarrier object
  uint16_t cta = 0;
  uint64_t address = 0;  ///< bytes, in the shared window of its CTA
  std::string name;      ///< "full[2]", or "mbarrier at shared+0x40"
  uint32_t initial_count =
      0;  ///< not 0: valid from the start, visible to everyone (.mimw without `option inits`)
};

/// A counted resource that strands take from and give back to, and wait for (RG4, F2).
struct PoolInfo {
  std::string name;
  int64_t initial = 0;       ///< units
  bool must_return = false;  ///< TC6: it has to be full again at the end
};

/// A word of memory that strands use as a flag or counter (semantics.md section 12).
struct SignalInfo {
  std::string name;
  int64_t initial = 0;
};

/// Something whose completions are counted in order: the bulk groups of one thread (BK2), the wgmma groups of
/// one warp group (WG3).
struct QueueInfo {
  enum class Kind : uint8_t {
    bulk,
    wgmma,
    cp_async,      ///< classic copies of one thread (CA1-CA9), or copies into LDS of one wave (AM15, AM16)
    tensor,        ///< tcgen05.mma, cp, shift, commit of one thread (TC15, TC24)
    tensor_load,   ///< tcgen05.ld of one warp: group = number of the operation (TC17-TC21)
    tensor_store,  ///< tcgen05.st of one warp
    lds_read,      ///< AMD: LDS reads of one wave that have not returned (AM9, AM10)
  };
  Kind kind = Kind::bulk;
  bool in_order =
      false;  ///< its operations complete in the order of issue (AMD DMA into one queue: trap T21)
  uint16_t cta = 0;
  uint16_t warp = 0;  ///< of the thread, or the first warp of the warp group
  uint8_t lane = 0;
};

enum class Space : uint8_t { shared, global, tensor };
enum class Proxy : uint8_t { generic, async, tensormap };
enum class Scope : uint8_t { cta, cluster, gpu, sys };  ///< M2, each contains the ones before it

/// [begin, end) in bytes, `count` times, `stride` bytes apart (a TMA box in global memory; count is 1 for a
/// plain range).
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t stride = 0;
  uint32_t count = 1;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// A set of byte ranges in one allocation, shared by all events that touch exactly these bytes.
struct Footprint {
  Space space = Space::shared;
  uint32_t allocation = 0;   ///< shared, tensor: rank of the CTA; global: buffer number of the launch
  uint32_t first_range = 0;  ///< into Trace::ranges
  uint32_t range_count = 0;

  friend bool operator==(const Footprint&, const Footprint&) = default;
};

struct AsyncOp {
  enum class Kind : uint8_t {
    bulk_load,   ///< writes shared memory through the async proxy, then complete_tx on its barrier. A
                 ///< multicast copy is one operation for each destination CTA (MB30)
    bulk_store,  ///< reads shared memory through the async proxy; bulk_reduce alike
    wgmma,
    cp_async,       ///< generic proxy, per thread (CA1); barrier: cp.async.mbarrier.arrive (HB2), or none
    remote_store,   ///< st.async, red.async: generic side, complete_tx on a barrier of the destination (DX1)
    tensor_mma,     ///< async-proxy reads of shared memory, reads and writes of tensor memory
    tensor_copy,    ///< tcgen05.cp, shift
    tensor_load,    ///< tcgen05.ld: reads tensor memory
    tensor_store,   ///< tcgen05.st
    tensor_commit,  ///< one arrival on its barrier when all earlier mma, cp, shift of its queue are done
                    ///< (TC24)
    clc_query,      ///< writes the response through the async proxy, then complete_tx on its barrier (CL1)
    lds_read,       ///< AMD: a read that returns later
  };
  static constexpr uint32_t none = 0xffffffff;
  Kind kind = Kind::bulk_load;
  AgentId issuer;  ///< wgmma: the last of the four warps
  uint32_t place = 0;
  uint32_t barrier = none;  ///< bulk_load: index into Trace::barriers
  uint64_t bytes = 0;       ///< bulk_load: complete_tx bytes
  uint32_t queue = none;    ///< bulk_store, wgmma: index into Trace::queues
  uint64_t group = 0;  ///< number of the group it belongs to in its queue, from 1; the group open at issue
};

enum class EventKind : uint8_t {
  fork,  ///< object = new strand, which starts with everything `agent` knows; bytes = mask of the lanes that
         ///< are it from now on, 0: none, a strand that only tells what a poll may find (a peek)
  join,  ///< flag memory (bar.warp.sync, bar.sync): strand `object` is absorbed, `agent` now knows what both
         ///< knew. Without it (shfl, elect, vote: M15): both strands go on; only their execution order
         ///< (causal clocks of both) is joined
  mbarrier_init,    ///< object = barrier, count = expected arrivals
  mbarrier_inval,   ///< object = barrier
  mbarrier_arrive,  ///< object = barrier, count = arrivals, bytes = expected first (arrive.expect_tx); flags
                    ///< release, expects_bytes
  mbarrier_expect_tx,  ///< object = barrier, bytes
  mbarrier_wait,  ///< a wait that passed: object = barrier, count = parity, generation = completions so far
                  ///< (c of ALG-D1); flag acquire
  named_barrier_arrive,  ///< object = cta * 16 + id, count = threads expected, bytes = threads contributed;
                         ///< flag waits for bar.sync, whole_cta if the instruction names no thread count
  named_barrier_pass,    ///< a bar.sync that passed: object, generation = completed instance (from 1)
  fence_proxy_async,     ///< flags shared_space, global_space
  fence,  ///< generic memory fence: scope, flags fence_release, fence_acquire, fence_sequential (M7, M8,
          ///< M13); no effect inside one CTA beyond program order
  fence_mbarrier_init,
  access,  ///< generic proxy: footprint; flags write, atomic (count: bytes of an element, or 0; M5); bytes
           ///< = of a write without atomic: fingerprint of the bytes that it leaves; 0: not known
  async_issue,   ///< object = async op; for wgmma one event per strand of each of the four warps, all before
                 ///< its first async_access
  async_access,  ///< object = async op, footprint; flag write. Happens at landing, between issue and
                 ///< completion
  async_complete,  ///< object = async op: bulk_load: complete_tx on its barrier; others: the op is done (no
                   ///< knowledge by itself)
  group_commit,    ///< object = queue, generation = number of the group closed
  group_wait,      ///< object = queue, generation = all groups up to it are done; flag read_only (.read: BK3)
  registers_release,  ///< setmaxnreg.dec: count = registers per thread; bytes = before. One event per warp
  registers_acquire,  ///< setmaxnreg.inc that was granted: count, bytes = before
  register_hazard,    ///< a register of a pending wgmma was touched (WG3): object = queue, generation = group
  cluster_arrive,     ///< barrier.cluster.arrive: object = cluster (Trace::clusters), count = contributions
                      ///< (threads, or 1 an agent), flag release
  cluster_wait,  ///< barrier.cluster.wait that passed: object = cluster, generation = completed instances
                 ///< (from 1); flag acquire
  signal_add,    ///< object = signal, bytes = addend (two's complement); flag release; scope
  signal_set,    ///< object = signal, bytes = new value; flag release; scope
  signal_wait,   ///< a spin that ended: object = signal, bytes = the value waited for; flags acquire, equal
                 ///< (else "at least"); scope; generation = number of the write that it read, from 1, 0:
                 ///< initial
  pool_acquire,  ///< object = pool, count = units: granted
  pool_release,  ///< object = pool, count = units
  tensor_fence_before,  ///< tcgen05.fence::before_thread_sync (TC23)
  tensor_fence_after,   ///< tcgen05.fence::after_thread_sync
  tensor_alloc,         ///< count = columns, bytes = CTAs of the cta_group (1, 2), generation = first column
  tensor_dealloc,       ///< as tensor_alloc
  tensor_relinquish,    ///< TC7
  fence_tensormap,  ///< fence.proxy.tensormap: flag release, else acquire; footprint = the descriptor; scope
  dependents_launch,  ///< griddepcontrol.launch_dependents (PD1)
  dependency_wait,    ///< griddepcontrol.wait (PD2)
  exit,               ///< all lanes of the strand ended; count = threads (0: as many as the strand has)
};

struct Event {
  enum Flag : uint8_t {
    write = 1,             // access, async_access
    atomic = 2,            // access: strong (M1); async_access: a reduction, of scope .gpu (BK7)
    memory = 1,            // join
    release = 1,           // mbarrier_arrive, cluster_arrive, signal_add, signal_set, fence_tensormap
    expects_bytes = 2,     // mbarrier_arrive
    drops = 4,             // mbarrier_arrive: arrive_drop, later phases expect `count` fewer
    acquire = 1,           // mbarrier_wait, cluster_wait, signal_wait
    waits = 1,             // named_barrier_arrive
    whole_cta = 2,         // named_barrier_arrive: threads that exit need not come (N8)
    shared_space = 1,      // fence_proxy_async
    global_space = 2,      // fence_proxy_async
    read_only = 1,         // group_wait
    equal = 2,             // signal_wait
    fence_release = 1,     // fence
    fence_acquire = 2,     // fence
    fence_sequential = 4,  // fence: fence.sc
    tensormap = 8,         // async_access: a read of the descriptor through the tensormap proxy
    polled_once = 16,      // access, signal_wait: a test whose failure leads to other work (LF1)
    unused = 32,           // access: a load whose value reaches nothing (sim/unused_loads.h)
    conditional = 64,      // access, async_access: perhaps not made, or only when other CTAs are done, since
                           // nobody knows the value that decides it
  };
  EventKind kind = EventKind::exit;
  uint8_t flags = 0;
  Scope scope = Scope::cta;  ///< of a release or acquire, where the kind has one
  AgentId agent;
  uint32_t place = 0;  ///< index into Trace::places
  uint32_t object = 0;
  uint32_t footprint = 0;  ///< index into Trace::footprints
  uint32_t count = 0;
  uint64_t bytes = 0;
  uint64_t generation = 0;  ///< access, async_access: 0, or 1 + the tag that a write leaves and a read
                            ///< demands (iteration, tile; orchestration_bugs.md 1.1)

  bool has(Flag flag) const { return (flags & flag) != 0; }
};

/// Two generic writes that leave the same bytes: in either order memory holds them, so that they are no race
/// that anybody can see, though M4 has no exception for them.
inline bool leave_the_same(const Event& a, const Event& b) {
  constexpr uint8_t kinds = Event::write | Event::atomic;
  return a.bytes != 0 && a.bytes == b.bytes && a.footprint == b.footprint && a.kind == EventKind::access &&
         b.kind == EventKind::access && (a.flags & kinds) == Event::write &&
         (b.flags & kinds) == Event::write;
}

/// A strand that could not go on when nothing else could move either.
struct Blocked {
  enum class On : uint8_t {
    mbarrier,
    named_barrier,
    registers,
    group,
    warp_sync,
    cluster_barrier,
    signal,       ///< count = 1: until equal
    pool,         ///< count = units wanted
    tensor_alloc  ///< count = columns wanted
  };
  AgentId agent;
  uint32_t place = 0;
  On on = On::mbarrier;
  uint32_t object =
      0;  ///< barrier; cta * 16 + id; queue; lanes that wait (warp_sync, a mask); unused for registers
  uint32_t count =
      0;  ///< parity; threads expected; registers wanted; lanes that are missing (warp_sync, a mask)
};

/// Something that the kernel did which has no defined meaning, so that the execution stopped there.
struct Fault {
  AgentId agent;
  uint32_t place = 0;
  std::string rule;  ///< id in semantics.md or ptx.md; "memory" for out-of-bounds or misaligned accesses
  std::string message;
  std::string help;
  std::string subject{};  ///< name of the object, as in Diagnostic::subject; may be empty
};

/// A reason why this trace does not tell about all schedules or all of the launch; each forbids the verdict
/// `clean`.
struct Unknown {
  uint32_t place = 0;
  std::string message;
  std::string help;
};

/// "A[2]": what people call a range of the shared or tensor memory of each CTA.
struct NamedRange {
  ByteRange range;
  std::string name;
  Space space = Space::shared;
};

struct Trace {
  std::string kernel;
  uint32_t first_cta[3] = {0, 0, 0};
  uint32_t warps = 0;                 ///< in the cluster
  uint32_t registers_per_thread = 0;  ///< at entry; 0 if not known
  std::vector<AgentInfo> agents;
  std::vector<BarrierInfo> barriers;
  std::vector<QueueInfo> queues;
  std::vector<PoolInfo> pools;
  std::vector<SignalInfo> signals;
  uint32_t cluster_ctas = 1;
  uint32_t clusters =
      1;  ///< more than one: clusters that wait for each other through global memory. Then the
          ///< number of a CTA (AgentInfo::cta and all others) is cluster * cluster_ctas + rank
  uint32_t cluster_barrier_count = 0;  ///< contributions that complete the cluster barrier; 0: nobody uses it
  std::vector<std::string> allocation_names;  ///< of global buffers, by number
  std::vector<uint32_t> previous_kernel;      ///< buffers, sorted, that the kernel before in the stream uses
                                              ///< too, perhaps still when this one starts (PD1)
  std::vector<NamedRange> shared_names;       ///< for reports
  std::vector<Place> places;
  std::vector<ByteRange> ranges;
  std::vector<Footprint> footprints;
  std::vector<AsyncOp> ops;
  std::vector<Event> events;
  std::vector<uint32_t> work;    ///< empty, or of each event: what its agent executed since its event before,
                                 ///< in the unit of the function that weighs instructions (sim/launch_run.h)
  std::vector<Blocked> blocked;  ///< empty if every strand exited
  std::vector<AgentId> live_pollers;  ///< strands stopped by the step limit
  bool cut_short = false;  ///< the execution ended before its strands did, at a fault or an unknown: what is
                           ///< missing at the end says nothing
  std::vector<Fault> faults;
  std::vector<Unknown> unknowns;
};

}  // namespace turnstile
