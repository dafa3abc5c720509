// SPDX-License-Identifier: Apache-2.0

// What the clock falls to while copy engines and tensor cores work as those of a large GEMM do, with data of
// the same kind: how much power that takes is a matter of the data and of how long it goes on.

#include "wgmma.cuh"

namespace latency {
namespace {

constexpr int stages = 4;
constexpr uint32_t rows_a = 128, rows_b = 256, tile_k = 64, columns = 8192;
constexpr uint32_t bytes_a = rows_a * 128, bytes_b = rows_b * 128;
constexpr uint32_t down = 11;  ///< CTAs that load the same rows of B; 12 load the same of A
constexpr uint64_t turn_cycles = 1024;

/// A producer that fills a ring of four stages, a stage every 1024 cycles, and two warp groups that compute
/// four wgmma a turn from it and do not wait for it: their results are worth nothing, their power is that of
/// a GEMM.
__global__ void __launch_bounds__(384, 1)
    load_everything(uint64_t* out, const __grid_constant__ CUtensorMap a_map,
                    const __grid_constant__ CUtensorMap b_map, uint32_t loops, uint32_t* to) {
  extern __shared__ __align__(1024) uint8_t area[];
  __shared__ __align__(8) uint64_t objects[stages];
  const uint32_t base = shared_address(area);
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) mbar_init(shared_address(objects + s), 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  const uint64_t clock_begin = now(), time_begin = nanoseconds();
  if (threadIdx.x == 0) {
    const int y_a = static_cast<int>(blockIdx.x % down * rows_a),
              y_b = static_cast<int>(blockIdx.x / down * rows_b);
#pragma unroll 1
    for (uint32_t i = 0; i < loops; ++i) {
      const uint32_t s = i % stages, bar = shared_address(objects + s);
      if (i >= stages) wait(bar, (i / stages - 1) & 1);
      while (now() - clock_begin < i * turn_cycles) {
      }
      expect(bar, bytes_a + bytes_b);
      const int x = static_cast<int>(i * tile_k % columns);
      tile_load(base + s * bytes_a, &a_map, x, y_a, bar);
      tile_load(base + stages * bytes_a + s * bytes_b, &b_map, x, y_b, bar);
    }
    const uint32_t last = loops < stages ? 0 : loops - stages;
    for (uint32_t i = last; i < loops; ++i) wait(shared_address(objects + i % stages), i / stages & 1);
  }
  if (threadIdx.x >= 128) {
    const uint32_t group = threadIdx.x / 128 - 1;
    const uint64_t a = descriptor(base + group * (bytes_a / 2)), b = descriptor(base + stages * bytes_a);
    asm volatile(
        "{\n"
        ".reg .b32 " DECLARED ";\n" ZERO_256
        ".reg .pred p, q;\n"
        ".reg .b32 i, s;\n"
        ".reg .b64 w, A0, A1, A2, A3, B0, B1, B2, B3;\n"
        "mov.b32 i, 0;\n"
        "setp.ne.b32 p, i, i;\n"
        "LOOP:\n"
        "and.b32 s, i, 3; cvt.u64.u32 w, s;\n"
        "mad.lo.u64 A0, w, 1024, %1; mad.lo.u64 B0, w, 2048, %2;\n"  // 16 and 32 KiB in units of 16 bytes
        "add.u64 A1, A0, 2; add.u64 A2, A0, 4; add.u64 A3, A0, 6;\n"
        "add.u64 B1, B0, 2; add.u64 B2, B0, 4; add.u64 B3, B0, 6;\n"
        "wgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" LIST_256
        "}, A0, B0, p, 1, 1, 0, 0;\n"
        "setp.eq.b32 p, i, i;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" LIST_256
        "}, A1, B1, p, 1, 1, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" LIST_256
        "}, A2, B2, p, 1, 1, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" LIST_256
        "}, A3, B3, p, 1, 1, 0, 0;\n"
        "wgmma.commit_group.sync.aligned;\n"
        "wgmma.wait_group.sync.aligned 1;\n"
        "add.u32 i, i, 1;\n"
        "setp.lt.u32 q, i, %0;\n"
        "@q bra LOOP;\n"
        "wgmma.wait_group.sync.aligned 0;\n"
        "st.global.b32 [%3], da0;\n"
        "}" ::"r"(loops),
        "l"(a), "l"(b), "l"(to + threadIdx.x)
        : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    out[0] = now() - clock_begin;
    out[1] = nanoseconds() - time_begin;
  }
}

}  // namespace

void load(Bench& bench) {
  const auto sms = static_cast<unsigned>(bench.multiprocessors());
  constexpr uint64_t rows = (160 / down + 1) * rows_b;
  uint16_t* memory = bench.random_bf16(columns * rows, 11);
  const CUtensorMap a = bench.tensor_map(memory, {columns, rows}, columns * 2, {tile_k, rows_a});
  const CUtensorMap b = bench.tensor_map(memory, {columns, rows}, columns * 2, {tile_k, rows_b});
  uint64_t* out = bench.device<uint64_t>(2);
  uint32_t* to = bench.device<uint32_t>(384);
  const auto measure = [&](const char* name, unsigned grid, uint32_t loops) {
    constexpr int launches = 40;
    Samples rate;
    for (int i = 0; i < 5; ++i) {
      for (int k = 0; k < launches; ++k)
        bench.start(reinterpret_cast<const void*>(load_everything),
                    {grid, 384, 1, stages * (bytes_a + bytes_b)}, nullptr, out, a, b, loops, to);
      bench.check(cudaDeviceSynchronize(), "kernel");
      const std::vector<uint64_t> v = bench.host(out, 2);
      rate.values.push_back(static_cast<double>(v[0]) / static_cast<double>(v[1]) * 1000);
    }
    bench.figure(name, "MHz", rate,
                 "clock64 against globaltimer over the last of 40 launches in a row: TMA loads and wgmma "
                 "m64n256k16 all the time, " +
                     std::to_string(grid) + " CTAs, " + std::to_string(loops) + " turns of 1024 cycles");
  };
  measure("clock.load_one_sm_200us", 1, 350);
  measure("clock.load_all_sms_20us", sms, 35);
  measure("clock.load_all_sms_100us", sms, 160);
  measure("clock.load_all_sms_200us", sms, 310);
  measure("clock.load_all_sms_500us", sms, 720);
  measure("clock.load_all_sms_2ms", sms, 2800);
}

}  // namespace latency
