// SPDX-License-Identifier: Apache-2.0

// wgmma and mma.sync: cycles an instruction when one after the other is issued, and from issue to the end of
// the wait.

#include "wgmma.cuh"

namespace latency {
namespace {

/// `loops` turns of: fence, instructions, commit, wait. Returns cycles in %0.
#define WGMMA_LOOP(zeros, instructions, wait)                             \
  asm volatile(                                                           \
      "{\n"                                                               \
      ".reg .b32 " DECLARED ";\n" zeros                                   \
      ".reg .pred p, q;\n"                                                \
      ".reg .b32 i, a0, a1, a2, a3;\n"                                    \
      ".reg .b64 t0, t1, A1, A2, A3, B1, B2, B3;\n"                       \
      "add.u64 A1, %2, 2; add.u64 A2, %2, 4; add.u64 A3, %2, 6;\n"        \
      "add.u64 B1, %3, 2; add.u64 B2, %3, 4; add.u64 B3, %3, 6;\n"        \
      "mov.b32 a0, %5; mov.b32 a1, %5; mov.b32 a2, %5; mov.b32 a3, %5;\n" \
      "mov.b32 i, %1;\n"                                                  \
      "setp.ne.b32 p, i, %1;\n"                                           \
      "mov.u64 t0, %%clock64;\n"                                          \
      "LOOP:\n"                                                           \
      "wgmma.fence.sync.aligned;\n" instructions                          \
      "wgmma.commit_group.sync.aligned;\n"                                \
      "wgmma.wait_group.sync.aligned " wait                               \
      ";\n"                                                               \
      "sub.u32 i, i, 1;\n"                                                \
      "setp.ne.b32 p, i, %1;\n"                                           \
      "setp.ne.b32 q, i, 0;\n"                                            \
      "@q bra LOOP;\n"                                                    \
      "wgmma.wait_group.sync.aligned 0;\n"                                \
      "mov.u64 t1, %%clock64;\n"                                          \
      "st.global.b32 [%4], da0;\n"                                        \
      "sub.u64 %0, t1, t0;\n"                                             \
      "}"                                                                 \
      : "=l"(cycles)                                                      \
      : "r"(loops), "l"(a), "l"(b), "l"(sink), "r"(0x3f803f80)            \
      : "memory")

/// Four steps of K, as a k tile of 128 bytes has, then the wait for the group before.
#define FOUR(form, list, tail)                                                                              \
  form " {" list "}, %2, %3, p" tail                                                                        \
       ";\n"                                                                                                \
       "setp.eq.b32 p, i, i;\n" form " {" list "}, A1, B1, p" tail ";\n" form " {" list "}, A2, B2, p" tail \
       ";\n" form " {" list "}, A3, B3, p" tail ";\n"
#define FOUR_REGISTERS(form, list, tail)                                                              \
  form " {" list "}, {a0, a1, a2, a3}, %3, p" tail                                                    \
       ";\n"                                                                                          \
       "setp.eq.b32 p, i, i;\n" form " {" list "}, {a0, a1, a2, a3}, B1, p" tail ";\n" form " {" list \
       "}, {a0, a1, a2, a3}, B2, p" tail ";\n" form " {" list "}, {a0, a1, a2, a3}, B3, p" tail ";\n"

#define WGMMA_KERNEL(name, instructions, wait, zeros)                                           \
  __global__ void __launch_bounds__(256, 1) name(uint64_t* out, uint32_t loops, uint32_t* to) { \
    extern __shared__ __align__(1024) uint32_t area[];                                          \
    uint32_t h = threadIdx.x;                                                                   \
    for (uint32_t i = threadIdx.x; i < 20480; i += blockDim.x) {                                \
      h = h * 1664525u + 1013904223u;                                                           \
      area[i] = (h & 0x807f807fu) | 0x3f003f00u;                                                \
    }                                                                                           \
    probes::fence_proxy_async();                                                                \
    __syncthreads();                                                                            \
    const uint32_t group = threadIdx.x / 128;                                                   \
    const uint64_t a = descriptor(shared_address(area) + group * 8192);                         \
    const uint64_t b = descriptor(shared_address(area) + 32768);                                \
    uint32_t* sink = to + threadIdx.x;                                                          \
    for (int r = 0; r < rounds; ++r) {                                                          \
      __syncthreads();                                                                          \
      uint64_t cycles = 0;                                                                      \
      WGMMA_LOOP(zeros, instructions, wait);                                                    \
      if (threadIdx.x % 128 == 0) out[group * rounds + static_cast<uint32_t>(r)] = cycles;      \
    }                                                                                           \
  }

#define BF16(n) "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16"
#define RATE(n) WGMMA_KERNEL(rate_##n, FOUR(BF16(n), LIST_##n, ", 1, 1, 0, 0"), "1", ZERO_##n)
#define ONCE(n) WGMMA_KERNEL(once_##n, BF16(n) " {" LIST_##n "}, %2, %3, p, 1, 1, 0, 0;\n", "0", ZERO_##n)
#define GROUP(n) WGMMA_KERNEL(group_##n, FOUR(BF16(n), LIST_##n, ", 1, 1, 0, 0"), "0", ZERO_##n)

RATE(16)
RATE(32)
RATE(64)
RATE(96)
RATE(128)
RATE(192)
RATE(256)
ONCE(16)
ONCE(32)
ONCE(64)
ONCE(96)
ONCE(128)
ONCE(192)
ONCE(256)
GROUP(64)
GROUP(128)
GROUP(256)
WGMMA_KERNEL(rate_registers_128, FOUR_REGISTERS(BF16(128), LIST_128, ", 1, 1, 0"), "0", ZERO_128)
WGMMA_KERNEL(rate_tf32_256, FOUR("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32", LIST_256, ", 1, 1"),
             "1", ZERO_256)
WGMMA_KERNEL(rate_e4m3_256, FOUR("wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", LIST_256, ", 1, 1"),
             "1", ZERO_256)
WGMMA_KERNEL(rate_s8_256, FOUR("wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8", LIST_256, ""), "1",
             ZERO_256)

/// Chains of mma.sync.m16n8k16, `independent` of them.
template <int independent>
__global__ void warp_mma(uint64_t* out, float* to) {
  float d[independent][4] = {};
  const uint32_t a = 0x3f803f80u + threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
#pragma unroll
      for (int i = 0; i < independent; ++i)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, "
            "%4}, {%0, %1, %2, %3};"
            : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
            : "r"(a));
    }
    float all = 0;
#pragma unroll
    for (int i = 0; i < independent; ++i) all += d[i][0];
    if (all == 1.2345f) to[0] = all;
    const uint64_t end = now();
    if (threadIdx.x == 0) out[r] = end - begin;
  }
}

