// SPDX-License-Identifier: Apache-2.0

// mbarriers, named and cluster barriers, fences, setmaxnreg: what they cost the warp that executes them, and
// how soon the warp that waits goes on.

#include "device.cuh"

namespace latency {
namespace {

constexpr int repeats = 32;

/// Two warps hand a token to and fro: two arrivals and two waits a turn.
__global__ void ping_pong(uint64_t* out) {
  __shared__ __align__(8) uint64_t objects[2];
  const uint32_t ping = shared_address(objects), pong = shared_address(objects + 1);
  if (threadIdx.x == 0) {
    mbar_init(ping, 1);
    mbar_init(pong, 1);
  }
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  uint32_t phase = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
#pragma unroll 1
    for (int k = 0; k < repeats; ++k) {
      if (threadIdx.x == 0) {
        arrive(ping);
        wait(pong, phase);
      } else {
        wait(ping, phase);
        arrive(pong);
      }
      phase ^= 1;
    }
    if (threadIdx.x == 0) out[r] = now() - begin;
  }
}

/// The waiter has slept for a while when the arrival comes: from the arriving warp's clock to the woken
/// one's.
__global__ void late_arrival(uint64_t* out, uint32_t delay) {
  __shared__ __align__(8) uint64_t object, back_object;
  __shared__ uint64_t arrived;
  const uint32_t bar = shared_address(&object), back = shared_address(&back_object);
  if (threadIdx.x == 0) {
    mbar_init(bar, 1);
    mbar_init(back, 1);
  }
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint32_t phase = r & 1;
    if (threadIdx.x == 0) {
      const uint64_t end = now() + delay;
      while (now() < end) {
      }
      *static_cast<volatile uint64_t*>(&arrived) = now();
      arrive(bar);
      wait(back, phase);
    } else {
      wait(bar, phase);
      const uint64_t t = now();
      out[r] = t - *static_cast<volatile uint64_t*>(&arrived);
      arrive(back);
    }
  }
}

enum class Op {
  nothing,
  try_wait_ready,
  arrive_alone,
  fence_proxy_async,
  fence_cta,
  fence_gpu,
  fence_mbarrier_init,
  bar_sync,
  warp_sync,
  cluster_barrier,
};

template <Op op>
__global__ void repeat(uint64_t* out) {
  __shared__ __align__(8) uint64_t objects[2];
  const uint32_t bar = shared_address(objects), never = shared_address(objects + 1);
  if (threadIdx.x == 0) {
    mbar_init(bar, 1);
    mbar_init(never, 1 << 18);
  }
  __syncthreads();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < repeats; ++k) {
      if constexpr (op == Op::try_wait_ready) wait(bar, 1);  // the phase before the first has completed
      if constexpr (op == Op::arrive_alone) {
        if (threadIdx.x == 0) arrive(never);
      }
      if constexpr (op == Op::fence_proxy_async) probes::fence_proxy_async();
      if constexpr (op == Op::fence_cta) asm volatile("fence.acq_rel.cta;" ::: "memory");
      if constexpr (op == Op::fence_gpu) asm volatile("fence.acq_rel.gpu;" ::: "memory");
      if constexpr (op == Op::fence_mbarrier_init) probes::fence_mbarrier_init();
      if constexpr (op == Op::bar_sync) latency::bar_sync(1, blockDim.x);
      if constexpr (op == Op::warp_sync) __syncwarp();
      if constexpr (op == Op::cluster_barrier) cluster_sync();
    }
    const uint64_t end = now();
    if (threadIdx.x == 0 && blockIdx.x == 0) out[r] = end - begin;
  }
}

/// As production epilogues have it: every lane writes shared memory, then the proxy fence, then the barrier
/// of the warp group.
__global__ void store_fence_barrier(uint64_t* out) {
  __shared__ uint32_t area[8 * 128];
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    latency::bar_sync(1, blockDim.x);
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < 8; ++k)
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared_address(area + k * 128 + threadIdx.x)), "r"(r)
                   : "memory");
    probes::fence_proxy_async();
    const uint64_t fenced = now();
    latency::bar_sync(1, blockDim.x);
    const uint64_t end = now();
    if (threadIdx.x == 0) {
      out[r] = fenced - begin;
      out[rounds + r] = end - begin;
    }
  }
}

/// The same between the CTAs of a cluster: remote arrivals, local waits.
__global__ void remote_ping_pong(uint64_t* out) {
  __shared__ __align__(8) uint64_t object;
  const uint32_t bar = shared_address(&object), rank = cluster_rank();
  if (threadIdx.x == 0) mbar_init(bar, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    const uint32_t other = in_cta(bar, rank ^ 1);
    uint32_t phase = 0;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
      const uint64_t begin = now();
#pragma unroll 1
      for (int k = 0; k < repeats; ++k) {
        if (rank == 0) mbar_arrive_remote_cluster(other);
        wait(bar, phase);
        if (rank == 1) mbar_arrive_remote_cluster(other);
        phase ^= 1;
      }
      if (rank == 0) out[r] = now() - begin;
    }
  }
  __syncthreads();
  cluster_sync();
}

