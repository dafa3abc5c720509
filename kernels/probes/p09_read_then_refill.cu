// SPDX-License-Identifier: Apache-2.0

// P9: a generic read, released through an mbarrier without fence.proxy.async, then a bulk copy over the same
// bytes (PX2). Every CTA runs a one-stage ring: a producer refills as soon as the consumers have arrived;
// each consumer warp issues many bank-conflicting loads, arrives while they may still be under way, and only
// then looks at the values.

#include "ptx.cuh"

namespace probes {
namespace {

enum class Mode : int {
  fence,         ///< each lane: loads, fence.proxy.async, __syncwarp, lane 0 arrives
  elected,       ///< loads, __syncwarp, lane 0 arrives
  every_thread,  ///< loads, every lane arrives
  relaxed,       ///< loads, __syncwarp, lane 0 arrives with .relaxed
  used,          ///< loads, values compared, __syncwarp, lane 0 arrives: what most kernels do
  arrive_first,  ///< lane 0 arrives before the loads: a defect that must show
  half_used,     ///< loads, half of the values compared, __syncwarp, lane 0 arrives
  cta_fence,     ///< loads, fence.acq_rel.cta (not the proxy fence), __syncwarp, lane 0 arrives
  at_producer,   ///< as elected; the producer does fence.proxy.async between its wait and the copies
  met,           ///< loads, bar.sync of all consumers, one thread arrives: what Triton makes of a release
};

/// How a consumer warp reads: `queued` loads hit one bank with all lanes, 32 passes each; `plain` ones have
/// no conflict.
enum class Reads : int { queued, plain };

constexpr int stage_bytes = 4096, stage_words = stage_bytes / 4, blocks = 64;
constexpr int consumers = 8;  ///< warps

/// Block b of the source holds (b + 1) << 16 | word index.
struct Counts {
  unsigned long long iterations, words, newer, older, other, timeouts;
};

__device__ void arrive_relaxed(uint32_t bar) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.relaxed.cta.shared::cta.b64 s, [%0]; }" ::"r"(bar) : "memory");
}

template <int loads>
__device__ void compare(const uint32_t (&value)[loads], const uint32_t (&word)[loads], uint32_t block,
                        Counts& c, int from = 0, int to = loads) {
  const uint32_t next = (block + 1) % blocks, previous = (block + blocks - 1) % blocks;
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    if (k < from || k >= to || value[k] == ((block + 1) << 16 | word[k])) continue;
    if (value[k] == ((next + 1) << 16 | word[k])) {
      ++c.newer;
    } else if (value[k] == ((previous + 1) << 16 | word[k])) {
      ++c.older;
    } else {
      ++c.other;
    }
  }
}

template <Mode mode, Reads reads, int loads>
__global__ void __launch_bounds__(32 * (consumers + 1))
    ring(const uint32_t* source, Counts* total, int pieces, uint32_t run_us) {
  __shared__ __align__(1024) uint32_t stage[stage_words];
  __shared__ __align__(8) uint64_t full_object, empty_object;
  __shared__ int last;
  const uint32_t full = shared_address(&full_object), empty = shared_address(&empty_object);
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    mbar_init(full, 1);
    mbar_init(empty, mode == Mode::every_thread ? consumers * 32 : mode == Mode::met ? 1 : consumers);
    fence_mbarrier_init();
    last = -1;
  }
  __syncthreads();
  Counts c{};
  if (warp == consumers) {
    const uint64_t end = nanoseconds() + run_us * uint64_t{1000};
    for (int i = 0; lane == 0; ++i) {
      if (!mbar_wait(empty, (static_cast<uint32_t>(i) & 1) ^ 1, 100000)) {
        ++c.timeouts;
        break;
      }
      const bool stop = (i & 63) == 0 && nanoseconds() > end;
      if (stop) *static_cast<volatile int*>(&last) = i;
      if (mode == Mode::at_producer) fence_proxy_async();
      mbar_arrive_expect(full, stage_bytes);
      const uint32_t piece = static_cast<uint32_t>(stage_bytes / pieces);
      for (uint32_t at = 0; at < stage_bytes; at += piece)
        bulk_load(shared_address(stage) + at, source + i % blocks * stage_words + at / 4, piece, full);
      ++c.iterations;
      if (stop) break;
    }
  } else {
    uint32_t word[loads], value[loads];
#pragma unroll
    for (uint32_t k = 0; k < loads; ++k) {
      const uint32_t other = (warp * loads + k) % 32;
      word[k] = reads == Reads::queued ? lane * 32 + other : other * 32 + lane;
    }
    for (int i = 0;; ++i) {
      if (!mbar_wait(full, static_cast<uint32_t>(i) & 1, 100000)) {
        ++c.timeouts;
        break;
      }
      const bool stop = *static_cast<volatile int*>(&last) == i;
      if (mode == Mode::arrive_first) {
        __syncwarp();
        if (lane == 0) mbar_arrive(empty);
        __nanosleep(200);
      }
#pragma unroll
      for (int k = 0; k < loads; ++k)
        asm volatile("ld.shared.u32 %0, [%1];"
                     : "=r"(value[k])
                     : "r"(shared_address(stage) + word[k] * 4)
                     : "memory");
      if (mode == Mode::used) compare(value, word, static_cast<uint32_t>(i % blocks), c);
      if (mode == Mode::half_used) compare(value, word, static_cast<uint32_t>(i % blocks), c, 0, loads / 2);
      if (mode == Mode::fence) fence_proxy_async();
      if (mode == Mode::cta_fence) asm volatile("fence.acq_rel.cta;" ::: "memory");
      if (mode == Mode::every_thread) mbar_arrive(empty);
      if (mode == Mode::met) {
        asm volatile("bar.sync 1, %0;" ::"n"(consumers * 32) : "memory");
        if (threadIdx.x == 0) mbar_arrive(empty);
      }
      if (mode != Mode::every_thread && mode != Mode::arrive_first && mode != Mode::met) {
        __syncwarp();
        if (lane == 0 && mode == Mode::relaxed) arrive_relaxed(empty);
        if (lane == 0 && mode != Mode::relaxed) mbar_arrive(empty);
      }
      if (mode != Mode::used)
        compare(value, word, static_cast<uint32_t>(i % blocks), c, mode == Mode::half_used ? loads / 2 : 0);
      c.words += loads;
      if (stop) break;
    }
  }
  atomicAdd(&total->iterations, c.iterations);
  atomicAdd(&total->words, c.words);
  atomicAdd(&total->newer, c.newer);
  atomicAdd(&total->older, c.older);
  atomicAdd(&total->other, c.other);
  atomicAdd(&total->timeouts, c.timeouts);
}

