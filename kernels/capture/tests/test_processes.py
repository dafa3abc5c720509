# SPDX-License-Identifier: Apache-2.0
"""Processes that a captured program starts."""

import contextlib
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import unittest

from fakes import DIALECT, SCRATCH, TARGET, NumberedMemory, kernel, ptx

from turnstile_capture import processes, session
from turnstile_capture.recorder import Recorder


def one_launch(recorder, n):
    recorder.record(kernel("k", {"n": "i32"}, ptx("k", ".u32", *SCRATCH)), (1, 1, 1), (n,))


class Processes(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.out = os.path.join(self._temporary.name, "out")
        self.recorder = Recorder(self.out, TARGET, DIALECT, NumberedMemory())
        self._saved = subprocess.Popen.__init__, multiprocessing.process.BaseProcess.start

    def tearDown(self):
        subprocess.Popen.__init__, multiprocessing.process.BaseProcess.start = self._saved
        self._temporary.cleanup()

    def report(self, remarks=()):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = session.report(self.recorder, 0, remarks)
        return code, said.getvalue()

    def test_a_forked_process_writes_into_a_folder_of_its_own(self):
        one_launch(self.recorder, 1)
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                self.recorder.in_child()  # what watch() has the fork do
                one_launch(self.recorder, 2)
                one_launch(self.recorder, 3)
                code = 0
            os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        folder = os.path.join(self.out, f"process_{child}")
        self.assertEqual(sorted(os.listdir(folder)), ["000_k", "001_k", "index.json"])
        with open(os.path.join(self.out, "index.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["launches"]), 1)
        self.assertEqual(self.recorder.children(), (2, 0))
        code, said = self.report()
        self.assertEqual(code, 0)
        self.assertIn("2 launches of forked processes saved in process_*", said)

    def test_launches_of_children_only_are_launches(self):
        self.recorder.in_child()
        one_launch(self.recorder, 2)
        parent = Recorder(os.path.join(self._temporary.name, "other"), TARGET, DIALECT, NumberedMemory())
        os.rename(os.path.join(self.out, f"process_{os.getpid()}"), os.path.join(parent._folder, "process_7"))
        self.recorder = parent
        self.assertEqual(self.report()[0], 0)

    def test_new_pythons_are_told_of(self):
        children = processes.watch(self.recorder)
        subprocess.run([sys.executable, "-c", ""], check=True)
        subprocess.run(["true"], check=True)
        (remark,) = children.remarks()
        self.assertIn("the program started 1 Python process, and what is launched there is not saved", remark)
        process = multiprocessing.get_context("spawn").Process(target=print)
        process.start()
        process.join()
        self.assertEqual(children.pythons, 2)
        process = multiprocessing.get_context("fork").Process(target=int)
        process.start()
        process.join()
        self.assertEqual((process.exitcode, children.pythons), (0, 2))

    def test_what_starts_a_python(self):
        for words in (["/usr/bin/python3.12", "-c", "x"], "python x.py", [b"python3"], ["env", "A=1", "python3"], ["torchrun", "x.py"],
                      ["bash", "-c", "python x.py"]):  # fmt: skip
            self.assertTrue(processes.starts_python(words), words)
        for words in (["ptxas", "-v"], ["gcc", "python.c"], [], "/sbin/ldconfig -p", ["python3", "-m", "torch._inductor.compile_worker"]):
            self.assertFalse(processes.starts_python(words), words)


if __name__ == "__main__":
    unittest.main()
