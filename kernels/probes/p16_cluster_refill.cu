// SPDX-License-Identifier: Apache-2.0

// P16: a one-stage ring across a cluster: CTA 0 refills the shared memory of CTA 1, whose consumers answer
// with a remote arrive of the default scope (Q2, HB1: does it keep reads apart from the next writes?). The
// refill is a bulk copy that completes on CTA 1's barrier, taken by a default wait (HB3), or plain stores
// released with .cluster scope.

#include "ptx.cuh"

namespace probes {
namespace {

enum class Fill : int { bulk, stores };
enum class Answer : int {
  standard,      ///< reads, __syncwarp, default remote arrive
  cluster,       ///< the same with .release.cluster
  arrive_first,  ///< the arrive before the reads: a defect that must show
};

constexpr int stage_bytes = 4096, stage_words = stage_bytes / 4, blocks = 64, loads = 16;
constexpr int warps = 8;  ///< consumers in CTA 1; with Fill::stores also producers in CTA 0

/// `newer`: a read saw the next refill; `older`: it saw the one before.
struct Counts {
  unsigned long long refills, words, newer, older, other, timeouts;
};

__device__ void arrive_expect_remote(uint32_t mapped, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(mapped),
               "r"(bytes)
               : "memory");
}

template <bool cluster_scope>
__device__ bool wait_for(uint32_t bar, uint32_t parity) {
  const uint64_t end = nanoseconds() + 20000000;
  do {
    if (cluster_scope ? mbar_try_cluster(bar, parity) : mbar_try(bar, parity)) return true;
  } while (nanoseconds() < end);
  return false;
}

template <Fill fill, Answer answer, bool fence>
__global__ void __launch_bounds__(32 * warps) refill(const uint32_t* source, Counts* total, int rounds) {
  constexpr bool cluster_scope = answer == Answer::cluster;
  __shared__ __align__(1024) uint32_t stage[stage_words];
  __shared__ __align__(8) uint64_t full_object, empty_object;
  const uint32_t full = shared_address(&full_object), empty = shared_address(&empty_object);
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    mbar_init(full, fill == Fill::bulk ? 1 : warps);
    mbar_init(empty, warps);
    fence_mbarrier_init();
  }
  cluster_sync();
  Counts c{};
  if (cluster_rank() == 0) {
    const uint32_t peer_stage = in_cta(shared_address(stage), 1), peer_full = in_cta(full, 1);
    for (int i = 0; i < rounds && (fill == Fill::stores || threadIdx.x == 0); ++i) {
      if (!wait_for<cluster_scope>(empty, (static_cast<uint32_t>(i) & 1) ^ 1)) {
        ++c.timeouts;
        break;
      }
      const uint32_t* block = source + i % blocks * stage_words;
      if (fill == Fill::bulk) {
        arrive_expect_remote(peer_full, stage_bytes);
        bulk_load(peer_stage, block, stage_bytes, peer_full);
      } else {
        for (uint32_t at = threadIdx.x; at < stage_words; at += 32 * warps) {
          const uint32_t value = static_cast<uint32_t>(i % blocks + 1) << 16 | at;
          asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(peer_stage + at * 4), "r"(value) : "memory");
        }
        __syncwarp();
        if (lane == 0) mbar_arrive_remote_cluster(peer_full);
      }
      if (threadIdx.x == 0) ++c.refills;
      if (fill == Fill::stores) __syncwarp();
    }
  } else {
    const uint32_t peer_empty = in_cta(empty, 0);
    uint32_t word[loads], value[loads];
    // All lanes of a load hit one bank: 32 passes, so that the loads queue up.
#pragma unroll
    for (uint32_t k = 0; k < loads; ++k) word[k] = lane * 32 + (warp * loads + k) % 32;
    for (int i = 0; i < rounds; ++i) {
      if (!wait_for<fill == Fill::stores>(full, static_cast<uint32_t>(i) & 1)) {
        ++c.timeouts;
        break;
      }
      __syncwarp();
      if (answer == Answer::arrive_first && lane == 0) mbar_arrive_remote(peer_empty);
#pragma unroll
      for (int k = 0; k < loads; ++k)
        asm volatile("ld.shared.u32 %0, [%1];"
                     : "=r"(value[k])
                     : "r"(shared_address(stage) + word[k] * 4)
                     : "memory");
      if (fence) fence_proxy_async();
      __syncwarp();
      if (answer == Answer::standard && lane == 0) mbar_arrive_remote(peer_empty);
      if (answer == Answer::cluster && lane == 0) mbar_arrive_remote_cluster(peer_empty);
      const auto block = static_cast<uint32_t>(i % blocks);
      const uint32_t next = (block + 1) % blocks, previous = (block + blocks - 1) % blocks;
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        if (value[k] == ((block + 1) << 16 | word[k])) continue;
        if (value[k] == ((next + 1) << 16 | word[k])) {
          ++c.newer;
        } else if (value[k] == ((previous + 1) << 16 | word[k])) {
          ++c.older;
        } else {
          ++c.other;
        }
      }
      c.words += loads;
    }
  }
  atomicAdd(&total->refills, c.refills);
  atomicAdd(&total->words, c.words);
  atomicAdd(&total->newer, c.newer);
  atomicAdd(&total->older, c.older);
  atomicAdd(&total->other, c.other);
  atomicAdd(&total->timeouts, c.timeouts);
  __syncthreads();
  cluster_sync();
}

