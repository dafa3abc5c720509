// SPDX-License-Identifier: Apache-2.0

// P11: setmaxnreg with sums above, at and below the pool of three warpgroups that start with 168 registers a
// thread (RG4, RG5, RG7, RG8, Q18, Q20). 168 * 3 = 504; the register file has 512 * 128.

#include "ptx.cuh"

namespace probes {
namespace {

/// What a warpgroup does: 0 nothing, negative decrease to -n, positive increase to n.
template <int n>
__device__ void set_registers() {
  if constexpr (n > 0) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n) : "memory");
  if constexpr (n < 0) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(-n) : "memory");
}

/// Cells: warp w (0..11) 2w = nanoseconds from the start at its setmaxnreg, 2w + 1 = the same after it (plus
/// 1; 0: never).
template <int n>
__device__ void one_group(uint64_t* cells, uint64_t start, uint32_t after_us, uint32_t* done) {
  while (nanoseconds() < start + after_us * uint64_t{1000}) __nanosleep(200);
  __syncwarp();
  const int at = cell_first + static_cast<int>(threadIdx.x / 32) * 2;
  if (threadIdx.x % 32 == 0) put(cells, at, nanoseconds() - start + 1);
  __syncwarp();
  set_registers<n>();
  if (threadIdx.x % 32 == 0) {
    put(cells, at + 1, nanoseconds() - start + 1);
    report_done(done);
  }
  while (*static_cast<volatile uint32_t*>(done) < 12) __nanosleep(1000);  // an exit would give registers back
}

/// CTA 0: three warpgroups at their times. CTA 1, on another SM since each needs nearly all registers: the
/// watchdog.
template <int n0, int n1, int n2>
__global__ void __launch_bounds__(384, 1)
    registers(uint64_t* cells, uint32_t* done, uint32_t t0, uint32_t t1, uint32_t t2) {
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) watch(cells, done, 12, 100000);
    return;
  }
  __syncthreads();
  const uint64_t start = nanoseconds();
  const uint32_t group = threadIdx.x / 128;
  if (group == 0) {
    one_group<n0>(cells, start, t0, done);
  } else if (group == 1) {
    one_group<n1>(cells, start, t1, done);
  } else {
    one_group<n2>(cells, start, t2, done);
  }
}

template <int n0, int n1, int n2, uint32_t t0, uint32_t t1, uint32_t t2>
void groups(Bench& b, const Variant&) {
  cudaFuncAttributes attributes{};
  b.check(cudaFuncGetAttributes(&attributes, registers<n0, n1, n2>), "attributes");
  uint32_t* done = b.device_array<uint32_t>(1);
  b.run(registers<n0, n1, n2>, Shape{2, 384}, b.cells, done, t0, t1, t2);
  b.number("registers_at_entry", static_cast<uint64_t>(attributes.numRegs));
  constexpr int n[] = {n0, n1, n2};
  int sum = 0;
  std::string text = "[";
  for (int g = 0; g < 3; ++g) {
    sum += n[g] == 0 ? attributes.numRegs : n[g] < 0 ? -n[g] : n[g];
    int passed = 0;
    uint64_t from = ~uint64_t{0}, to = 0;
    for (int w = 4 * g; w < 4 * g + 4; ++w) {
      const uint64_t asked = b.cells[cell_first + 2 * w], got = b.cells[cell_first + 2 * w + 1];
      passed += got != 0;
      from = asked < from ? asked : from;
      to = got > to ? got : to;
    }
    text += std::string(g == 0 ? "" : ",") + "{\"op\":\"" +
            (n[g] == 0  ? "none"
             : n[g] < 0 ? "dec"
                        : "inc") +
            "\",\"registers\":" + std::to_string(n[g] < 0 ? -n[g] : n[g]) +
            ",\"warps_passed\":" + std::to_string(passed) + ",\"asked_us\":" + std::to_string(from / 1000) +
            ",\"passed_us\":" + std::to_string(to / 1000) + "}";
  }
  b.number("sum", static_cast<uint64_t>(sum));
  b.json("groups", text + "]");
}

constexpr Variant variants[] = {
    {"dec24_inc240_inc240", true, "504 of 504: passes (CUTLASS)", groups<-24, 240, 240, 0, 0, 0>},
    {"dec40_inc232_inc232", true, "504 of 504: passes (CUTLASS)", groups<-40, 232, 232, 0, 0, 0>},
    {"late_dec", true, "504 of 504, the decrease 2 ms after the increases: they wait for it",
     groups<-40, 232, 232, 2000, 0, 0>},
    {"none_inc240_inc240", true, "nobody decreases, 648: the increases never pass",
     groups<0, 240, 240, 0, 0, 0>},
    {"dec24_inc232_inc232", false, "488: below the pool (cutlass 2007)", groups<-24, 232, 232, 0, 0, 0>},
    {"dec24_inc232_inc232_late_dec", false, "488, the decrease 2 ms after the increases",
     groups<-24, 232, 232, 2000, 0, 0>},
    {"dec24_inc232_inc232_staggered", false, "488, increases at 1 and 2 ms",
     groups<-24, 232, 232, 0, 1000, 2000>},
    {"dec24_inc200_inc200", false, "424: far below the pool", groups<-24, 200, 200, 0, 0, 0>},
    {"dec24_inc240_only", false, "24, 240 and 168 untouched: 432", groups<-24, 240, 0, 0, 0, 0>},
    {"dec24_inc240_inc248", false, "512: above the pool, at the register file",
     groups<-24, 240, 248, 0, 0, 0>},
    {"dec24_inc248_inc248", false, "520: above the register file", groups<-24, 248, 248, 0, 0, 0>},
    {"none_inc176", false, "one warpgroup to 176, nobody decreases: 512", groups<0, 176, 0, 0, 0, 0>},
    {"none_inc176_inc176", false, "two warpgroups to 176, nobody decreases: 520",
     groups<0, 176, 176, 0, 0, 0>},
    {"equal_dec_168", false, "decrease to 168, what it has", groups<-168, 0, 0, 0, 0, 0>},
    {"equal_inc_168", false, "increase to 168, what it has", groups<0, 168, 0, 0, 0, 0>},
    {"inc_160", false, "one warpgroup increases to 160: the assembler then starts the kernel with 160",
     groups<0, 160, 0, 0, 0, 0>},
    {"dec_one_inc_other", false, "160, 176 and 168 untouched: 504", groups<-160, 176, 0, 0, 0, 0>},
};

}  // namespace

const Probe p11{"P11", variants};

}  // namespace probes
