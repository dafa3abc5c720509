#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the time of `turnstile check` grow with the work, and no faster? Prints the table "Linear in tiles" of docs/performance.md.

  bench/scaling.py [--turnstile build/turnstile] [--peer] [--peer-tiles 8,16,32] [--peer-limit 600]

The kernels are those of kernels/ (the TLX and Gluon ones compiled here: the environments are those of kernels/examples_test.py). --peer: SentryWard 0.1.1, the static
verifier for PTX on PyPI, on the same PTX and launch in the same run, in an environment of its own in build/. Figures are CPU seconds, the best of three, and the
peak of resident memory.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "kernels"))
import examples_test  # noqa: E402

PEER = "sentryward==0.1.1"
TIMES = 3
MARK = 1009  # tiles of the launch that is captured: a prime, so that the sizes that follow from it can be told from all others
MOST = 1.3  # times the work: of 512 against 64, a square would be 8 times the work
CTA_SECONDS = 2.0


@dataclass
class Row:
    kernel: str  # in kernels/
    what: str  # what is counted
    numbers: tuple
    values: object  # number -> what replaces scalars and shapes of the signature, or --set of a launch file


def gemm(tiles):
    return {"k_tiles": tiles, "a": f"[128,{64 * tiles}]", "b": f"[{64 * tiles},128]", "c": "[128,128]"}


def attention(steps):
    return {"steps": steps, "q": "[128,128]", "k": f"[{128 * steps},128]", "v": f"[{128 * steps},128]", "o": "[128,128]"}


ROWS = (
    Row("gemm_bf16_hopper", "k tiles", (8, 64, 512), lambda tiles: {"M": 128, "N": 256, "K": 64 * tiles}),
    Row("tlx/gemm_hopper", "k tiles", (8, 64, 512), gemm),
    Row("tlx/gemm_blackwell", "k tiles", (8, 64, 512), gemm),
    Row("gluon/gemm_blackwell", "k tiles", (8, 64, 512), gemm),
    Row("tlx/attention_hopper", "KV steps", (8, 64, 512), attention),
    Row("gluon/attention_hopper", "KV steps", (8, 64, 512), attention),
)


def measured(command, times=TIMES, limit=None):
    """(stdout of the last run, CPU seconds of the best run, peak MiB); None for the seconds at the limit."""
    best, peak, text = None, 0.0, ""
    for _ in range(times):
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            _, _, usage = os.wait4(child.pid, 0)
            child.returncode = 0
            out.seek(0)
            text = out.read().decode()
        seconds = usage.ru_utime + usage.ru_stime
        best, peak = seconds if best is None else min(best, seconds), max(peak, usage.ru_maxrss / 1024)
    return text, best, peak


def captured(row, number, folder, made):
    """The launch file of a kernel of examples.toml with other sizes, on one CTA. Compiled once: sizes are arguments, the PTX is the same."""
    if row.kernel not in made:
        table = tomllib.loads((ROOT / "kernels" / "examples.toml").read_text())
        kernel = dict(next(kernel for kernel in table["kernel"] if kernel["file"] == row.kernel + ".py"), grid="1")
        signature = " ".join(kernel["signature"].split())
        for name, shape in row.values(MARK).items():
            if str(shape).startswith("["):  # of the tensor, not of the block
                signature = re.sub(rf"\b({name}=tensordesc<[^>]*>)\[[\d,]*\]", rf"\g<1>{shape}", signature)
            else:
                signature = examples_test.replaced(signature, {name: shape})
        kernel["signature"] = signature
        python = examples_test.environment(row.kernel.split("/")[0])
        place = examples_test.capture(examples_test.Case(kernel, {}), python, folder / row.kernel.replace("/", "_"), folder / "cache")
        made[row.kernel] = place, place.read_text()
    place, text = made[row.kernel]
    sizes = {str(factor * MARK): str(factor * number) for factor in (1, 2, 64, 128, 256)}  # tiles, elements, bytes
    one = place.parent / f"launch_{number}.toml"
    one.write_text(re.sub(r"\b\d+\b", lambda found: sizes.get(found[0], found[0]), text))
    return one


def peer_input(launch):
    """The launch as SentryWard wants it (its documents: input-json.md)."""
    entry = launch["entry"]
    maps = {one["name"]: one for one in launch.get("tensor_maps", [])}
    types = {one["name"]: one["dtype"] for one in launch["buffers"]}
    made = {"schema": "spverify.kernel-input/v1", "arguments": [], "tma_descriptors": [],
            "launch": {"grid_dim": launch["launch"]["grid"], "block_dim": launch["launch"]["block"],
                       "dynamic_shared_bytes": launch["launch"]["dynamic_shared_memory"]}}  # fmt: skip
    for index, parameter in enumerate(launch["params"]):
        name = f"{entry}_param_{index}"
        if "tensor_map" in parameter:
            one = maps[parameter["tensor_map"]]
            made["tma_descriptors"].append(
                {"parameter": name, "offset": 0, "object": one["buffer"], "element_type": types[one["buffer"]], "rank": len(one["dims"]),
                 "global_shape": one["dims"], "global_strides_bytes": one["strides"], "box_shape": one["box"],
                 "element_strides": [1] * len(one["dims"]), "swizzle": one["swizzle"], "interleave": "none", "oob_fill": "zero"})  # fmt: skip
        elif (kind := next(iter(parameter))) != "u64":  # the u64 of Triton are null pointers to scratch memory
            made["arguments"].append({"parameter": name, "type": kind.replace("s", "u"), "value": parameter[kind]})
    return made


