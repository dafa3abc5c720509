// SPDX-License-Identifier: Apache-2.0
//
// C[M,N] = A[M,K] * B[N,K]^T for sm_90a: bf16 in, f32 sums, bf16 out; a persistent, warp-specialised GEMM.
//
// Roles: warps 0-3 are the producer, of which one lane of warp 0 issues every TMA load and the others only
// give registers away; warps 4-7 and 8-11 are two consumers, each with 64 x 256 of the 128 x 256 tile.
// Barriers: full[s] counts one arrival, which also expects the bytes (MB24), and the bytes of both copies;
// empty[s] counts one arrival of each consumer. Stage s holds A 128 x 64 and B 256 x 64, SWIZZLE_128B.
// Phases: stage and phase run on across tiles in every role; the phase flips when the stage wraps. A fresh
// barrier lets parity 1 pass (W2): the producer starts with phase 1, the consumers with phase 0.
// Release: one k tile late, when wgmma_wait<1> has shown that the group which read the stage is done (WG4).
// Epilogue: 64 columns at a time through two staging buffers. The thread that issued the store from a buffer
// waits until it was read (BK2), all threads write it and fence their own writes (PX1), a barrier, one store.
// Every chunk commits one bulk group, stored or not, so that `read<1>` always means the chunk before the
// last. Bits: k ascends in one accumulator for every shape: a row's bits depend neither on M nor on the grid.
// Mutants: -DMUTANT=name builds the kernel with one fault; mutants.toml says what must be found in each.
#include <cstdint>

enum class Mutant {
  none,
  initial_parity,
  phase_reset,
  no_empty_wait,
  early_release,
  empty_count_1,
  expect_short,
  expect_long,
  expect_without_arrive,
  no_proxy_fence,
  no_read_wait,
  wrong_lane_waits,
  no_store_barrier,
  sibling_overtaken,
  setmaxnreg_over,
  producer_exits_early,
  peeled_wait,
  bar_count,
  stage_restart,
  no_drain,
  missing_wgmma_wait,
  no_init_sync,
  k_descending_large_m,  // correct, but a row's bits then depend on M
};
#ifndef MUTANT
#define MUTANT none
#endif
constexpr Mutant kMutant = Mutant::MUTANT;

constexpr uint32_t kTileM = 128, kTileN = 256, kTileK = 64;
constexpr uint32_t kStages = 4;
constexpr uint32_t kConsumers = 2, kGroupThreads = 128;
constexpr uint32_t kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;
constexpr uint32_t kChunkN = 64, kChunkBytes = 64 * kChunkN * 2;  // one staging buffer: 64 rows of 128 bytes
constexpr uint32_t kOffsetB = kStages * kBytesA;
constexpr uint32_t kOffsetStaging = kOffsetB + kStages * kBytesB;
constexpr uint32_t kDynamicBytes = kOffsetStaging + kConsumers * 2 * kChunkBytes;
static_assert(kDynamicBytes == 229376, "gemm.toml: dynamic_shared_memory");
// 168 registers a thread at entry (65536 / 384, RG10); 40 + 232 + 232 = 3 * 168, exactly the pool (RG4, RG8).
constexpr uint32_t kProducerRegisters = kMutant == Mutant::setmaxnreg_over ? 56 : 40;
constexpr uint32_t kConsumerRegisters = 232;
// m blocks visited before the next n block: 132 CTAs then work on 16 x 8 blocks, which share A and B in L2.
constexpr uint32_t kRasterM = 16;

struct alignas(64) TensorMap {  // CUtensorMap, opaque
  uint8_t bytes[128];
};

// The helpers below are named after their PTX. No function of the CUDA headers is called, not even
// __shfl_sync: their names in the line information would hold a hash of the folder, and the PTX would differ
// from machine to machine.
__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__nv_cvta_generic_to_shared_impl(p));
}
__device__ __forceinline__ uint32_t warp_of_cta() {  // as a value that is the same in all lanes
  uint32_t warp;
  asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;" : "=r"(warp) : "r"(threadIdx.x / 32));
  return warp;
}
__device__ __forceinline__ bool elect_one() {
  uint32_t elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected));
  return elected != 0;
}

__device__ __forceinline__ void mbarrier_init(uint64_t* bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void mbarrier_arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void mbarrier_expect_tx(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)),
               "r"(bytes)
               : "memory");
}
// try_wait may give up although the phase completes later (W3): poll.
__device__ __forceinline__ void mbarrier_wait(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n"
      "}" ::"r"(shared_address(bar)),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void tma_load(uint32_t destination, const TensorMap& map, uint32_t x, uint32_t y,
                                         uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(destination),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(bar))
      : "memory");
}
__device__ __forceinline__ void tma_store(const TensorMap& map, uint32_t x, uint32_t y, uint32_t source) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
               "r"(x), "r"(y), "r"(source)
               : "memory");
}
__device__ __forceinline__ void bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void bulk_wait_group_read_1() {
  asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}
