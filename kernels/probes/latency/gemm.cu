// SPDX-License-Identifier: Apache-2.0

// kernels/gemm_bf16_hopper over eight shapes: by events, one launch at a time and back to back, and from
// inside (gemm_timed.cubin: the same PTX, where the first thread of each warp group also leaves clock64 and
// globaltimer at its start and its end).

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "device.cuh"

namespace latency {
namespace {

struct GemmShape {
  uint32_t m, n, k;
  const char* what;
};

constexpr GemmShape shapes[] = {
    {128, 256, 4096, "one CTA, one tile, 64 k tiles"},
    {1408, 3072, 1024, "132 CTAs, one tile each, 16 k tiles"},
    {1408, 3072, 8192, "132 CTAs, one tile each, 128 k tiles"},
    {2048, 2048, 2048, "128 CTAs, one tile each, 32 k tiles"},
    {4096, 4096, 512, "132 CTAs, 3 or 4 tiles each, 8 k tiles"},
    {4096, 4096, 4096, "132 CTAs, 3 or 4 tiles each, 64 k tiles"},
    {8192, 8192, 2048, "132 CTAs, 15 or 16 tiles each, 32 k tiles"},
    {8192, 8192, 8192, "132 CTAs, 15 or 16 tiles each, 128 k tiles"},
};

__global__ void clock_rate_after(uint64_t* out, uint32_t us) {
  const uint64_t n1 = nanoseconds(), c1 = now();
  uint64_t n2 = n1, c2 = c1;
  while (n2 - n1 < us * uint64_t{1000}) n2 = nanoseconds(), c2 = now();
  out[0] = c2 - c1;
  out[1] = n2 - n1;
}

/// Some elements again, in float: a figure of a kernel that computed something else would be worth nothing.
__global__ void differing(const uint16_t* a, const uint16_t* b, const uint16_t* c, GemmShape s,
                          uint32_t* wrong) {
  const uint32_t row = threadIdx.x * 977u % s.m, column = threadIdx.x * 1481u % s.n;
  float sum = 0;
  for (uint32_t k = 0; k < s.k; ++k)
    sum += __uint_as_float(uint32_t{a[size_t{row} * s.k + k]} << 16) *
           __uint_as_float(uint32_t{b[size_t{column} * s.k + k]} << 16);
  const float got = __uint_as_float(uint32_t{c[size_t{row} * s.n + column]} << 16);
  if (!(fabsf(got - sum) <= 0.01f * fabsf(sum) + 0.05f)) atomicAdd(wrong, 1);
}

struct Loaded {
  const void* kernel = nullptr;
  cudaLibrary_t library{};
};

Loaded load(Bench& bench, const std::string& file) {
  Loaded loaded;
  cudaKernel_t kernel{};
  bench.check(
      cudaLibraryLoadFromFile(&loaded.library, file.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "cubin");
  bench.check(cudaLibraryGetKernel(&kernel, loaded.library, "gemm_bf16_hopper"), "kernel of the cubin");
  loaded.kernel = kernel;
  return loaded;
}

struct Run {
  const Loaded& plain;
  const Loaded& timed;
  const uint16_t* a;
  const uint16_t* b;
  uint16_t* c;
};

double milliseconds(Bench& bench, cudaEvent_t begin, cudaEvent_t end) {
  float ms = 0;
  bench.check(cudaEventSynchronize(end), "event");
  bench.check(cudaEventElapsedTime(&ms, begin, end), "event");
  return ms;
}

std::string text(const char* name, double best, double median) {
  char out[96];
  std::snprintf(out, sizeof out, ",\"%s_best\":%.3f,\"%s_median\":%.3f", name, best, name, median);
  return out;
}

void measure(Bench& bench, const Run& run, const GemmShape& s) {
  const auto sms = static_cast<uint32_t>(bench.multiprocessors());
  const uint32_t tiles = (s.m + 127) / 128 * ((s.n + 255) / 256), grid = std::min(sms, tiles);
  const CUtensorMap a = bench.tensor_map(const_cast<uint16_t*>(run.a), {s.k, s.m}, s.k * 2ull, {64, 128});
  const CUtensorMap b = bench.tensor_map(const_cast<uint16_t*>(run.b), {s.k, s.n}, s.k * 2ull, {64, 256});
  const CUtensorMap c = bench.tensor_map(run.c, {s.n, s.m}, s.n * 2ull, {64, 64});
  const Bench::Shape shape{grid, 384, 1, 229376};
  const auto go = [&](const Loaded& loaded) {
    bench.start(loaded.kernel, shape, nullptr, a, b, c, s.m, s.n, (s.k + 63) / 64);
  };
  bench.check(cudaMemset(run.c, 0xff, size_t{s.m} * s.n * 2), "cudaMemset");
  for (int i = 0; i < 3; ++i) go(run.plain);
  uint32_t* wrong = bench.device<uint32_t>(1);
  bench.launch(differing, {1, 64}, run.a, run.b, static_cast<const uint16_t*>(run.c), s, wrong);
  const uint32_t differ = bench.host(wrong, 1)[0];

  cudaEvent_t begin{}, end{};
  bench.check(cudaEventCreate(&begin), "event");
  bench.check(cudaEventCreate(&end), "event");
  Samples single, row;
  for (int i = 0; i < 40; ++i) {
    bench.check(cudaEventRecord(begin, nullptr), "event");
    go(run.plain);
    bench.check(cudaEventRecord(end, nullptr), "event");
    single.values.push_back(milliseconds(bench, begin, end) * 1000);
  }
  for (int i = 0; i < 5; ++i) {
    bench.check(cudaEventRecord(begin, nullptr), "event");
    for (int k = 0; k < 20; ++k) go(run.plain);
    bench.check(cudaEventRecord(end, nullptr), "event");
    row.values.push_back(milliseconds(bench, begin, end) * 1000 / 20);
  }
  uint64_t* rate = bench.device<uint64_t>(2);
  bench.launch(clock_rate_after, {1, 1}, rate, 100u);
  const std::vector<uint64_t> clock = bench.host(rate, 2);

  // From inside: per CTA from the first start to the last end of its warp groups, in cycles of its SM; over
  // all in nanoseconds.
  void* slots = nullptr;
  size_t slot_bytes = 0;
  bench.check(cudaLibraryGetGlobal(&slots, &slot_bytes, run.timed.library, "probe_clock"), "probe_clock");
  Samples longest, middle, nanos, first_start, inside_mhz;
  for (int i = 0; i < 20; ++i) {
    go(run.timed);
    bench.check(cudaDeviceSynchronize(), "kernel");
    const std::vector<uint64_t> v = bench.host(static_cast<const uint64_t*>(slots), size_t{grid} * 12);
    Samples cta;
    uint64_t n0 = ~uint64_t{0}, n1 = 0, last_start = 0;
    for (uint32_t x = 0; x < grid; ++x) {
      const uint64_t* w =
          v.data() + size_t{x} * 12;  // for each of three warp groups: clock, timer; then the same at the end
      uint64_t c0 = ~uint64_t{0}, c1 = 0, s0 = ~uint64_t{0};
      for (int g = 0; g < 3; ++g) {
        c0 = std::min(c0, w[2 * g]), c1 = std::max(c1, w[6 + 2 * g]);
        s0 = std::min(s0, w[2 * g + 1]), n1 = std::max(n1, w[6 + 2 * g + 1]);
      }
      n0 = std::min(n0, s0), last_start = std::max(last_start, s0);
      cta.values.push_back(static_cast<double>(c1 - c0));
    }
    inside_mhz.values.push_back(
        cta.values[0] /
        static_cast<double>(std::max(v[7], std::max(v[9], v[11])) - std::min(v[1], std::min(v[3], v[5]))) *
        1000);
    longest.values.push_back(*std::max_element(cta.values.begin(), cta.values.end()));
    middle.values.push_back(cta.median());
    nanos.values.push_back(static_cast<double>(n1 - n0) / 1000);
    first_start.values.push_back(static_cast<double>(last_start - n0) / 1000);
  }
  char head[256];
  std::snprintf(head, sizeof head,
                "{\"gemm\":true,\"m\":%u,\"n\":%u,\"k\":%u,\"grid\":%u,\"tiles\":%u,\"wrong_of_64\":%u,"
                "\"clock_mhz\":%.1f",
                s.m, s.n, s.k, grid, tiles, differ,
                static_cast<double>(clock[0]) / static_cast<double>(clock[1]) * 1000);
  bench.line(head + text("event_us", single.best(), single.median()) +
             text("row_us", row.best(), row.median()) +
             text("longest_cta_cycles", longest.best(), longest.median()) +
             text("median_cta_cycles", middle.best(), middle.median()) +
             text("inside_us", nanos.best(), nanos.median()) +
             text("start_spread_us", first_start.best(), first_start.median()) +
             text("inside_mhz", inside_mhz.best(), inside_mhz.median()) + ",\"what\":\"" + s.what + "\"}");
  bench.check(cudaFree(wrong), "cudaFree");
  bench.check(cudaFree(rate), "cudaFree");
}

}  // namespace

void gemm(Bench& bench, const std::string& folder) {
  const Loaded plain = load(bench, folder + "/gemm.cubin"), timed = load(bench, folder + "/gemm_timed.cubin");
  constexpr size_t elements = size_t{8192} * 8192;
  const Run run{plain, timed, bench.random_bf16(elements, 1), bench.random_bf16(elements, 2),
                bench.device<uint16_t>(elements)};
  for (const GemmShape& s : shapes) measure(bench, run, s);
}

}  // namespace latency
