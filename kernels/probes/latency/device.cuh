// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../ptx.cuh"
#include "measure.h"

/// What the kernels of the latency probe share. Everything is volatile and clobbers memory: the compiler
/// keeps the order.
namespace latency {

using namespace probes;

__device__ inline uint64_t now() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

/// The loop that production kernels wait with, bounded: no probe spins for ever. A phase that never completes
/// ends the kernel with a fault, so that no figure comes of it.
__device__ inline void wait(uint32_t bar, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred p, q;\n"
      ".reg .b32 left;\n"
      "mov.b32 left, 2000000;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\n"
      "sub.u32 left, left, 1;\n"
      "setp.ne.b32 q, left, 0;\n"
      "@q bra WAIT;\n"
      "trap;\n"
      "DONE:\n"
      "}" ::"r"(bar),
      "r"(parity)
      : "memory");
}
__device__ inline void arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ inline void expect(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ inline void bar_sync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace latency