__device__ __forceinline__ void bulk_wait_group_0() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void named_barrier_sync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t address, uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t packed;
  asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

template <uint32_t Registers>
__device__ __forceinline__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <uint32_t Registers>
__device__ __forceinline__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

// K-major operand in SWIZZLE_128B: rows of 128 bytes, 1024 bytes from one group of 8 rows to the next.
__device__ __forceinline__ uint64_t wgmma_descriptor(uint32_t address) {
  return uint64_t{1} << 62 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 16 | (address & 0x3FFFF) >> 4;
}
#define ACCUMULATORS_8(d, i)                                                                  \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define ACCUMULATORS_32(d, i) \
  ACCUMULATORS_8(d, i), ACCUMULATORS_8(d, i + 8), ACCUMULATORS_8(d, i + 16), ACCUMULATORS_8(d, i + 24)
#define ACCUMULATORS(d) \
  ACCUMULATORS_32(d, 0), ACCUMULATORS_32(d, 32), ACCUMULATORS_32(d, 64), ACCUMULATORS_32(d, 96)

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <uint32_t Pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
// The wait that makes the accumulators readable (WG3) names them: no read can then move above it.
template <uint32_t Pending>
__device__ __forceinline__ void wgmma_wait(float (&d)[128]) {
  asm volatile("wgmma.wait_group.sync.aligned %128;" : ACCUMULATORS(d) : "n"(Pending) : "memory");
}
__device__ __forceinline__ void wgmma_m64n256k16(float (&d)[128], uint64_t a, uint64_t b, uint32_t scale_d) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 0;\n"
      "}"
      : ACCUMULATORS(d)
      : "l"(a), "l"(b), "r"(scale_d)
      : "memory");
}

struct Block {
  uint32_t m, n;
};
// Column by column through bands of kRasterM m blocks.
__device__ __forceinline__ Block block_of(uint32_t tile, uint32_t blocks_m, uint32_t blocks_n) {
  const uint32_t band = tile / (kRasterM * blocks_n), within = tile % (kRasterM * blocks_n);
  const uint32_t left = blocks_m - band * kRasterM, height = left < kRasterM ? left : kRasterM;
  return {band * kRasterM + within % height, within / height};
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm_bf16_hopper(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                     const __grid_constant__ TensorMap c_map, uint32_t m, uint32_t n, uint32_t k_tiles) {
  extern __shared__ __align__(1024) uint8_t stages[];
  __shared__ uint64_t full[kStages], empty[kStages];

  const uint32_t base = shared_address(stages);
  const uint32_t warp = warp_of_cta();
  const uint32_t blocks_m = (m + kTileM - 1) / kTileM, blocks_n = (n + kTileN - 1) / kTileN;
  const uint32_t tiles = blocks_m * blocks_n;

  if (threadIdx.x == 0) {
#pragma unroll
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(&full[i], 1);
      mbarrier_init(&empty[i], kMutant == Mutant::empty_count_1 ? 1 : kConsumers);
    }
    fence_mbarrier_init();
  }
  if constexpr (kMutant != Mutant::no_init_sync) __syncthreads();  // MB11

  if (warp < 4) {  // producer
    setmaxnreg_dec<kProducerRegisters>();
    if (warp != 0 || !elect_one()) return;

    uint32_t stage = 0, phase = kMutant == Mutant::initial_parity ? 0 : 1;
#pragma unroll 1
    for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const Block block = block_of(tile, blocks_m, blocks_n);
      const bool cut = kMutant == Mutant::producer_exits_early && tile + gridDim.x >= tiles;
#pragma unroll 1
      for (uint32_t k = 0; k + cut < k_tiles; ++k) {
        if constexpr (kMutant != Mutant::no_empty_wait) mbarrier_wait(&empty[stage], phase);
        constexpr uint32_t kBytes = kBytesA + kBytesB + (kMutant == Mutant::expect_long ? kBytesA : 0) -
                                    (kMutant == Mutant::expect_short ? kBytesA : 0);
        if constexpr (kMutant == Mutant::expect_without_arrive) {
          mbarrier_expect_tx(&full[stage], kBytes);
        } else {
          mbarrier_arrive_expect_tx(&full[stage], kBytes);
        }
        const bool descending = kMutant == Mutant::k_descending_large_m && m > kTileM;
        const uint32_t x = (descending ? k_tiles - 1 - k : k) * kTileK;
        tma_load(base + stage * kBytesA, a_map, x, block.m * kTileM, &full[stage]);
        tma_load(base + kOffsetB + stage * kBytesB, b_map, x, block.n * kTileN, &full[stage]);
        if (++stage == kStages) stage = 0, phase ^= 1;
      }
    }
    return;
  }

  // consumer
  setmaxnreg_inc<kConsumerRegisters>();
  const uint32_t consumer = warp / 4 - 1;
  const uint32_t thread = threadIdx.x % kGroupThreads;
  const bool leader = thread == 0;  // arrives, stores, and waits for its stores
  const bool store_waiter = kMutant == Mutant::wrong_lane_waits ? thread == 1 : leader;
  const uint32_t barrier = 1 + consumer;  // named barrier of this warp group
  const uint32_t barrier_threads =
      kMutant == Mutant::bar_count && consumer == 0 ? 2 * kGroupThreads : kGroupThreads;
  const uint32_t staging = base + kOffsetStaging + consumer * 2 * kChunkBytes;
  // Accumulators 4j..4j+3 hold columns 8j + 2 (lane % 4) and the next of rows `row` and row + 8.
  const uint32_t row = thread / 32 * 16 + thread % 32 / 4;
  const uint32_t row_address = row * 128 + thread % 4 * 4, row_swizzle = row % 8 * 16;

  uint32_t stage = 0, phase = 0;
