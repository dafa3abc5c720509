# SPDX-License-Identifier: Apache-2.0
"""C = A B for Blackwell: a producer task loads, an MMA task issues tcgen05.mma into tensor memory, the default task
takes the result from there to C.

New beside the Hopper kernel: the MMA is issued by one thread and nobody waits for it. It gives its slots back itself
(`mBarriers`: an arrival when the MMA has read them), and a commit after the last one says that the result is there.
"""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def gemm_blackwell(a, b, c, k_tiles,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
                   FAULT: tl.constexpr = "none"):  # fmt: skip
    a_tiles = tlx.local_alloc((BM, BK), tl.bfloat16, STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tl.bfloat16, STAGES)
    c_tile = tlx.local_alloc((BM, BN), tl.bfloat16, 1)
    acc = tlx.local_alloc((BM, BN), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)  # the producer's expect
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)  # the MMA that reads the slot
    done = tlx.alloc_barriers(1, arrive_count=1)  # the commit after the last MMA
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN

    with tlx.async_tasks():
        with tlx.async_task("default"):  # epilogue
            if FAULT != "no_done_wait":
                tlx.barrier_wait(done[0], 0)
            result = tlx.local_load(acc[0])
            tlx.local_store(c_tile[0], result.to(tl.bfloat16))
            tlx.fence("async_shared")  # the stores above are generic, the copy below is of the async proxy
            tlx.async_descriptor_store(c, c_tile[0], [row, col])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1):  # producer
            for k in range(k_tiles):
                slot, phase = k % STAGES, (k // STAGES) & 1
                tlx.barrier_wait(empty[slot], phase ^ 1)
                if FAULT == "half_the_bytes":
                    tlx.barrier_expect_bytes(full[slot], BM * BK * 2)  # fault: B's tile is forgotten
                else:
                    tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                tlx.async_descriptor_load(a, a_tiles[slot], [row, k * BK], full[slot])
                tlx.async_descriptor_load(b, b_tiles[slot], [k * BK, col], full[slot])
        with tlx.async_task(num_warps=1):  # MMA
            for k in range(k_tiles):
                slot, phase = k % STAGES, (k // STAGES) & 1
                if FAULT == "stale_phase":
                    tlx.barrier_wait(full[slot], 0)  # fault: right for the first round only
                else:
                    tlx.barrier_wait(full[slot], phase)
                if FAULT == "early_release":
                    tlx.async_dot(a_tiles[slot], b_tiles[slot], acc[0], use_acc=k > 0, force_async=True)
                    tlx.barrier_arrive(empty[slot])  # fault: the MMA is only issued, not done
                else:
                    tlx.async_dot(a_tiles[slot], b_tiles[slot], acc[0], use_acc=k > 0, mBarriers=[empty[slot]])
            tlx.tcgen05_commit(done[0])
