// SPDX-License-Identifier: Apache-2.0

// P14: a CTA exits right after it has issued a bulk store from its shared memory; the next CTA on that SM
// overwrites the same shared memory at once (BK6, Q8). Is everything in global memory when the kernel has
// ended, and is it right?

#include <algorithm>

#include "ptx.cuh"

namespace probes {
namespace {

enum class End : int { wait_all, wait_read, committed, uncommitted, overwritten };

constexpr uint32_t chunk_bytes = 65536, chunk_words = chunk_bytes / 4;
constexpr uint32_t poison = 0xA5A5A5A5;

__host__ __device__ constexpr uint32_t content(uint32_t cta, uint32_t word) {
  return cta * chunk_words + word + 1;
}

__global__ void store_and_leave(uint32_t* to, End end) {
  extern __shared__ __align__(1024) uint32_t chunk[];
  for (uint32_t i = threadIdx.x; i < chunk_words; i += blockDim.x) chunk[i] = content(blockIdx.x, i);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(to + size_t{blockIdx.x} * chunk_words, shared_address(chunk), chunk_bytes);
    if (end != End::uncommitted) bulk_commit();
    if (end == End::wait_all) bulk_wait_all();
    if (end == End::wait_read) bulk_wait_all_read();
  }
  if (end == End::overwritten) {  // a defect that must show: the source changes under the store
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < chunk_words; i += blockDim.x) chunk[chunk_words - 1 - i] = 0;
    if (threadIdx.x == 0) bulk_wait_all();
  }
}

/// When a CTA was on which SM (%globaltimer): how long a store keeps an SM from taking the next CTA.
struct Stay {
  uint64_t sm, start, issued, leaving;
};

__global__ void store_and_note(uint32_t* to, Stay* stays, End end, bool stores) {
  extern __shared__ __align__(1024) uint32_t chunk[];
  __shared__ uint64_t start;
  if (threadIdx.x == 0) start = nanoseconds();
  for (uint32_t i = threadIdx.x; i < chunk_words; i += blockDim.x) chunk[i] = content(blockIdx.x, i);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  const uint64_t issued = nanoseconds();
  if (stores) {
    bulk_store(to + size_t{blockIdx.x} * chunk_words, shared_address(chunk), chunk_bytes);
    bulk_commit();
    if (end == End::wait_all) bulk_wait_all();
    if (end == End::wait_read) bulk_wait_all_read();
  }
  stays[blockIdx.x] = {sm, start, issued, nanoseconds()};
}

struct Counts {
  unsigned long long right, untouched, other_cta, other;
};

__global__ void look(const uint32_t* at, uint32_t ctas, Counts* total) {
  Counts c{};
  const size_t all = size_t{ctas} * chunk_words;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < all;
       i += size_t{gridDim.x} * blockDim.x) {
    const auto cta = static_cast<uint32_t>(i / chunk_words), word = static_cast<uint32_t>(i % chunk_words);
    const uint32_t value = at[i];
    if (value == content(cta, word)) {
      ++c.right;
    } else if (value == poison) {
      ++c.untouched;
    } else if (value != 0 && (value - 1) % chunk_words == word) {
      ++c.other_cta;
    } else {
      ++c.other;
    }
  }
  atomicAdd(&total->right, c.right);
  atomicAdd(&total->untouched, c.untouched);
  atomicAdd(&total->other_cta, c.other_cta);
  atomicAdd(&total->other, c.other);
}

void leave(Bench& b, const Variant& v) {
  const auto ctas = static_cast<uint32_t>(b.multiprocessors()) * 48;
  uint32_t* memory = b.device_array<uint32_t>(size_t{ctas} * chunk_words, 0xA5);
  Counts* total = b.device_array<Counts>(1);
  b.run(store_and_leave, Shape{ctas, 256, 1, chunk_bytes}, memory, static_cast<End>(v.parameter));
  b.run(look, Shape{ctas, 256}, memory, ctas, total);
  const Counts c = b.download(total, 1)[0];
  b.number("ctas", ctas);
  b.number("words", uint64_t{ctas} * chunk_words);
  b.number("right", c.right);
  b.number("untouched", c.untouched);
  b.number("another_ctas", c.other_cta);
  b.number("other", c.other);
}

uint64_t middle(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One CTA at a time fits on an SM: the time from its last instruction to the first of its successor.
void noted(Bench& b, End end, bool stores) {
  constexpr size_t nearly_all_shared = 200 * 1024;
  const auto ctas = static_cast<uint32_t>(b.multiprocessors()) * 16;
  uint32_t* memory = b.device_array<uint32_t>(size_t{ctas} * chunk_words, 0xA5);
  Stay* at = b.device_array<Stay>(ctas);
  Counts* total = b.device_array<Counts>(1);
  b.run(store_and_note, Shape{ctas, 256, 1, nearly_all_shared}, memory, at, end, stores);
  b.run(look, Shape{ctas, 256}, memory, ctas, total);
  const Counts c = b.download(total, 1)[0];
  std::vector<Stay> stays = b.download(at, ctas);
  std::sort(stays.begin(), stays.end(),
            [](const Stay& x, const Stay& y) { return x.sm != y.sm ? x.sm < y.sm : x.start < y.start; });
  std::vector<uint64_t> gaps, store_times;
  uint64_t overlaps = 0;
  for (size_t i = 0; i < stays.size(); ++i) {
    store_times.push_back(stays[i].leaving - stays[i].issued);
    if (i + 1 == stays.size() || stays[i + 1].sm != stays[i].sm) continue;
    if (stays[i + 1].start < stays[i].leaving) {
      ++overlaps;
    } else {
      gaps.push_back(stays[i + 1].start - stays[i].leaving);
    }
  }
  b.number("ctas", ctas);
  b.number("words", uint64_t{ctas} * chunk_words);
  b.number("right", c.right);
  b.number("issue_to_exit_ns", middle(store_times));
  b.number("exit_to_next_cta_ns", middle(gaps));
  b.number("shortest_gap_ns", gaps.empty() ? 0 : *std::min_element(gaps.begin(), gaps.end()));
  b.number("overlaps", overlaps);
}
void noted_end(Bench& b, const Variant& v) { noted(b, static_cast<End>(v.parameter), true); }
void noted_without(Bench& b, const Variant&) { noted(b, End::uncommitted, false); }

constexpr Variant variants[] = {
    {"wait_all", true, "wait_group 0 before the exit: everything right", leave, 0},
    {"wait_read", true, "wait_group.read 0 before the exit: everything right", leave, 1},
    {"overwritten", true, "the CTA overwrites the source right after the issue: wrong words must show", leave,
     4},
    {"committed", false, "commit_group, no wait, exit", leave, 2},
    {"uncommitted", false, "no commit_group, exit", leave, 3},
    {"time_no_store", true, "one CTA an SM, no store: from its exit to the start of the next CTA",
     noted_without},
    {"time_wait_all", false, "the same with wait_group 0", noted_end, 0},
    {"time_wait_read", false, "the same with wait_group.read 0", noted_end, 1},
    {"time_committed", false, "the same without a wait: does the exit wait for the store?", noted_end, 2},
};

}  // namespace

const Probe p14{"P14", variants};

}  // namespace probes
