// SPDX-License-Identifier: Apache-2.0

// P12: a payload for a cluster peer, published by a remote arrive of the default scope (.release.cta by the
// letter), taken by a default wait (.acquire.cta): are stale values read? (HB1, HB7, Q2). The payload goes
// through the peer's shared memory, through global memory, or stays in the writer's own shared memory, from
// where the peer loads it (the 2-CTA kernels of Triton do that, with a proxy fence before the arrive).

#include "ptx.cuh"

namespace probes {
namespace {

enum class Scope : int { standard, cluster, release_only, acquire_only };
enum class Where : int { peer_shared, global, own_shared };
enum class Order : int {
  payload_first,
  arrive_first,
  elected,  ///< __syncwarp, then one lane arrives for all
  fenced    ///< fence.proxy.async, __syncwarp, then one lane arrives for all
};

constexpr int words_each = 8, lanes = 32, words = words_each * lanes;

struct Counts {
  unsigned long long rounds, words, stale, ahead, timeouts;
};

/// CTA 0 of each cluster writes round number i to every word; CTA 1 reads. The answer is a remote arrive of
/// the same scope.
template <Scope scope, Where where, Order order>
__global__ void message(uint32_t* global, Counts* total, uint32_t rounds) {
  constexpr bool releases = scope == Scope::cluster || scope == Scope::release_only;
  constexpr bool acquires = scope == Scope::cluster || scope == Scope::acquire_only;
  __shared__ __align__(16) uint32_t inbox[words];
  __shared__ __align__(8) uint64_t object;
  const uint32_t bar = shared_address(&object), lane = threadIdx.x, rank = cluster_rank();
  for (int k = 0; k < words_each; ++k) inbox[k * lanes + lane] = 0;
  if (lane == 0) {
    mbar_init(bar, rank == 1 && (order == Order::elected || order == Order::fenced) ? 1 : lanes);
    fence_mbarrier_init();
  }
  cluster_sync();
  uint32_t* slot = global + blockIdx.x / 2 * words;
  const uint32_t peer_bar = in_cta(bar, rank ^ 1);
  const uint32_t far = in_cta(shared_address(inbox), where == Where::own_shared ? 0 : 1);
  const auto arrive = [&] { releases ? mbar_arrive_remote_cluster(peer_bar) : mbar_arrive_remote(peer_bar); };
  const auto ready = [&](uint32_t parity) {
    const uint64_t end = nanoseconds() + 20000000;
    do {
      if (acquires ? mbar_try_cluster(bar, parity) : mbar_try(bar, parity)) return true;
    } while (nanoseconds() < end);
    return false;
  };
  Counts c{};
  for (uint32_t i = 1; i <= rounds; ++i) {
    if (rank == 0) {
      if (order == Order::arrive_first) arrive();
      for (int k = 0; k < words_each; ++k) {
        const uint32_t at = static_cast<uint32_t>(k) * lanes + lane;
        if (where == Where::peer_shared) {
          asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(far + at * 4), "r"(i) : "memory");
        } else if (where == Where::own_shared) {
          asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared_address(inbox) + at * 4), "r"(i) : "memory");
        } else {
          asm volatile("st.global.u32 [%0], %1;" ::"l"(slot + at), "r"(i) : "memory");
        }
      }
      if (order == Order::payload_first) arrive();
      if (order == Order::fenced) fence_proxy_async();
      if (order == Order::elected || order == Order::fenced) {
        __syncwarp();
        if (lane == 0) arrive();
      }
      if (!__all_sync(~0u, ready(i - 1 & 1))) {
        ++c.timeouts;
        break;
      }
    } else {
      if (!__all_sync(~0u, ready(i - 1 & 1))) {
        ++c.timeouts;
        break;
      }
      for (int k = 0; k < words_each; ++k) {
        const uint32_t at = static_cast<uint32_t>(k) * lanes + (lane + 5) % lanes;  // another lane's words
        uint32_t value;
        if (where == Where::peer_shared) {
          asm volatile("ld.shared.u32 %0, [%1];"
                       : "=r"(value)
                       : "r"(shared_address(inbox) + at * 4)
                       : "memory");
        } else if (where == Where::own_shared) {
          asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(far + at * 4) : "memory");
        } else {
          asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(slot + at) : "memory");
        }
        c.stale += value < i;
        c.ahead += value > i;
      }
      c.words += words_each;
      ++c.rounds;
      arrive();
    }
  }
  atomicAdd(&total->rounds, c.rounds);
  atomicAdd(&total->words, c.words);
  atomicAdd(&total->stale, c.stale);
  atomicAdd(&total->ahead, c.ahead);
  atomicAdd(&total->timeouts, c.timeouts);
  __syncwarp();
  cluster_sync();
}