using Kernel = void (*)(uint64_t*, uint32_t, uint32_t*);
struct Row {
  const char* name;
  Kernel kernel;
  double instructions;  ///< a turn
};

}  // namespace

void tensor(Bench& bench) {
  uint64_t* out = bench.device<uint64_t>(3 * rounds);
  uint32_t* to = bench.device<uint32_t>(384);
  constexpr size_t shared = 81920;
  const Row rates[] = {
      {"wgmma_bf16.n16", rate_16, 4},        {"wgmma_bf16.n32", rate_32, 4},
      {"wgmma_bf16.n64", rate_64, 4},        {"wgmma_bf16.n96", rate_96, 4},
      {"wgmma_bf16.n128", rate_128, 4},      {"wgmma_bf16.n192", rate_192, 4},
      {"wgmma_bf16.n256", rate_256, 4},      {"wgmma_bf16_registers.n128", rate_registers_128, 4},
      {"wgmma_tf32.n256", rate_tf32_256, 4}, {"wgmma_e4m3.n256", rate_e4m3_256, 4},
      {"wgmma_s8.n256", rate_s8_256, 4}};
  for (const Row& row : rates)
    for (const unsigned groups : {1u, 2u}) {
      constexpr uint32_t loops = 64;
      bench.launch(row.kernel, {1, groups * 128, 1, shared}, out, loops, to);
      bench.figure(
          std::string(row.name) + ".rate_groups_" + std::to_string(groups), "cycles",
          bench.cycles(out, loops * row.instructions, groups),
          "an instruction of one warp group: 64 groups of four in a row; that many warp groups at once");
    }
  const Row single[] = {{"wgmma_bf16.n16", once_16, 1},   {"wgmma_bf16.n32", once_32, 1},
                        {"wgmma_bf16.n64", once_64, 1},   {"wgmma_bf16.n96", once_96, 1},
                        {"wgmma_bf16.n128", once_128, 1}, {"wgmma_bf16.n192", once_192, 1},
                        {"wgmma_bf16.n256", once_256, 1}};
  for (const Row& row : single) {
    bench.launch(row.kernel, {1, 128, 1, shared}, out, 16u, to);
    bench.figure(std::string(row.name) + ".latency", "cycles", bench.cycles(out, 16),
                 "fence, one instruction, commit, wait for it");
  }
  const Row groups_of_four[] = {
      {"wgmma_bf16.n64", group_64, 1}, {"wgmma_bf16.n128", group_128, 1}, {"wgmma_bf16.n256", group_256, 1}};
  for (const Row& row : groups_of_four) {
    bench.launch(row.kernel, {1, 128, 1, shared}, out, 16u, to);
    bench.figure(std::string(row.name) + ".latency_of_four", "cycles", bench.cycles(out, 16),
                 "fence, four instructions, commit, wait for them");
  }
  float* floats = reinterpret_cast<float*>(to);
  bench.launch(warp_mma<1>, {1, 32}, out, floats);
  bench.figure("mma_sync_bf16.latency", "cycles", bench.cycles(out, 16), "m16n8k16 in a chain, one warp");
  for (const unsigned warps : {1u, 4u, 8u}) {
    bench.launch(warp_mma<8>, {1, warps * 32}, out, floats);
    bench.figure("mma_sync_bf16.issue_warps_" + std::to_string(warps), "cycles", bench.cycles(out, 16 * 8),
                 "m16n8k16, 8 chains a warp, that many warps");
  }
}

}  // namespace latency
