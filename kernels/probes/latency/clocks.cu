// SPDX-License-Identifier: Apache-2.0

// The clock of the SMs, what a launch costs, and how soon an SM starts its next CTA.

#include <cmath>

#include "device.cuh"

namespace latency {
namespace {

__global__ void clock_rate(uint64_t* out, uint32_t us) {
  const uint64_t n0 = nanoseconds();
  uint64_t n1 = nanoseconds();
  while (n1 == n0) n1 = nanoseconds();  // begins where the timer ticks
  const uint64_t c1 = now();
  uint64_t n2 = nanoseconds(), c2 = now();
  while (n2 - n1 < us * uint64_t{1000}) n2 = nanoseconds(), c2 = now();
  out[0] = c2 - c1;
  out[1] = n2 - n1;
}

__global__ void __launch_bounds__(384, 1) empty(int) {}
__global__ void __launch_bounds__(384, 1) spin(uint32_t cycles) {
  const uint64_t end = now() + cycles;
  while (now() < end) {
  }
}

struct Timer {
  Bench& bench;
  cudaEvent_t begin{}, end{};
  explicit Timer(Bench& b) : bench(b) {
    bench.check(cudaEventCreate(&begin), "event");
    bench.check(cudaEventCreate(&end), "event");
  }
  template <typename F>
  double microseconds(F&& work) {
    bench.check(cudaEventRecord(begin, nullptr), "event");
    work();
    bench.check(cudaEventRecord(end, nullptr), "event");
    bench.check(cudaEventSynchronize(end), "event");
    float ms = 0;
    bench.check(cudaEventElapsedTime(&ms, begin, end), "event");
    return ms * 1000.0;
  }
};

template <typename F>
Samples many(int count, F&& sample) {
  Samples samples;
  for (int i = 0; i < count; ++i) samples.values.push_back(sample());
  return samples;
}

}  // namespace

void clocks(Bench& bench) {
  uint64_t* out = bench.device<uint64_t>(2);
  bench.launch(clock_rate, {1, 1}, out, 20000u);
  const Samples rate = many(15, [&] {
    bench.launch(clock_rate, {1, 1}, out, 2000u);
    const std::vector<uint64_t> v = bench.host(out, 2);
    return static_cast<double>(v[0]) / static_cast<double>(v[1]) * 1000;
  });
  bench.figure("clock.sm", "MHz", rate,
               "clock64 against globaltimer over 2 ms, one thread, GPU otherwise idle");
}

void launches(Bench& bench) {
  Timer timer(bench);
  const auto sms = static_cast<unsigned>(bench.multiprocessors());
  const auto empty_kernel = reinterpret_cast<const void*>(empty);
  const auto spin_kernel = reinterpret_cast<const void*>(spin);
  const Bench::Shape small{1, 32}, full{sms, 384, 1, 229376};
  for (int i = 0; i < 20; ++i) bench.start(empty_kernel, full, nullptr, 0);
  bench.figure("launch.nothing", "us", many(50, [&] { return timer.microseconds([] {}); }),
               "two events, nothing between");
  bench.figure(
      "launch.one_warp", "us",
      many(50, [&] { return timer.microseconds([&] { bench.start(empty_kernel, small, nullptr, 0); }); }),
      "two events around an empty kernel of one warp");
  bench.figure(
      "launch.full", "us",
      many(50, [&] { return timer.microseconds([&] { bench.start(empty_kernel, full, nullptr, 0); }); }),
      "two events around an empty kernel: a CTA of 384 threads and 224 KiB for each SM");
  bench.figure("launch.back_to_back", "us",
               many(10,
                    [&] {
                      return timer.microseconds([&] {
                        for (int i = 0; i < 100; ++i) bench.start(empty_kernel, full, nullptr, 0);
                      }) / 100;
                    }),
               "the same, 100 launches in a row, per launch");
  // A CTA that spins 20000 cycles: the slope over waves, less the spinning, is what a change of CTA costs.
  const auto waves = [&](unsigned count) {
    return many(15, [&] {
      return timer.microseconds([&] {
        bench.start(spin_kernel, Bench::Shape{sms * count, 384, 1, 229376}, nullptr, 20000u);
      });
    });
  };
  const Samples one = waves(1), nine = waves(9);
  bench.figure("launch.spin_1_wave", "us", one, "every SM spins 20000 cycles once");
  bench.figure("launch.spin_9_waves", "us", nine, "every SM spins 20000 cycles nine times, a CTA each");
}

}  // namespace latency
