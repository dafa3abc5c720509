#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU does with each mutant of gemm_bf16_hopper.

mutants_on_gpu.py TURNSTILE RUNNER OUT.json    on a machine with a Hopper GPU; RUNNER comes from golden/gpu_runner/build.sh

Each mutant runs --runs times in processes of its own under a watchdog, at each of four lengths of K (256 x 512 output, two
CTAs), and its bits are compared with those of the kernel without a fault. What is seen is evidence that a fault is real;
right bits are no evidence that there is none."""
import argparse, json, pathlib, subprocess, sys, tempfile, time

FOLDER = pathlib.Path(__file__).resolve().parent
LAUNCH = FOLDER / "gemm.toml"
SHAPE = ["--case", "m128_n256_k64_normal", "--set", "M=256", "--set", "N=512", "--set", "sms=2", "--fill", "normal"]
LENGTHS = [0, 64, 320, 2048]


def run(command, seconds):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        return done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {seconds} s"


def digests(text):
    """Of the outputs in a record file."""
    return [output["sha256"] for output in json.loads(text)["outputs"]]


def observe(options, ptx, k, runs, watchdog):
    """(what was seen, digests of the record or None, what the program said)"""
    with tempfile.TemporaryDirectory() as records:
        command = [options.turnstile, "golden", "record", str(LAUNCH), *SHAPE, "--set", f"K={k}", "--records", records,
                   "--gpu-runner", options.runner, "--repeat", str(runs), "--timeout", str(watchdog)]
        if ptx:
            command += ["--ptx", str(ptx)]
        code, said = run(command, 20 + 2 * runs * watchdog)
        files = sorted(pathlib.Path(records).rglob("*.json"))
        if code == 0 and files:
            return "ended", digests(files[0].read_text()), said
        for sign, name in (("not end within", "hang"), ("no answer", "hang"), ("gave different bits", "runs differ")):
            if sign in said:
                return name, None, said
        return "error", None, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("turnstile")
    parser.add_argument("runner")
    parser.add_argument("out")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--watchdog", type=int, default=3, help="seconds")
    parser.add_argument("--limit", type=int, default=400, help="seconds after which nothing is started")
    options = parser.parse_args()
    started = time.monotonic()
    right, lines = {}, []
    for k in LENGTHS:
        seen, digest, said = observe(options, None, k, options.runs, options.watchdog)
        if seen != "ended":
            sys.exit(f"the kernel itself did not end at K = {k}: {said}")
        right[k] = digest
    for ptx in sorted((FOLDER / "mutants").glob("*.ptx")):
        for k in LENGTHS:
            if time.monotonic() - started > options.limit:
                lines.append({"mutant": ptx.stem, "k": k, "seen": "not run"})
                continue
            seen, digest, said = observe(options, ptx, k, options.runs, options.watchdog)
            if seen == "ended":
                seen = "right bits" if digest == right[k] else "wrong bits"
            line = {"mutant": ptx.stem, "k": k, "seen": seen}
            if seen in ("error", "hang"):
                line["said"] = next((l.strip(" =") for l in said.splitlines() if "=" in l), said)
            lines.append(line)
            print(line, flush=True)
    code, info = run([options.runner, "--info"], 60)
    out = pathlib.Path(options.out)
    beside = out.with_suffix(".partial")
    head = {"format": 1, "gpu": info.splitlines(), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "runs": options.runs, "watchdog_s": options.watchdog, "shape": "M=256 N=512 sms=2, normal"}
    rows = ",\n".join(json.dumps(line) for line in lines)
    beside.write_text(json.dumps(head)[:-1] + ', "lines": [\n' + rows + "\n]}\n")
    beside.replace(out)


main()
