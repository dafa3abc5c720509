# SPDX-License-Identifier: Apache-2.0
"""C = A B for Blackwell in Gluon, persistent: a CTA that is done with its tile takes over that of a CTA which has not
started (cluster launch control), so that the launch has one CTA for each tile and the GPU balances the load.

Four partitions walk through the same tiles. The scheduler asks for the next one; all of them read the answer, and say
that they have, before it may ask again. The accumulator is doubled: the epilogue of a tile overlaps the MMAs of the next.
All counters run on over tiles: a phase is a matter of how often a slot was used, not of the tile.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, allocate_tensor_memory, clc, fence_async_shared, mbarrier, tcgen05_commit, tcgen05_mma, tma)  # fmt: skip


@gluon.jit
def next_tile(answer, answered, was_read, turn, FAULT: gl.constexpr):
    """-1 after the last one. Which tile it is may be asked only of an answer that names one: no gl.where here."""
    mbarrier.wait(answered, turn & 1)
    result = clc.load_result(answer)
    fence_async_shared()  # the read above is generic, the next answer is written by the async proxy
    mbarrier.arrive(was_read)
    tile = -1
    if FAULT == "asked_regardless":
        tile = gl.where(result.is_canceled(), result.program_id(0), -1)
    elif result.is_canceled():
        tile = result.program_id(0)
    return tile


@gluon.jit
def schedule(answer, answered, was_read, FAULT: gl.constexpr):
    tile, turn = gl.program_id(0), 0
    while tile != -1:
        if FAULT != "answer_overwritten":
            mbarrier.wait(was_read, (turn & 1) ^ 1)
        mbarrier.expect(answered, 16)
        clc.try_cancel(answer, answered)
        tile = next_tile(answer, answered, was_read, turn, FAULT)
        turn += 1


@gluon.jit
def produce(a, b, a_tiles, b_tiles, full, empty, answer, answered, was_read, k_tiles, tiles_n,
            FAULT: gl.constexpr):  # fmt: skip
    STAGES: gl.constexpr = a_tiles.shape[0]
    BM: gl.constexpr = a_tiles.shape[1]
    BN: gl.constexpr = b_tiles.shape[2]
    BK: gl.constexpr = a_tiles.shape[2]
    tile, turn, use = gl.program_id(0), 0, 0
    while tile != -1:
        for k in range(k_tiles):
            slot, phase = use % STAGES, (use // STAGES) & 1
            mbarrier.wait(empty.index(slot), phase ^ 1)
            mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes)
            tma.async_load(a, [tile // tiles_n * BM, k * BK], full.index(slot), a_tiles.index(slot))
            tma.async_load(b, [k * BK, tile % tiles_n * BN], full.index(slot), b_tiles.index(slot))
            use += 1
        tile = next_tile(answer, answered, was_read, turn, FAULT)
        turn += 1


@gluon.jit
def multiply(a_tiles, b_tiles, acc, full, empty, acc_full, acc_empty, answer, answered, was_read, k_tiles,
             FAULT: gl.constexpr):  # fmt: skip
    STAGES: gl.constexpr = a_tiles.shape[0]
    tile, turn, use = gl.program_id(0), 0, 0
    while tile != -1:
        side = turn % 2
        mbarrier.wait(acc_empty.index(side), ((turn // 2) & 1) ^ 1)
        for k in range(k_tiles):
            if FAULT == "count_per_tile":
                slot, phase = k % STAGES, (k // STAGES) & 1  # fault: right for the first tile only
            else:
                slot, phase = use % STAGES, (use // STAGES) & 1
            mbarrier.wait(full.index(slot), phase)
            tcgen05_mma(a_tiles.index(slot), b_tiles.index(slot), acc.index(side), use_acc=k > 0,
                        mbarriers=[empty.index(slot)])  # fmt: skip
            use += 1
        tcgen05_commit(acc_full.index(side))
        tile = next_tile(answer, answered, was_read, turn, FAULT)
        turn += 1


@gluon.jit
def finish(c, c_tile, acc, acc_full, acc_empty, answer, answered, was_read, tiles_n, FAULT: gl.constexpr):
    tile, turn = gl.program_id(0), 0
    while tile != -1:
        side = turn % 2
        if FAULT != "no_acc_wait":
            mbarrier.wait(acc_full.index(side), (turn // 2) & 1)
        result = acc.index(side).load()
        mbarrier.arrive(acc_empty.index(side))
        if FAULT != "no_store_wait":
            tma.store_wait(0)  # the copy of the tile before still reads c_tile
        c_tile.store(result.to(gl.bfloat16))
        fence_async_shared()
        tma.async_store(c, [tile // tiles_n * c_tile.shape[0], tile % tiles_n * c_tile.shape[1]], c_tile)
        tile = next_tile(answer, answered, was_read, turn, FAULT)
        turn += 1
    tma.store_wait(0)


@gluon.jit
def gemm_clc(a, b, c, k_tiles, tiles_n, STAGES: gl.constexpr, FAULT: gl.constexpr = "none"):
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    c_tile = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    acc = allocate_tensor_memory(gl.float32, [2] + c.block_type.shape,
                                 TensorMemoryLayout(c.block_type.shape, col_stride=1))  # fmt: skip
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    full = mbarrier.allocate_mbarrier(batch=STAGES)
    empty = mbarrier.allocate_mbarrier(batch=STAGES)
    acc_full = mbarrier.allocate_mbarrier(batch=2)
    acc_empty = mbarrier.allocate_mbarrier(batch=2)
    answered = mbarrier.allocate_mbarrier()
    was_read = mbarrier.allocate_mbarrier()
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    for i in gl.static_range(2):
        mbarrier.init(acc_full.index(i), count=1)
        mbarrier.init(acc_empty.index(i), count=1)
    mbarrier.init(answered, count=1)
    mbarrier.init(was_read, count=3 if FAULT == "reader_forgotten" else 4)  # one for each partition
    fence_async_shared()
    gl.warp_specialize([
        (finish, (c, c_tile, acc, acc_full, acc_empty, answer, answered, was_read, tiles_n, FAULT)),
        (schedule, (answer, answered, was_read, FAULT)),
        (produce, (a, b, a_tiles, b_tiles, full, empty, answer, answered, was_read, k_tiles, tiles_n, FAULT)),
        (multiply, (a_tiles, b_tiles, acc, full, empty, acc_full, acc_empty, answer, answered, was_read, k_tiles, FAULT)),
    ], [1, 1, 1])  # fmt: skip
