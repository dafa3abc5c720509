# SPDX-License-Identifier: Apache-2.0
"""Attention forward for Hopper in Gluon: O = softmax(Q K^T / sqrt(D)) V with two consumers that play ping-pong.

While one consumer multiplies, the other computes its softmax. `turn` has a barrier for each: whoever has started its MMAs
arrives on the other's. Consumer 1 waits for a phase, consumer 0 for the one before it: so consumer 0 begins.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait)  # fmt: skip


@gluon.jit
def produce(q, k, v, q_tiles, k_tiles, v_tiles, q_full, k_full, v_full, k_empty, v_empty, row, head, steps,
            FAULT: gl.constexpr):  # fmt: skip
    STAGES: gl.constexpr = k_tiles.shape[0]
    BN: gl.constexpr = k_tiles.shape[1]
    for i in gl.static_range(2):
        mbarrier.expect(q_full.index(i), q.block_type.nbytes)
        tma.async_load(q, [row + i * q_tiles.shape[1], 0], q_full.index(i), q_tiles.index(i))
    for j in range(steps):
        slot, phase = j % STAGES, (j // STAGES) & 1
        mbarrier.wait(k_empty.index(slot), phase ^ 1)
        mbarrier.expect(k_full.index(slot), k.block_type.nbytes)
        tma.async_load(k, [head + j * BN, 0], k_full.index(slot), k_tiles.index(slot))
        if FAULT != "no_v_empty_wait":
            mbarrier.wait(v_empty.index(slot), phase ^ 1)
        mbarrier.expect(v_full.index(slot), v.block_type.nbytes)
        tma.async_load(v, [head + j * BN, 0], v_full.index(slot), v_tiles.index(slot))


@gluon.jit
def consume(o, q_tiles, k_tiles, v_tiles, q_full, k_full, v_full, k_empty, v_empty, turn, row, steps, scale,
            ME: gl.constexpr, FAULT: gl.constexpr):  # fmt: skip
    STAGES: gl.constexpr = k_tiles.shape[0]
    HALF: gl.constexpr = q_tiles.shape[1]
    D: gl.constexpr = q_tiles.shape[2]
    BN: gl.constexpr = k_tiles.shape[1]
    s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BN, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, D, 16])
    p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)
    rows: gl.constexpr = gl.SliceLayout(1, s_layout)
    m = gl.full((HALF,), float("-inf"), gl.float32, rows)
    l = gl.zeros((HALF,), gl.float32, rows)
    acc = gl.zeros((HALF, D), gl.float32, o_layout)
    mbarrier.wait(q_full.index(ME), 0)
    for j in range(steps):
        slot, phase = j % STAGES, (j // STAGES) & 1
        mbarrier.wait(k_full.index(slot), phase)
        if FAULT == "both_wait":
            mbarrier.wait(turn.index(ME), j & 1)  # fault: nobody begins
        else:
            mbarrier.wait(turn.index(ME), (j & 1) ^ (1 - ME))
        s = warpgroup_mma(q_tiles.index(ME), k_tiles.index(slot).permute([1, 0]), gl.zeros((HALF, BN), gl.float32, s_layout),
                          use_acc=False, is_async=True)  # fmt: skip
        mbarrier.arrive(turn.index(1 - ME))
        if FAULT == "early_release":
            mbarrier.arrive(k_empty.index(slot))  # fault: Q K^T still reads the slot
            s = warpgroup_mma_wait(0, [s])
        else:
            s = warpgroup_mma_wait(0, [s])
            mbarrier.arrive(k_empty.index(slot))

        m_new = gl.maximum(m, gl.max(s, 1) * scale)
        p = gl.exp2(s * scale - m_new[:, None])
        shrink = gl.exp2(m - m_new)
        m, l = m_new, l * shrink + gl.sum(p, 1)
        acc = acc * gl.convert_layout(shrink, gl.SliceLayout(1, o_layout))[:, None]

        if FAULT == "v_phase":
            mbarrier.wait(v_full.index(slot), phase ^ 1)  # fault: the phase before the one that is needed
        else:
            mbarrier.wait(v_full.index(slot), phase)
        acc = warpgroup_mma(gl.convert_layout(p.to(gl.bfloat16), p_layout), v_tiles.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(0, [acc])
        mbarrier.arrive(v_empty.index(slot))
    # Q is not needed any more, by this consumer: its tile takes O.
    result = acc / gl.convert_layout(l, gl.SliceLayout(1, o_layout))[:, None]
    q_tiles.index(ME).store(result.to(gl.bfloat16))
    fence_async_shared()
    tma.async_store(o, [row + ME * HALF, 0], q_tiles.index(ME))
    tma.store_wait(0)


@gluon.jit
def attention_hopper(q, k, v, o, steps, scale,  # scale: log2(e) / sqrt(D)
                     STAGES: gl.constexpr, FAULT: gl.constexpr = "none"):  # fmt: skip
    q_tiles = gl.allocate_shared_memory(q.dtype, [2] + q.block_type.shape, q.layout)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES] + k.block_type.shape, k.layout)
    v_tiles = gl.allocate_shared_memory(v.dtype, [STAGES] + v.block_type.shape, v.layout)
    q_full = mbarrier.allocate_mbarrier(batch=2)
    turn = mbarrier.allocate_mbarrier(batch=2)
    k_full = mbarrier.allocate_mbarrier(batch=STAGES)
    v_full = mbarrier.allocate_mbarrier(batch=STAGES)
    k_empty = mbarrier.allocate_mbarrier(batch=STAGES)
    v_empty = mbarrier.allocate_mbarrier(batch=STAGES)
    for i in gl.static_range(2):
        mbarrier.init(q_full.index(i), count=1)
        mbarrier.init(turn.index(i), count=1)
    for i in gl.static_range(STAGES):
        mbarrier.init(k_full.index(i), count=1)
        mbarrier.init(v_full.index(i), count=1)
        mbarrier.init(k_empty.index(i), count=2)  # both consumers
        mbarrier.init(v_empty.index(i), count=2)
    fence_async_shared()
    head = gl.program_id(1) * steps * k_tiles.shape[1]  # first row of this head
    row = head + gl.program_id(0) * 2 * q_tiles.shape[1]
    gl.warp_specialize([
        (consume, (o, q_tiles, k_tiles, v_tiles, q_full, k_full, v_full, k_empty, v_empty, turn, row, steps, scale, 0, FAULT)),
        (consume, (o, q_tiles, k_tiles, v_tiles, q_full, k_full, v_full, k_empty, v_empty, turn, row, steps, scale, 1, FAULT)),
        (produce, (q, k, v, q_tiles, k_tiles, v_tiles, q_full, k_full, v_full, k_empty, v_empty, row, head, steps, FAULT)),
    ], [4, 1])  # fmt: skip
