# SPDX-License-Identifier: Apache-2.0
"""Runs gemm_bf16_hopper through turnstile-gpu and compares with numpy. Called by smoke.sh: RUNNER PTX WORKDIR [--fast]."""
import pathlib
import subprocess
import sys
import time

import numpy as np

BM, BN, BK = 128, 256, 64
# (M, N, K, CTAs at most): one tile; S, S+1, 2S+1 k tiles; no k tile; ragged M, N, K; several tiles a CTA; second consumer empty.
SHAPES = [
    (128, 256, 64, 132), (128, 256, 256, 132), (128, 256, 320, 132), (128, 256, 576, 132), (128, 256, 0, 1),
    (128, 256, 40, 132), (128, 256, 77, 132), (50, 200, 128, 132), (129, 264, 136, 132), (300, 1000, 333, 3),
    (1, 256, 512, 132), (77, 512, 512, 2), (1024, 1024, 1024, 132), (1024, 1024, 448, 2), (2304, 520, 96, 5),
]


def to_bf16(x):
    """float32 -> bf16 bits, to nearest even (finite values)."""
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_float(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def ceil_div(a, b):
    return -(-a // b)


def matrix(rng, rows, columns):
    """bf16 bits with rows padded to 16 bytes; the padding is NaN, so that reading it shows."""
    pitch = ceil_div(max(columns, 1), 8) * 8
    bits = np.full((rows, pitch), 0x7FC0, np.uint16)
    bits[:, :columns] = to_bf16(rng.standard_normal((rows, columns), dtype=np.float32))
    return bits


def write_plan(folder, ptx, m, n, k, ctas, a, b, repeat):
    a.tofile(folder / "a.bin")
    b.tofile(folder / "b.bin")
    pitch_c = ceil_div(n, 8) * 8
    grid = min(ctas, ceil_div(m, BM) * ceil_div(n, BN))
    kd = max(k, 1)
    plan = folder / "gemm.plan"
    plan.write_text(f"""turnstile-plan 1
ptx "{ptx}"
entry gemm_bf16_hopper
grid {grid} 1 1
block 384 1 1
shared 229376
repeat {repeat}
buffer A {a.nbytes} file a.bin
buffer B {b.nbytes} file b.bin
buffer C {m * pitch_c * 2} poison
tensormap a_map A 0 bf16 2 dims {kd} {m} strides {a.shape[1] * 2} box {BK} {BM} element_strides 1 1 none 128B 128B zero
tensormap b_map B 0 bf16 2 dims {kd} {n} strides {b.shape[1] * 2} box {BK} {BN} element_strides 1 1 none 128B 128B zero
tensormap c_map C 0 bf16 2 dims {n} {m} strides {pitch_c * 2} box 64 64 element_strides 1 1 none 128B none zero
param tensormap a_map
param tensormap b_map
param tensormap c_map
param u32 {m}
param u32 {n}
param u32 {ceil_div(k, BK)}
output C c.bin
""")
    return plan, pitch_c


def execute(runner, plan, out, m, pitch_c):
    """The output bits and the info, or the reason why there are none."""
    done = subprocess.run([runner, "--timeout", "10", plan, out], capture_output=True, text=True)
    if done.returncode != 0:
        return None, f"exit {done.returncode}: {done.stderr.strip()}"
    info = dict(line.split(" ", 1) for line in (out / "info.txt").read_text().splitlines())
    return np.fromfile(out / "c.bin", np.uint16).reshape(m, pitch_c), info


def compare(c_bits, a, b):
    """Empty when each element is within the rounding of bf16 plus the tensor core's; else what is wrong and where."""
    a64, b64 = to_float(a).astype(np.float64), to_float(b).astype(np.float64)
    want = a64 @ b64.T
    slack = 2.0**-8 * np.abs(want) + 1e-5 * (np.abs(a64) @ np.abs(b64).T)
    got = to_float(c_bits).astype(np.float64)
    bad = ~(np.abs(got - want) <= slack)
    if not bad.any():
        return ""
    i, j = np.argwhere(bad)[0]
    unwritten = int((c_bits == 0xA5A5).sum())
    chunks = sorted({(int(r) // 64, int(c) // 64) for r, c in np.argwhere(bad)[:20000]})
    return (f"{bad.sum()} of {bad.size} elements wrong, {unwritten} never written, first C[{i},{j}] = {got[i, j]:g} "
            f"(bits {c_bits[i, j]:04x}), want {want[i, j]:g}; 64 x 64 blocks with errors (row, column): {chunks[:12]}")


def check_shapes(runner, ptx, work):
    failures = 0
    for m, n, k, ctas in SHAPES:
        folder = work / f"{m}x{n}x{k}_{ctas}"
        folder.mkdir()
        rng = np.random.default_rng(1)
        b = matrix(rng, n, k)
        a = matrix(rng, m, k)
        plan, pitch_c = write_plan(folder, ptx, m, n, k, ctas, a, b, 3)
        c, info = execute(runner, plan, folder / "out", m, pitch_c)
        problem = info if c is None else compare(c[:, :n], a[:, :k], b[:, :k])
        if c is not None and not problem:
            if (c[:, n:] != 0xA5A5).any():
                problem = "wrote past the end of a row"
            elif info["identical"] != "yes":
                problem = "three runs gave different bits"
        failures += bool(problem)
        detail = problem or f"{info['kernel_ms_min']} ms, {info['registers']} registers, local {info['local_bytes']}"
        print(f"{'FAIL' if problem else 'ok  '} M={m} N={n} K={k} CTAs<={ctas}: {detail}", flush=True)
    return failures


def check_rows(runner, ptx, work):
    """The same row in batches of other sizes has the same bits."""
    n, k = 520, 456
    rng = np.random.default_rng(2)
    b, a = matrix(rng, n, k), matrix(rng, 300, k)
    results = {}
    for m in (1, 77, 128, 129, 300):
        folder = work / f"rows{m}"
        folder.mkdir()
        plan, pitch_c = write_plan(folder, ptx, m, n, k, 132, a[:m], b, 1)
        c, info = execute(runner, plan, folder / "out", m, pitch_c)
        if c is None:
            print(f"FAIL rows: M={m}: {info}", flush=True)
            return 1
        results[m] = c
    differing = [m for m, c in results.items() if (c != results[300][:m]).any()]
    print(f"FAIL rows: bits differ at M={differing}" if differing else "ok   rows: same bits at M = 1, 77, 128, 129, 300", flush=True)
    return bool(differing)


def benchmark(runner, ptx, work):
    size, sms = 8192, 132
    for line in subprocess.run([runner, "--info"], capture_output=True, text=True).stdout.splitlines():
        sms = int(line.split()[1]) if line.startswith("sms ") else sms
    rng = np.random.default_rng(3)
    a, b = matrix(rng, size, size), matrix(rng, size, size)
    folder = work / "big"
    folder.mkdir()
    plan, pitch_c = write_plan(folder, ptx, size, size, size, sms, a, b, 20)
    c, info = execute(runner, plan, folder / "out", size, pitch_c)
    if c is None:
        print(f"FAIL {size}^3: {info}")
        return 1
    rows = rng.choice(size, 24, replace=False)
    problem = compare(c[rows], a[rows], b)
    tflops = [2 * size**3 / float(info[key]) / 1e9 for key in ("kernel_ms_median", "kernel_ms_min")]
    print(f"{'FAIL' if problem else 'ok  '} {size}^3 on {sms} SMs: {info['kernel_ms_median']} ms median, {tflops[0]:.0f} TFLOP/s "
          f"(best {tflops[1]:.0f}), identical {info['identical']} {problem}", flush=True)
    return bool(problem) or info["identical"] != "yes"


def main():
    runner, ptx, work = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
    begin = time.time()
    failures = check_shapes(runner, ptx, work) + check_rows(runner, ptx, work)
    if "--fast" not in sys.argv[4:]:
        failures += benchmark(runner, ptx, work)
    print(f"{'FAIL' if failures else 'PASS'} ({failures} failures, {time.time() - begin:.0f} s)")
    return 1 if failures else 0


sys.exit(main())
