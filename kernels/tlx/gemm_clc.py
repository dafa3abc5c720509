# SPDX-License-Identifier: Apache-2.0
"""C = A B for Blackwell, persistent: a CTA that is done with its tile takes over that of a CTA which has not started
(cluster launch control), so that the launch has one CTA for each tile and the GPU balances the load.

Four tasks walk through the same tiles. One asks for the next tile; all of them, this one too, read the answer, and the
request may be made again only when all have. The accumulator is doubled: the epilogue of a tile overlaps the MMAs of
the next. All counters run on over tiles: a phase is a matter of how often a slot was used, not of the tile.
"""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def gemm_clc(a, b, c, k_tiles, tiles_n,
             BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
             FAULT: tl.constexpr = "none"):  # fmt: skip
    a_tiles = tlx.local_alloc((BM, BK), tl.bfloat16, STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tl.bfloat16, STAGES)
    c_tile = tlx.local_alloc((BM, BN), tl.bfloat16, 1)
    acc = tlx.local_alloc((BM, BN), tl.float32, 2, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    acc_full = tlx.alloc_barriers(2, arrive_count=1)
    acc_empty = tlx.alloc_barriers(2, arrive_count=1)
    # Whoever reads an answer is counted: scheduler, producer, MMA, epilogue.
    next_tile = tlx.clc_create_context(3 if FAULT == "reader_forgotten" else 4)

    with tlx.async_tasks():
        with tlx.async_task("default"):  # epilogue
            tile, turn = tl.program_id(0), 0
            while tile != -1:
                side = turn % 2
                if FAULT != "no_acc_wait":
                    tlx.barrier_wait(acc_full[side], (turn // 2) & 1)
                result = tlx.local_load(acc[side])
                tlx.barrier_arrive(acc_empty[side])
                if FAULT != "no_store_wait":
                    tlx.async_descriptor_store_wait(0)  # the copy of the tile before still reads c_tile
                tlx.local_store(c_tile[0], result.to(tl.bfloat16))
                tlx.fence("async_shared")
                tlx.async_descriptor_store(c, c_tile[0], [tile // tiles_n * BM, tile % tiles_n * BN])
                tile = tlx.clc_consumer(next_tile, turn & 1)
                turn += 1
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1):  # scheduler
            tile, turn = tl.program_id(0), 0
            while tile != -1:
                tlx.clc_producer(next_tile, (turn & 1) ^ 1)
                tile = tlx.clc_consumer(next_tile, turn & 1)
                turn += 1
        with tlx.async_task(num_warps=1):  # producer
            tile, turn, use = tl.program_id(0), 0, 0
            while tile != -1:
                row, col = tile // tiles_n * BM, tile % tiles_n * BN
                for k in range(k_tiles):
                    slot, phase = use % STAGES, (use // STAGES) & 1
                    tlx.barrier_wait(empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                    tlx.async_descriptor_load(a, a_tiles[slot], [row, k * BK], full[slot])
                    tlx.async_descriptor_load(b, b_tiles[slot], [k * BK, col], full[slot])
                    use += 1
                tile = tlx.clc_consumer(next_tile, turn & 1)
                turn += 1
        with tlx.async_task(num_warps=1):  # MMA
            tile, turn, use = tl.program_id(0), 0, 0
            while tile != -1:
                side = turn % 2
                tlx.barrier_wait(acc_empty[side], ((turn // 2) & 1) ^ 1)
                for k in range(k_tiles):
                    if FAULT == "count_per_tile":
                        slot, phase = k % STAGES, (k // STAGES) & 1  # fault: right for the first tile only
                    else:
                        slot, phase = use % STAGES, (use // STAGES) & 1
                    tlx.barrier_wait(full[slot], phase)
                    tlx.async_dot(a_tiles[slot], b_tiles[slot], acc[side], use_acc=k > 0, mBarriers=[empty[slot]])
                    use += 1
                tlx.tcgen05_commit(acc_full[side])
                tile = tlx.clc_consumer(next_tile, turn & 1)
                turn += 1
