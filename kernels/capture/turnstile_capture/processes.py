# SPDX-License-Identifier: Apache-2.0
"""Processes that the program starts.

A forked one carries the capture with it and writes into a folder of its own. One that is started as a new Python (spawn,
torchrun, pytest -n) knows nothing of it: what it launches is not saved, and one line says so.
"""

import functools
import multiprocessing
import multiprocessing.process
import os
import re
import subprocess

# Helpers of the compilers: they launch nothing.
HELPERS = re.compile(r"torch\._inductor\.compile_worker|multiprocessing\.resource_tracker")


class Children:
    def __init__(self, recorder):
        self._recorder = recorder
        self.pythons = 0  # that were started anew

    def forked(self):
        self.pythons = 0
        self._recorder.in_child()

    def remarks(self):
        """Lines for the end of the report."""
        if not self.pythons:
            return []
        count = f"{self.pythons} Python process{'es' if self.pythons > 1 else ''}"
        return [f"the program started {count}, and what is launched there is not saved: run it in one process (pytest without -n) or "
                "let it fork"]  # fmt: skip


def starts_python(words):
    """Whether these arguments of subprocess.Popen start a Python."""
    if isinstance(words, (str, bytes, os.PathLike)):
        words = os.fsdecode(words).split()
    words = [os.fsdecode(word) if isinstance(word, (bytes, os.PathLike)) else str(word) for word in words]
    if not words or HELPERS.search(" ".join(words)):
        return False
    programs = words[:3] if os.path.basename(words[0]) in ("env", "nice", "timeout", "sh", "bash") else words[:1]
    first = [os.path.basename(word) for program in programs for word in program.split()[:1]]
    return any(re.fullmatch(r"python[\d.]*|torchrun|pytest", word) for word in first)


def watch(recorder):
    """From now on, processes are noticed."""
    children = Children(recorder)
    os.register_at_fork(after_in_child=children.forked)
    make, start = subprocess.Popen.__init__, multiprocessing.process.BaseProcess.start

    @functools.wraps(make)
    def popen(self, args, *rest, **more):
        children.pythons += starts_python(args)
        return make(self, args, *rest, **more)

    @functools.wraps(start)
    def process_start(self):
        method = getattr(self, "_start_method", None) or multiprocessing.get_start_method()
        children.pythons += method != "fork"
        return start(self)

    subprocess.Popen.__init__ = popen
    multiprocessing.process.BaseProcess.start = process_start
    return children
