// SPDX-License-Identifier: Apache-2.0

// The copy engine: boxes of bf16 with SWIZZLE_128B, as GEMMs load them, and stores of them.

#include "device.cuh"

namespace latency {
namespace {

constexpr uint64_t columns = 16384;  ///< elements; 32 KiB a row
constexpr uint32_t tile_k = 64;      ///< elements: the 128 bytes of a swizzled row
constexpr int stages = 4;
constexpr uint32_t rows_a = 128, rows_b = 256, rows_cta = rows_a + rows_b;
constexpr uint32_t stage_bytes = rows_cta * 128;

/// One box at a time: expect, load, wait. `walk`: the next columns every time, which nobody has read before.
__global__ void load_latency(uint64_t* out, const __grid_constant__ CUtensorMap map, uint32_t bytes,
                             bool walk) {
  extern __shared__ __align__(1024) uint8_t area[];
  __shared__ __align__(8) uint64_t object;
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x != 0) return;
  mbar_init(bar, 1);
  fence_mbarrier_init();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
    expect(bar, bytes);
    tile_load(shared_address(area), &map, walk ? r * static_cast<int>(tile_k) : 0, 0, bar);
    const uint64_t issued = now();
    wait(bar, r & 1);
    out[r] = now() - begin;
    out[rounds + r] = issued - begin;
  }
}

__global__ void bulk_latency(uint64_t* out, const uint8_t* from, uint32_t bytes) {
  extern __shared__ __align__(1024) uint8_t area[];
  __shared__ __align__(8) uint64_t object;
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x != 0) return;
  mbar_init(bar, 1);
  fence_mbarrier_init();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
    expect(bar, bytes);
    bulk_load(shared_address(area), from, bytes, bar);
    wait(bar, r & 1);
    out[r] = now() - begin;
  }
}

/// A producer alone: `tiles` stages of one A and one B box through a ring of four that nobody reads.
__global__ void load_ring(uint64_t* out, const __grid_constant__ CUtensorMap a_map,
                          const __grid_constant__ CUtensorMap b_map, uint32_t tiles, uint32_t period,
                          uint32_t sharing) {
  extern __shared__ __align__(1024) uint8_t area[];
  __shared__ __align__(8) uint64_t objects[stages];
  if (threadIdx.x != 0) return;
  for (int s = 0; s < stages; ++s) mbar_init(shared_address(objects + s), 1);
  fence_mbarrier_init();
  const int y = static_cast<int>(blockIdx.x / sharing * rows_cta);
  uint32_t issued = 0, seen = 0;
  uint64_t begin = now();
  int r = 0;
#pragma unroll 1
  while (seen < tiles * rounds) {
    if (issued < tiles * rounds && issued < seen + stages) {
      const uint32_t s = issued % stages, bar = shared_address(objects + s);
      const int x = static_cast<int>(issued % period * tile_k);
      expect(bar, stage_bytes);
      tile_load(shared_address(area) + s * stage_bytes, &a_map, x, y, bar);
      tile_load(shared_address(area) + s * stage_bytes + rows_a * 128, &b_map, x,
                y + static_cast<int>(rows_a), bar);
      ++issued;
      continue;
    }
    wait(shared_address(objects + seen % stages), seen / stages & 1);
    if (++seen % tiles == 0) {
      const uint64_t end = now();
      out[blockIdx.x * rounds + r++] = end - begin;
      begin = end;
    }
  }
}

/// One box stored: until shared memory may be written again, and until all is done.
__global__ void store_latency(uint64_t* out, const __grid_constant__ CUtensorMap map) {
  extern __shared__ __align__(1024) uint8_t area[];
  if (threadIdx.x != 0) return;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
    tile_store(&map, 0, 0, shared_address(area));
    bulk_commit();
    const uint64_t committed = now();
    bulk_wait_all_read();
    const uint64_t read = now();
    bulk_wait_all();
    out[r] = now() - begin;
    out[rounds + r] = read - begin;
    out[2 * rounds + r] = committed - begin;
  }
}

/// Sixteen boxes a round through two buffers, as the epilogue of a GEMM does.
__global__ void store_ring(uint64_t* out, const __grid_constant__ CUtensorMap map, uint32_t bytes) {
  extern __shared__ __align__(1024) uint8_t area[];
  if (threadIdx.x != 0) return;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
#pragma unroll 1
    for (int k = 0; k < 16; ++k) {
      asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      tile_store(&map, k % 4 * static_cast<int>(tile_k), static_cast<int>(blockIdx.x * 256) + k / 4 * 64,
                 shared_address(area) + static_cast<uint32_t>(k % 2) * bytes);
      bulk_commit();
    }
    out[blockIdx.x * rounds + r] = now() - begin;
  }
  bulk_wait_all();
}

