# SPDX-License-Identifier: Apache-2.0
import struct
import unittest
from types import SimpleNamespace
from unittest import mock

from fakes import DIALECT, TARGET, ptx  # noqa: F401

from turnstile_capture import CaptureError, arguments, facts, memory, ptx_facts
from turnstile_capture.single import PlainTensor
from turnstile_capture.targets import parse_target
from turnstile_capture.versions import dialect_of


def kinds(parameters):
    return [(type(p).__name__, p.name, p.bytes) for p in parameters]


class Versions(unittest.TestCase):
    def test_known(self):
        for version, name in (("3.6.0", "triton 3.6"), ("3.8.0", "triton 3.8"), ("3.9.1", "triton 3.9"),
                              ("3.7.4+fb", "fbtriton 3.7"), ("3.9.0+git1234", "triton 3.9")):  # fmt: skip
            self.assertEqual(dialect_of(version).name, name)

    def test_unknown_is_an_error_that_says_what_is_known(self):
        for version in ("3.5.1", "4.0.0", "3.10.0", "3.8.0+fb", "nonsense"):
            with self.assertRaisesRegex(CaptureError, r"triton .* is not known .*triton 3\.6, .*fbtriton 3\.7"):
                dialect_of(version)


class Targets(unittest.TestCase):
    def test_names(self):
        self.assertEqual(parse_target("sm_100a").arch, 100)
        self.assertEqual(parse_target("sm_90").capability, (9, 0))
        self.assertEqual(parse_target("sm_90a", 7).multiprocessors, 7)
        self.assertEqual(parse_target("gfx950").kernel_suffix, "amdgcn")
        for wrong in ("sm_99", "90", "sm_90b", "gfx1", ""):
            with self.assertRaisesRegex(CaptureError, "sm_90, "):
                parse_target(wrong)


class Parameters(unittest.TestCase):
    def test_constants_are_left_out_and_tuples_taken_apart(self):
        tensor = PlainTensor("fp32", (4,), 4096)
        signature = {"x": "*fp32", "B": "constexpr", "pair": ("i32", ("*fp32", "constexpr")), "n": "i64"}
        made = arguments.kernel_parameters(signature, (tensor, 64, (7, (tensor, 1)), 9), None, DIALECT)
        self.assertEqual(kinds(made), [("Pointer", "x", 8), ("Scalar", "pair.0", 4), ("Pointer", "pair.1.0", 8),
                                       ("Scalar", "n", 8)])  # fmt: skip

    def descriptor(self, **more):
        tensor = PlainTensor("bf16", (256, 512), 4096)
        return SimpleNamespace(base=tensor, shape=[256, 512], strides=[512, 1], block_shape=[128, 64], padding="zero",
                               round_f32_to_tf32=False, **more)  # fmt: skip

    def test_a_descriptor_becomes_a_tensor_map_with_its_sizes_behind(self):
        meta = [{"swizzle": 3, "elem_size": 2, "elem_type": 10, "block_size": [128, 64], "fp4_padded": False}]
        made = arguments.kernel_parameters({"a": "tensordesc<bf16[128,64]>"}, (self.descriptor(),), meta, DIALECT)
        self.assertEqual([p.bytes for p in made], [128, 4, 4, 8, 8])
        the_map = made[0]
        # cuTensorMapEncodeTiled: innermost first; strides in bytes, one less than dims
        self.assertEqual((the_map.type, the_map.dims, the_map.strides, the_map.box, the_map.swizzle),
                         ("bf16", [512, 256], [1024], [64, 128], "128B"))  # fmt: skip

    def test_without_metadata_a_descriptor_is_a_pointer_with_sizes(self):
        for version, flags in (("3.6.0", 1), ("3.9.0", 2), ("3.7.4+fb", 2)):
            made = arguments.kernel_parameters({"a": "tensordesc<bf16[128,64]>"}, (self.descriptor(),), None,
                                               dialect_of(version))  # fmt: skip
            self.assertEqual([p.bytes for p in made], [8] + [8] * 4 + [1] * flags + [4, 4, 8, 8])

    def test_packed_four_bit_elements_double_the_innermost_extent(self):
        meta = [{"swizzle": 3, "elem_size": 1, "elem_type": 0, "block_size": [128, 64], "fp4_padded": True}]
        made = arguments.kernel_parameters({"a": "tensordesc<u8[128,64]>"}, (self.descriptor(),), meta, DIALECT)
        self.assertEqual(made[0].dims, [1024, 256])
        self.assertEqual(made[0].strides, [512])

    def test_what_cannot_be_said_is_an_error(self):
        meta = [{"swizzle": 0, "elem_size": 2, "elem_type": 10, "block_size": [128, 64], "fp4_padded": False, "is_im2col": True}]
        with self.assertRaisesRegex(CaptureError, "im2col"):
            arguments.kernel_parameters({"a": "tensordesc<bf16[128,64]>"}, (self.descriptor(),), meta, DIALECT)
        meta[0].update(is_im2col=False, elem_type=14)
        with self.assertRaisesRegex(CaptureError, "element type 14"):
            arguments.kernel_parameters({"a": "tensordesc<bf16[128,64]>"}, (self.descriptor(),), meta, DIALECT)
        with self.assertRaisesRegex(CaptureError, "type fp7"):
            arguments.kernel_parameters({"a": "fp7"}, (1,), None, DIALECT)
        with self.assertRaisesRegex(CaptureError, "2 arguments, the launch 1"):
            arguments.kernel_parameters({"a": "i32", "b": "i32"}, (1,), None, DIALECT)

    def test_scalars(self):
        def entry(kind, value):
            return arguments.scalar_entry(arguments.Scalar("n", kind, value))

        self.assertEqual(entry("i32", -3), ("s32", -3))
        self.assertEqual(entry("i32", 2**31), ("s32", -(2**31)))
        self.assertEqual(entry("u32", 2**32 - 1), ("u32", 2**32 - 1))
        self.assertEqual(entry("i1", True), ("u8", 1))
        self.assertEqual(entry("i8", 200), ("s8", -56))
        self.assertEqual(entry("u64", 2**63), ("s64", -(2**63)))
        self.assertEqual(entry("fp32", 0.1), ("f32", struct.unpack("<f", struct.pack("<f", 0.1))[0]))
        self.assertEqual(entry("fp64", 0.1), ("f64", 0.1))
        self.assertEqual(entry("fp16", 1.0), ("u16", 0x3C00))
        self.assertEqual(entry("bf16", 1.0), ("u16", 0x3F80))

    def test_clusters(self):
        def cluster(dialect, **metadata):
            return arguments.cluster_of(SimpleNamespace(**metadata), dialect)

        fb = dialect_of("3.7.4+fb")
        self.assertEqual(cluster(DIALECT, num_ctas=1), [1, 1, 1])
        self.assertEqual(cluster(DIALECT, num_ctas=4), [4, 1, 1])
        self.assertEqual(cluster(fb, num_ctas=1, ctas_per_cga=(2, 1, 1)), [2, 1, 1])
        self.assertEqual(cluster(fb, num_ctas=1, ctas_per_cga=None), [1, 1, 1])