/// The start of a warp-specialised kernel: one warp group gives registers away, two take more.
__global__ void __launch_bounds__(384, 1) registers_move(uint64_t* out) {
  __syncthreads();
  const uint64_t begin = now();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    if (threadIdx.x == 0) out[0] = now() - begin;
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
    if (threadIdx.x % 128 == 0) out[threadIdx.x / 128] = now() - begin;
  }
}

template <Op op>
void repeat_of(Bench& bench, uint64_t* out, const std::string& name, Bench::Shape shape, const char* how) {
  bench.launch(repeat<op>, shape, out);
  bench.figure(name, "cycles", bench.cycles(out, repeats), how);
}

}  // namespace

void barriers(Bench& bench) {
  uint64_t* out = bench.device<uint64_t>(2 * rounds);
  bench.launch(ping_pong, {1, 64}, out);
  bench.figure("mbarrier.handoff", "cycles", bench.cycles(out, 2 * repeats),
               "arrive to the end of the wait of another warp, half a turn of ping-pong");
  for (const uint32_t delay : {200u, 2000u, 20000u}) {
    bench.launch(late_arrival, {1, 64}, out, delay);
    bench.figure(
        "mbarrier.wake_after_" + std::to_string(delay), "cycles", bench.cycles(out, 1),
        "clock before the arrive to clock behind the wait, the waiter having waited that many cycles");
  }
  repeat_of<Op::nothing>(bench, out, "overhead.clock", {1, 32}, "two clocks with nothing between, over 32");
  repeat_of<Op::try_wait_ready>(bench, out, "mbarrier.try_wait_ready", {1, 32},
                                "try_wait of a completed phase, with its loop");
  repeat_of<Op::arrive_alone>(bench, out, "mbarrier.arrive", {1, 32}, "one lane arrives, 32 in a row");
  repeat_of<Op::fence_proxy_async>(bench, out, "fence.proxy_async", {1, 128}, "four warps, nothing to order");
  repeat_of<Op::fence_cta>(bench, out, "fence.cta", {1, 32}, "one warp, nothing to order");
  repeat_of<Op::fence_gpu>(bench, out, "fence.gpu", {1, 32}, "one warp, nothing to order");
  repeat_of<Op::fence_mbarrier_init>(bench, out, "fence.mbarrier_init", {1, 32},
                                     "one warp, nothing to order");
  repeat_of<Op::warp_sync>(bench, out, "bar_warp_sync", {1, 32}, "32 in a row");
  for (const unsigned warps : {2u, 4u, 8u, 12u}) {
    repeat_of<Op::bar_sync>(bench, out, "bar_sync.warps_" + std::to_string(warps), {1, warps * 32},
                            "all warps of the CTA, 32 in a row");
  }
  repeat_of<Op::cluster_barrier>(bench, out, "cluster_barrier.ctas_2", {2, 128, 2},
                                 "arrive and wait of two CTAs of four warps");
  repeat_of<Op::cluster_barrier>(bench, out, "cluster_barrier.ctas_4", {4, 128, 4},
                                 "arrive and wait of four CTAs of four warps");
  bench.launch(remote_ping_pong, {2, 32, 2}, out);
  bench.figure("mbarrier.remote_handoff", "cycles", bench.cycles(out, 2 * repeats),
               "the same from one CTA of a cluster to another");
  bench.launch(store_fence_barrier, {1, 128}, out);
  bench.figure("epilogue.store_fence", "cycles", bench.cycles(out, 1),
               "8 st.shared of each lane, fence.proxy.async; four warps");
  bench.figure("epilogue.store_fence_barrier", "cycles", bench.cycles(out + rounds, 1),
               "the same and bar.sync of the four warps");
  Samples dec, inc;
  for (int i = 0; i < 9; ++i) {
    bench.launch(registers_move, {1, 384}, out);
    const std::vector<uint64_t> v = bench.host(out, 3);
    dec.values.push_back(static_cast<double>(v[0]));
    inc.values.push_back(static_cast<double>(v[1]));
    inc.values.push_back(static_cast<double>(v[2]));
  }
  bench.figure("setmaxnreg.dec", "cycles", dec,
               "a warp group of three gives registers back, after the barrier of the CTA");
  bench.figure("setmaxnreg.inc", "cycles", inc, "the two others, from the same barrier until they have them");
}

}  // namespace latency
