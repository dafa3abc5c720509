#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The matrix models beside the public emulator of tensor cores, MMA-Sim (PyPI `mmasim`, PyTorch), on the same operands in the same run.

  bench/emulator.py [--bench build/turnstile-bench] [--python PYTHON]

Prints the table of `turnstile-bench numerics`, then, for each of its rows that MMA-Sim has: products a second of both, the ratio, and how many of 64 x 64 results
differ after a k of 256. The emulator is somebody else's program written from the same papers: equal bits are evidence for both. It gets one thread and its
largest instruction that is quickest for it (m64n64). --python: an environment that has mmasim and torch; without it one is made in build/ (about 3 GB, most of it torch).
Exit code 1: results differ, or it is less than 50 times slower.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER = "mmasim==2.1.1"
ROWS = {"f16": 16, "bf16": 16, "e4m3": 32, "e5m2": 32}  # elements of k in one instruction
EDGE = 256
TIMES = 50

# What runs in the emulator's environment: one line for each row, NAME RATE DIFFERING.
PROGRAM = """
import sys, time, torch
from mmasim.nv_ptx.sim import WGMMA
torch.set_num_threads(1)
torch.manual_seed(1)
folder, rows = sys.argv[1], [word.split(":") for word in sys.argv[2:]]
types = {"f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
def read(name, kind):
    return torch.frombuffer(bytearray(open(folder + "/" + name, "rb").read()), dtype=kind).reshape(256, 256)
for name, k in rows:
    k = int(k)
    operation = WGMMA("Hopper", f"m64n64k{k}.f32.{name}.{name}")
    a, b = read(name + ".a", types[name])[:64], read(name + ".b", types[name])[:64]
    d = torch.zeros(64, 64)
    for start in range(0, 256, k):
        d = operation(a[:, start : start + k], b[:, start : start + k].T, d)
    expected = read(name + ".d", torch.int32)[:64, :64]
    differing = int((d.contiguous().view(torch.int32) != expected).sum())
    best = 0.0
    for _ in range(3):
        count, start = 0, time.process_time()
        while time.process_time() - start < 1:
            operation(a[:, :k], b[:, :k].T, d)
            count += 1
        best = max(best, 64 * 64 * k * count / (time.process_time() - start))
    print(name, best, differing, flush=True)
"""


def peer_python():
    folder = ROOT / "build" / f"venv-{PEER.replace('==', '-')}"
    python = folder / "bin" / "python"
    if not (folder / "ready").is_file():
        print(f"emulator: making {folder} ({PEER}, torch; about 3 GB)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        # setuptools and ninja: it compiles an fma for itself.
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER, "torch", "numpy", "setuptools", "ninja"], check=True)
        (folder / "ready").touch()
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=ROOT / "build" / "turnstile-bench", help="the built benchmark (`./run bench` makes it)")
    parser.add_argument("--python", help="Python of an environment with mmasim and torch")
    arguments = parser.parse_args()
    python = arguments.python or peer_python()
    with tempfile.TemporaryDirectory(prefix="emulator") as folder:
        ours = subprocess.run([arguments.bench, "numerics", folder], check=True, capture_output=True, text=True).stdout
        print(ours)
        said = subprocess.run([python, "-c", PROGRAM, folder, *(f"{name}:{k}" for name, k in ROWS.items())], check=True, capture_output=True, text=True).stdout
    print(f"Beside {PEER}, same operands, one thread:\n")
    print("| wgmma, f32 results | turnstile, products/s | MMA-Sim, products/s | ratio | differing of 4,096 results | at least 50 x |\n|---|--:|--:|--:|--:|---|")
    good = True
    for line in said.splitlines():
        name, theirs, differing = line.split()
        rates = re.search(rf"^\| wgmma {name} to f32.*\n((?:\| \|.*\n)+)", ours, re.MULTILINE)
        best = max(float(found) for found in re.findall(r"\| ([\d.]+e[+-]\d+) \|", rates[1]))
        ratio = best / float(theirs)
        good = good and ratio >= TIMES and differing == "0"
        print(f"| {name} | {best:.3g} | {float(theirs):.3g} | {ratio:.0f} | {differing} | {'met' if ratio >= TIMES else 'NOT MET'} |")
    return 0 if good and len(said.splitlines()) == len(ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
