// SPDX-License-Identifier: Apache-2.0

// P19: what is left of the open questions of semantics.md section 16. Q3: is what a multicast copy brought
// seen by a bulk store of the CTA that received it, with no proxy fence between? Q4: does a bulk copy find a
// barrier that was made right before it, without a proxy fence? Q7: do lanes of one warp meet at barrier.sync
// of different places? Q13: does try_wait ever deny a phase that is complete? Q15: what does a second arrive
// on the cluster barrier do before the wait? Q17: is a kernel that waits for its predecessor ordered after
// the predecessor's predecessor, for which nobody waited?

#include "ptx.cuh"

namespace probes {
namespace {

struct Counts {
  unsigned long long rounds, bad;
};

// ---- Q4

/// Each round: inval, init, expect, copy, by one thread. A barrier that the copy does not find as it was made
/// never completes its phase.
template <bool fenced>
__global__ void init_then_copy(const uint64_t* source, Counts* total, int rounds) {
  __shared__ __align__(16) uint64_t box[2], bar_words[2];
  const uint32_t bar = shared_address(&bar_words[0]);
  mbar_init(bar, 1);
  Counts c{};
  for (int i = 0; i < rounds && c.bad < 8; ++i) {
    mbar_inval(bar);
    mbar_init(bar, 1);
    if (fenced) fence_proxy_async();
    mbar_arrive_expect(bar, 16);
    bulk_load(shared_address(box), source, 16, bar);
    ++c.rounds;
    c.bad += !mbar_wait(bar, 0, 200);
  }
  atomicAdd(&total->rounds, c.rounds);
  atomicAdd(&total->bad, c.bad);
}

void init_copy(Bench& b, const Variant& v) {
  const uint64_t* source = b.upload(std::vector<uint64_t>(2, 7));
  Counts* total = b.device_array<Counts>(1);
  const auto grid = static_cast<unsigned>(b.multiprocessors());
  if (v.parameter != 0)
    b.run(init_then_copy<true>, Shape{grid, 1}, source, total, 100000);
  else
    b.run(init_then_copy<false>, Shape{grid, 1}, source, total, 100000);
  const Counts c = b.download(total, 1)[0];
  b.number("rounds", c.rounds);
  b.number("lost_copies", c.bad);
}

// ---- Q3

constexpr uint32_t chunk = 4096;  // bytes of a copy
constexpr int chunks = 64;        // different contents, so that an old one shows

enum class Onward : int { at_once, fenced, before_the_wait };

/// CTA 0 of a pair multicasts chunk after chunk into one buffer of both; each stores what it received with a
/// bulk store. before_the_wait: a defect that must show.
template <Onward onward>
__global__ void forward(const uint32_t* source, uint32_t* to, int rounds) {
  __shared__ __align__(128) uint32_t box[chunk / 4];
  __shared__ uint64_t word;
  const uint32_t bar = shared_address(&word), rank = cluster_rank();
  if (threadIdx.x == 0) {
    mbar_init(bar, 1);
    fence_mbarrier_init();
  }
  cluster_sync();
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x == 0) mbar_arrive_expect(bar, chunk);
    cluster_sync();
    if (threadIdx.x == 0) {
      if (rank == 0)
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
            "[%1], %2, "
            "[%3], %4;" ::"r"(shared_address(box)),
            "l"(__cvta_generic_to_global(source + (i % chunks) * (chunk / 4))), "r"(chunk), "r"(bar),
            "h"(uint16_t{3})
            : "memory");
      if (onward != Onward::before_the_wait) mbar_wait(bar, i % 2, 100000);
      if (onward == Onward::fenced) fence_proxy_async();
      bulk_store(to + (size_t{blockIdx.x} * rounds + i) * (chunk / 4), shared_address(box), chunk);
      bulk_commit();
      bulk_wait_all();
      if (onward == Onward::before_the_wait) mbar_wait(bar, i % 2, 100000);
    }
    __syncwarp();
  }
  cluster_sync();
}