void loads(Bench& bench, uint64_t* out, uint16_t* memory, uint64_t rows, uint16_t* flush,
           size_t flush_bytes) {
  for (const uint32_t height : {8u, 64u, 128u, 256u}) {
    const CUtensorMap map = bench.tensor_map(memory, {columns, rows}, columns * 2, {tile_k, height});
    const uint32_t bytes = height * 128;
    const std::string kib = std::to_string(bytes / 1024) + "k";
    bench.launch(load_latency, {1, 32, 1, 64 << 10}, out, map, bytes, false);
    bench.figure("tma_load_l2." + kib, "cycles", bench.cycles(out, 1),
                 "one box of 128-byte rows: expect_tx and load to the end of the wait, in L2");
    bench.figure("tma_load_issue." + kib, "cycles", bench.cycles(out + rounds, 1),
                 "the first two of these instructions");
    bench.check(cudaMemset(flush, 1, flush_bytes), "cudaMemset");
    bench.launch(load_latency, {1, 32, 1, 64 << 10}, out, map, bytes, true);
    bench.figure("tma_load_dram." + kib, "cycles", bench.cycles(out, 1),
                 "the same, boxes that nobody has read");
  }
  bench.launch(bulk_latency, {1, 32, 1, 64 << 10}, out, reinterpret_cast<const uint8_t*>(memory), 16384u);
  bench.figure("bulk_load_l2.16k", "cycles", bench.cycles(out, 1), "one cp.async.bulk of 16 KiB, in L2");

  const CUtensorMap a = bench.tensor_map(memory, {columns, rows}, columns * 2, {tile_k, rows_a});
  const CUtensorMap b = bench.tensor_map(memory, {columns, rows}, columns * 2, {tile_k, rows_b});
  const auto sms = static_cast<unsigned>(bench.multiprocessors());
  const auto ring = [&](const char* name, unsigned grid, uint32_t tiles, uint32_t period, uint32_t sharing,
                        const char* how) {
    bench.check(cudaMemset(flush, 1, flush_bytes), "cudaMemset");
    bench.launch(load_ring, {grid, 32, 1, stages * stage_bytes}, out, a, b, tiles, period, sharing);
    Samples s = bench.cycles(out, 1, grid);
    for (double& v : s.values) v = tiles * double{stage_bytes} / v;
    bench.figure(name, "bytes/cycle", s, how);
  };
  ring("tma_load_l2.rate_one_sm", 1, 16, 4, 1, "ring of four stages of 48 KiB, 192 KiB in L2");
  ring("tma_load_l2.rate_all_sms", sms, 16, 4, 1, "the same on every SM, 192 KiB each; a figure is one SM's");
  for (const uint32_t sharing : {2u, 4u, 12u, 132u}) {
    const std::string name = "tma_load_l2.rate_shared_by_" + std::to_string(sharing);
    ring(name.c_str(), sms, 16, 4, sharing, "the same, where that many SMs load the same 192 KiB");
  }
  ring("tma_load_dram.rate_one_sm", 1, 7, 256, 1,
       "ring of four stages of 48 KiB, 11 MiB that nobody has read");
  ring("tma_load_dram.rate_all_sms", sms, 7, 256, 1,
       "the same on every SM, 11 MiB each; a figure is one SM's");
}

void stores(Bench& bench, uint64_t* out) {
  constexpr uint64_t c_columns = 256;
  const auto sms = static_cast<unsigned>(bench.multiprocessors());
  const uint64_t rows = uint64_t{sms} * 256;
  uint16_t* to = bench.device<uint16_t>(c_columns * rows);
  const CUtensorMap map = bench.tensor_map(to, {c_columns, rows}, c_columns * 2, {tile_k, 64});
  bench.launch(store_latency, {1, 32, 1, 64 << 10}, out, map);
  bench.figure("tma_store.8k_done", "cycles", bench.cycles(out, 1),
               "one box of 64 rows of 128 bytes: store and commit to the end of wait_group");
  bench.figure("tma_store.8k_read", "cycles", bench.cycles(out + rounds, 1),
               "the same to the end of wait_group.read");
  bench.figure("tma_store.issue", "cycles", bench.cycles(out + 2 * rounds, 1), "the store and the commit");
  for (const unsigned grid : {1u, sms}) {
    bench.launch(store_ring, {grid, 32, 1, 64 << 10}, out, map, 8192u);
    Samples s = bench.cycles(out, 1, grid);
    for (double& v : s.values) v = 16 * 8192.0 / v;
    bench.figure(grid == 1 ? "tma_store.rate_one_sm" : "tma_store.rate_all_sms", "bytes/cycle", s,
                 "boxes of 8 KiB through two buffers, 128 KiB a CTA over and over; a figure is one SM's");
  }
}

}  // namespace

void copies(Bench& bench) {
  const auto sms = static_cast<uint64_t>(bench.multiprocessors());
  uint64_t* out = bench.device<uint64_t>(size_t{rounds} * 256);
  const uint64_t rows = sms * rows_cta;
  uint16_t* memory = bench.random_bf16(columns * rows, 7);
  constexpr size_t flush_bytes = size_t{256} << 20;
  uint16_t* flush = bench.device<uint16_t>(flush_bytes / 2);
  loads(bench, out, memory, rows, flush, flush_bytes);
  stores(bench, out);
}

}  // namespace latency
