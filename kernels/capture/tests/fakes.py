# SPDX-License-Identifier: Apache-2.0
"""Triton's objects, as far as the package looks at them."""

import os
import sys
from types import SimpleNamespace

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from turnstile_capture import facts, single  # noqa: E402
from turnstile_capture.targets import parse_target  # noqa: E402
from turnstile_capture.versions import dialect_of  # noqa: E402

TARGET = parse_target("sm_100a")
DIALECT = dialect_of("3.9.0")


def ptx(entry, *parameters):
    """PTX whose entry has parameters of the given declarations: ".u64", ".align 64 .b8 x[128]"."""
    lines = [f"\t.param {p if '[' in p else p + f' {entry}_param_{i}'}" for i, p in enumerate(parameters)]
    return (".version 8.7\n.target sm_100a\n.address_size 64\n\n.visible .entry " + entry + "(\n" + ",\n".join(lines) +
            "\n)\n.reqntid 128\n{\n\tret;\n}\n")  # fmt: skip


SCRATCH = (".u64 .ptr .global .align 1", ".u64 .ptr .global .align 1")


def metadata(**more):
    return SimpleNamespace(**{"num_warps": 4, "num_ctas": 1, "shared": 0, "global_scratch_size": 0,
                              "profile_scratch_size": 0, "launch_pdl": False, **more})  # fmt: skip


def kernel(entry, signature, code, ir="", maps=None, **more):
    return facts.Kernel(entry, code, "", ir, signature, metadata(**more), maps)


class NumberedMemory(single.PlainMemory):
    """PlainTensors that may have contents, and addresses that can be found again."""

    def __init__(self):
        super().__init__()
        self.made = []
        self.contents = {}
        self.wrote = []

    def tensor(self, triton_name, shape, contents=None):
        made = super().tensor(triton_name, shape)
        self.made.append(made)
        self.contents[made.data_ptr()] = contents
        return made

    def view_of(self, tensor):
        view = super().view_of(tensor)
        view.allocation.read = lambda: self.contents[tensor.data_ptr()]
        return view

    def view_at(self, address):
        for tensor in self.made:
            if tensor.data_ptr() <= address < tensor.data_ptr() + tensor.bytes:
                return self.view_of(tensor)
        return None

    def kernel_wrote(self, allocations):
        self.wrote.append([allocation.address for allocation in allocations])
