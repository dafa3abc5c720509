// SPDX-License-Identifier: Apache-2.0

// Arithmetic, shuffles and calls: the cycles from one instruction to the next that needs its result, and from
// one to the next that does not.

#include "device.cuh"

namespace latency {
namespace {

/// Long, so that reading the clock does not count.
constexpr int chain_length = 256, short_length = 64;

struct FunnelShift {
  static constexpr const char* name = "alu_shf";
  static __device__ void apply(uint32_t& x, uint32_t s) {
    asm volatile("shf.l.wrap.b32 %0, %0, %1, 5;" : "+r"(x) : "r"(s));
  }
};
struct IntegerMad {
  static constexpr const char* name = "alu_mad";
  static __device__ void apply(uint32_t& x, uint32_t s) {
    asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(s));
  }
};
struct IntegerDivide {
  static constexpr const char* name = "alu_div_u32";
  static __device__ void apply(uint32_t& x, uint32_t s) {
    asm volatile("div.u32 %0, %0, %1;" : "+r"(x) : "r"(s));
  }
};
struct Fma {
  static constexpr const char* name = "fma_f32";
  static __device__ void apply(uint32_t& x, uint32_t s) {
    asm volatile("{ .reg .f32 a, b; mov.b32 a, %0; mov.b32 b, %1; fma.rn.f32 a, a, b, b; mov.b32 %0, a; }"
                 : "+r"(x)
                 : "r"(s));
  }
};
struct Exponent {
  static constexpr const char* name = "mufu_ex2";
  static __device__ void apply(uint32_t& x, uint32_t) {
    asm volatile("{ .reg .f32 a; mov.b32 a, %0; ex2.approx.ftz.f32 a, a; mov.b32 %0, a; }" : "+r"(x));
  }
};
struct PackBf16 {
  static constexpr const char* name = "cvt_bf16x2";
  static __device__ void apply(uint32_t& x, uint32_t s) {
    asm volatile("{ .reg .f32 a, b; mov.b32 a, %0; mov.b32 b, %1; cvt.rn.bf16x2.f32 %0, a, b; }"
                 : "+r"(x)
                 : "r"(s));
  }
};
struct Shuffle {
  static constexpr const char* name = "shfl";
  static __device__ void apply(uint32_t& x, uint32_t s) {
    asm volatile("shfl.sync.bfly.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(x) : "r"(s & 1));
  }
};
struct Ballot {
  static constexpr const char* name = "vote_ballot";
  static __device__ void apply(uint32_t& x, uint32_t s) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "+r"(x)
                 : "r"(s));
  }
};
struct Redux {
  static constexpr const char* name = "redux_add";
  static __device__ void apply(uint32_t& x, uint32_t) {
    asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(x));
  }
};
struct Elect {
  static constexpr const char* name = "elect";
  static __device__ void apply(uint32_t& x, uint32_t) {
    asm volatile(
        "{ .reg .pred p; .reg .b32 m; elect.sync m|p, 0xffffffff; selp.b32 m, 1, 0, p; add.u32 %0, %0, m; }"
        : "+r"(x));
  }
};
struct WarpSync {
  static constexpr const char* name = "bar_warp_sync";
  static __device__ void apply(uint32_t&, uint32_t) {
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  }
};

/// `independent` chains beside each other: 1 gives the latency, 8 the rate of issue.
template <typename Op, int independent>
__global__ void chain(uint64_t* out, uint32_t seed, uint32_t* sink) {
  uint32_t x[independent];
#pragma unroll
  for (int i = 0; i < independent; ++i) x[i] = seed * (threadIdx.x + 3u) + static_cast<uint32_t>(i);
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const uint64_t begin = now();
#pragma unroll
    for (int k = 0; k < (independent == 1 ? chain_length : short_length); ++k) {
#pragma unroll
      for (int i = 0; i < independent; ++i) Op::apply(x[i], seed);
    }
    // The clock is read behind the last result.
    uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < independent; ++i) all |= x[i];
    if (all == 0x12345678u) sink[1] = all;
    const uint64_t end = now();
    if (threadIdx.x == 0) out[r] = end - begin;
  }
  if (x[0] == 0x87654321u) sink[0] = x[0];
}

template <typename Op>
void latency_of(Bench& bench, uint64_t* out, uint32_t* sink) {
  bench.launch(chain<Op, 1>, {1, 32}, out, 3u, sink);
  bench.figure(std::string(Op::name) + ".latency", "cycles", bench.cycles(out, chain_length),
               "256 in a chain, one warp, no other");
}

template <typename Op>
void issue_of(Bench& bench, uint64_t* out, uint32_t* sink) {
  for (const unsigned warps : {1u, 4u, 8u, 12u, 16u}) {
    bench.launch(chain<Op, 8>, {1, warps * 32}, out, 3u, sink);
    bench.figure(std::string(Op::name) + ".issue_warps_" + std::to_string(warps), "cycles",
                 bench.cycles(out, short_length * 8),
                 "an instruction of one warp, 8 chains each, that many warps of one CTA");
  }
}

template <typename... Ops>
void all_latencies(Bench& bench, uint64_t* out, uint32_t* sink) {
  (latency_of<Ops>(bench, out, sink), ...);
}

}  // namespace

void instructions(Bench& bench) {
  uint64_t* out = bench.device<uint64_t>(rounds);
  uint32_t* sink = bench.device<uint32_t>(2);
  all_latencies<FunnelShift, IntegerMad, IntegerDivide, Fma, Exponent, PackBf16, Shuffle, Ballot, Redux,
                Elect, WarpSync>(bench, out, sink);
  issue_of<FunnelShift>(bench, out, sink);
  issue_of<Fma>(bench, out, sink);
  issue_of<Exponent>(bench, out, sink);
  issue_of<PackBf16>(bench, out, sink);
  issue_of<Shuffle>(bench, out, sink);
}

}  // namespace latency
