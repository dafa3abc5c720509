#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Meta's TLX kernels, as the fbtriton wheel ships them, through capture and `turnstile check`.

  suite.py capture --python VENV/bin/python --work DIR [PROGRAM...]   every launch of every program into DIR/PROGRAM/
  suite.py check   --work DIR [--turnstile PATH] [--timeout 60]       judges each; results are kept, so it can be resumed
  suite.py table   --work DIR                                         the results as a table for people (Markdown)

VENV holds fbtriton 3.7.4, torch, pytest and torchao (./run tlx makes it). Nothing that the wheel contains is kept in
this repository: captures stay in DIR.
"""

import argparse
import hashlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TUTORIALS = "language/extra/tlx/tutorials"
MOST_MEMORY = 8 << 30  # address space of one check; the bar is 1 GB of resident memory, and the table says what was used

# name -> target, words after `--`; {t} is the folder of the tutorials in the wheel
PROGRAMS = {
    "hopper": ("sm_90a", ["-m", "pytest", "-q", "{t}/testing/test_correctness.py"]),
    "hopper_gemm_cooperative": ("sm_90a", ["-m", "pytest", "-q", "{t}/hopper-persistent-gemm-ws-cooperative.py"]),
    "hopper_gemm_pingpong": ("sm_90a", ["-m", "pytest", "-q", "{t}/hopper-persistent-gemm-ws-pingpong.py"]),
    "blackwell": ("sm_100a", ["-m", "pytest", "-q", "{t}/testing/test_correctness.py"]),
    "grouped_gemm": ("sm_100a", ["-m", "pytest", "-q", "{t}/blackwell-grouped-gemm_test.py"]),
    "cross_attention": ("sm_100a", ["-m", "pytest", "-q", "{t}/blackwell-cross-attention.py"]),
    "gdpa": ("sm_100a", ["{w}/blackwell-gdpa.py"]),
    "layernorm": ("sm_100a", ["-m", "pytest", "-q", "{t}/blackwell-multi-cta-layernorm_test.py"]),
    "layernorm_ws": ("sm_100a", ["-m", "pytest", "-q", "{t}/blackwell_multi_cta_layernorm_ws_test.py"]),
    "addmm_2cta": ("sm_100a", ["-m", "pytest", "-q", "{t}/blackwell-triton-addmm-2cta_test.py"]),
}

# Files that the wheel ships in a form that its own compiler refuses: a copy in the work folder, {w}, with one text replaced.
REPAIRS = {
    # "Cannot specify registers for the default async_task; it receives leftover registers"
    "blackwell-gdpa.py": ('tlx.async_task("default", registers=ACT_REGS)', 'tlx.async_task("default")'),
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def tutorials_of(python):
    code = "import triton, os; print(os.path.dirname(triton.__file__))"
    return os.path.join(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip(),
                        TUTORIALS)


def repaired(folder, work):
    place = os.path.join(work, "repaired")
    os.makedirs(place, exist_ok=True)
    for name, (old, new) in REPAIRS.items():
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        if text.count(old) != 1:
            raise SystemExit(f"suite.py: {name} is not the one of fbtriton 3.7.4: it has '{old}' {text.count(old)} times")
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
    return place


def capture(arguments):
    folder = tutorials_of(arguments.python)
    place = repaired(folder, arguments.work)
    failed = []
    for name in arguments.programs or PROGRAMS:
        target, words = PROGRAMS[name]
        out = os.path.join(arguments.work, name)
        if os.path.exists(os.path.join(out, "done")):
            continue
        if os.path.isdir(out):
            subprocess.run(["rm", "-rf", out], check=True)
        say(f"{name}: capturing for {target}")
        start = time.monotonic()
        command = [arguments.python, "-m", "turnstile_capture", "--target", target, "--out", out, "--"]
        os.makedirs(arguments.work, exist_ok=True)
        with open(os.path.join(arguments.work, f"{name}.log"), "w", encoding="utf-8") as log:
            environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "kernels", "capture"))
            try:
                code = subprocess.run(command + [word.replace("{t}", folder).replace("{w}", place) for word in words], stdout=log, stderr=log,
                                      env=environment, timeout=arguments.timeout, check=False).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                code = 124
        launches = index_of(out)
        say(f"{name}: {len(launches)} launches in {time.monotonic() - start:.0f} s, exit code {code}")
        if launches and code in (0, 1):
            with open(os.path.join(out, "done"), "w", encoding="utf-8") as file:
                file.write(f"{code}\n")
        else:
            failed.append(name)
    return 1 if failed else 0


def index_of(folder):
    try:
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            return json.load(file)["launches"]
    except (OSError, ValueError):
        return []


def digest(*paths):
    made = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            made.update(hashlib.sha256(file.read()).digest())
    return made.hexdigest()


def run_measured(command, timeout):
    """(exit code or None at the limit, stdout, stderr, seconds, peak MiB)"""

    def limit():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, preexec_fn=limit)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(child.pid, signal.SIGKILL))
        signal.alarm(max(1, int(timeout)))
        _, status, usage = os.wait4(child.pid, 0)
        signal.alarm(0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        out.seek(0), err.seek(0)
        texts = [stream.read().decode("utf-8", "replace") for stream in (out, err)]
    code = None if child.returncode == -signal.SIGKILL and seconds >= timeout - 1 else child.returncode
    return code, texts[0], texts[1], seconds, usage.ru_maxrss / 1024


def summary(code, out, err, timeout):
    """(verdict, detail, sizes) of one check."""
    if code is None:
        return "timeout", f"over {timeout} s", {}
    try:
        document = json.loads(out)
    except ValueError:
        document = {}
    if "launches" not in document or not document["launches"]:
        error = document.get("error") or {}
        text = error.get("message") if isinstance(error, dict) else ""
        text = text or (err.strip().splitlines() or [f"no output, exit code {code}"])[-1]
        where = f"{os.path.basename(error.get('file', ''))}:{error.get('line', 0)}: " if isinstance(error, dict) and error else ""
        return "error", where + text, {}
    launch = document["launches"][0]
    sizes = {key: launch.get(key) for key in ("ctas", "ctas_executed", "classes", "agents", "events", "accesses")}
    if launch["verdict"] == "finding":
        errors = [f for f in launch["findings"] if f.get("severity") == "error"] or launch["findings"]
        first = errors[0]
        where = first.get("where") or {}
        more = f" (+{len(errors) - 1} more)" if len(errors) > 1 else ""
        return "finding", (f"{first.get('class')} {first.get('rule')} {first.get('subject', '')}: {first.get('message')} @ "
                           f"{os.path.basename(where.get('file', ''))}:{where.get('line')} ptx:{where.get('ptx_line')}{more}"), sizes
    if launch["verdict"] == "inconclusive":
        reasons = launch.get("inconclusive") or [{}]
        where = reasons[0].get("where") or {}
        at = f" @ {os.path.basename(where.get('file', ''))}:{where.get('line')} ptx:{where.get('ptx_line')}" if where else ""
        return "inconclusive", str(reasons[0].get("text")) + at, sizes
    return launch["verdict"], "", sizes


def load_results(work):
    try:
        with open(os.path.join(work, "results.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def save_results(work, results):
    path = os.path.join(work, "results.json")
    with open(path + ".partial", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, sort_keys=True)
    os.replace(path + ".partial", path)


def launches_of(work, programs):
    for name in programs or PROGRAMS:
        for entry in index_of(os.path.join(work, name)):
            yield name, entry


def weight(folder, entry):
    """How large a launch is: CTAs, then bytes of its buffers."""
    with open(os.path.join(folder, "launch.toml"), "rb") as file:
        launch = tomllib.load(file)
    total = sum(math.prod(buffer["shape"]) for buffer in launch.get("buffers", []))
    return math.prod(entry["grid"]), total


def representatives(work, programs):
    """(program, entry, launches of the same PTX): the smallest launch of each."""
    groups = {}
    for name, entry in launches_of(work, programs):
        folder = os.path.join(work, name, entry["folder"])
        key = name, digest(os.path.join(folder, entry["kernel"] + ".ptx"))
        groups.setdefault(key, []).append((weight(folder, entry), entry))
    for (name, _), members in groups.items():
        yield name, min(members, key=lambda member: member[0])[1], len(members)


def rows_of(arguments):
    if arguments.all:
        return [(name, entry, 1) for name, entry in launches_of(arguments.work, arguments.programs)]
    return list(representatives(arguments.work, arguments.programs))


def check(arguments):
    results = load_results(arguments.work)
    binary = digest(arguments.turnstile)
    rows = rows_of(arguments)
    begin = time.monotonic()
    for number, (name, entry, _) in enumerate(rows):
        folder = os.path.join(arguments.work, name, entry["folder"])
        launch = os.path.join(folder, "launch.toml")
        kernel = os.path.join(folder, entry["kernel"] + ".ptx")
        key = f"{name}/{entry['folder']}"
        identity = digest(launch, kernel) + binary + str(arguments.timeout) + " ".join(arguments.option)
        if results.get(key, {}).get("identity") == identity and not arguments.again:
            continue
        command = [arguments.turnstile, "check", launch, "--json", *arguments.option]
        code, out, err, seconds, mib = run_measured(command, arguments.timeout)
        verdict, detail, sizes = summary(code, out, err, arguments.timeout)
        results[key] = {"identity": identity, "verdict": verdict, "detail": detail, "seconds": round(seconds, 2),
                        "mib": round(mib), "sizes": sizes, "exit_code": code}  # fmt: skip
        save_results(arguments.work, results)
        spent = time.monotonic() - begin
        say(f"[{number + 1}/{len(rows)} {spent:.0f} s] {key}: {verdict} {detail[:140]}")
    return 0


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


PREFACE = """# Meta's TLX kernels

