# SPDX-License-Identifier: Apache-2.0
"""The recording launcher around a launcher that pretends to run kernels (no GPU is needed, none is used)."""

import hashlib
import json
import os
import struct
import tempfile
import tomllib
import unittest
from types import SimpleNamespace

from fakes import DIALECT, SCRATCH, TARGET, NumberedMemory, metadata, ptx

from turnstile_capture import gpu, stand_in
from turnstile_capture.recorder import Recorder

COPY = """tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {} {
    %0 = tt.load %x : !tt.ptr<f32>
    tt.store %y, %0 : !tt.ptr<f32>
"""


class FakeLauncher:
    """Copies the first argument to the second."""

    ran = 0

    def __init__(self, src, metadata):
        self.launch_pdl = False

    def __call__(self, gx, gy, gz, stream, function, packed, launch_metadata, enter, leave, *values):
        FakeLauncher.ran += 1
        memory, x, y = values[0].memory, values[0], values[1]
        memory.contents[y.data_ptr()] = memory.contents[x.data_ptr()]
        return "launched"


class FakeObserver:
    def wait(self):
        pass

    def timed(self, launch):
        return launch(), 0.25

    def gpu(self):
        return {"name": "a GPU", "compute_capability": "10.0", "sms": 148, "driver": "1", "cuda_driver_api": "unknown",
                "cuda_toolkit": "unknown"}  # fmt: skip

    def run(self, milliseconds):
        return {"date": "2026-01-31T12:00:00Z", "repetitions": 1, "kernel_ms": milliseconds}