class Ptx(unittest.TestCase):
    def test_sizes_of_parameters(self):
        code = ptx("k", ".u64 .ptr .global .align 1", ".u32", ".f32", ".b8", ".align 64 .b8 k_param_4[128]", ".u16", ".f64")
        self.assertEqual(ptx_facts.parameter_bytes(code, "k"), [8, 4, 4, 1, 128, 2, 8])
        self.assertEqual(ptx_facts.parameter_bytes(".visible .entry k()\n{ret;}", "k"), [])
        self.assertEqual(ptx_facts.parameter_bytes(".visible .entry k\n{ret;}", "k"), [])
        with self.assertRaisesRegex(CaptureError, "no entry q"):
            ptx_facts.parameter_bytes(code, "q")

    def test_a_launcher_that_is_understood_wrongly_shows(self):
        with self.assertRaisesRegex(CaptureError, r"k: the PTX has 2 parameters and the launch 1; .* number 2, \(none\)"):
            arguments.check_against_ptx([arguments.Pointer("x", None)], [8, 8], "k")
        with self.assertRaisesRegex(CaptureError, r"number 1, x: \[4\] and \[8\] bytes"):
            arguments.check_against_ptx([arguments.Pointer("x", None)], [4], "k")

    def test_registers_of_what_is_no_cubin(self):
        for data in (b"", b"\x7fELF", b"\x7fELF\x02" + bytes(100), b"text" * 40):
            self.assertIsNone(ptx_facts.registers_per_thread(data, "k"))

    def test_registers_of_a_kernel_whose_setmaxnreg_the_assembler_ignored(self):
        """ptxas then uses as many as it needs, not .maxnreg (message C7507 of 12.8: 154 registers, .maxnreg 168)."""
        dynamic = ".maxnreg 168\n{ setmaxnreg.inc.sync.aligned.u32 240; }"
        for code, used, given, remarks in ((dynamic, 154, 168, 1), (dynamic, 168, 168, 0), (".maxnreg 168\n{}", 154, 160, 0),
                                           ("{ setmaxnreg.dec.sync.aligned.u32 24; }", 154, 160, 0), (dynamic, None, None, 0)):  # fmt: skip
            with mock.patch.object(ptx_facts, "registers_per_thread", lambda cubin, entry, used=used: used):
                registers, found = facts._registers(code, b"", "k")
            self.assertEqual((registers, len(found)), (given, remarks), code)


class Allocations(unittest.TestCase):
    def view(self, kind, shape, allocated, offset=0):
        strides, step = [], 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
        return memory.View(memory.Allocation(1, 4096, allocated, lambda: None), offset, kind, shape, tuple(strides))

    def test_shape_and_type_of_the_whole(self):
        for view, kind, shape in ((self.view("f32", (2, 3), 24), "f32", [2, 3]), (self.view("f32", (2, 3), 48), "f32", [12]),
                                  (self.view("f32", (2,), 11), "b8", [11]), (self.view("s64", (1,), 9, 1), "b8", [9])):  # fmt: skip
            self.assertEqual((memory.type_of(view), memory.extent_of(view)), (kind, (shape, None)))


if __name__ == "__main__":
    unittest.main()
