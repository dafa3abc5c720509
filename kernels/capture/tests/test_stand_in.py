# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest
from types import SimpleNamespace

from fakes import DIALECT, SCRATCH, TARGET, NumberedMemory, metadata, ptx

from turnstile_capture import CaptureError, cli, single, stand_in
from turnstile_capture.recorder import Recorder


class DriverBase:
    pass


class Driver(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.memory = NumberedMemory()
        self.recorder = Recorder(os.path.join(self._temporary.name, "out"), TARGET, DIALECT, self.memory)
        self.problems = []
        self.driver = stand_in.make_driver(DriverBase, "the target", TARGET, self.recorder, lambda: "cuda:0",
                                           lambda name, error: self.problems.append((name, str(error))))  # fmt: skip

    def tearDown(self):
        self._temporary.cleanup()

    def kernel(self, code):
        driver = self.driver

        class CompiledKernel:
            def __init__(self):
                self.src = SimpleNamespace(signature={"n": "i32", "B": "constexpr"}, constants={(1,): 64},
                                           fn=SimpleNamespace(arg_names=["n", "B"]))  # fmt: skip
                self.metadata = metadata(name="k")
                self.asm = {"ptx": code, "ttgir": "", "cubin": b""}

            def _init_handles(self):
                self.run = driver.launcher_cls(self.src, self.metadata)
                self.module, self.function, *_ = driver.utils.load_binary("k", b"", 0, 0)

        stand_in.remember_kernels(CompiledKernel)
        made = CompiledKernel()
        made._init_handles()
        return made

    def test_a_launch_is_recorded(self):
        made = self.kernel(ptx("k", ".u32", *SCRATCH))
        made.run(4, 1, 1, 0, 1, (), None, None, None, 7, 64)
        (entry,) = self.recorder.launches
        self.assertEqual((entry["kernel"], entry["grid"], entry["constants"]), ("k", [4, 1, 1], {"B": 64}))
        self.assertEqual(self.problems, [])
        made.run(0, 1, 1, 0, 1, (), None, None, None, 9, 64)
        self.assertEqual(len(self.recorder.launches), 1)

    def test_a_launch_that_cannot_be_saved_does_not_stop_the_program(self):
        self.kernel(ptx("k", ".u64")).run(4, 1, 1, 0, 1, (), None, None, None, 7, 64)
        self.assertEqual(self.recorder.launches, [])
        self.assertIn("the PTX has 1 parameters", self.problems[0][1])

    def test_a_launch_that_is_not_understood_may_have_written_its_tensors(self):
        x = self.memory.tensor("i32", (4,), bytes(16))
        self.kernel(ptx("k", ".u64")).run(4, 1, 1, 0, 1, (), None, None, None, (x, 3), 64)
        self.assertEqual(self.memory.wrote, [[x.data_ptr()]])

    def test_what_programs_ask(self):
        driver = self.driver
        self.assertEqual(driver.get_current_target(), "the target")
        self.assertEqual(driver.get_active_torch_device(), "cuda:0")
        properties = driver.utils.get_device_properties(0)
        self.assertEqual((properties["multiprocessor_count"], properties["max_shared_mem"]), (148, 232448))
        calls = []
        self.assertEqual(driver.get_benchmarker()(lambda: calls.append(1), quantiles=(0.5, 0.2)), [1.0, 1.0])
        self.assertEqual(driver.get_benchmarker()(lambda: calls.append(1), warmup=25, rep=100), 1.0)
        self.assertEqual(len(calls), 2)


class Autotuning(unittest.TestCase):
    def tune(self, all_configurations, failing=()):
        tried = []

        class Autotuner:
            def _bench(self, config):
                if config in failing:
                    return [float("inf")] * 3
                return self.do_bench(lambda: tried.append(config), quantiles=(0.5, 0.2, 0.8))

            def run(self):
                return min((self._bench(config)[0], config) for config in "abc")[1]

        stand_in.limit_autotuning(Autotuner, all_configurations)
        return Autotuner().run(), tried

    def test_the_first_that_launches(self):
        self.assertEqual(self.tune(False), ("a", ["a"]))
        self.assertEqual(self.tune(False, failing="a"), ("b", ["b"]))

    def test_all(self):
        self.assertEqual(self.tune(True), ("a", ["a", "b", "c"]))


class CommandLine(unittest.TestCase):
    def test_signatures(self):
        made = single.parse_signature("x=*fp32[4, 8], n = i32:7, a=tensordesc<bf16[64,32]>[128,256], f=fp32:0.5")
        self.assertEqual([(a.name, a.kind, a.shape, a.value) for a in made],
                         [("x", "*fp32", (4, 8), None), ("n", "i32", (), 7),
                          ("a", "tensordesc<bf16[64,32]>", (128, 256), None), ("f", "fp32", (), 0.5)])  # fmt: skip
        made = single.parse_signature("offsets=*i32[5]:[0, 130,-1,316 ,700], n=i64:2, sizes=*u8[2,2] : [1,2,3,4]")
        self.assertEqual([(a.name, a.kind, a.shape, a.value) for a in made],
                         [("offsets", "*i32", (5,), [0, 130, -1, 316, 700]), ("n", "i64", (), 2), ("sizes", "*u8", (2, 2), [1, 2, 3, 4])])  # fmt: skip
        for wrong in ("x", "x=*fp32", "x=*fp33[4]", "n=i32", "=i32:1", "o=*i32[2]:", "o=*i32[2]:[]", "o=*i32[2]:[1,]", "o=*i32[2]:[1,x]", "o=*i32[2]:1"):
            with self.assertRaisesRegex(CaptureError, "--signature"):
                single.parse_signature(wrong)
        self.assertEqual(single.parse_pairs("A=1, B=0x10,C=True, D=fast, E=None", "--constexpr"),
                         {"A": 1, "B": 16, "C": True, "D": "fast", "E": None})  # fmt: skip

    def test_values_of_an_array(self):
        plain = single.PlainMemory()
        view = plain.view_of(plain.tensor("i16", (3,), [1, -2, 300]))
        self.assertEqual(view.allocation.read(), bytes([1, 0, 0xFE, 0xFF, 0x2C, 1]))  # little endian, two's complement
        self.assertIsNone(plain.view_of(plain.tensor("i16", (3,))).allocation.read())
        for kind, values in (("i32", [1, 2]), ("i32", [1, 2, 3, 4]), ("fp32", [1, 2, 3])):
            with self.assertRaisesRegex(CaptureError, "only arrays of integers have values, as many as elements"):
                plain.tensor(kind, (3,), values)

    def test_usage(self):
        def error(*words):
            try:
                cli.checked(cli.parser().parse_args(list(words)))
            except CaptureError as found:
                return str(found)
            return ""

        self.assertIn("say what to run", error("--out", "d", "--target", "sm_90"))
        self.assertIn("--target is missing", error("--out", "d", "--", "a.py"))
        self.assertIn("--record needs --gpu", error("--out", "d", "--target", "sm_90", "--record", "--", "a.py"))
        self.assertIn("needs --signature", error("--out", "d", "--target", "sm_90", "--kernel", "k.py:f"))
        self.assertEqual(error("--out", "d", "--target", "sm_90", "--", "a.py", "--out", "e"), "")


if __name__ == "__main__":
    unittest.main()
