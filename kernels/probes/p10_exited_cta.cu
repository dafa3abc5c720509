// SPDX-License-Identifier: Apache-2.0

// P10: touching the shared memory of a cluster peer that has exited (D2, D3): which error, if any?

#include "ptx.cuh"

namespace probes {
namespace {

enum class Touch : int { arrive, arrive_cluster_scope, load, store, bulk };

/// CTA 1 of the cluster leaves (or stays until the end); CTA 0 waits 2 ms and touches it.
/// Cells: 0 the value that a load returned, 1 ready of CTA 1's barrier seen by CTA 1 (only when it stays).
__global__ void touch(uint64_t* cells, Touch how, bool stays) {
  __shared__ __align__(128) char buffer[1024];
  __shared__ __align__(8) uint64_t object;
  __shared__ __align__(16) uint32_t payload[4];
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x == 0) {
    mbar_init(bar, 1);
    payload[0] = 77 + cluster_rank();
    fence_mbarrier_init();
  }
  fence_proxy_async();
  cluster_sync();
  if (cluster_rank() == 1) {
    if (!stays) return;
    if (threadIdx.x == 0) put(cells, cell_first + 1, mbar_wait(bar, 0, 50000) ? 1 : 0);
    cluster_sync();
    return;
  }
  if (threadIdx.x == 0) {
    sleep_us(2000);
    put(cells, cell_reached, 1);
    __threadfence_system();
    const uint32_t peer_bar = in_cta(bar, 1), peer_payload = in_cta(shared_address(payload), 1);
    if (how == Touch::arrive) mbar_arrive_remote(peer_bar);
    if (how == Touch::arrive_cluster_scope) mbar_arrive_remote_cluster(peer_bar);
    if (how == Touch::load) {
      uint32_t value;
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(peer_payload) : "memory");
      put(cells, cell_first, value);
    }
    if (how == Touch::store)
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(peer_payload), "r"(5) : "memory");
    if (how == Touch::bulk) {
      asm volatile(
          "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
              "r"(in_cta(shared_address(buffer), 1)),
          "r"(shared_address(buffer)), "r"(1024), "r"(peer_bar)
          : "memory");
    }
    put(cells, cell_reached, 2);
    __threadfence_system();
    sleep_us(2000);
    put(cells, cell_reached, 3);
  }
  __syncwarp();
  if (stays) cluster_sync();
}

void gone(Bench& b, const Variant& v) {
  b.run(touch, Shape{2, 32, 2}, b.cells, static_cast<Touch>(v.parameter), false);
  b.number("loaded", b.cells[cell_first]);
}
void alive(Bench& b, const Variant& v) {
  b.run(touch, Shape{2, 32, 2}, b.cells, static_cast<Touch>(v.parameter), true);
  b.number("loaded", b.cells[cell_first]);
  b.number("peer_ready", b.cells[cell_first + 1]);
}

constexpr Variant variants[] = {
    {"alive_arrive", true, "remote arrive to a peer that stays: its phase completes", alive, 0},
    {"alive_load", true, "remote load from a peer that stays: 78", alive, 2},
    {"exited_arrive", false, "remote arrive (default scope) to a peer that has exited", gone, 0},
    {"exited_arrive_cluster_scope", false, "remote arrive (.release.cluster) to a peer that has exited", gone,
     1},
    {"exited_load", false, "remote load from a peer that has exited", gone, 2},
    {"exited_store", false, "remote store to a peer that has exited", gone, 3},
    {"exited_bulk_copy", false, "bulk copy into a peer that has exited", gone, 4},
};

}  // namespace

const Probe p10{"P10", variants};

}  // namespace probes
