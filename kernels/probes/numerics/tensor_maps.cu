// SPDX-License-Identifier: Apache-2.0
// What the copy engine does to elements on their way: a load of one box, and a store or reduction of one box.
#include <cuda.h>

#include <cstdint>

namespace {

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

}  // namespace

/// Box of `bytes` bytes (at most 1024) at coordinate `x` of a map of rank 1 into out[256].
extern "C" __global__ void tensor_load(const __grid_constant__ CUtensorMap map, uint32_t* out, int x,
                                       int bytes) {
  __shared__ alignas(1024) uint32_t box[256];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  box[threadIdx.x] = 0xa5a5a5a5;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], "
        "[%3];" ::"r"(shared_address(box)),
        "l"(&map), "r"(x), "r"(bar)
        : "memory");
  }
  uint32_t done = 0;
  while (done == 0)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(bar)
                 : "memory");
  out[threadIdx.x] = box[threadIdx.x];
}

/// from[256] as one box at coordinate `x`: operation 0 stores, 1 to 8 reduce.
extern "C" __global__ void tensor_reduce(const __grid_constant__ CUtensorMap map, const uint32_t* from, int x,
                                         int operation) {
  __shared__ alignas(1024) uint32_t box[256];
  box[threadIdx.x] = from[threadIdx.x];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  const uint32_t source = shared_address(box);
  switch (operation) {
#define CASE(number, text)                                                               \
  case number:                                                                           \
    asm volatile(text " [%0, {%1}], [%2];" ::"l"(&map), "r"(x), "r"(source) : "memory"); \
    break;
    CASE(0, "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group")
    CASE(1, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group")
    CASE(2, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile.bulk_group")
    CASE(3, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.tile.bulk_group")
    CASE(4, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.inc.tile.bulk_group")
    CASE(5, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.dec.tile.bulk_group")
    CASE(6, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.and.tile.bulk_group")
    CASE(7, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.or.tile.bulk_group")
    CASE(8, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.xor.tile.bulk_group")
#undef CASE
  }
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}