template <Mode mode, Reads reads = Reads::queued, int loads = 16>
void stress(Bench& b, const Variant& v) {
  std::vector<uint32_t> content(blocks * stage_words);
  for (uint32_t i = 0; i < content.size(); ++i) content[i] = (i / stage_words + 1) << 16 | i % stage_words;
  const uint32_t* source = b.upload(content);
  Counts* total = b.device_array<Counts>(1);
  int resident = 1;
  b.check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, ring<mode, reads, loads>,
                                                        32 * (consumers + 1), 0),
          "occupancy");
  const auto grid = static_cast<unsigned>(b.multiprocessors() * resident);
  b.run(ring<mode, reads, loads>, Shape{grid, 32 * (consumers + 1)}, source, total, v.parameter, 800000u);
  const Counts c = b.download(total, 1)[0];
  b.number("ctas", grid);
  b.number("copies_per_refill", static_cast<uint64_t>(v.parameter));
  b.number("refills", c.iterations);
  b.number("words_read", c.words);
  b.number("newer", c.newer);
  b.number("older", c.older);
  b.number("other", c.other);
  b.number("timeouts", c.timeouts);
}

constexpr Variant variants[] = {
    {"fence", true, "fence.proxy.async between the reads and the arrive: no corruption", stress<Mode::fence>,
     1},
    {"fence_16_copies", true, "the same, refilled by 16 small copies", stress<Mode::fence>, 16},
    {"arrive_first", true, "arrive before the reads: corruption must show", stress<Mode::arrive_first>, 16},
    {"elected", false, "no fence, one lane of each warp arrives", stress<Mode::elected>, 1},
    {"elected_16_copies", false, "the same, refilled by 16 small copies", stress<Mode::elected>, 16},
    {"every_thread", false, "no fence, every thread arrives", stress<Mode::every_thread>, 1},
    {"every_thread_16_copies", false, "the same, refilled by 16 small copies", stress<Mode::every_thread>,
     16},
    {"relaxed", false, "no fence, relaxed arrive", stress<Mode::relaxed>, 16},
    {"used", false, "no fence, the values are used before the arrive", stress<Mode::used>, 16},
    {"used_1_copy", false, "the same, refilled by one copy", stress<Mode::used>, 1},
    {"half_used", false, "no fence, half of the values are used before the arrive", stress<Mode::half_used>,
     1},
    {"cta_fence", false, "fence.acq_rel.cta instead of the proxy fence", stress<Mode::cta_fence>, 1},
    {"at_producer", false, "the proxy fence in the producer, after its wait", stress<Mode::at_producer>, 1},
    {"plain_16", false, "no fence, 16 loads without bank conflicts", stress<Mode::elected, Reads::plain>, 1},
    {"plain_4", false, "no fence, 4 loads without bank conflicts", stress<Mode::elected, Reads::plain, 4>, 1},
    {"plain_1", false, "no fence, one load without bank conflicts", stress<Mode::elected, Reads::plain, 1>,
     1},
    {"queued_1", false, "no fence, one load", stress<Mode::elected, Reads::queued, 1>, 1},
    {"met", false, "no fence, bar.sync of the consumers, one thread arrives", stress<Mode::met>, 1},
    {"met_16_copies", false, "the same, refilled by 16 small copies", stress<Mode::met>, 16},
    {"met_plain_16", false, "the same with 16 loads without bank conflicts", stress<Mode::met, Reads::plain>,
     1},
    {"met_plain_1", false, "the same with one load", stress<Mode::met, Reads::plain, 1>, 1},
};

}  // namespace

const Probe p09{"P9", variants};

}  // namespace probes