template <Fill fill, Answer answer, bool fence>
void stress(Bench& b, const Variant&) {
  std::vector<uint32_t> content(blocks * stage_words);
  for (uint32_t i = 0; i < content.size(); ++i) content[i] = (i / stage_words + 1) << 16 | i % stage_words;
  const uint32_t* source = b.upload(content);
  Counts* total = b.device_array<Counts>(1);
  const auto clusters = static_cast<unsigned>(b.multiprocessors()) * 2;
  b.run(refill<fill, answer, fence>, Shape{clusters * 2, 32 * warps, 2}, source, total, 40000);
  const Counts c = b.download(total, 1)[0];
  b.number("clusters", clusters);
  b.number("refills", c.refills);
  b.number("words_read", c.words);
  b.number("newer", c.newer);
  b.number("older", c.older);
  b.number("other", c.other);
  b.number("timeouts", c.timeouts);
}

constexpr Fill bulk = Fill::bulk, stores = Fill::stores;

constexpr Variant variants[] = {
    {"bulk_cluster_fence", true, "bulk refill; reads, proxy fence, .release.cluster arrive: no corruption",
     stress<bulk, Answer::cluster, true>},
    {"bulk_arrive_first", true, "bulk refill; the arrive before the reads: newer values must show",
     stress<bulk, Answer::arrive_first, false>},
    {"bulk_default_fence", false, "bulk refill; reads, proxy fence, default remote arrive",
     stress<bulk, Answer::standard, true>},
    {"bulk_default", false, "bulk refill; reads, default remote arrive, no proxy fence (PX2)",
     stress<bulk, Answer::standard, false>},
    {"bulk_cluster", false, "bulk refill; reads, .release.cluster arrive, no proxy fence (PX2)",
     stress<bulk, Answer::cluster, false>},
    {"stores_cluster", true, "refill by stores; reads, .release.cluster arrive: no corruption",
     stress<stores, Answer::cluster, false>},
    {"stores_arrive_first", true, "refill by stores; the arrive before the reads: newer values must show",
     stress<stores, Answer::arrive_first, false>},
    {"stores_default", false, "refill by stores; reads, default remote arrive (the reads only: WAR)",
     stress<stores, Answer::standard, false>},
};

}  // namespace

const Probe p16{"P16", variants};

}  // namespace probes
