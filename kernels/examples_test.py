#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of examples.toml: each compiled from source for its GPU, without one, and checked; then with each fault.

    kernels/examples_test.py --turnstile build/turnstile [--short] [--only tlx/gemm] [--jobs N] [--keep DIR]
    kernels/examples_test.py --environments     makes the environments, nothing else

The environments come from TURNSTILE_TLX_VENV and TURNSTILE_GLUON_VENV, or are made by pip in build/ (fbtriton and
triton, without torch). Exit code 0: every verdict, class and line is as the table says; 77: an environment is not
there and cannot be made, because the package index does not answer or Python has no venv.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LANGUAGES = {"tlx": ("TURNSTILE_TLX_VENV", "fbtriton==3.7.4"), "gluon": ("TURNSTILE_GLUON_VENV", "triton==3.9.0")}
CHECK_SECONDS, CAPTURE_SECONDS = 300, 300
NO_INDEX = 77  # exit code, as automake's for a skipped test
# What pip says when nobody answers; everything else that it complains of is a failure.
UNREACHABLE = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ReadTimeoutError", "ProxyError", "(from versions: none)")


@dataclass
class Case:
    kernel: dict
    values: dict  # what `fair` or `with` replaces
    fault: dict = field(default_factory=dict)  # empty: must be clean

    @property
    def name(self):
        return self.kernel["file"].removesuffix(".py")

    @property
    def title(self):
        return self.fault.get("name") or ", ".join(f"{k}={v}" for k, v in self.values.items())


@dataclass
class Result:
    right: bool
    verdict: str
    where: str = ""
    capture_seconds: float = 0
    check_seconds: float = 0
    detail: str = ""


def pairs(text):
    return dict(part.strip().split("=", 1) for part in text.split(",") if part.strip())


def cases(table, short):
    for kernel in table["kernel"]:
        for text in kernel["fair"][: 1 if short else None]:
            yield Case(kernel, pairs(text))
        for fault in kernel["faults"][: 2 if short else None]:
            yield Case(kernel, pairs(fault.get("with", "")), fault)


def environment(language):
    """The Python of the virtual environment that has the language's triton."""
    variable, package = LANGUAGES[language]
    if given := os.environ.get(variable):
        python = pathlib.Path(given) / "bin" / "python"
        if not python.is_file():
            sys.exit(f"examples: {variable}={given}: no bin/python there")
        return python
    folder = ROOT / "build" / f"venv-{package.replace('==', '-')}"
    python = folder / "bin" / "python"
    if not (folder / "ready").is_file():
        print(f"examples: installing {package} in {folder.relative_to(ROOT)}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", str(folder)],
                        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2", package]):  # fmt: skip
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                sys.stderr.write(done.stdout[-2000:])
                unreachable = "venv" in command or any(word in done.stdout for word in UNREACHABLE)
                print(f"examples: {'no network or no python3-venv' if unreachable else 'FAILED'}, {package} could not be installed. "
                      f"That takes a network and python3-venv; without them, {variable} names an environment that has it.",
                      file=sys.stderr)  # fmt: skip
                sys.exit(NO_INDEX if unreachable else 1)
        (folder / "ready").touch()
    return python


def replaced(text, values):
    """Scalars of a signature, or constants: name=i32:8 and name=8 with another value."""
    for name, value in values.items():
        text = re.sub(rf"\b({name}=(?:\w+:)?)[\w.]+(?=\s*(?:,|$))", rf"\g<1>{value}", text)
    return text


def capture(case, python, folder, cache):
    kernel = case.kernel
    function = pathlib.Path(kernel["file"]).stem
    constants = replaced(kernel["constants"], case.values)
    if case.fault:
        constants += f", FAULT={case.fault['name']}"
    command = [str(python), "-m", "turnstile_capture", "--target", kernel["target"], "--out", str(folder),
               "--kernel", f"{HERE / kernel['file']}:{function}", "--grid", kernel["grid"], "--constexpr", constants,
               "--signature", " ".join(replaced(kernel["signature"], case.values).split())]  # fmt: skip
    for option in kernel["options"]:
        command += ["--option", option]
    paths = os.pathsep.join(filter(None, [str(HERE / "capture"), os.environ.get("PYTHONPATH")]))
    settings = dict(os.environ, PYTHONPATH=paths, PYTHONDONTWRITEBYTECODE="1", TRITON_CACHE_DIR=str(cache))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=settings,
                          timeout=CAPTURE_SECONDS)  # fmt: skip
    launches = sorted(folder.glob("*/launch.toml"))
    if done.returncode or len(launches) != 1:
        raise RuntimeError(f"not captured (exit code {done.returncode}):\n{done.stdout[:3000]}")
    return launches[0]


