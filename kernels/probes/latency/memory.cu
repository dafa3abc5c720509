// SPDX-License-Identifier: Apache-2.0

// Loads, stores, atomics and classic copies of threads: latency by where the data lies, bytes a cycle by how
// many ask.

#include "device.cuh"

namespace latency {
namespace {

constexpr int hops = 32;

__global__ void link(uint64_t* memory, uint64_t count, uint64_t stride_words, uint64_t step) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += uint64_t{gridDim.x} * blockDim.x)
    memory[i * stride_words] = reinterpret_cast<uint64_t>(memory + (i + step) % count * stride_words);
}

enum class Load { ca, cg };

/// One lane follows pointers. `warm` hops first.
template <Load load>
__global__ void chase(uint64_t* out, const uint64_t* start, uint32_t warm) {
  uint64_t p = reinterpret_cast<uint64_t>(start);
  const auto hop = [&p] {
    if constexpr (load == Load::ca) {
      asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");
    } else {
      asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
    }
  };
#pragma unroll 1
  for (uint32_t i = 0; i < warm; ++i) hop();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < hops; ++k) hop();
    if (p == 0) asm volatile("trap;");  // the clock is read behind the last result
    out[r] = now() - begin;
  }
}

__global__ void chase_shared(uint64_t* out) {
  __shared__ uint32_t table[256];
  for (uint32_t i = threadIdx.x; i < 256; i += 32) table[i] = shared_address(table + (i + 33) % 256);
  __syncwarp();
  uint32_t p = shared_address(table + threadIdx.x);
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < hops; ++k) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");
    if (p == 0) asm volatile("trap;");
    const uint64_t end = now();
    if (threadIdx.x == 0) out[r] = end - begin;
  }
}

enum class Access {
  load_shared,
  load_shared_v4,
  store_shared,
  store_shared_v4,
  stmatrix,
  ldmatrix,
  store_global,
  red_global
};

/// `hops` accesses without conflict of every warp, none of which needs another.
template <Access access>
__global__ void stream(uint64_t* out, uint32_t* global) {
  extern __shared__ __align__(1024) uint32_t area[];
  const bool wide = access == Access::load_shared_v4 || access == Access::store_shared_v4 ||
                    access == Access::stmatrix || access == Access::ldmatrix;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t at = shared_address(area) + warp * 512 + lane * (wide ? 16 : 4);
  uint32_t* to = global + (blockIdx.x * 64 + warp) * 1024 + lane;
  uint32_t x[hops] = {}, y = lane;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < hops; ++k) {
      if constexpr (access == Access::load_shared)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x[k]) : "r"(at + k * 4096) : "memory");
      if constexpr (access == Access::load_shared_v4)
        asm volatile(
            "{ .reg .b32 a, b, c; ld.shared.v4.u32 {%0, a, b, c}, [%1]; xor.b32 a, a, b; xor.b32 a, a, c; "
            "xor.b32 %0, %0, a; }"
            : "=r"(x[k])
            : "r"(at + k * 4096)
            : "memory");
      if constexpr (access == Access::store_shared)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(at + k * 4096), "r"(y) : "memory");
      if constexpr (access == Access::store_shared_v4)
        asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(at + k * 4096), "r"(y) : "memory");
      if constexpr (access == Access::stmatrix)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(at + k * 4096),
                     "r"(y)
                     : "memory");
      if constexpr (access == Access::ldmatrix)
        asm volatile(
            "{ .reg .b32 a, b, c; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, a, b, c}, [%1]; xor.b32 a, "
            "a, b; xor.b32 a, a, c; xor.b32 %0, %0, a; }"
            : "=r"(x[k])
            : "r"(at + k * 4096)
            : "memory");
      if constexpr (access == Access::store_global)
        asm volatile("st.global.u32 [%0], %1;" ::"l"(to + k * 32), "r"(y) : "memory");
      if constexpr (access == Access::red_global)
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(to + k * 32), "r"(y) : "memory");
    }
    uint32_t all = 0;
#pragma unroll
    for (int k = 0; k < hops; ++k) all ^= x[k];
    if (all == 0x13579bdfu) global[0] = all;
    const uint64_t end = now();
    if (threadIdx.x == 0) out[r] = end - begin;
  }
}

/// Every thread reads 16 bytes at a time, eight loads before the first use.
__global__ void read_global(uint64_t* out, const uint4* from, uint32_t tiles, uint32_t cta_tiles,
                            uint32_t* sink) {
  const uint4* own = from + size_t{blockIdx.x} * cta_tiles * blockDim.x * 8;
  uint32_t all = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const uint64_t begin = now();
#pragma unroll 1
    for (uint32_t t = 0; t < tiles; ++t) {
      const uint4* p = own + (size_t{t} * 8) % (size_t{cta_tiles} * 8) * blockDim.x + threadIdx.x;
      uint4 v[8];
#pragma unroll
      for (int k = 0; k < 8; ++k)
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                     : "l"(p + k * blockDim.x)
                     : "memory");
#pragma unroll
      for (int k = 0; k < 8; ++k) all ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (all == 0x13579bdfu) sink[0] = all;
    __syncthreads();
    const uint64_t end = now();
    if (threadIdx.x == 0) out[blockIdx.x * rounds + r] = end - begin;
  }
}

__global__ void atomic_chain(uint64_t* out, uint32_t* word) {
  uint32_t x = 1;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < hops; ++k)
      asm volatile("atom.global.exch.b32 %0, [%1], %0;" : "+r"(x) : "l"(word) : "memory");
    if (x == 0x13579bdfu) word[1] = x;
    out[r] = now() - begin;
  }
}