template <Onward onward>
void multicast_onward(Bench& b, const Variant&) {
  constexpr int rounds = 256;
  std::vector<uint32_t> contents(chunks * (chunk / 4));
  for (size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<uint32_t>(i) + 1;
  const auto grid = static_cast<unsigned>(b.multiprocessors()) / 2 * 2;
  const size_t words = size_t{grid} * rounds * (chunk / 4);
  const uint32_t* source = b.upload(contents);
  uint32_t* to = b.device_array<uint32_t>(words);
  b.run(forward<onward>, Shape{grid, 32, 2}, source, to, rounds);
  const std::vector<uint32_t> got = b.download(to, words);
  uint64_t bad = 0;
  for (size_t i = 0; i < words; ++i)
    bad += got[i] != contents[(i / (chunk / 4) % rounds % chunks) * (chunk / 4) + i % (chunk / 4)];
  b.number("words", words);
  b.number("stale_words", bad);
}

// ---- Q7

/// Two halves of each warp reach barrier.sync at two places, the second half later.
__global__ void split_barrier(uint64_t* cells, uint32_t* done, uint32_t count, bool split) {
  if (blockIdx.x != 0) return watch(cells, done, 1, 100000);
  put(cells, cell_reached, 1);
  if (!split) {
    asm volatile("barrier.sync 1, %0;" ::"r"(count) : "memory");
  } else if (threadIdx.x % 32 < 16) {
    asm volatile("barrier.sync 1, %0;" ::"r"(count) : "memory");
    if (threadIdx.x == 0) put(cells, cell_first, nanoseconds());
  } else {
    sleep_us(20);
    if (threadIdx.x == 16) put(cells, cell_first + 1, nanoseconds());
    asm volatile("barrier.sync 1, %0;" ::"r"(count) : "memory");
    if (threadIdx.x == 16) put(cells, cell_first + 2, nanoseconds());
  }
  __syncwarp();
  put(cells, cell_reached, 2);
  if (threadIdx.x == 0) report_done(done);
}

struct Split {
  unsigned threads, count;
  bool split;
};
constexpr Split splits[] = {{32, 32, false}, {64, 64, false}, {32, 32, true}, {64, 64, true}, {32, 64, true}};

void split_lanes(Bench& b, const Variant& v) {
  const Split& s = splits[v.parameter];
  uint32_t* done = b.device_array<uint32_t>(1);
  b.run(split_barrier, Shape{2, s.threads}, b.cells, done, s.count, s.split);
  b.number("threads", s.threads);
  b.number("count", s.count);
  b.number("reached", b.cells[cell_reached]);
  // Whether the first half was through before the second came.
  if (s.split && b.cells[cell_first] != 0)
    b.number("first_half_passed_alone", b.cells[cell_first] < b.cells[cell_first + 1] ? 1 : 0);
}

// ---- Q13

/// A phase that is complete, asked for again and again; and one that is not, for how long try_wait waits.
__global__ void ask(Counts* total, uint64_t* longest, int rounds) {
  __shared__ uint64_t words[2];
  const uint32_t complete = shared_address(&words[0]), open = shared_address(&words[1]);
  if (threadIdx.x == 0) {
    mbar_init(complete, 1);
    mbar_init(open, 1);
    mbar_arrive(complete);
  }
  __syncthreads();
  Counts c{};
  for (int i = 0; i < rounds; ++i) {
    ++c.rounds;
    c.bad += !mbar_try(complete, 0);
  }
  atomicAdd(&total[0].rounds, c.rounds);
  atomicAdd(&total[0].bad, c.bad);
  Counts never{};
  uint64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t start = nanoseconds();
    never.bad += mbar_try(open, 0);
    ++never.rounds;
    const uint64_t took = nanoseconds() - start;
    most = took > most ? took : most;
  }
  atomicAdd(&total[1].rounds, never.rounds);
  atomicAdd(&total[1].bad, never.bad);
  atomicMax(reinterpret_cast<unsigned long long*>(longest), static_cast<unsigned long long>(most));
}

void try_waits(Bench& b, const Variant&) {
  Counts* total = b.device_array<Counts>(2);
  uint64_t* longest = b.device_array<uint64_t>(1);
  b.run(ask, Shape{static_cast<unsigned>(b.multiprocessors()), 128}, total, longest, 20000);
  const std::vector<Counts> c = b.download(total, 2);
  b.number("asked_of_a_complete_phase", c[0].rounds);
  b.number("denied", c[0].bad);
  b.number("asked_of_an_open_phase", c[1].rounds);
  b.number("granted", c[1].bad);
  b.number("longest_ns", b.download(longest, 1)[0]);
}

// ---- Q15

enum class Arrivals : int { once, twice, twice_one_cta };