def places(finding):
    return [finding.get("where") or {}] + [side.get("where") or {} for side in finding.get("sides", [])]


def judge(case, report):
    """Holds the document of `turnstile check --json` against the table."""
    if "error" in report:
        error = report["error"]
        return Result(False, "error", detail=f"{error.get('file')}:{error.get('line')}: {error.get('message')}")
    launch = report["launches"][0]
    errors = [finding for finding in launch["findings"] if finding["severity"] == "error"]
    reasons = "; ".join(reason["text"] for reason in launch["inconclusive"])
    if not errors:
        return Result(not case.fault and launch["verdict"] == "clean", launch["verdict"], detail=reasons)
    first, source = errors[0], HERE / case.kernel["file"]
    at = next((p for p in places(first) if p.get("line")), {})
    verdict, where = first["class"], f"{os.path.basename(at.get('file', ''))}:{at.get('line', '')}"
    if not case.fault:
        return Result(False, verdict, where, detail=f"{where} {first['message']}")
    lines = source.read_text().split("\n")  # reports cut long lines short
    right_class = [finding for finding in errors if finding["class"] in case.fault["class"]]
    named = [p["line"] for finding in right_class for p in places(finding)
             if os.path.basename(p.get("file") or "") == source.name and 0 < p.get("line", 0) <= len(lines)]  # fmt: skip
    hit = next((line for line in named if case.fault["line"] in lines[line - 1]), None)
    if hit and first in right_class:
        return Result(True, verdict, f"{source.name}:{hit}")
    return Result(False, verdict, where, detail=f"{first['message']}\nwanted: {' or '.join(case.fault['class'])} at a line with "
                  f"`{case.fault['line']}`; lines named with that class: {sorted(set(named))}")  # fmt: skip


def run(case, turnstile, python, folder, cache):
    began = time.monotonic()
    try:
        launch = capture(case, python, folder, cache)
        captured = time.monotonic()
        done = subprocess.run([turnstile, "check", "--json", "launch.toml"], cwd=launch.parent, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=CHECK_SECONDS)  # fmt: skip
        ended = time.monotonic()
        result = judge(case, json.loads(done.stdout))
        result.capture_seconds, result.check_seconds = captured - began, ended - captured
        return result
    except subprocess.TimeoutExpired as error:
        return Result(False, "timeout", detail=f"more than {error.timeout} s")
    except (RuntimeError, ValueError, KeyError, IndexError) as error:
        return Result(False, "failed", detail=str(error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turnstile", default=str(ROOT / "build" / "turnstile"))
    parser.add_argument("--only", default="", help="kernels and faults whose name contains this, for example tlx/gemm_hopper:no_fence")
    parser.add_argument("--short", action="store_true", help="of each kernel the first fair configuration and the first two faults")
    parser.add_argument("--environments", action="store_true", help="make the environments, both at a time, and end")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", metavar="DIR", help="leave the captures there")
    arguments = parser.parse_args()
    if arguments.environments:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for one in [pool.submit(environment, name) for name in LANGUAGES]:
                one.result()
        return 0
    turnstile = shutil.which(os.path.abspath(arguments.turnstile))
    if not turnstile:
        sys.exit(f"examples: no program {arguments.turnstile}")
    table = tomllib.loads((HERE / "examples.toml").read_text())
    wanted = [case for case in cases(table, arguments.short) if arguments.only in f"{case.name}:{case.title}"]
    if not wanted:
        sys.exit(f"examples: nothing is called {arguments.only}")
    pythons = {name: environment(name) for name in sorted({case.name.split("/")[0] for case in wanted})}
    began = time.monotonic()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="examples") as scratch:
        base = pathlib.Path(arguments.keep or scratch)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            waiting = []
            for index, case in enumerate(wanted):
                folder = base / re.sub(r"\W+", "_", f"{index:02}_{case.name}_{case.title}")
                python = pythons[case.name.split("/")[0]]
                waiting.append(pool.submit(run, case, turnstile, python, folder, pathlib.Path(scratch) / "cache"))
            print(f"{'kernel':24} {'target':8} {'configuration':22} {'verdict':17} {'line':24} compile   check")
            for case, one in zip(wanted, waiting):
                result = one.result()
                wrong += not result.right
                print(f"{case.name:24} {case.kernel['target']:8} {case.title:22} {result.verdict:17} {result.where:24} "
                      f"{result.capture_seconds:5.1f} s {result.check_seconds:5.2f} s{'' if result.right else '  WRONG'}",
                      flush=True)  # fmt: skip
                if not result.right:
                    print("    " + result.detail.replace("\n", "\n    "), flush=True)
    print(f"examples: {len(wanted) - wrong} of {len(wanted)} as they must be, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
