# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest

import fakes  # noqa: F401

from turnstile_capture.shared_names import objects_of, shared_names

# As the compiler prints a module whose objects have addresses; only what is read is here.
HEAD = 'module attributes {"ttg.num-warps" = 4 : i32, ttg.shared = 49240 : i32} {\n'
TILES = "    %tiles = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<3x64x128xbf16, #shared, #smem, mutable> loc(#loc7)\n"
BARRIERS = "    %1 = ttg.local_alloc {allocation.offset = 49152 : i32} : () -> !ttg.memdesc<3xi64, #shared1, #smem, mutable> loc(#loc8)\n"
SCRATCH = "    }) {allocation.offset = 49176 : i32} : (tensor<1x64xf32, #blocked>) -> tensor<1xf32, #blocked1> loc(#loc9)\n"
SOURCE = """
    a_tiles = tlx.local_alloc((64, 128), tl.bfloat16, 3)
    full = tlx.alloc_barriers(3)
    acc = tl.dot(a, b, acc)
"""


class SharedNames(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(SOURCE)
        self.addCleanup(os.unlink, file.name)
        lines = "".join(f'#loc{n} = loc("{file.name}":{n}:5)\n' for n in (2, 3, 4))
        self.names = ('}\n' + lines + '#loc6 = loc("a_tiles"(#loc2))\n#loc7 = loc(callsite(#loc6 at #loc4))\n'
                      '#loc8 = loc("full"(#loc3))\n#loc9 = loc("acc"(#loc4))\n')  # fmt: skip

    def test_objects_have_the_names_of_the_source_and_their_stages(self):
        self.assertEqual(objects_of(HEAD + TILES + BARRIERS + SCRATCH + self.names, 49240),
                         [("a_tiles", 0, 64 * 128 * 2, 3), ("full", 49152, 8, 3)])  # fmt: skip

    def test_what_the_compiler_makes_has_no_name(self):
        made = TILES.replace("#loc7", "#loc9")  # for the operands of `acc = tl.dot(...)`
        self.assertEqual(objects_of(HEAD + made + BARRIERS + self.names, 49240), [("full", 49152, 8, 3)])
        self.assertEqual(objects_of(HEAD + TILES + BARRIERS + "}\n", 49240), [])

    def test_two_of_one_name_are_told_apart(self):
        again = TILES.replace("offset = 0", "offset = 49152").replace("3x64x128xbf16", "64xf8E4M3FN")
        self.assertEqual(objects_of(HEAD + TILES + again + self.names, 49240), [("a_tiles", 0, 16384, 3), ("a_tiles#2", 49152, 64, 1)])

    def test_objects_that_share_bytes_and_totals_that_differ_give_no_names(self):
        self.assertEqual(objects_of(HEAD + TILES + BARRIERS.replace("49152", "49144") + self.names, 49240), [])
        self.assertEqual(objects_of(HEAD + TILES + BARRIERS + self.names, 49241), [])
        self.assertEqual(objects_of("", 0), [])

    def test_without_triton_there_are_none(self):
        self.assertEqual(shared_names("ttg.local_alloc ttg.local_alloc", ".version 8.7", 90, 0), [])
        self.assertEqual(shared_names("ttg.local_alloc", "", 90, 0), [])


if __name__ == "__main__":
    unittest.main()
