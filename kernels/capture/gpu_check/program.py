# SPDX-License-Identifier: Apache-2.0
"""Small kernels, each launched once on a real GPU and compared with torch: what gpu_check.sh captures and records.

Each case is a way in which a launch can look: masks and scalars, views into larger tensors, indices and lengths that
decide control, tables of addresses, descriptors, tuned configurations, CUDA graphs.
"""

import math
import os
import sys

import torch
import triton
import triton.language as tl
import triton.testing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "gluon")]
DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def add(x, y, out, n, alpha, twice, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n) * alpha + tl.load(y + i, i < n)
    if twice:
        v += v
    tl.store(out + i, v, i < n)


@triton.jit
def gather(x, rows, out, columns, B: tl.constexpr):
    row = tl.load(rows + tl.program_id(0))
    i = tl.arange(0, B)
    tl.store(out + tl.program_id(0) * columns + i, tl.load(x + row * columns + i, i < columns), i < columns)


@triton.jit
def sums(x, offsets, out):
    total = 0.0
    for i in range(tl.load(offsets + tl.program_id(0)), tl.load(offsets + tl.program_id(0) + 1)):
        total += tl.load(x + i)
    tl.store(out + tl.program_id(0), total)


@triton.jit
def scale_rows(x, stride, columns, B: tl.constexpr):
    at = x + tl.program_id(0) * stride + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    tl.store(at, tl.load(at, inside) * 0.5, inside)


@triton.jit
def softmax(x, out, columns, B: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    v = tl.load(x + at, inside, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + at, e / tl.sum(e, 0), inside)


@triton.jit
def add_tables(tables, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(n):
        total += tl.load(tl.load(tables + k).to(tl.pointer_type(tl.float32)) + i)
    tl.store(out + i, total)


@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(tl.bfloat16))


add_tuned = triton.autotune([triton.Config({"B": 128}), triton.Config({"B": 256}, num_warps=8)], key=["n"])(add)


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=torch.float32, device=DEVICE).to(dtype)


def close(ours, theirs, tolerance=0.0):
    torch.testing.assert_close(ours.float(), theirs.float(), rtol=tolerance, atol=tolerance)


def run_add():
    x, y = randn(5000), randn(5000)
    out = torch.empty_like(x)
    add[(math.ceil(5000 / 1024),)](x, y, out, 5000, 0.5, True, B=1024)
    close(out, 2 * (x * 0.5 + y), 1e-6)


def run_gather():
    x, rows = randn(16, 100, dtype=torch.bfloat16), torch.tensor([3, 0, 15, 3, 7], device=DEVICE)
    out = torch.zeros(5, 100, dtype=torch.bfloat16, device=DEVICE)
    gather[(5,)](x, rows, out, 100, B=128)
    close(out, x[rows])


def run_sums():
    x, offsets = randn(64), torch.tensor([0, 5, 5, 64], dtype=torch.int32, device=DEVICE)
    out = torch.empty(3, device=DEVICE)
    sums[(3,)](x, offsets, out)
    close(out, torch.stack([x[0:5].sum(), x[5:5].sum(), x[5:64].sum()]), 1e-4)


def run_scale_rows():
    """A view that begins inside of its allocation and leaves gaps, changed in place."""
    whole = randn(12, 96, dtype=torch.float16)
    before, view = whole.clone(), whole[2:10, 16:80]
    scale_rows[(8,)](view, view.stride(0), 64, B=64, num_warps=2)
    before[2:10, 16:80] *= 0.5
    close(whole, before)


def run_softmax():
    x = randn(4, 200)
    out = torch.empty_like(x)
    softmax[(4,)](x, out, 200, B=256)
    close(out, torch.softmax(x, 1), 1e-5)


def run_add_tables():
    parts = [randn(128) for _ in range(3)]
    tables = torch.tensor([part.data_ptr() for part in parts], dtype=torch.int64, device=DEVICE)
    out = torch.empty(128, device=DEVICE)
    add_tables[(1,)](tables, out, 3, B=128)
    close(out, parts[0] + parts[1] + parts[2], 1e-6)