/// A warp copies 16 bytes a lane and waits: `pieces` instructions before the wait.
template <int pieces>
__global__ void classic_copy(uint64_t* out, const uint4* from) {
  __shared__ __align__(16) uint4 area[32 * pieces];
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < pieces; ++k)
      asm volatile(
          "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(area + k * 32 + threadIdx.x)),
          "l"(from + k * 32 + threadIdx.x)
          : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    const uint64_t end = now();
    if (threadIdx.x == 0) out[r] = end - begin;
  }
}

template <Access access>
void stream_of(Bench& bench, const char* name, uint64_t* out, uint32_t* global) {
  for (const unsigned warps : {1u, 4u, 8u}) {
    bench.launch(stream<access>, {1, warps * 32, 1, 140 * 1024}, out, global);
    bench.figure(std::string(name) + ".issue_warps_" + std::to_string(warps), "cycles",
                 bench.cycles(out, hops),
                 "an instruction of one warp, 32 that need no other, that many warps of one CTA");
  }
}

void latencies(Bench& bench, uint64_t* out) {
  bench.launch(chase_shared, {1, 32}, out);
  bench.figure("ld_shared.latency", "cycles", bench.cycles(out, hops), "one warp follows pointers");

  constexpr uint64_t big = uint64_t{1} << 30;
  uint64_t* memory = bench.device<uint64_t>(big / 8);
  const auto links = [&](uint64_t bytes, uint64_t stride, uint64_t step) {
    bench.launch(link, {264, 256}, memory, bytes / stride, stride / 8, step);
  };
  links(16 << 10, 128, 17);
  bench.launch(chase<Load::ca>, {1, 1}, out, static_cast<const uint64_t*>(memory), 4096u);
  bench.figure("ld_global_l1.latency", "cycles", bench.cycles(out, hops),
               "one lane follows pointers in 16 KiB, .ca");
  links(4 << 20, 4096 + 128, 17);
  bench.launch(chase<Load::cg>, {1, 1}, out, static_cast<const uint64_t*>(memory), 4096u);
  bench.figure("ld_global_l2.latency", "cycles", bench.cycles(out, hops),
               "one lane follows pointers in 4 MiB, .cg, read before");
  links(big, (1 << 16) + 128, 1009);
  std::vector<uint64_t> nothing(1);
  uint64_t* flush = bench.device<uint64_t>(big / 8);  // cudaMemset of it leaves none of `memory` in L2
  bench.check(cudaMemset(flush, 1, big), "cudaMemset");
  bench.launch(chase<Load::cg>, {1, 1}, out, static_cast<const uint64_t*>(memory), 64u);
  bench.figure("ld_global_dram.latency", "cycles", bench.cycles(out, hops),
               "one lane follows pointers in 1 GiB, .cg, none read before");

  uint32_t* word = bench.device<uint32_t>(2);
  bench.launch(atomic_chain, {1, 1}, out, word);
  bench.figure("atom_global.latency", "cycles", bench.cycles(out, hops),
               "one lane, atom.global.exch of one word, in a chain");
  const uint4* from = reinterpret_cast<const uint4*>(memory);
  bench.launch(classic_copy<1>, {1, 32}, out, from);
  bench.figure("cp_async_1.latency", "cycles", bench.cycles(out, 1),
               "one cp.async of 16 bytes a lane, to the end of wait_all");
  bench.launch(classic_copy<16>, {1, 32}, out, from);
  bench.figure("cp_async_16.latency", "cycles", bench.cycles(out, 1),
               "sixteen of them, to the end of wait_all");
}

void global_rates(Bench& bench, uint64_t* out, uint32_t* sink) {
  const auto sms = static_cast<unsigned>(bench.multiprocessors());
  constexpr unsigned threads = 256;
  constexpr double tile = threads * 8.0 * 16;
  const auto rate = [&](const char* name, unsigned grid, uint32_t tiles, uint32_t cta_tiles,
                        const char* how) {
    const size_t bytes = size_t{grid} * cta_tiles * static_cast<size_t>(tile);
    const uint4* from = reinterpret_cast<const uint4*>(bench.random_bf16(bytes / 2, 1));
    bench.launch(read_global, {grid, threads}, out, from, tiles, cta_tiles, sink);
    Samples s = bench.cycles(out, 1, grid);
    for (double& v : s.values) v = tiles * tile / v;
    bench.figure(name, "bytes/cycle", s, how);
  };
  rate("ld_global_l2.rate_one_sm", 1, 16, 4, "8 warps of one SM, 16 bytes a lane, .cg, 128 KiB in L2");
  rate("ld_global_l2.rate_all_sms", sms, 16, 4,
       "8 warps of every SM, 128 KiB each, in L2; a figure is one SM's");
  rate("ld_global_dram.rate_all_sms", sms, 128, 128,
       "8 warps of every SM, 4 MiB each, more than L2; a figure is one SM's");
}

}  // namespace

void memory(Bench& bench) {
  uint64_t* out = bench.device<uint64_t>(size_t{rounds} * 256);
  uint32_t* global = bench.device<uint32_t>(256 * 64 * 1024);
  latencies(bench, out);
  stream_of<Access::load_shared>(bench, "ld_shared", out, global);
  stream_of<Access::load_shared_v4>(bench, "ld_shared_v4", out, global);
  stream_of<Access::store_shared>(bench, "st_shared", out, global);
  stream_of<Access::store_shared_v4>(bench, "st_shared_v4", out, global);
  stream_of<Access::stmatrix>(bench, "stmatrix_x4", out, global);
  stream_of<Access::ldmatrix>(bench, "ldmatrix_x4", out, global);
  stream_of<Access::store_global>(bench, "st_global", out, global);
  stream_of<Access::red_global>(bench, "red_global", out, global);
  global_rates(bench, out, global);
}

}  // namespace latency
