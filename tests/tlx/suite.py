#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Meta's TLX kernels, as the fbtriton wheel ships them, through capture and `turnstile check`.

  suite.py capture --python VENV/bin/python --work DIR [PROGRAM...]   every launch of every program into DIR/PROGRAM/
  suite.py check   --work DIR [--turnstile PATH] [--timeout 60] [--jobs 2]   judges each; results are kept: it can be resumed
  suite.py table   --work DIR                                         the results as a table for people (Markdown)

VENV holds fbtriton 3.7.4, torch, pytest and torchao (./run tlx makes it). Nothing that the wheel contains is kept in
this repository: captures stay in DIR.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
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
    if failed:
        say(f"not captured: {', '.join(failed)}; {arguments.work}/PROGRAM.log says why (exit code 124: over {arguments.timeout} s). "
            "Run it again: what was captured or compiled is kept")  # fmt: skip
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
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
        resource.prlimit(child.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        watch = threading.Timer(timeout, os.killpg, (child.pid, signal.SIGKILL))
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        watch.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        out.seek(0), err.seek(0)
        texts = [stream.read().decode("utf-8", "replace") for stream in (out, err)]
    code = None if child.returncode == -signal.SIGKILL and seconds >= timeout - 1 else child.returncode
    return code, texts[0], texts[1], seconds, usage.ru_maxrss / 1024


def place(where):
    return f"{os.path.basename(where.get('file', ''))}:{where.get('line')}" if where and where.get("line") else ""


def summary(code, out, err, timeout):
    """What one check says: verdict, detail, sizes, errors (class, rule, line of the source)."""
    answer = {"verdict": "error", "detail": "", "sizes": {}, "errors": []}
    if code is None:
        return answer | {"verdict": "timeout", "detail": f"over {timeout} s"}
    try:
        document = json.loads(out)
    except ValueError:
        document = {}
    if "launches" not in document or not document["launches"]:
        error = document.get("error") or {}
        text = error.get("message") if isinstance(error, dict) else ""
        text = text or (err.strip().splitlines() or [f"no output, exit code {code}"])[-1]
        where = f"{os.path.basename(error.get('file', ''))}:{error.get('line', 0)}: " if isinstance(error, dict) and error else ""
        return answer | {"detail": where + text}
    launch = document["launches"][0]
    answer["verdict"] = launch["verdict"]
    answer["sizes"] = {key: launch.get(key) for key in ("ctas", "ctas_executed", "classes", "agents", "events", "accesses")}
    if launch["verdict"] == "finding":
        errors = [f for f in launch["findings"] if f.get("severity") == "error"] or launch["findings"]
        answer["errors"] = [{"class": f["class"], "rule": f["rule"], "line": place(f.get("where"))} for f in errors]
        first = errors[0]
        more = f" (+{len(errors) - 1} more)" if len(errors) > 1 else ""
        answer["detail"] = (f"{first['class']} {first['rule']} {first.get('subject', '')}: {first['message']} @ {place(first.get('where'))} "
                            f"ptx:{(first.get('where') or {}).get('ptx_line')}{more}")  # fmt: skip
    elif launch["verdict"] == "inconclusive":
        reasons = launch.get("inconclusive") or [{}]
        where = reasons[0].get("where") or {}
        more = f" (+{len(reasons) - 1} more)" if len(reasons) > 1 else ""
        answer["detail"] = str(reasons[0].get("text")) + (f" @ {place(where)} ptx:{where.get('ptx_line')}" if where else "") + more
    return answer


def explanations():
    with open(os.path.join(HERE, "explained.toml"), "rb") as file:
        return tomllib.load(file)["finding"]


def explained(known, kernel, errors):
    """One sentence for each error that explained.toml knows, and the others as rule and line."""
    sentences, open_ones = [], []
    for error in errors:
        fits = [one for one in known if kernel in one["kernels"] and error["rule"] in one["rules"] and error["line"] in one["lines"]]
        open_ones += [] if fits else [f"{error['rule']} at {error['line']}"]
        sentences += [one["because"] for one in fits[:1] if one["because"] not in sentences]
    return sentences, open_ones


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


def clock(seconds):
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f}"


