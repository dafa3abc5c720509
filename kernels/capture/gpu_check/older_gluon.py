# SPDX-License-Identifier: Apache-2.0
"""What the Gluon kernels of this repository call, under the names of triton 3.6 and 3.7. Import it before them."""

import inspect

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._core import builtin
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

FEW, MANY = 24, 152  # registers a thread, where they have to be said: of a warp that only issues copies, of a warpgroup that computes

if not hasattr(tma, "async_load"):
    tma.async_load, tma.async_store = tma.async_copy_global_to_shared, tma.async_copy_shared_to_global

if not hasattr(mbarrier, "allocate_mbarrier"):

    @gluon.jit
    def allocate_mbarrier(batch: gl.constexpr):
        return gl.allocate_shared_memory(gl.int64, [batch, 1], mbarrier.MBarrierLayout())

    mbarrier.allocate_mbarrier = allocate_mbarrier

if inspect.signature(gl.warp_specialize).parameters["worker_num_regs"].default is inspect.Parameter.empty:
    told = gl.warp_specialize

    @builtin
    def warp_specialize(functions_and_args, worker_num_warps, worker_num_regs=None, _semantic=None, _generator=None):
        chosen = [FEW if getattr(n, "value", n) < 4 else MANY for n in worker_num_warps]
        return told(functions_and_args, worker_num_warps, worker_num_regs or chosen, _semantic=_semantic, _generator=_generator)

    gl.warp_specialize = warp_specialize
