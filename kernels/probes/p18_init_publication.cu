// SPDX-License-Identifier: Apache-2.0

// P18: what publishes mbarrier.init to the other CTAs of a cluster (MB11, C3)? In each round every CTA makes
// its barriers anew (inval, init), the cluster meets at barrier.cluster, and a warp that had no part in the
// initialisation at once arrives remotely, stores with st.async and multicasts a bulk copy, each on barriers
// of the peers. What reaches a barrier before its init does is wiped by the init: its phase never completes,
// and a bounded wait counts it as lost.

#include "ptx.cuh"

namespace probes {
namespace {

enum class Publish : int {
  fence_relaxed,    ///< fence.mbarrier_init, relaxed arrive: the documented way
  fence_release,    ///< the same with a releasing arrive
  release,          ///< releasing arrive without a fence: what Triton emits for sm_100
  relaxed,          ///< relaxed arrive without a fence
  acq_rel_relaxed,  ///< fence.acq_rel.cluster, relaxed arrive
  late,             ///< the init after the arrive: a defect that must show
};

constexpr int most = 8;         ///< CTAs of a cluster
constexpr int rounds = 100000;  ///< if the clock allows
constexpr uint32_t store_bytes = 8, copy_bytes = 16;
enum Kind : int { remote_arrive, async_store, bulk_copy, kinds };

struct Counts {
  unsigned long long rounds, sent_each, lost[kinds], stopped;
};

template <Publish publish>
__device__ void meet() {
  constexpr bool relaxed = publish != Publish::release && publish != Publish::fence_release;
  if (publish == Publish::acq_rel_relaxed) asm volatile("fence.acq_rel.cluster;" ::: "memory");
  if (relaxed) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  } else {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  }
}

__device__ void store_async(uint32_t to, uint64_t value, uint32_t bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
               "l"(value), "r"(bar)
               : "memory");
}
__device__ void multicast(uint32_t to, const void* from, uint32_t bar, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(to),
      "l"(__cvta_generic_to_global(from)), "r"(copy_bytes), "r"(bar), "h"(mask)
      : "memory");
}

/// Warp 0 makes the barriers and waits on them, warp 1 uses those of the peers. A barrier for each sender and
/// kind, all of count 1, so that every arrival that is lost shows by itself.
template <Publish publish>
__global__ void __launch_bounds__(64) publication(const uint64_t* source, Counts* total, uint32_t ctas) {
  __shared__ __align__(16) uint64_t bars[kinds][most];
  __shared__ __align__(16) uint64_t inbox[most];
  __shared__ __align__(16) uint64_t box[2 * most];
  __shared__ uint32_t queue[32 * 32];
  __shared__ uint32_t stop;
  const uint32_t rank = cluster_rank(), lane = threadIdx.x % 32;
  const bool owner = threadIdx.x == 0, user = threadIdx.x == 32;
  const auto bar = [&](int kind, uint32_t sender) { return shared_address(&bars[kind][sender]); };
  const auto each_bar = [&](auto&& f) {
    for (int kind = 0; kind < kinds; ++kind)
      for (uint32_t sender = 0; sender < ctas; ++sender) f(bar(kind, sender));
  };
  if (owner) {
    stop = 0;
    each_bar([](uint32_t b) { mbar_init(b, 1); });
    fence_mbarrier_init();
  }
  cluster_sync();
  const auto others = static_cast<uint16_t>(((1u << ctas) - 1) & ~(1u << rank));
  const uint64_t begin = nanoseconds();
  Counts c{};
  for (int i = 0; i < rounds; ++i) {
    const auto make = [&] {
      // All lanes store to one bank: 32 passes each, so that the inits queue up behind them.
      for (uint32_t k = 0; threadIdx.x < 32 && k < 8; ++k)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared_address(queue) + lane * 128 + k * 4), "r"(i)
                     : "memory");
      if (!owner) return;
      each_bar([](uint32_t b) {
        mbar_inval(b);
        mbar_init(b, 1);
      });
      if (publish == Publish::fence_relaxed || publish == Publish::fence_release) fence_mbarrier_init();
    };
    if (publish != Publish::late) make();
    __syncwarp();
    meet<publish>();
    if (publish == Publish::late) {
      if (rank == 0 && owner) __nanosleep(2000);
      make();
      __syncwarp();
    }
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (user) {
      // The barriers that were made last come first.
      multicast(shared_address(&box[2 * rank]), source, bar(bulk_copy, rank), others);
      for (uint32_t d = 1; d < ctas; ++d) {
        const uint32_t peer = (rank + d) % ctas;
        store_async(in_cta(shared_address(&inbox[rank]), peer), static_cast<uint64_t>(i),
                    in_cta(bar(async_store, rank), peer));
        mbar_arrive_remote_cluster(in_cta(bar(remote_arrive, rank), peer));
      }
    }
    if (owner) {
      for (uint32_t d = 1; d < ctas; ++d) {
        const uint32_t sender = (rank + d) % ctas;
        mbar_arrive_expect(bar(async_store, sender), store_bytes);
        mbar_arrive_expect(bar(bulk_copy, sender), copy_bytes);
      }
      const uint64_t end = nanoseconds() + 100000;
      for (int kind = 0; kind < kinds; ++kind) {
        for (uint32_t d = 1; d < ctas; ++d) {
          bool there = false;
          do there = mbar_test(bar(kind, (rank + d) % ctas), 0);
          while (!there && nanoseconds() < end);
          c.lost[kind] += !there;
        }
      }
      ++c.rounds;
      c.sent_each += ctas - 1;
      if (rank == 0 && nanoseconds() - begin > 2000000000) {
        ++c.stopped;
        for (uint32_t peer = 0; peer < ctas; ++peer)
          asm volatile("st.shared::cluster.u32 [%0], 1;" ::"r"(in_cta(shared_address(&stop), peer))
                       : "memory");
      }
    }
    __syncwarp();
    cluster_sync();  // all phases of this round are over, or given up 100 us ago
    if (*static_cast<volatile uint32_t*>(&stop) != 0) break;
  }
  if (owner) {
    atomicAdd(&total->rounds, c.rounds);
    atomicAdd(&total->sent_each, c.sent_each);
    for (int kind = 0; kind < kinds; ++kind) atomicAdd(&total->lost[kind], c.lost[kind]);
    atomicAdd(&total->stopped, c.stopped);
  }
  __syncwarp();
  cluster_sync();
}

