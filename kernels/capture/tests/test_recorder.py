# SPDX-License-Identifier: Apache-2.0
import json
import os
import struct
import tempfile
import tomllib
import unittest
from types import SimpleNamespace

from fakes import DIALECT, SCRATCH, TARGET, NumberedMemory, kernel, ptx

from turnstile_capture import CaptureError, npy
from turnstile_capture.recorder import Recorder

STORE = """tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) attributes {} {
    %0 = tt.load %x : !tt.ptr<f32>
    tt.store %y, %0 : !tt.ptr<f32>
"""


class Folders(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.out = os.path.join(self._temporary.name, "out")
        self.memory = NumberedMemory()
        self.recorder = Recorder(self.out, TARGET, DIALECT, self.memory, lambda: "a \"test\"")

    def tearDown(self):
        self._temporary.cleanup()

    def read(self, entry):
        with open(os.path.join(self.out, entry["folder"], "launch.toml"), "rb") as file:
            return tomllib.load(file)

    def test_one_launch(self):
        x, y = self.memory.tensor("fp32", (4, 8)), self.memory.tensor("fp32", (4, 8))
        made = kernel("k", {"x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"},
                      ptx("k", ".u64", ".u64", ".u32", *SCRATCH), STORE, num_warps=12, shared=1024)  # fmt: skip
        made.registers = 168
        entry = self.recorder.record(made, (5, 2), (x, y, 7, 64))
        self.assertEqual(sorted(os.listdir(os.path.join(self.out, "000_k"))), ["k.ptx", "k.ttgir", "launch.toml"])
        launch = self.read(entry)
        self.assertEqual(launch["launch"], {"grid": [5, 2, 1], "block": [384, 1, 1], "dynamic_shared_memory": 1024,
                                            "registers_per_thread": 168})  # fmt: skip
        self.assertEqual([(b["name"], b["role"], b["shape"], b["dtype"]) for b in launch["buffers"]],
                         [("x", "in", [4, 8], "f32"), ("y", "out", [4, 8], "f32")])  # fmt: skip
        self.assertEqual(launch["params"], [{"buffer": "x"}, {"buffer": "y"}, {"s32": 7}, {"u64": 0}, {"u64": 0}])
        self.assertNotIn("control_data", launch["buffers"][0])
        self.assertEqual(self.memory.wrote, [[y.data_ptr()]])

    def test_equal_launches_are_counted_and_others_kept(self):
        made = kernel("k", {"n": "i32"}, ptx("k", ".u32", *SCRATCH))
        for n in (1, 1, 2, 1):
            self.recorder.record(made, (1,), (n,))
        self.recorder.write_index()
        with open(os.path.join(self.out, "index.json"), encoding="utf-8") as file:
            index = json.load(file)
        self.assertEqual([(e["folder"], e["times"]) for e in index["launches"]], [("000_k", 3), ("001_k", 1)])
        self.assertEqual(index["launches"][0]["label"], "a \"test\"")

    def test_integers_are_kept_as_control_data(self):
        offsets = self.memory.tensor("i32", (3,), struct.pack("<3i", 0, 5, 9))
        zeros = self.memory.tensor("i64", (2,), bytes(16))
        unknown = self.memory.tensor("i32", (2,))
        made = kernel("k", {"o": "*i32", "z": "*i64", "u": "*i32"}, ptx("k", ".u64", ".u64", ".u64", *SCRATCH))
        launch = self.read(self.recorder.record(made, (1,), (offsets, zeros, unknown)))
        o, z, u = launch["buffers"]
        self.assertEqual((o["values"], o["control_data"]), ("o.npy", True))
        self.assertEqual((z["fill"], z["control_data"]), ("zeros", True))
        self.assertNotIn("values", z)
        self.assertNotIn("control_data", u)
        with open(os.path.join(self.out, "000_k", "o.npy"), "rb") as file:
            self.assertEqual(file.read(), npy.npy_bytes("s32", [3], struct.pack("<3i", 0, 5, 9)))

    def test_tables_of_addresses_name_what_they_point_to(self):
        target = self.memory.tensor("fp16", (64, 64))
        table = self.memory.tensor("i64", (3,), struct.pack("<3q", target.data_ptr(), 77, target.data_ptr() + 128))
        made = kernel("k", {"t": "*i64"}, ptx("k", ".u64", *SCRATCH))
        launch = self.read(self.recorder.record(made, (1,), (table,)))
        t, a = launch["buffers"]
        self.assertEqual(t["addresses"], [{"element": 0, "buffer": a["name"]},
                                          {"element": 2, "buffer": a["name"], "offset": 128}])  # fmt: skip
        self.assertEqual((a["shape"], a["role"]), ([64, 64], "in_out"))
        with open(os.path.join(self.out, "000_k", "t.npy"), "rb") as file:
            self.assertTrue(file.read().endswith(struct.pack("<3q", 0, 77, 0)))

    def test_what_a_grouped_kernel_writes_through_a_table_leaves_its_sizes_known(self):
        body = """tt.func public @k(%t: !tt.ptr<i64>, %s: !tt.ptr<i32>) attributes {} {
    %0 = tt.load %t : !tt.ptr<i64>
    %1 = tt.int_to_ptr %0 : i64 -> !tt.ptr<f16>
    %2 = tt.load %s : !tt.ptr<i32>
    %3 = tt.addptr %1, %2 : !tt.ptr<f16>, i32
    tt.store %3, %2 : !tt.ptr<f16>
"""
        target = self.memory.tensor("fp16", (64, 64))
        sizes = self.memory.tensor("i32", (2,), struct.pack("<2i", 5, 9))
        for known in (True, False):
            contents = struct.pack("<2q", target.data_ptr(), 0) if known else None
            table = self.memory.tensor("i64", (2,), contents)
            made = kernel("k", {"t": "*i64", "s": "*i32"}, ptx("k", ".u64", ".u64", *SCRATCH), body)
            launch = self.read(self.recorder.record(made, (1,), (table, sizes)))
            self.assertEqual({b["name"]: b["role"] for b in launch["buffers"]},
                             {"t": "in", "t.0": "in_out", "s": "in"} if known else {"t": "in_out", "s": "in_out"})  # fmt: skip
            wrote = [target.data_ptr()] if known else [table.data_ptr(), sizes.data_ptr()]
            self.assertEqual(sorted(self.memory.wrote[-1]), sorted(wrote))

    def test_two_arguments_of_one_allocation_are_one_buffer(self):
        x = self.memory.tensor("fp32", (16,))
        made = kernel("k", {"x": "*fp32", "y": "*fp32", "n": "i32"}, ptx("k", ".u64", ".u64", ".u32", *SCRATCH), STORE)
        launch = self.read(self.recorder.record(made, (1,), (x, x, 1)))
        self.assertEqual([(b["name"], b["role"]) for b in launch["buffers"]], [("x", "in_out")])
        self.assertEqual(launch["params"][:2], [{"buffer": "x"}, {"buffer": "x"}])

    def test_a_pointer_given_as_a_number(self):
        x = self.memory.tensor("fp32", (16,))
        made = kernel("k", {"x": "*fp32", "y": "*fp32"}, ptx("k", ".u64", ".u64", *SCRATCH))
        launch = self.read(self.recorder.record(made, (1,), (x.data_ptr() + 8, None)))
        self.assertEqual(launch["params"][:2], [{"buffer": "x", "offset": 8}, {"u64": 0}])

    def test_tensor_maps_clusters_and_scratch(self):
        a = self.memory.tensor("bf16", (256, 512))
        descriptor = SimpleNamespace(base=a, shape=[256, 512], strides=[512, 1], padding="nan", round_f32_to_tf32=False)
        meta = [{"swizzle": 2, "elem_size": 2, "elem_type": 10, "block_size": [128, 32], "fp4_padded": False}]
        code = ptx("k", ".align 64 .b8 k_param_0[128]", ".u32", ".u32", ".u64", ".u64", *SCRATCH)
        made = kernel("k", {"a": "tensordesc<bf16[128,32]>"}, code, maps=meta, num_ctas=2, global_scratch_size=256)
        launch = self.read(self.recorder.record(made, (3, 1, 1), (descriptor,)))
        self.assertEqual((launch["launch"]["grid"], launch["launch"]["cluster"]), ([6, 1, 1], [2, 1, 1]))
        self.assertEqual(launch["tensor_maps"], [{"name": "a", "buffer": "a", "dims": [512, 256], "strides": [1024],
                                                  "box": [32, 128], "swizzle": "64B", "l2_promotion": "128B",
                                                  "oob_fill": "nan"}])  # fmt: skip
        self.assertEqual(launch["params"], [{"tensor_map": "a"}, {"s32": 256}, {"s32": 512}, {"s64": 512}, {"s64": 1},
                                            {"buffer": "global_scratch"}, {"u64": 0}])  # fmt: skip
        self.assertEqual(launch["buffers"][1]["shape"], [6 * 256])

    def test_buffers_that_a_dependent_launch_shares_with_the_one_before(self):
        x, y, z = (self.memory.tensor("fp32", (16,)) for _ in range(3))
        first = kernel("k", {"x": "*fp32", "y": "*fp32", "n": "i32"}, ptx("k", ".u64", ".u64", ".u32", *SCRATCH), STORE)
        then = kernel("k", {"x": "*fp32", "y": "*fp32", "n": "i32"}, ptx("k", ".u64", ".u64", ".u32", *SCRATCH), STORE,
                      launch_pdl=True)  # fmt: skip
        self.recorder.record(first, (1,), (x, y, 1))
        launch = self.read(self.recorder.record(then, (1,), (y, z, 1)))
        self.assertEqual([b.get("previous_kernel") for b in launch["buffers"]], [True, None])

    def test_a_wrong_number_of_parameters_is_an_error_and_leaves_nothing(self):
        made = kernel("k", {"n": "i32"}, ptx("k", ".u32"))
        with self.assertRaisesRegex(CaptureError, "the PTX has 1 parameters and the launch 3"):
            self.recorder.record(made, (1,), (1,))
        self.assertEqual(os.listdir(self.out), [])

    def test_the_folder_must_be_empty(self):
        self.recorder.record(kernel("k", {"n": "i32"}, ptx("k", ".u32", *SCRATCH)), (1,), (1,))
        with self.assertRaisesRegex(CaptureError, "not empty"):
            Recorder(self.out, TARGET, DIALECT, self.memory)


if __name__ == "__main__":
    unittest.main()
