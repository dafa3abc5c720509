# SPDX-License-Identifier: Apache-2.0
"""C = A B for Hopper: one producer task fills a ring of tiles by TMA, two consumer tasks multiply them with wgmma.

The ring is the pattern to copy. A slot goes round: its producer waits until the slot is `empty`, says how many bytes
will come, starts the copies; its consumers wait until it is `full`, multiply, and give it back. A barrier that nobody
has completed yet counts as having completed the phase *before* its first, so the producer's first round of waits passes.

Launch with num_stages=1: with more, the compiler's own pipeliner puts a full wait behind every wgmma of a loop.
"""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def gemm_hopper(a, b, c, k_tiles,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
                FAULT: tl.constexpr = "none"):  # fmt: skip
    HALF: tl.constexpr = BM // 2  # rows of A and C for each consumer
    a_tiles = tlx.local_alloc((HALF, BK), tl.bfloat16, 2 * STAGES)  # two halves a stage
    b_tiles = tlx.local_alloc((BK, BN), tl.bfloat16, STAGES)
    c_tiles = tlx.local_alloc((HALF, BN), tl.bfloat16, 2)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)  # the producer's expect is the one arrival
    empty = tlx.alloc_barriers(STAGES, arrive_count=2)  # each consumer arrives once
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN

    with tlx.async_tasks():
        with tlx.async_task("default"):  # producer
            for k in range(k_tiles):
                slot, phase = k % STAGES, (k // STAGES) & 1
                if FAULT != "no_empty_wait":
                    if FAULT == "empty_phase":
                        tlx.barrier_wait(empty[slot], phase)  # fault: the consumers' phase, not the one before it
                    else:
                        tlx.barrier_wait(empty[slot], phase ^ 1)
                if FAULT == "half_the_bytes":
                    tlx.barrier_expect_bytes(full[slot], BM * BK * 2)  # fault: B's tile is forgotten
                else:
                    tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                tlx.async_descriptor_load(a, a_tiles[2 * slot], [row, k * BK], full[slot])
                tlx.async_descriptor_load(a, a_tiles[2 * slot + 1], [row + HALF, k * BK], full[slot])
                tlx.async_descriptor_load(b, b_tiles[slot], [k * BK, col], full[slot])
        with tlx.async_task(num_warps=4, replicate=2):  # consumers
            me = tlx.async_task_replica_id()
            acc = tl.zeros((HALF, BN), dtype=tl.float32)
            for k in range(k_tiles):
                slot, phase = k % STAGES, (k // STAGES) & 1
                tlx.barrier_wait(full[slot], phase)
                acc = tlx.async_dot(a_tiles[2 * slot + me], b_tiles[slot], acc)
                if FAULT == "early_release":
                    tlx.barrier_arrive(empty[slot])  # fault: wgmma still reads the slot
                    acc = tlx.async_dot_wait(0, acc)
                else:
                    # One wgmma stays in flight: the one before it is done, and its slot free.
                    acc = tlx.async_dot_wait(1, acc)
                    tlx.barrier_arrive(empty[(k + STAGES - 1) % STAGES], pred=k > 0)
            acc = tlx.async_dot_wait(0, acc)
            tlx.local_store(c_tiles[me], acc.to(tl.bfloat16))
            tlx.fence("async_shared")  # the stores above are generic, the copy below is of the async proxy
            tlx.async_descriptor_store(c, c_tiles[me], [row + HALF * me, col])
            tlx.async_descriptor_store_wait(0)