def check(arguments):
    results = load_results(arguments.work)
    binary = digest(arguments.turnstile)
    wanted = []
    for name, entry, _ in rows_of(arguments):
        folder = os.path.join(arguments.work, name, entry["folder"])
        launch = os.path.join(folder, "launch.toml")
        identity = digest(launch, os.path.join(folder, entry["kernel"] + ".ptx")) + binary + f"{arguments.timeout} errors {arguments.option}"
        key = f"{name}/{entry['folder']}"
        if results.get(key, {}).get("identity") != identity or arguments.again:
            wanted.append((key, launch, identity))

    def judge(launch):
        code, out, err, seconds, mib = run_measured([arguments.turnstile, "check", launch, "--json", *arguments.option], arguments.timeout)
        return summary(code, out, err, arguments.timeout) | {"seconds": round(seconds, 2), "mib": round(mib), "exit_code": code}

    begin, cpu = time.monotonic(), 0.0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(judge, launch): (key, identity) for key, launch, identity in wanted}
        try:
            for number, one in enumerate(concurrent.futures.as_completed(running), 1):
                key, identity = running[one]
                result = results[key] = one.result() | {"identity": identity}
                save_results(arguments.work, results)
                cpu += result["seconds"]
                spent = time.monotonic() - begin
                say(f"[{number}/{len(wanted)} {clock(spent)}, ETA {clock(spent / number * (len(wanted) - number))}] "
                    f"{key}: {result['verdict']} {result['detail'][:140]}")  # fmt: skip
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    if wanted:
        largest = max((results[key] for key, *_ in wanted), key=lambda result: result["mib"])
        say(f"{len(wanted)} launches in {clock(time.monotonic() - begin)}, {arguments.jobs} at a time ({clock(cpu)} one after the other); "
            f"peak memory of one {largest['mib']} MiB")  # fmt: skip
    return 0


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


PREFACE = """# Meta's TLX kernels

What `turnstile check` says of the kernels that the fbtriton 3.7.4 wheel ships: its correctness suite for Hopper and Blackwell, GDPA, grouped GEMM, cross attention, multi-CTA layer norm, IKBO,
persistent Hopper GEMMs and the 2-CTA addmm. `./run tlx` makes this page: it runs Meta's programs under [turnstile-capture](capture.md), without a GPU, checks the smallest launch of each distinct PTX
(in brackets: how many launches share it), and then plants faults. GDPA is refused by the wheel's own compiler as it stands; a private copy with one text replaced (`REPAIRS` in `tests/tlx/suite.py`) is taken.
Nothing from the wheel is in this repository. What is behind each finding: [tlx-findings.md](tlx-findings.md); the sentences below are those of `tests/tlx/explained.toml`.
"""


def told(result, known, kernel):
    """The last column: what the tool says, and what is known of it."""
    if result["verdict"] != "finding":
        return result["detail"]
    sentences, open_ones = explained(known, kernel, result.get("errors", []))
    return " **".join([result["detail"], *([f"Explained:** {' '.join(sentences)}"] if sentences else []),
                       *([f"Not explained:** {', '.join(dict.fromkeys(open_ones))}."] if open_ones else [])])  # fmt: skip


def table(arguments):
    results, known = load_results(arguments.work), explanations()
    if arguments.doc:
        print(PREFACE)
    counts, seconds, mib, believed = {}, 0.0, 0, 0
    out = ["| kernel | target | launch (of the same PTX) | grid / cluster / threads | agents | events | verdict | what it says | s | MiB |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    rows = rows_of(arguments)
    for name, entry, count in rows:
        key = f"{name}/{entry['folder']}"
        result = results.get(key, {"verdict": "not checked", "detail": "", "seconds": 0, "mib": 0, "sizes": {}})
        counts[result["verdict"]] = counts.get(result["verdict"], 0) + 1
        believed += result["verdict"] == "finding" and not explained(known, entry["kernel"], result.get("errors", []))[1]
        seconds, mib = seconds + result["seconds"], max(mib, result["mib"])
        shape = f"{'x'.join(map(str, entry['grid']))} / {'x'.join(map(str, entry['cluster']))} / {entry['block'][0]}"
        sizes = result["sizes"]
        out.append("| " + " | ".join(cell(text) for text in (
            entry["kernel"], entry["target"], f"{key} ({count})" if count > 1 else key, shape, sizes.get("agents", ""), sizes.get("events", ""),
            result["verdict"], told(result, known, entry["kernel"]), result["seconds"], result["mib"])) + " |")  # fmt: skip
    print(f"{len(rows)} launches: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
          + f"; of the findings {believed} are explained in full. {clock(seconds)} one after the other, peak memory of one {mib} MiB.\n")  # fmt: skip
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
            one.add_argument("--timeout", type=int, default=3600)
        if verb == "check":
            one.add_argument("--turnstile", default=os.path.join(ROOT, "build", "turnstile"))
            one.add_argument("--timeout", type=int, default=60)
            one.add_argument("--jobs", type=int, default=2, help="checks at a time")
            one.add_argument("--again", action="store_true")
            one.add_argument("--option", action="append", default=[], help="for turnstile check, repeatable")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {unknown[0]}; there are {', '.join(PROGRAMS)}")
    return arguments.function(arguments)


if __name__ == "__main__":
    sys.exit(main())