template <Publish publish>
void stress(Bench& b, const Variant& v) {
  const auto ctas = static_cast<unsigned>(v.parameter);
  const uint64_t* source = b.upload(std::vector<uint64_t>(copy_bytes / sizeof(uint64_t), 7));
  Counts* total = b.device_array<Counts>(1);
  const auto clusters = static_cast<unsigned>(b.multiprocessors()) / ctas;
  b.run(publication<publish>, Shape{clusters * ctas, 64, ctas}, source, total, ctas);
  const Counts c = b.download(total, 1)[0];
  b.number("ctas", ctas);
  b.number("clusters", clusters);
  b.number("rounds", c.rounds / ctas);
  b.number("sent_of_each_kind", c.sent_each);
  b.number("lost_arrivals", c.lost[remote_arrive]);
  b.number("lost_async_stores", c.lost[async_store]);
  b.number("lost_bulk_copies", c.lost[bulk_copy]);
  b.number("stopped_by_the_clock", c.stopped);
}

constexpr Variant variants[] = {
    {"fence_relaxed_2", true, "fence.mbarrier_init, relaxed arrive, 2 CTAs: nothing lost",
     stress<Publish::fence_relaxed>, 2},
    {"fence_relaxed_4", true, "the same, 4 CTAs", stress<Publish::fence_relaxed>, 4},
    {"fence_relaxed_8", true, "the same, 8 CTAs", stress<Publish::fence_relaxed>, 8},
    {"fence_release_8", true, "fence.mbarrier_init, release arrive, 8 CTAs: nothing lost",
     stress<Publish::fence_release>, 8},
    {"late_2", true, "the init after the arrive, 2 CTAs: losses must show", stress<Publish::late>, 2},
    {"late_8", true, "the same, 8 CTAs", stress<Publish::late>, 8},
    {"release_2", false, "release arrive, no fence, 2 CTAs", stress<Publish::release>, 2},
    {"release_4", false, "the same, 4 CTAs", stress<Publish::release>, 4},
    {"release_8", false, "the same, 8 CTAs", stress<Publish::release>, 8},
    {"relaxed_2", false, "relaxed arrive, no fence, 2 CTAs", stress<Publish::relaxed>, 2},
    {"relaxed_4", false, "the same, 4 CTAs", stress<Publish::relaxed>, 4},
    {"relaxed_8", false, "the same, 8 CTAs", stress<Publish::relaxed>, 8},
    {"acq_rel_relaxed_2", false, "fence.acq_rel.cluster, relaxed arrive, 2 CTAs",
     stress<Publish::acq_rel_relaxed>, 2},
    {"acq_rel_relaxed_4", false, "the same, 4 CTAs", stress<Publish::acq_rel_relaxed>, 4},
    {"acq_rel_relaxed_8", false, "the same, 8 CTAs", stress<Publish::acq_rel_relaxed>, 8},
};

}  // namespace

const Probe p18{"P18", variants};

}  // namespace probes
