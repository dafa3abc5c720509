# SPDX-License-Identifier: Apache-2.0
"""Jagged (grouped) GEMM for Blackwell in Gluon: rows offsets[g] .. offsets[g + 1] of A times the g-th matrix of B.

The number of tiles is known only from `offsets`, on the GPU: each CTA walks over all groups and takes every n-th tile.
The three partitions must walk alike, or one waits for a tile that another never sends. Tiles are loaded whole, past the
end of a group; the store is masked, since the rows past the end belong to the next group, and to another CTA.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, allocate_tensor_memory, fence_async_shared, mbarrier, tcgen05_commit, tcgen05_mma, tma)  # fmt: skip


@gluon.jit
def produce(a, b, a_tiles, b_tiles, full, empty, offsets, groups, k_tiles, tiles_n):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BM: gl.constexpr = a_tiles.shape[1]
    BN: gl.constexpr = b_tiles.shape[2]
    BK: gl.constexpr = a_tiles.shape[2]
    tile, use = gl.program_id(0), 0  # my next tile, counted over all groups; slots used so far
    first = 0  # the number of the group's first tile
    for g in range(groups):
        start, end = gl.load(offsets + g), gl.load(offsets + g + 1)
        after = first + gl.cdiv(end - start, BM) * tiles_n
        while tile < after:
            row, col = start + (tile - first) // tiles_n * BM, (tile - first) % tiles_n * BN
            for k in range(k_tiles):
                slot, phase = use % STAGES, (use // STAGES) & 1
                mbarrier.wait(empty.index(slot), phase ^ 1)
                mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes)
                tma.async_load(a, [row, k * BK], full.index(slot), a_tiles.index(slot))
                tma.async_load(b, [(g * k_tiles + k) * BK, col], full.index(slot), b_tiles.index(slot))
                use += 1
            tile += gl.num_programs(0)
        first = after


@gluon.jit
def multiply(a_tiles, b_tiles, acc, full, empty, acc_full, acc_empty, offsets, groups, k_tiles, tiles_n,
             FAULT: gl.constexpr):  # fmt: skip
    STAGES: gl.constexpr = a_tiles.shape[0]
    BM: gl.constexpr = a_tiles.shape[1]
    tile, use, turn = gl.program_id(0), 0, 0
    first = 0
    for g in range(groups):
        start, end = gl.load(offsets + g), gl.load(offsets + g + 1)
        if FAULT == "partial_tile_dropped":
            after = first + (end - start) // BM * tiles_n  # fault: the others round up
        else:
            after = first + gl.cdiv(end - start, BM) * tiles_n
        while tile < after:
            if FAULT != "acc_overwritten":
                mbarrier.wait(acc_empty, (turn & 1) ^ 1)
            for k in range(k_tiles):
                slot, phase = use % STAGES, (use // STAGES) & 1
                mbarrier.wait(full.index(slot), phase)
                tcgen05_mma(a_tiles.index(slot), b_tiles.index(slot), acc, use_acc=k > 0, mbarriers=[empty.index(slot)])
                use += 1
            tcgen05_commit(acc_full)
            tile += gl.num_programs(0)
            turn += 1
        first = after


@gluon.jit
def finish(c, acc, acc_full, acc_empty, offsets, groups, tiles_n, FAULT: gl.constexpr):
    BM: gl.constexpr = acc.shape[0]
    BN: gl.constexpr = acc.shape[1]
    layout: gl.constexpr = acc.get_reg_layout()
    tile, turn = gl.program_id(0), 0
    first = 0
    for g in range(groups):
        start, end = gl.load(offsets + g), gl.load(offsets + g + 1)
        after = first + gl.cdiv(end - start, BM) * tiles_n
        while tile < after:
            row, col = start + (tile - first) // tiles_n * BM, (tile - first) % tiles_n * BN
            mbarrier.wait(acc_full, turn & 1)
            result = acc.load(layout).to(gl.bfloat16)
            mbarrier.arrive(acc_empty)
            rows = row + gl.arange(0, BM, gl.SliceLayout(1, layout))
            columns = col + gl.arange(0, BN, gl.SliceLayout(0, layout))
            at = c + rows[:, None] * (tiles_n * BN) + columns[None, :]
            if FAULT == "no_mask":
                gl.store(at, result)  # fault: writes rows of the next group, too
            else:
                gl.store(at, result, mask=rows[:, None] < end)
            tile += gl.num_programs(0)
            turn += 1
        first = after


@gluon.jit
def jagged_gemm(a, b, c, offsets, groups, k_tiles, tiles_n, STAGES: gl.constexpr, FAULT: gl.constexpr = "none"):
    BM: gl.constexpr = a.block_type.shape[0]
    BN: gl.constexpr = b.block_type.shape[1]
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    full = mbarrier.allocate_mbarrier(batch=STAGES)
    empty = mbarrier.allocate_mbarrier(batch=STAGES)
    acc_full = mbarrier.allocate_mbarrier()
    acc_empty = mbarrier.allocate_mbarrier()
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    mbarrier.init(acc_full, count=1)
    mbarrier.init(acc_empty, count=1)
    fence_async_shared()
    gl.warp_specialize([
        (finish, (c, acc, acc_full, acc_empty, offsets, groups, tiles_n, FAULT)),
        (produce, (a, b, a_tiles, b_tiles, full, empty, offsets, groups, k_tiles, tiles_n)),
        (multiply, (a_tiles, b_tiles, acc, full, empty, acc_full, acc_empty, offsets, groups, k_tiles, tiles_n, FAULT)),
    ], [1, 1])  # fmt: skip
