#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py [TURNSTILE [RECORD]]   what `simulate --timeline` says of kernels/gemm_bf16_hopper beside what an H200 took.

No GPU: the measured times are those of golden/records/latency/h200.json.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[3]
turnstile = sys.argv[1] if len(sys.argv) > 1 else str(root / "build" / "turnstile")
path = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "golden" / "records" / "latency" / "h200.json"
record = json.loads(path.read_text())
print(f"{record['gpu']['gpu']}, driver {record['driver']}, {record['date'][:10]}; medians; events around one launch\n")
print("| M x N x K | tiles | cycles of the longest CTA | estimate | error | us | estimate | error |")
print("|---|--:|--:|--:|--:|--:|--:|--:|")
worst = [0.0, 0.0]
total = [0.0, 0.0]
shapes = [line for line in record["lines"] if "gemm" in line]
for shape in shapes:
    with tempfile.TemporaryDirectory() as folder:
        sets = [f"{name}={shape[name.lower()]}" for name in ("M", "N", "K")]
        answer = subprocess.run(
            [turnstile, "simulate", str(root / "kernels/gemm_bf16_hopper/gemm.toml"), "--json"]
            + [word for s in sets for word in ("--set", s)]
            + ["--timeline", f"{folder}/timeline.json"],
            check=True, capture_output=True, text=True)
    grid = json.loads(answer.stdout)["timeline"]["grid"]
    cycles, took = shape["longest_cta_cycles_median"], shape["event_us_median"]
    errors = [grid["cycles"] / cycles - 1, grid["us"] / took - 1]
    worst = [max(w, abs(e)) for w, e in zip(worst, errors)]
    total = [t + abs(e) for t, e in zip(total, errors)]
    print(f"| {shape['m']} x {shape['n']} x {shape['k']} | {shape['tiles']} | {cycles:,.0f} | {grid['cycles']:,} | {errors[0]:+.1%} "
          f"| {took:.1f} | {grid['us']:.1f} | {errors[1]:+.1%} |")
count = len(shapes)
print(f"\nmean error: cycles {total[0] / count:.1%}, time {total[1] / count:.1%}; worst: cycles {worst[0]:.1%}, time {worst[1]:.1%}")