What `turnstile check` says of the kernels that the fbtriton 3.7.4 wheel ships: its correctness suite for Hopper and Blackwell, GDPA, grouped GEMM, cross attention, multi-CTA layer norm, IKBO,
persistent Hopper GEMMs and the 2-CTA addmm. `./run tlx` makes this table (`tests/tlx/suite.py table --work build/tlx --doc > docs/tlx-suite.md`): it runs Meta's programs under [turnstile-capture](capture.md), without a GPU,
and checks the smallest launch of each distinct PTX (in brackets: how many launches share it). GDPA is refused by the wheel's own compiler as it stands; a private copy with one text replaced (`REPAIRS` in `suite.py`) is taken.
Nothing from the wheel is in this repository. Times are of the machine that ran it, one check after the other.
"""


def table(arguments):
    results = load_results(arguments.work)
    if arguments.doc:
        print(PREFACE)
    rows = rows_of(arguments)
    counts = {}
    out = ["| kernel | target | launch (of the same PTX) | grid / cluster / threads | agents | events | verdict | detail | s | MiB |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    for name, entry, count in rows:
        key = f"{name}/{entry['folder']}"
        result = results.get(key, {"verdict": "not checked", "detail": "", "seconds": "", "mib": "", "sizes": {}})
        counts[result["verdict"]] = counts.get(result["verdict"], 0) + 1
        shape = f"{'x'.join(map(str, entry['grid']))} / {'x'.join(map(str, entry['cluster']))} / {entry['block'][0]}"
        sizes = result["sizes"]
        out.append("| " + " | ".join(cell(text) for text in (
            entry["kernel"], entry["target"], f"{key} ({count})" if count > 1 else key, shape, sizes.get("agents", ""), sizes.get("events", ""),
            result["verdict"], result["detail"], result["seconds"], result["mib"])) + " |")  # fmt: skip
    print(f"{len(rows)} launches: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) + ".\n")
    print("\n".join(out))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, function in (("capture", capture), ("check", check), ("table", table)):
        one = verbs.add_parser(verb)
        one.set_defaults(function=function)
        one.add_argument("--work", required=True)
        one.add_argument("programs", nargs="*", help=", ".join(PROGRAMS), metavar="PROGRAM")
        if verb != "capture":
            one.add_argument("--all", action="store_true", help="every launch, not the smallest of each PTX")
        if verb == "table":
            one.add_argument("--doc", action="store_true", help="with the text of docs/tlx-suite.md around it")
        if verb == "capture":
            one.add_argument("--python", required=True)
            one.add_argument("--timeout", type=int, default=1200)
        if verb == "check":
            one.add_argument("--turnstile", default=os.path.join(ROOT, "build", "turnstile"))
            one.add_argument("--timeout", type=int, default=60)
            one.add_argument("--again", action="store_true")
            one.add_argument("--option", action="append", default=[], help="for turnstile check, repeatable")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {unknown[0]}; there are {', '.join(PROGRAMS)}")
    return arguments.function(arguments)


if __name__ == "__main__":
    sys.exit(main())