#pragma unroll 1
  for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const Block block = block_of(tile, blocks_m, blocks_n);
    if constexpr (kMutant == Mutant::phase_reset) phase = 0;
    if constexpr (kMutant == Mutant::stage_restart) stage = 0;
    if constexpr (kMutant == Mutant::peeled_wait) mbarrier_wait(&full[stage], phase);

    float d[128] = {};  // what is stored when there are no k tiles; else the first wgmma overwrites it
    uint32_t previous = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < k_tiles; ++k) {
      if (kMutant != Mutant::peeled_wait || k > 0) mbarrier_wait(&full[stage], phase);
      if constexpr (kMutant == Mutant::sibling_overtaken) {
        if (leader) mbarrier_arrive(&empty[stage]);  // before its sibling warps have seen full[stage]
      }
      const uint64_t a = wgmma_descriptor(base + stage * kBytesA + consumer * (kBytesA / kConsumers));
      const uint64_t b = wgmma_descriptor(base + kOffsetB + stage * kBytesB);
      wgmma_fence();  // WG1
#pragma unroll
      for (uint32_t step = 0; step < kTileK / 16; ++step) {  // 16 columns: 32 bytes, 2 descriptor units
        wgmma_m64n256k16(d, a + 2 * step, b + 2 * step, step > 0 || k > 0);
      }
      wgmma_commit();
      if constexpr (kMutant == Mutant::early_release) {
        if (leader) mbarrier_arrive(&empty[stage]);  // its wgmma group may still read
      }
      wgmma_wait<1>();
      if constexpr (kMutant != Mutant::early_release && kMutant != Mutant::sibling_overtaken) {
        if (leader && k > 0) mbarrier_arrive(&empty[previous]);
      }
      previous = stage;
      if (++stage == kStages) stage = 0, phase ^= 1;
    }
    wgmma_wait<kMutant == Mutant::missing_wgmma_wait ? 1 : 0>(d);
    if constexpr (kMutant != Mutant::early_release && kMutant != Mutant::sibling_overtaken) {
      if (leader && k_tiles > 0) mbarrier_arrive(&empty[previous]);
    }

    const uint32_t c_row = block.m * kTileM + consumer * (kTileM / kConsumers);
#pragma unroll
    for (uint32_t chunk = 0; chunk < kTileN / kChunkN; ++chunk) {
      const uint32_t buffer = staging + chunk % 2 * kChunkBytes;
      const uint32_t c_column = block.n * kTileN + chunk * kChunkN;
      if constexpr (kMutant != Mutant::no_read_wait) {
        if (store_waiter) bulk_wait_group_read_1();
      }
      named_barrier_sync(barrier, barrier_threads);  // the buffer is free
#pragma unroll
      for (uint32_t j = 0; j < 8; ++j) {
        const float* e = d + (chunk * 8 + j) * 4;
        const uint32_t address = buffer + row_address + (j * 16 ^ row_swizzle);
        store_shared(address, pack_bf16(e[0], e[1]));
        store_shared(address + 8 * 128, pack_bf16(e[2], e[3]));
      }
      if constexpr (kMutant != Mutant::no_proxy_fence) fence_proxy_async();
      if constexpr (kMutant != Mutant::no_store_barrier)
        named_barrier_sync(barrier, barrier_threads);  // the buffer is written
      if (leader) {
        // A box that lies wholly outside C is not stored (BS16); the map clips the others.
        if (c_row < m && c_column < n) tma_store(c_map, c_column, c_row, buffer);
        bulk_commit_group();
      }
    }
  }
  if constexpr (kMutant != Mutant::no_drain) {
    if (leader) bulk_wait_group_0();  // BK6
  }
}
