# SPDX-License-Identifier: Apache-2.0
"""C = A B for Blackwell in Gluon: one warp loads, one issues tcgen05.mma into tensor memory, four write C.

New beside the Hopper kernel: nobody waits for an MMA to give its slot back. The MMA arrives on the slot's barrier itself
when it has read it (`mbarriers`), and a commit after the last one says that the result is there.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, allocate_tensor_memory, fence_async_shared, mbarrier, tcgen05_commit, tcgen05_mma, tma)  # fmt: skip


@gluon.jit
def produce(a, b, a_tiles, b_tiles, full, empty, row, col, k_tiles, FAULT: gl.constexpr):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BK: gl.constexpr = a_tiles.shape[2]
    for k in range(k_tiles):
        slot, phase = k % STAGES, (k // STAGES) & 1
        if FAULT != "no_empty_wait":
            mbarrier.wait(empty.index(slot), phase ^ 1)
        if FAULT == "half_the_bytes":
            mbarrier.expect(full.index(slot), a.block_type.nbytes)  # fault: B's tile is forgotten
        else:
            mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_load(a, [row, k * BK], full.index(slot), a_tiles.index(slot))
        tma.async_load(b, [k * BK, col], full.index(slot), b_tiles.index(slot))


@gluon.jit
def multiply(a_tiles, b_tiles, acc, full, empty, done, k_tiles, FAULT: gl.constexpr):
    STAGES: gl.constexpr = a_tiles.shape[0]
    for k in range(k_tiles):
        slot, phase = k % STAGES, (k // STAGES) & 1
        if FAULT == "stale_phase":
            mbarrier.wait(full.index(slot), 0)  # fault: right for the first round only
        else:
            mbarrier.wait(full.index(slot), phase)
        tcgen05_mma(a_tiles.index(slot), b_tiles.index(slot), acc, use_acc=k > 0, mbarriers=[empty.index(slot)])
    if FAULT != "no_commit":
        tcgen05_commit(done)


@gluon.jit
def finish(c, c_tile, acc, done, row, col, FAULT: gl.constexpr):
    if FAULT != "no_done_wait":
        mbarrier.wait(done, 0)
    c_tile.store(acc.load().to(gl.bfloat16))
    fence_async_shared()  # the stores above are generic, the copy below is of the async proxy
    tma.async_store(c, [row, col], c_tile)
    tma.store_wait(0)


@gluon.jit
def gemm_blackwell(a, b, c, k_tiles, STAGES: gl.constexpr, FAULT: gl.constexpr = "none"):
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    c_tile = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    acc = allocate_tensor_memory(gl.float32, c.block_type.shape, TensorMemoryLayout(c.block_type.shape, col_stride=1))
    full = mbarrier.allocate_mbarrier(batch=STAGES)
    empty = mbarrier.allocate_mbarrier(batch=STAGES)
    done = mbarrier.allocate_mbarrier()
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)  # the producer's expect
        mbarrier.init(empty.index(i), count=1)  # the MMA that reads the slot
    mbarrier.init(done, count=1)  # the commit after the last MMA
    fence_async_shared()
    row, col = gl.program_id(0) * c_tile.shape[0], gl.program_id(1) * c_tile.shape[1]
    gl.warp_specialize([
        (finish, (c, c_tile, acc, done, row, col, FAULT)),
        (produce, (a, b, a_tiles, b_tiles, full, empty, row, col, k_tiles, FAULT)),
        (multiply, (a_tiles, b_tiles, acc, full, empty, done, k_tiles, FAULT)),
    ], [1, 1])  # fmt: skip