/// A pair of CTAs; CTA 1 comes 50 us later. `passed`: CTA 0 was through its wait before CTA 1 arrived.
__global__ void arrive_again(uint64_t* cells, uint32_t* done, Arrivals how) {
  const uint32_t rank = cluster_rank();
  if (blockIdx.x >= 2) {  // the other pair watches
    if (blockIdx.x == 2) watch(cells, done, 2, 100000);
    return;
  }
  if (rank == 1) sleep_us(50);
  if (threadIdx.x == 0) put(cells, cell_first + 2 * static_cast<int>(rank), nanoseconds());
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  if (how == Arrivals::twice || (how == Arrivals::twice_one_cta && rank == 0))
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) put(cells, cell_first + 2 * static_cast<int>(rank) + 1, nanoseconds());
  __syncwarp();
  if (threadIdx.x == 0) report_done(done);
}

void cluster_arrivals(Bench& b, const Variant& v) {
  uint32_t* done = b.device_array<uint32_t>(1);
  b.run(arrive_again, Shape{4, 32, 2}, b.cells, done, static_cast<Arrivals>(v.parameter));
  b.number("through_0", b.cells[cell_first + 1] != 0 ? 1 : 0);
  b.number("through_1", b.cells[cell_first + 3] != 0 ? 1 : 0);
  if (b.cells[cell_first + 1] != 0)
    b.number("passed_before_the_other_arrived", b.cells[cell_first + 1] < b.cells[cell_first + 2] ? 1 : 0);
}

// ---- Q17

__global__ void first(uint32_t* flag, uint32_t us) {
  asm volatile("griddepcontrol.launch_dependents;");
  sleep_us(us);
  *flag = 1;
}
__global__ void second(bool waits) {
  asm volatile("griddepcontrol.launch_dependents;");
  if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
}
__global__ void third(const volatile uint32_t* flag, uint64_t* cells) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  put(cells, cell_first, *flag);
  put(cells, cell_reached, 1);
}

void three_kernels(Bench& b, const Variant& v) {
  uint32_t* flag = b.device_array<uint32_t>(1);
  if (!b.ended()) return;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  b.check(cudaLaunchKernelEx(&config, first, flag, 300u), "launch of the first");
  config.attrs = &early;
  config.numAttrs = 1;
  b.check(cudaLaunchKernelEx(&config, second, v.parameter != 0), "launch of the second");
  b.check(cudaLaunchKernelEx(&config, third, static_cast<const volatile uint32_t*>(flag), b.cells),
          "launch of the third");
  b.check(cudaDeviceSynchronize(), "end");
  b.number("reached", b.cells[cell_reached]);
  b.number("flag_seen_by_the_third", b.cells[cell_first]);
}

constexpr Variant variants[] = {
    {"q4_init_fence_copy", true, "init, proxy fence, bulk copy by one thread: no copy is lost", init_copy, 1},
    {"q4_init_copy", false, "the same without the fence", init_copy, 0},
    {"q3_multicast_fence_store", true, "multicast, wait, proxy fence, bulk store: nothing stale",
     multicast_onward<Onward::fenced>},
    {"q3_store_before_wait", true, "the store before the wait: stale words must show",
     multicast_onward<Onward::before_the_wait>},
    {"q3_multicast_store", false, "multicast, wait, bulk store without a fence",
     multicast_onward<Onward::at_once>},
    {"q7_together_32", true, "32 lanes at one barrier.sync of 32: through", split_lanes, 0},
    {"q7_together_64", true, "two warps at one barrier.sync of 64: through", split_lanes, 1},
    {"q7_split_32", false, "the halves of one warp at two barrier.sync of 32", split_lanes, 2},
    {"q7_split_64", false, "the halves of two warps at two barrier.sync of 64", split_lanes, 3},
    {"q7_split_32_of_64", false,
     "the halves of one warp at two barrier.sync of 64: does each count as a warp?", split_lanes, 4},
    {"q13_try_wait", false, "try_wait of a complete and of an open phase", try_waits},
    {"q15_once", true, "arrive, wait in both CTAs: CTA 0 waits for CTA 1", cluster_arrivals, 0},
    {"q15_twice", false, "arrive, arrive, wait in both CTAs", cluster_arrivals, 1},
    {"q15_twice_one_cta", false, "arrive, arrive, wait in CTA 0, arrive, wait in CTA 1", cluster_arrivals, 2},
    {"q17_second_waits", true,
     "three kernels, each waits for its predecessor: the third sees the first's store", three_kernels, 1},
    {"q17_second_does_not_wait", false, "the second does not wait: does the third see the first's store?",
     three_kernels, 0},
};

}  // namespace

const Probe p19{"P19", variants};

}  // namespace probes
