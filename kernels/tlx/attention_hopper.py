# SPDX-License-Identifier: Apache-2.0
"""Attention forward for Hopper: O = softmax(Q K^T / sqrt(D)) V with two consumer tasks that play ping-pong.

While one consumer multiplies, the other computes its softmax: the right to start MMAs is passed to and fro by two named
barriers. A turn covers Q K^T of this step and P V of the step before, so that both run while the other has the turn.
K and V have rings of their own, since V is needed a step later than K.
"""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def softmax_step(s, m, l, scale):
    """The running maximum and sum, this step's probabilities, and what the sums so far shrink by."""
    m_new = tl.maximum(m, tl.max(s, 1) * scale)
    p = tl.math.exp2(s * scale - m_new[:, None])
    shrink = tl.math.exp2(m - m_new)
    return p.to(tl.bfloat16), shrink, m_new, l * shrink + tl.sum(p, 1)


@triton.jit
def attention_hopper(q, k, v, o, steps, scale,  # scale: log2(e) / sqrt(D)
                     BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr,
                     FAULT: tl.constexpr = "none"):  # fmt: skip
    HALF: tl.constexpr = BM // 2
    TURN: tl.constexpr = 9  # named barrier 9 + i: consumer i's turn; the compiler uses the first few itself
    BOTH: tl.constexpr = 256  # threads of the two consumers
    q_tiles = tlx.local_alloc((HALF, D), tl.bfloat16, 2)
    k_tiles = tlx.local_alloc((BN, D), tl.bfloat16, STAGES)
    v_tiles = tlx.local_alloc((BN, D), tl.bfloat16, STAGES)
    q_full = tlx.alloc_barriers(2, arrive_count=1)
    k_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    v_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    k_empty = tlx.alloc_barriers(STAGES, arrive_count=2)  # both consumers
    v_empty = tlx.alloc_barriers(STAGES, arrive_count=1 if FAULT == "one_arrival_fewer" else 2)
    head = tl.program_id(1) * steps * BN  # first row of this head
    row = head + tl.program_id(0) * BM

    with tlx.async_tasks():
        with tlx.async_task("default"):  # producer
            for i in tl.static_range(2):
                tlx.barrier_expect_bytes(q_full[i], HALF * D * 2)
                tlx.async_descriptor_load(q, q_tiles[i], [row + i * HALF, 0], q_full[i])
            for j in range(steps):
                slot, phase = j % STAGES, (j // STAGES) & 1
                tlx.barrier_wait(k_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(k_full[slot], BN * D * 2)
                tlx.async_descriptor_load(k, k_tiles[slot], [head + j * BN, 0], k_full[slot])
                tlx.barrier_wait(v_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(v_full[slot], BN * D * 2)
                tlx.async_descriptor_load(v, v_tiles[slot], [head + j * BN, 0], v_full[slot])
        with tlx.async_task(num_warps=4, replicate=2):  # consumers
            me = tlx.async_task_replica_id()
            m = tl.full((HALF,), float("-inf"), dtype=tl.float32)
            l = tl.zeros((HALF,), dtype=tl.float32)
            acc = tl.zeros((HALF, D), dtype=tl.float32)
            if me == 1:
                tlx.named_barrier_arrive(TURN, BOTH)  # consumer 0 begins
            tlx.barrier_wait(q_full[me], 0)

            # Step 0 has no P V before it. (Launch with num_stages=1, see gemm_hopper.py.)
            tlx.barrier_wait(k_full[0], 0)
            tlx.named_barrier_wait(TURN + me, BOTH)
            s = tlx.async_dot(q_tiles[me], tlx.local_trans(k_tiles[0]))
            tlx.named_barrier_arrive(TURN + 1 - me, BOTH)
            s = tlx.async_dot_wait(0, s)
            tlx.barrier_arrive(k_empty[0])
            p, shrink, m, l = softmax_step(s, m, l, scale)

            for j in range(1, steps):
                slot, phase = j % STAGES, (j // STAGES) & 1
                before, phase_before = (j - 1) % STAGES, ((j - 1) // STAGES) & 1
                if FAULT == "k_phase":
                    tlx.barrier_wait(k_full[slot], phase ^ 1)  # fault: the phase before the one that is needed
                else:
                    tlx.barrier_wait(k_full[slot], phase)
                tlx.named_barrier_wait(TURN + me, BOTH)
                s = tlx.async_dot(q_tiles[me], tlx.local_trans(k_tiles[slot]))
                if FAULT != "no_v_wait":
                    tlx.barrier_wait(v_full[before], phase_before)
                acc = tlx.async_dot(p, v_tiles[before], acc)
                if FAULT == "turn_kept":
                    tlx.named_barrier_arrive(TURN + me, BOTH)  # fault: passes the turn to itself
                else:
                    tlx.named_barrier_arrive(TURN + 1 - me, BOTH)
                s = tlx.async_dot_wait(1, s)  # Q K^T is done, P V may still run
                tlx.barrier_arrive(k_empty[slot])
                if FAULT == "early_release":
                    tlx.barrier_arrive(v_empty[before])  # fault: P V may still run
                p_new, shrink, m, l = softmax_step(s, m, l, scale)
                acc = tlx.async_dot_wait(0, acc)
                if FAULT != "early_release":
                    tlx.barrier_arrive(v_empty[before])
                acc = acc * shrink[:, None]
                p = p_new

            # The last P V; consumer 0 takes back the turn that is still under way.
            last = steps - 1
            if me == 0:
                tlx.named_barrier_wait(TURN, BOTH)
            tlx.barrier_wait(v_full[last % STAGES], (last // STAGES) & 1)
            acc = tlx.async_dot(p, v_tiles[last % STAGES], acc)
            acc = tlx.async_dot_wait(0, acc)
            # Q is not needed any more, by this consumer: its tile takes O.
            tlx.local_store(q_tiles[me], (acc / l[:, None]).to(tl.bfloat16))
            tlx.fence("async_shared")
            tlx.async_descriptor_store(o, q_tiles[me], [row + me * HALF, 0])
            tlx.async_descriptor_store_wait(0)
