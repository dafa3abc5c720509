# SPDX-License-Identifier: Apache-2.0
import unittest

import fakes  # noqa: F401

from turnstile_capture.written import argument_use


def use(arguments, body):
    found = argument_use(f"module {{\n  tt.func public @k({arguments}) attributes {{noinline = false}} {{\n{body}\n    tt.return\n  }}\n}}\n")
    if found is None:
        return None
    through = [[sorted(loaded) for loaded in found.through]] if found.through else []
    return (sorted(found.read), sorted(found.written), *through)


TWO = '%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %y: !tt.ptr<f32> loc("y"(#loc)), %n: i32 loc("n"(#loc))'


class Use(unittest.TestCase):
    def test_load_and_store(self):
        self.assertEqual(use(TWO, """
    %0 = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>> loc(#loc1)
    %1 = tt.load %0 : tensor<8x!tt.ptr<f32>> loc(callsite("f"(#loc2) at #loc3))
    %2 = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    tt.store %2, %1 : tensor<8x!tt.ptr<f32>>"""), (["x"], ["y"]))  # fmt: skip

    def test_an_index_that_was_loaded_does_not_make_its_table_written(self):
        self.assertEqual(use(TWO, """
    %0 = tt.load %x : !tt.ptr<f32>
    %1 = arith.fptosi %0 : f32 to i32
    %2 = tt.addptr %y, %1 : !tt.ptr<f32>, i32
    tt.store %2, %0 : !tt.ptr<f32>"""), (["x"], ["y"]))  # fmt: skip

    def test_atomics_read_and_write(self):
        self.assertEqual(use(TWO, "    %0 = tt.atomic_rmw fadd, acq_rel, gpu, %x, %n, %n : (!tt.ptr<f32>, f32, i1) -> f32"),
                         (["x"], ["x"]))  # fmt: skip

    def test_through_loops(self):
        self.assertEqual(use(TWO, """
    %0:2 = scf.for %i = %a to %b step %c iter_args(%p = %x, %q = %y) -> (!tt.ptr<f32>, !tt.ptr<f32>)  : i32 {
      %1 = tt.load %p : !tt.ptr<f32>
      tt.store %q, %1 : !tt.ptr<f32>
      scf.yield %p, %q : !tt.ptr<f32>, !tt.ptr<f32>
    }"""), (["x"], ["y"]))  # fmt: skip
        # A pointer that the loop exchanges is either of them.
        self.assertEqual(use(TWO, """
    %0:2 = scf.for %i = %a to %b step %c iter_args(%p = %x, %q = %y) -> (!tt.ptr<f32>, !tt.ptr<f32>)  : i32 {
      scf.yield %q, %p : !tt.ptr<f32>, !tt.ptr<f32>
    }
    tt.store %0#0, %n : !tt.ptr<f32>"""), ([], ["x", "y"]))  # fmt: skip

    def test_into_partitions_of_warp_specialisation(self):
        arguments = "%a: !tt.tensordesc<tensor<64x64xf16, #shared>>, %c: !tt.tensordesc<tensor<64x64xf16, #shared>>, %n: i32"
        self.assertEqual(use(arguments, """
    ttg.warp_specialize(%n, %a, %c)
    default {
      ttg.warp_yield
    }
    partition0(%arg0: i32 loc(unknown), %arg1: !tt.tensordesc<tensor<64x64xf16, #shared>> loc(unknown), %arg2: !tt.tensordesc<tensor<64x64xf16, #shared>>) num_warps(4) {
      ttng.async_tma_copy_global_to_local %arg1[%arg0, %arg0] %m, %bar, %true : !tt.tensordesc<tensor<64x64xf16, #shared>>
      ttng.async_tma_copy_local_to_global %arg2[%arg0, %arg0] %m : !tt.tensordesc<tensor<64x64xf16, #shared>>
      ttg.warp_return
    } : (i32, !tt.tensordesc<tensor<64x64xf16, #shared>>, !tt.tensordesc<tensor<64x64xf16, #shared>>) -> ()"""), (["a"], ["c"]))  # fmt: skip

    def test_descriptors_made_on_the_device(self):
        self.assertEqual(use(TWO, """
    %0 = tt.make_tensor_descriptor %x, [%n], [%s] : !tt.ptr<f32>, !tt.tensordesc<tensor<64xf32>>
    %1 = tt.make_tensor_descriptor %y, [%n], [%s] : !tt.ptr<f32>, !tt.tensordesc<tensor<64xf32>>
    %2 = tt.descriptor_load %0[%n] : !tt.tensordesc<tensor<64xf32>> -> tensor<64xf32>
    tt.descriptor_store %1[%n], %2 : !tt.tensordesc<tensor<64xf32>>, tensor<64xf32>"""), (["x"], ["y"]))  # fmt: skip

    def test_stores_on_the_chip_do_not_count(self):
        self.assertIsNone(use(TWO, "    %0 = tt.load %x : !tt.ptr<f32>\n    ttg.local_store %0, %m : f32 -> !ttg.memdesc<1xf32>"))

    def test_a_store_to_an_address_that_was_loaded_names_the_argument_that_held_it(self):
        self.assertEqual(use(TWO, """
    %0 = tt.load %x : !tt.ptr<i64>
    %1 = tt.int_to_ptr %0 : i64 -> !tt.ptr<f32>
    tt.store %y, %n : !tt.ptr<f32>
    tt.store %1, %n : !tt.ptr<f32>"""), (["x"], ["y"], [["x"]]))  # fmt: skip

    def test_a_destination_of_unknown_origin_means_that_nothing_is_known(self):
        self.assertIsNone(use(TWO, """
    %0 = tt.load %x : !tt.ptr<i64>
    %1 = tt.int_to_ptr %0 : i64 -> !tt.ptr<i64>
    %2 = tt.load %1 : !tt.ptr<i64>
    %3 = tt.int_to_ptr %2 : i64 -> !tt.ptr<f32>
    tt.store %y, %n : !tt.ptr<f32>
    tt.store %3, %n : !tt.ptr<f32>"""))  # fmt: skip

    def test_what_is_not_known_may_write(self):
        self.assertEqual(use(TWO, """
    %0 = tt.elementwise_inline_asm "red.global.add.u32 [$1], 1;" {packed_element = 1 : i32} %x : !tt.ptr<f32> -> i32
    tt.store %y, %n : !tt.ptr<f32>"""), (["x"], ["x", "y"]))  # fmt: skip
        self.assertEqual(use(TWO, "    foo.bar %x : !tt.ptr<f32>\n    tt.store %y, %n : !tt.ptr<f32>"), (["x"], ["x", "y"]))

    def test_what_is_no_ir(self):
        self.assertIsNone(argument_use(""))
        self.assertIsNone(argument_use("hello"))


if __name__ == "__main__":
    unittest.main()
