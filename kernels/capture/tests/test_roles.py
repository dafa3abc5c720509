# SPDX-License-Identifier: Apache-2.0
import unittest

import fakes  # noqa: F401

from turnstile_capture.roles import warp_roles


def ttgir(default, *partitions):
    text = f'module attributes {{"ttg.num-warps" = {default} : i32}} {{\n    ttg.warp_specialize(%a)\n    default {{\n    }}\n'
    return text + "".join(f"    partition{n}(%arg0: i32) num_warps({count}) {{\n    }}\n" for n, count in enumerate(partitions))


class Roles(unittest.TestCase):
    def test_the_table_is_read_from_the_stores(self):
        # bytes 02 02 00 01: warps 4 and 5 have no work, 6 is partition 0, 7 partition 1
        self.assertEqual(warp_roles(ttgir(4, 1, 1), "\tst.shared.b32 \t[global_smem+96], 16777730;", 8),
                         {"default": [0, 1, 2, 3], "partition 0": [6], "partition 1": [7]})  # fmt: skip
        ptx = "st.shared.v2.b32 \t[global_smem+104], {0, 16843009};\nst.shared.b32 [global_smem+112], 50463748;"
        self.assertEqual(warp_roles(ttgir(4, 4, 4, 1, 1), ptx, 16),
                         {"default": [0, 1, 2, 3], "partition 0": [4, 5, 6, 7], "partition 1": [8, 9, 10, 11],
                          "partition 2": [14], "partition 3": [15]})  # fmt: skip

        # at the end: all leave
        self.assertEqual(warp_roles(ttgir(4, 1, 1), "st.shared.b32 [global_smem+96], 16777730;\nst.shared.b32 [global_smem+96], 50529027;",
                                    8)["partition 1"], [7])  # fmt: skip

    def test_where_it_is_not_clear_there_are_none(self):
        table = "st.shared.b32 [global_smem+96], 16777730;"
        self.assertEqual(warp_roles(ttgir(4, 1, 1), "", 8), {})
        self.assertEqual(warp_roles(ttgir(4, 1, 1), table + "st.shared.b32 [global_smem], 16777730;", 8), {})
        self.assertEqual(warp_roles(ttgir(4, 1, 1), table + "st.shared.b32 [global_smem+96], 7;", 8), {})
        self.assertEqual(warp_roles(ttgir(4, 2, 1), table, 8), {})
        self.assertEqual(warp_roles(ttgir(4), table, 4), {})
        self.assertEqual(warp_roles(ttgir(4, 1, 1) + ttgir(4, 1, 1), table, 8), {})


if __name__ == "__main__":
    unittest.main()