def run_matmul():
    from triton.tools.tensor_descriptor import TensorDescriptor

    a, b = randn(256, 128, dtype=torch.bfloat16), randn(256, 128, dtype=torch.bfloat16)
    c = torch.empty(256, 256, dtype=torch.bfloat16, device=DEVICE)
    matmul[(2, 2)](TensorDescriptor.from_tensor(a, [128, 64]), TensorDescriptor.from_tensor(b, [128, 64]),
                   TensorDescriptor.from_tensor(c, [128, 128]), 128, BM=128, BN=128, BK=64)  # fmt: skip
    close(c, a.float() @ b.float().T, 0.05)


def run_tuned():
    x, y = randn(3000), randn(3000)
    out = torch.empty_like(x)
    add_tuned[lambda meta: (triton.cdiv(3000, meta["B"]),)](x, y, out, 3000, 1.0, False)
    close(out, x + y, 1e-6)


def run_benchmark():
    """Measured in place: every call finds other values."""
    whole = randn(8, 64, dtype=torch.float16)
    triton.testing.do_bench(lambda: scale_rows[(8,)](whole, 64, 64, B=64, num_warps=2), warmup=1, rep=2)


def run_graph():
    x, y = randn(256), randn(256)
    out = torch.zeros_like(x)
    add[(1,)](x, y, out, 256, 2.0, False, B=256)  # compiles
    out.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add[(1,)](x, y, out, 256, 3.0, False, B=256)
    close(out, torch.zeros_like(out))
    graph.replay()
    close(out, x * 3 + y, 1e-6)


def gluon_descriptor(tensor, block):
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    return TensorDescriptor.from_tensor(tensor, block, gl.NVMMASharedLayout.get_default_for(block, gl.bfloat16))


def run_gemm_hopper():
    import older_gluon  # noqa: F401
    from gemm_hopper import gemm_hopper

    a, b = randn(256, 512, dtype=torch.bfloat16), randn(512, 256, dtype=torch.bfloat16)
    c = torch.empty(256, 256, dtype=torch.bfloat16, device=DEVICE)
    gemm_hopper[(2, 2)](gluon_descriptor(a, [128, 64]), gluon_descriptor(b, [64, 128]), gluon_descriptor(c, [128, 128]), 8,
                        STAGES=3, num_warps=8)  # fmt: skip
    close(c, a.float() @ b.float(), 0.1)


def run_attention_hopper():
    import older_gluon  # noqa: F401
    from attention_hopper import attention_hopper

    q, k, v = (randn(1024, 128, dtype=torch.bfloat16) for _ in range(3))
    out = torch.empty_like(q)
    scale = math.log2(math.e) / math.sqrt(128)
    attention_hopper[(4, 2)](gluon_descriptor(q, [64, 128]), gluon_descriptor(k, [128, 128]), gluon_descriptor(v, [128, 128]),
                             gluon_descriptor(out, [64, 128]), 4, scale, STAGES=2, num_warps=4)  # fmt: skip
    heads = [torch.nn.functional.scaled_dot_product_attention(*(t[h * 512 : h * 512 + 512].float()[None] for t in (q, k, v)))[0]
             for h in range(2)]  # fmt: skip
    close(out, torch.cat(heads), 0.05)


def compiled():
    """torch.compile's own kernels."""
    x, y = randn(1000), randn(1000)
    close(torch.compile(lambda a, b: torch.relu(a * 2 + b))(x, y), torch.relu(x * 2 + y), 1e-6)


def fault():
    """Reads 200 GiB beyond its tensor: the launch has to be saved although nothing comes after it."""
    x, rows = randn(16, 100, dtype=torch.bfloat16), torch.tensor([1 << 30], device=DEVICE)
    gather[(1,)](x, rows, torch.zeros(1, 100, dtype=torch.bfloat16, device=DEVICE), 100, B=128)
    torch.cuda.synchronize()


def main():
    torch.manual_seed(1)
    if sys.argv[1:] in (["fault"], ["compiled"]):
        return globals()[sys.argv[1]]()
    failed = []
    cases = {name.removeprefix("run_"): call for name, call in globals().items() if name.startswith("run_")}
    for name in sys.argv[1:] or cases:
        try:
            cases[name]()
            print(f"program: {name} ok", flush=True)
        except Exception as error:  # noqa: BLE001 - the other cases are worth running all the same
            failed.append(name)
            print(f"program: {name} FAILED: {type(error).__name__}: {str(error)[:600]}", flush=True)
    return f"program: failed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
