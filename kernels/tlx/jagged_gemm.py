# SPDX-License-Identifier: Apache-2.0
"""Jagged (grouped) GEMM for Hopper: rows offsets[g] .. offsets[g + 1] of A are multiplied with the g-th matrix of B.

The number of tiles is known only from `offsets`, on the GPU: each CTA walks over all groups and takes every n-th tile.
Producer and consumers must walk alike, or one waits for a tile that the other never sends. Tiles are loaded whole, past
the end of a group; the store is masked, since the rows past the end belong to the next group, and to another CTA.
"""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def jagged_gemm(a, b, c, offsets, groups, k_tiles, tiles_n,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
                FAULT: tl.constexpr = "none"):  # fmt: skip
    HALF: tl.constexpr = BM // 2
    a_tiles = tlx.local_alloc((HALF, BK), tl.bfloat16, 2 * STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tl.bfloat16, STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=2)

    with tlx.async_tasks():
        with tlx.async_task("default"):  # producer
            tile, use = tl.program_id(0), 0  # my next tile, counted over all groups; slots used so far
            first = 0  # the number of the group's first tile
            for g in range(groups):
                start, end = tl.load(offsets + g), tl.load(offsets + g + 1)
                after = first + tl.cdiv(end - start, BM) * tiles_n
                while tile < after:
                    row, col = start + (tile - first) // tiles_n * BM, (tile - first) % tiles_n * BN
                    for k in range(k_tiles):
                        slot, phase = use % STAGES, (use // STAGES) & 1
                        tlx.barrier_wait(empty[slot], phase ^ 1)
                        tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                        tlx.async_descriptor_load(a, a_tiles[2 * slot], [row, k * BK], full[slot])
                        tlx.async_descriptor_load(a, a_tiles[2 * slot + 1], [row + HALF, k * BK], full[slot])
                        tlx.async_descriptor_load(b, b_tiles[slot], [(g * k_tiles + k) * BK, col], full[slot])
                        use += 1
                    tile += tl.num_programs(0)
                first = after
        with tlx.async_task(num_warps=4, replicate=2):  # consumers
            me = tlx.async_task_replica_id()
            tile, use = tl.program_id(0), 0
            first = 0
            for g in range(groups):
                start, end = tl.load(offsets + g), tl.load(offsets + g + 1)
                if FAULT == "partial_tile_dropped":
                    after = first + (end - start) // BM * tiles_n  # fault: the producer rounds up
                else:
                    after = first + tl.cdiv(end - start, BM) * tiles_n
                while tile < after:
                    row, col = start + (tile - first) // tiles_n * BM, (tile - first) % tiles_n * BN
                    acc = tl.zeros((HALF, BN), dtype=tl.float32)
                    for k in range(k_tiles):
                        if FAULT == "count_per_tile":
                            slot, phase = k % STAGES, (k // STAGES) & 1  # fault: right for the first tile only
                        else:
                            slot, phase = use % STAGES, (use // STAGES) & 1
                        tlx.barrier_wait(full[slot], phase)
                        acc = tlx.async_dot(a_tiles[2 * slot + me], b_tiles[slot], acc)
                        acc = tlx.async_dot_wait(0, acc)
                        tlx.barrier_arrive(empty[slot])
                        use += 1
                    rows = row + HALF * me + tl.arange(0, HALF)
                    at = c + rows[:, None] * (tiles_n * BN) + col + tl.arange(0, BN)[None, :]
                    if FAULT == "no_mask":
                        tl.store(at, acc.to(tl.bfloat16))  # fault: writes rows of the next group, too
                    else:
                        tl.store(at, acc.to(tl.bfloat16), mask=rows[:, None] < end)
                    tile += tl.num_programs(0)
                first = after
