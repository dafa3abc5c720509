// SPDX-License-Identifier: Apache-2.0

// P17: setmaxnreg again before the warps of the group have met, by some of its warps only, by each warp at a
// place of its own, with different counts (RG1). PTX asks for the same instruction by all four warps and a
// meeting before the next; Triton gives the warps of one group to different partitions, each with setmaxnreg
// of its own.

#include "ptx.cuh"

namespace probes {
namespace {

constexpr int rounds = 2000, live = 64;

enum class How { meet, no_meeting, apart, one_warp, different };

template <int n>
__device__ void more() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n) : "memory");
}
template <int n>
__device__ void fewer() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n) : "memory");
}

__device__ void meet(How how) {
  if (how == How::meet) asm volatile("bar.sync 1, 128;" ::: "memory");
}

/// Up and down again, with many registers live across both. Other delays in each warp and round.
template <How how, int n>
__device__ uint32_t up_and_down(uint64_t* cells, int warp, bool asks, uint32_t seed) {
  uint32_t value[live];
  for (int i = 0; i < live; ++i) value[i] = seed * 2654435761u + static_cast<uint32_t>(i);
  for (int round = 0; round < rounds; ++round) {
    meet(how);
    if (asks) {
      __nanosleep((static_cast<uint32_t>(warp * 7919 + round * 104729) >> 3) & 511);
      __syncwarp();
      more<n>();
    }
    meet(how);
#pragma unroll
    for (int i = 0; i < live; ++i) value[i] = value[i] * 1664525u + value[(i + 1) % live];
    __syncwarp();
    if (asks) fewer<168>();
    if (threadIdx.x % 32 == 0) put(cells, cell_first + 2 * warp, static_cast<uint64_t>(round) + 1);
  }
  uint32_t sum = 0;
  for (int i = 0; i < live; ++i) sum = sum * 31 + value[i];
  return sum;
}

/// Cells: warp w (0..3) of the group 2w = rounds done, 2w + 1 = lanes whose values are wrong.
template <How how>
__global__ void __launch_bounds__(384, 1) again(uint64_t* cells, uint32_t* done) {
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) watch(cells, done, 12, 400000);
    return;
  }
  const int warp = static_cast<int>(threadIdx.x / 32) - 4;
  const uint32_t seed = threadIdx.x + 1;
  uint32_t expected = 0;
  if (warp >= 0 && warp < 4) expected = up_and_down<How::no_meeting, 168>(cells, warp, false, seed);
  __syncthreads();
  if (warp < 0) fewer<24>();
  if (warp >= 0 && warp < 4) {
    uint32_t got = 0;
    if (how == How::apart || how == How::different) {
      constexpr bool counts = how == How::different;
      if (warp == 0) got = up_and_down<how, 232>(cells, warp, true, seed);
      if (warp == 1) got = up_and_down < how, counts ? 200 : 232 > (cells, warp, true, seed);
      if (warp == 2) got = up_and_down < how, counts ? 216 : 232 > (cells, warp, true, seed);
      if (warp == 3) got = up_and_down < how, counts ? 184 : 232 > (cells, warp, true, seed);
    } else {
      got = up_and_down<how, 232>(cells, warp, how != How::one_warp || warp == 0, seed);
    }
    const uint32_t wrong = __popc(__ballot_sync(0xffffffffu, got != expected));
    if (threadIdx.x % 32 == 0) put(cells, cell_first + 2 * warp + 1, wrong);
  }
  __syncwarp();
  if (threadIdx.x % 32 == 0) report_done(done);
  while (*static_cast<volatile uint32_t*>(done) < 12) __nanosleep(1000);  // an exit would give registers back
}

template <How how>
void group(Bench& b, const Variant&) {
  uint32_t* done = b.device_array<uint32_t>(1);
  b.run(again<how>, Shape{2, 384}, b.cells, done);
  uint64_t least = rounds, wrong = 0;
  for (int w = 0; w < 4; ++w) {
    least = b.cells[cell_first + 2 * w] < least ? b.cells[cell_first + 2 * w] : least;
    wrong += b.cells[cell_first + 2 * w + 1];
  }
  b.number("rounds", rounds);
  b.number("rounds_done", least);
  b.number("wrong_lanes", wrong);
}

constexpr Variant variants[] = {
    {"meet", true, "the warps meet before each setmaxnreg, as PTX asks", group<How::meet>},
    {"no_meeting", false, "the same instruction by all four warps, at any time", group<How::no_meeting>},
    {"apart", false, "each warp has an instruction of its own, the counts are equal", group<How::apart>},
    {"one_warp", false, "one warp alone, the other three never", group<How::one_warp>},
    {"different", false, "each warp another count: 232, 200, 216, 184", group<How::different>},
};

}  // namespace

const Probe p17{"P17", variants};

}  // namespace probes