def peer_python():
    folder = ROOT / "build" / f"venv-{PEER.replace('==', '-')}"
    if not (folder / "ready").is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER], check=True)
        (folder / "ready").touch()
    return folder / "bin" / "sentryward"


def verdict(text):
    return json.loads(text)["launches"][0]["verdict"]


def scaling(arguments, folder, made):
    print("| kernel, one CTA | grows | verdict | " + " | ".join(f"{n}" for n in (8, 64, 512)) + " | time 512 / 64 (work: 8) | memory at 512 | |")
    print("|---|---|---|--:|--:|--:|--:|--:|---|")
    good = True
    for row in ROWS:
        if arguments.only not in row.kernel:
            continue
        seconds, peak, said = [], 0.0, set()
        for number in row.numbers:
            if "/" in row.kernel:
                words = [str(captured(row, number, folder, made))]
            else:
                words = [str(ROOT / "kernels" / row.kernel / "gemm.toml")]
                for name, value in row.values(number).items():
                    words += ["--set", f"{name}={value}"]
            text, one, peak = measured([arguments.turnstile, "check", "--json", *words])
            seconds.append(one)
            said.add(verdict(text))
        work = row.numbers[2] / row.numbers[1]
        ratio = seconds[2] / seconds[1]
        fine = ratio <= MOST * work and peak < 1024
        good = good and fine
        print(f"| {row.kernel} | {row.what} | {', '.join(sorted(said))} | " + " | ".join(f"{one:.3f} s" for one in seconds)
              + f" | {ratio:.2f} | {peak:.0f} MB | {'met' if fine else 'NOT MET'} |", flush=True)  # fmt: skip
    return good


def one_cta(arguments):
    text, seconds, peak = measured([arguments.turnstile, "check", "--json", str(ROOT / "kernels/gemm_bf16_hopper/gemm.toml"),
                                    *(word for pair in ("M=128", "N=256", "K=8192") for word in ("--set", pair))])  # fmt: skip
    print(f"\nA GEMM CTA of 128 x 256 x 64 tiles, 128 k tiles, 384 threads (gemm_bf16_hopper): {verdict(text)}, {seconds:.3f} s, {peak:.0f} MB; "
          f"at most {CTA_SECONDS} s: {'met' if seconds < CTA_SECONDS else 'NOT MET'}.")  # fmt: skip
    return seconds < CTA_SECONDS


def beside_peer(arguments, folder, made):
    tool = peer_python()
    row = next(row for row in ROWS if row.kernel == "gluon/gemm_blackwell")
    print(f"\nBeside {PEER.replace('==', ' ')}, `gluon/gemm_blackwell`, one CTA; both judge the same PTX and launch:\n")
    print("| k tiles | turnstile | memory | SentryWard | memory | time / time | what it says |\n|--:|--:|--:|--:|--:|--:|---|")
    for tiles in arguments.peer_tiles:
        launch = captured(row, tiles, folder, made)
        _, own, own_peak = measured([arguments.turnstile, "check", "--json", str(launch)])
        given = tomllib.loads(launch.read_text())
        place = launch.parent / "input.json"
        place.write_text(json.dumps(peer_input(given)))
        text, seconds, peak = measured([str(tool), str(launch.parent / given["kernel"]), "--input", str(place),
                                        "--timeout", str(arguments.peer_limit)], 1)  # fmt: skip
        answer = json.loads(text)
        said = f"{answer['result']} (synchronisation {answer['checks']['synchronization']}, memory {answer['checks']['memory']})"
        peak = max(peak, answer.get("peak_rss_mib", 0))
        print(f"| {tiles} | {own:.3f} s | {own_peak:.0f} MB | {seconds:.1f} s | {peak:.0f} MB | {seconds / own:.0f} | {said} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turnstile", default=str(ROOT / "build" / "turnstile"))
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--peer", action="store_true", help=f"measure {PEER} too (installs it)")
    parser.add_argument("--peer-tiles", type=lambda text: [int(n) for n in text.split(",")], default=[8, 16, 32])
    parser.add_argument("--peer-limit", type=int, default=600, help="seconds for one call of the peer")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scaling") as scratch:
        folder, made = pathlib.Path(scratch), {}  # made: of each kernel the launch file that was captured, and its text
        good = scaling(arguments, folder, made)
        good = one_cta(arguments) and good
        if arguments.peer:
            beside_peer(arguments, folder, made)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
