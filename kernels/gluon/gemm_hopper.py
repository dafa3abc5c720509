# SPDX-License-Identifier: Apache-2.0
"""C = A B for Hopper in Gluon: a producer warp fills a ring of tiles by TMA, eight consumer warps multiply with wgmma.

A partition is a function; `warp_specialize` starts them all and waits for all. A barrier must be initialised, and the
initialisation made visible to the async proxy, before they start. A barrier that nobody has completed yet counts as
having completed the phase before its first: the producer's first round of waits passes.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait)  # fmt: skip


@gluon.jit
def produce(a, b, a_tiles, b_tiles, full, empty, row, col, k_tiles, FAULT: gl.constexpr):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BK: gl.constexpr = a_tiles.shape[2]
    for k in range(k_tiles):
        slot, phase = k % STAGES, (k // STAGES) & 1
        if FAULT == "empty_phase":
            mbarrier.wait(empty.index(slot), phase)  # fault: the consumer's phase, not the one before it
        else:
            mbarrier.wait(empty.index(slot), phase ^ 1)
        if FAULT == "half_the_bytes":
            mbarrier.expect(full.index(slot), a.block_type.nbytes)  # fault: B's tile is forgotten
        else:
            mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_load(a, [row, k * BK], full.index(slot), a_tiles.index(slot))
        tma.async_load(b, [k * BK, col], full.index(slot), b_tiles.index(slot))


@gluon.jit
def consume(c, a_tiles, b_tiles, c_tile, full, empty, row, col, k_tiles, FAULT: gl.constexpr):
    STAGES: gl.constexpr = a_tiles.shape[0]
    BM: gl.constexpr = c_tile.shape[0]
    BN: gl.constexpr = c_tile.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BN, 16])
    acc = gl.zeros((BM, BN), gl.float32, layout)
    for k in range(k_tiles):
        slot, phase = k % STAGES, (k // STAGES) & 1
        if FAULT != "no_full_wait":
            mbarrier.wait(full.index(slot), phase)
        acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc, is_async=True)
        if FAULT == "early_release":
            mbarrier.arrive(empty.index(slot))  # fault: wgmma still reads the slot
            acc = warpgroup_mma_wait(0, [acc])
        else:
            # One wgmma stays in flight: the one before it is done, and its slot free.
            acc = warpgroup_mma_wait(1, [acc])
            mbarrier.arrive(empty.index((k + STAGES - 1) % STAGES), pred=k > 0)
    result = warpgroup_mma_wait(0, [acc])
    c_tile.store(result.to(gl.bfloat16))
    if FAULT != "no_fence":
        fence_async_shared()  # the stores above are generic, the copy below is of the async proxy
    tma.async_store(c, [row, col], c_tile)
    tma.store_wait(0)


@gluon.jit
def gemm_hopper(a, b, c, k_tiles, STAGES: gl.constexpr, FAULT: gl.constexpr = "none"):
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    c_tile = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    full = mbarrier.allocate_mbarrier(batch=STAGES)
    empty = mbarrier.allocate_mbarrier(batch=STAGES)
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)  # the producer's expect
        mbarrier.init(empty.index(i), count=2 if FAULT == "arrival_missing" else 1)  # the consumer partition
    fence_async_shared()
    row, col = gl.program_id(0) * c_tile.shape[0], gl.program_id(1) * c_tile.shape[1]
    gl.warp_specialize([
        (consume, (c, a_tiles, b_tiles, c_tile, full, empty, row, col, k_tiles, FAULT)),
        (produce, (a, b, a_tiles, b_tiles, full, empty, row, col, k_tiles, FAULT)),
    ], [1])  # fmt: skip