template <Scope scope, Where where, Order order>
void stress(Bench& b, const Variant&) {
  const auto clusters = static_cast<unsigned>(b.multiprocessors()) * 2;
  uint32_t* global = b.device_array<uint32_t>(size_t{clusters} * words);
  Counts* total = b.device_array<Counts>(1);
  b.run(message<scope, where, order>, Shape{clusters * 2, lanes, 2}, global, total, 50000u);
  const Counts c = b.download(total, 1)[0];
  b.number("clusters", clusters);
  b.number("rounds", c.rounds / lanes);
  b.number("words_read", c.words);
  b.number("stale", c.stale);
  b.number("ahead", c.ahead);
  b.number("timeouts", c.timeouts);
}

constexpr Scope standard = Scope::standard, cluster = Scope::cluster, release_only = Scope::release_only,
                acquire_only = Scope::acquire_only;
constexpr Where shared = Where::peer_shared, global = Where::global, own = Where::own_shared;

constexpr Variant variants[] = {
    {"shared_cluster_scope", true, "peer's shared memory, .release.cluster and .acquire.cluster: never stale",
     stress<cluster, shared, Order::payload_first>},
    {"global_cluster_scope", true, "global memory, .release.cluster and .acquire.cluster: never stale",
     stress<cluster, global, Order::payload_first>},
    {"shared_arrive_first", true, "arrive before the payload: stale values must show",
     stress<standard, shared, Order::arrive_first>},
    {"shared_default", false, "peer's shared memory, default scopes",
     stress<standard, shared, Order::payload_first>},
    {"shared_default_elected", false, "the same, one lane arrives for the warp",
     stress<standard, shared, Order::elected>},
    {"global_default", false, "global memory, default scopes",
     stress<standard, global, Order::payload_first>},
    {"global_default_elected", false, "the same, one lane arrives for the warp",
     stress<standard, global, Order::elected>},
    {"shared_release_only", false, "peer's shared memory, .release.cluster and a default wait",
     stress<release_only, shared, Order::payload_first>},
    {"shared_acquire_only", false, "peer's shared memory, a default arrive and .acquire.cluster",
     stress<acquire_only, shared, Order::payload_first>},
    {"global_release_only", false, "global memory, .release.cluster and a default wait",
     stress<release_only, global, Order::payload_first>},
    {"own_cluster_scope", true, "the writer's own shared memory, cluster scopes: never stale",
     stress<cluster, own, Order::payload_first>},
    {"own_arrive_first", true, "own shared memory, arrive before the payload: stale values must show",
     stress<standard, own, Order::arrive_first>},
    {"own_default", false, "own shared memory, default scopes", stress<standard, own, Order::payload_first>},
    {"own_default_elected", false, "the same, one lane arrives for the warp",
     stress<standard, own, Order::elected>},
    {"own_default_fenced", false, "the same with fence.proxy.async before the arrive",
     stress<standard, own, Order::fenced>},
    {"shared_default_fenced", false,
     "peer's shared memory, default scopes, fence.proxy.async before the arrive",
     stress<standard, shared, Order::fenced>},
    {"global_acquire_only", false, "global memory, a default arrive and .acquire.cluster",
     stress<acquire_only, global, Order::payload_first>},
};

}  // namespace

const Probe p12{"P12", variants};

}  // namespace probes
