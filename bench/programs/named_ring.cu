// SPDX-License-Identifier: Apache-2.0
//
// A ring of four stages between two groups of 128 threads that hand over with named barriers only: the protocol with
// which Weft was measured (algorithms.md 11.2). PTX: nvcc -std=c++20 -O2 -arch=sm_90a -ptx, see make_ptx.sh.
#include <cstdint>

constexpr int stages = 4;

__device__ void sync(int id) { asm volatile("bar.sync %0, 256;" ::"r"(id) : "memory"); }
__device__ void arrive(int id) { asm volatile("bar.arrive %0, 256;" ::"r"(id) : "memory"); }

extern "C" __global__ void __launch_bounds__(256) named_ring(uint32_t* out, int trips) {
  __shared__ uint32_t buffer[stages][128];
  const int lane = threadIdx.x % 128;
  if (threadIdx.x < 128) {
#pragma unroll 1
    for (int i = 0; i < trips; ++i) {
      const int s = i % stages;
      if (i >= stages) sync(5 + s);
      buffer[s][lane] = static_cast<uint32_t>(i) + threadIdx.x;
      arrive(1 + s);
    }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < trips; ++i) {
      const int s = i % stages;
      sync(1 + s);
      sum += buffer[s][127 - lane];
      if (i + stages < trips) arrive(5 + s);
    }
    out[lane] = sum;
  }
}
