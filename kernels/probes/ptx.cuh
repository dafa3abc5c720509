// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "probe.h"

/// One function per PTX instruction, as production kernels write it. Everything is volatile and clobbers
/// memory: the compiler keeps the order of the source.
namespace probes {

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline uint64_t nanoseconds() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

__device__ inline void sleep_us(uint32_t us) {
  const uint64_t end = nanoseconds() + us * uint64_t{1000};
  while (nanoseconds() < end) __nanosleep(500);
}

__device__ inline void put(uint64_t* cells, int index, uint64_t value) {
  *static_cast<volatile uint64_t*>(cells + index) = value;
}

// ---- mbarrier -----------------------------------------------------------------------------------------

__device__ inline void mbar_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ inline void mbar_inval(uint32_t bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}
__device__ inline uint64_t mbar_arrive(uint32_t bar) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
  return state;
}
__device__ inline uint64_t mbar_arrive(uint32_t bar, uint32_t count) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(bar), "r"(count)
               : "memory");
  return state;
}
__device__ inline uint64_t mbar_arrive_drop(uint32_t bar, uint32_t count) {
  uint64_t state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(bar), "r"(count)
               : "memory");
  return state;
}
__device__ inline uint64_t mbar_arrive_expect(uint32_t bar, uint32_t bytes) {
  uint64_t state;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(bar), "r"(bytes)
               : "memory");
  return state;
}
__device__ inline void mbar_expect(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ inline void mbar_complete_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes)
               : "memory");
}
__device__ inline bool mbar_test(uint32_t bar, uint32_t parity) {
  uint32_t ready;
  asm volatile(
      "{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
      : "=r"(ready)
      : "r"(bar), "r"(parity)
      : "memory");
  return ready != 0;
}
__device__ inline bool mbar_test_state(uint32_t bar, uint64_t state) {
  uint32_t ready;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(ready)
               : "r"(bar), "l"(state)
               : "memory");
  return ready != 0;
}
/// One try_wait: may sleep in hardware, returns after a time limit of the system's choice.
__device__ inline bool mbar_try(uint32_t bar, uint32_t parity) {
  uint32_t ready;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(ready)
               : "r"(bar), "r"(parity)
               : "memory");
  return ready != 0;
}
__device__ inline bool mbar_try_cluster(uint32_t bar, uint32_t parity) {
  uint32_t ready;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, "
      "0, p; }"
      : "=r"(ready)
      : "r"(bar), "r"(parity)
      : "memory");
  return ready != 0;
}
/// Polls until ready or until `limit_us` have gone by: no probe sleeps for ever.
__device__ inline bool mbar_wait(uint32_t bar, uint32_t parity, uint32_t limit_us) {
  if (mbar_try(bar, parity)) return true;
  const uint64_t end = nanoseconds() + limit_us * uint64_t{1000};
  while (nanoseconds() < end)
    if (mbar_try(bar, parity)) return true;
  return false;
}
/// The 64 bits of a live barrier, which no program may read (MB9); a probe may.
__device__ inline uint64_t mbar_word(uint32_t bar) {
  uint64_t word;
  asm volatile("ld.volatile.shared.b64 %0, [%1];" : "=l"(word) : "r"(bar) : "memory");
  return word;
}

// ---- clusters -----------------------------------------------------------------------------------------

__device__ inline uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline uint32_t in_cta(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Default scope: .release.cta by the letter (MB13, HB1).
__device__ inline void mbar_arrive_remote(uint32_t mapped) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(mapped) : "memory");
}
__device__ inline void mbar_arrive_remote_cluster(uint32_t mapped) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped) : "memory");
}

// ---- proxies and bulk copies --------------------------------------------------------------------------

__device__ inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void bulk_load(uint32_t to, const void* from, uint32_t bytes, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(bar)
      : "memory");
}
__device__ inline void bulk_store(void* to, uint32_t from, uint32_t bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
      "r"(from), "r"(bytes)
      : "memory");
}
__device__ inline void tile_load(uint32_t to, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}
__device__ inline void tile_store(const CUtensorMap* map, int x, int y, uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(from)
               : "memory");
}
__device__ inline void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void bulk_wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ inline void bulk_wait_all_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// ---- the watchdog CTA ---------------------------------------------------------------------------------

/// For probes that may block in hardware where no loop can be bounded: one thread of another CTA waits until
/// `needed` strands have reported, and ends the kernel with a trap when they do not in `limit_us`. What the
/// stuck strands wrote to the cells before is read by the host all the same.
__device__ inline void watch(uint64_t* cells, const uint32_t* done, uint32_t needed, uint32_t limit_us) {
  const uint64_t end = nanoseconds() + limit_us * uint64_t{1000};
  while (*static_cast<const volatile uint32_t*>(done) < needed) {
    if (nanoseconds() > end) {
      put(cells, cell_watchdog, 1);
      __threadfence_system();
      asm volatile("trap;");
    }
    __nanosleep(2000);
  }
}
__device__ inline void report_done(uint32_t* done) {
  __threadfence_system();
  atomicAdd(done, 1);
}

}  // namespace probes