class Recording(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.out = os.path.join(self._temporary.name, "out")
        self.memory = NumberedMemory()
        self.recorder = Recorder(self.out, TARGET, DIALECT, self.memory)
        self.problems = []
        self.gate = gpu.Gate()
        FakeLauncher.ran = 0

    def tearDown(self):
        self._temporary.cleanup()

    def launcher(self, observer=None, capturing=lambda: False, **more):
        compiled = SimpleNamespace(
            src=SimpleNamespace(signature={"x": "*fp32", "y": "*fp32"}, constants={}, fn=None), metadata=metadata(name="k", **more),
            asm={"ptx": ptx("k", ".u64", ".u64", *SCRATCH), "ttgir": COPY, "cubin": b""})  # fmt: skip

        class CompiledKernel:
            def _init_handles(kernel):
                made = gpu.launcher_class(FakeLauncher, self.recorder, TARGET, self.gate,
                                          lambda name, error, *what: self.problems.append(str(error)), observer, capturing)  # fmt: skip
                kernel.run = made(None, None)

        stand_in.remember_kernels(CompiledKernel)
        kernel = CompiledKernel()
        kernel.__dict__.update(vars(compiled))
        kernel._init_handles()
        return kernel.run

    def tensors(self):
        x = self.memory.tensor("fp32", (2, 2), struct.pack("<4f", 1, 2, 3, 4))
        y = self.memory.tensor("fp32", (2, 2), struct.pack("<4f", 9, 9, 9, 9))
        for tensor in (x, y):
            tensor.memory = self.memory
        return x, y

    def call(self, launcher, x, y, grid=(1, 1, 1)):
        return launcher(*grid, 0, 1, (), None, None, None, x, y)

    def test_the_kernel_runs_and_the_launch_is_saved(self):
        launcher = self.launcher()
        self.assertEqual(self.call(launcher, *self.tensors()), "launched")
        self.assertEqual((FakeLauncher.ran, os.listdir(os.path.join(self.out, "000_k")).count("launch.toml")), (1, 1))
        self.assertFalse(launcher.launch_pdl)  # what triton asks the real launcher
        self.assertEqual(self.problems, [])

    def test_outputs_become_a_golden_record(self):
        x, y = self.tensors()
        self.call(self.launcher(FakeObserver()), x, y)
        self.assertEqual(self.problems, [])
        folder = os.path.join(self.out, "000_k")
        with open(os.path.join(folder, "launch.toml"), "rb") as file:
            launch = tomllib.load(file)
        self.assertEqual([(b["role"], b["values"], "control_data" in b) for b in launch["buffers"]],
                         [("in", "x.npy", False), ("in_out", "y.npy", False)])  # fmt: skip
        self.assertEqual(launch["cases"], [{"name": "captured"}])
        with open(os.path.join(folder, "golden/records/k/captured.json"), encoding="utf-8") as file:
            record = json.load(file)
        after = struct.pack("<4f", 1, 2, 3, 4)
        (output,) = record["outputs"]
        self.assertEqual((output["buffer"], output["rows"], output["columns"]), ("y", 2, 2))
        self.assertEqual(output["sha256"], hashlib.sha256(after).hexdigest())
        self.assertEqual(output["elements"], [after[:8].hex(), after[8:].hex()])
        self.assertEqual(output["row_digests"][0], hashlib.sha256(after[:8]).hexdigest()[:16])
        before = struct.pack("<4f", 9, 9, 9, 9)
        self.assertEqual([i["sha256"] for i in record["inputs"]],
                         [hashlib.sha256(after).hexdigest(), hashlib.sha256(before).hexdigest()])  # fmt: skip
        with open(os.path.join(folder, "y.npy"), "rb") as file:
            self.assertTrue(file.read().endswith(before))

    def test_scratch_memory_is_not_recorded_but_the_launch_is(self):
        self.call(self.launcher(FakeObserver(), global_scratch_size=128), *self.tensors())
        self.assertEqual((FakeLauncher.ran, self.problems),
                         (1, ["the kernel has scratch memory, whose contents cannot be recorded"]))  # fmt: skip
        self.assertNotIn("golden", os.listdir(os.path.join(self.out, "000_k")))

    def test_fresh_data_in_a_loop_is_recorded_once(self):
        x, y = self.tensors()
        launcher = self.launcher(FakeObserver())
        self.call(launcher, x, y)
        self.memory.contents[x.data_ptr()] = struct.pack("<4f", 5, 6, 7, 8)
        self.call(launcher, x, y)
        self.assertEqual((FakeLauncher.ran, [e["times"] for e in self.recorder.launches]), (2, [2]))

    def test_a_launch_that_fails_or_hangs_is_there_before(self):
        x, y = self.tensors()

        class Failing(FakeObserver):
            def timed(self, launch):
                self.seen = os.listdir(test.out)
                raise RuntimeError("an illegal memory access")

        test, observer = self, Failing()
        with self.assertRaisesRegex(RuntimeError, "illegal"):
            self.call(self.launcher(observer), x, y)
        self.assertEqual(sorted(observer.seen), ["000_k", "index.json"])
        self.assertEqual(len(self.recorder.launches), 1)

    def test_a_launch_into_a_cuda_graph_is_saved_without_record(self):
        x, y = self.tensors()

        class NoObserver(FakeObserver):
            def wait(self):
                raise AssertionError("synchronizing ends the capture of a graph")

            def timed(self, launch):
                raise AssertionError("nothing runs that could be timed")

        self.call(self.launcher(NoObserver(), lambda: True), x, y)
        self.assertEqual((FakeLauncher.ran, self.problems), (1, ["it was launched while a CUDA graph was captured, and did not run then"]))
        with open(os.path.join(self.out, "000_k", "launch.toml"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn(gpu.IN_GRAPH, text)
        self.assertNotIn("[[cases]]", text)

    def test_replays_are_counted_and_still_replay(self):
        class Graph:
            def replay(self):
                return "replayed"

        replays = gpu.count_replays(Graph)
        self.assertEqual((Graph().replay(), len(replays)), ("replayed", 1))

    def test_a_table_of_addresses_is_recorded_without_them(self):
        x, y = self.tensors()
        table = self.memory.tensor("i64", (2,), struct.pack("<2q", y.data_ptr(), 7))
        table.memory = self.memory
        self.call(self.launcher(FakeObserver()), table, x)
        with open(os.path.join(self.out, "000_k/golden/records/k/captured.json"), encoding="utf-8") as file:
            inputs = {i["buffer"]: i["sha256"] for i in json.load(file)["inputs"]}
        self.assertEqual(inputs["x"], hashlib.sha256(struct.pack("<2q", 0, 7)).hexdigest())

    def test_the_first_call_of_a_benchmark_is_recorded(self):
        launcher, (x, y) = self.launcher(), self.tensors()

        def do_bench(call, rep=3):
            return [call() for _ in range(rep)]

        testing = SimpleNamespace(do_bench=do_bench)
        gpu.hold_back_benchmarks(testing, self.gate)
        self.assertEqual(testing.do_bench(lambda: self.call(launcher, x, y), rep=4), ["launched"] * 4)
        self.assertEqual((FakeLauncher.ran, [e["times"] for e in self.recorder.launches]), (4, [1]))
        self.assertTrue(self.gate.open)

    def test_measurements_of_an_autotuner_are_not_recorded(self):
        launcher, (x, y) = self.launcher(), self.tensors()

        class Autotuner:
            def _bench(self, times):
                for _ in range(times):
                    test.call(launcher, x, y)
                return [1.0]

        test = self
        gpu.hold_back_autotuning(Autotuner, self.gate, all_configurations=False)
        self.assertEqual(Autotuner()._bench(3), [1.0])
        self.assertEqual((FakeLauncher.ran, self.recorder.launches), (3, []))
        self.call(launcher, x, y)
        self.assertEqual(len(self.recorder.launches), 1)

    def test_all_configurations_record_the_first_launch_of_each_measurement(self):
        launcher, (x, y) = self.launcher(), self.tensors()

        class Autotuner:
            def _bench(self):
                for _ in range(3):
                    test.call(launcher, x, y)

        test = self
        gpu.hold_back_autotuning(Autotuner, self.gate, all_configurations=True)
        Autotuner()._bench()
        self.assertEqual((FakeLauncher.ran, [e["times"] for e in self.recorder.launches]), (3, [1]))

    def test_a_launch_that_cannot_be_saved_runs_all_the_same(self):
        launcher = self.launcher()
        launcher._compiled.asm["ptx"] = ptx("k", ".u64")
        self.assertEqual(self.call(launcher, *self.tensors()), "launched")
        self.assertIn("the PTX has 1 parameters", self.problems[0])

    def test_an_empty_grid_is_no_launch(self):
        self.call(self.launcher(), *self.tensors(), grid=(0, 1, 1))
        self.assertEqual(self.recorder.launches, [])

    def test_the_driver_version_of_a_machine_without_one(self):
        self.assertEqual(gpu.driver_version("/nonexistent"), "unknown")


if __name__ == "__main__":
    unittest.main()
