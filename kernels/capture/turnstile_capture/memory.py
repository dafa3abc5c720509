# SPDX-License-Identifier: Apache-2.0
"""Allocations, and the tensors that look into them.

The launch file speaks of allocations, because that is what a kernel can reach; arguments are tensors, several of
which may look into one allocation. This module knows neither torch nor triton: a `View` is what the others make.
"""

import math
from dataclasses import dataclass, field
from typing import Callable, Optional

# torch's and triton's names of element types -> those of the launch file
ELEMENT_TYPES = {
    "bool": "u8", "uint8": "u8", "int8": "s8", "uint16": "u16", "int16": "s16", "uint32": "u32", "int32": "s32",
    "uint64": "u64", "int64": "s64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
    "i1": "u8", "u1": "u8", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64", "fp16": "f16", "bf16": "bf16",
    "fp32": "f32", "f32": "f32", "fp64": "f64", "fp8e4nv": "e4m3", "fp8e5": "e5m2",
}  # fmt: skip
WIDTHS = {"u8": 1, "s8": 1, "b8": 1, "e4m3": 1, "e5m2": 1, "u16": 2, "s16": 2, "b16": 2, "f16": 2, "bf16": 2,
          "u32": 4, "s32": 4, "b32": 4, "f32": 4, "u64": 8, "s64": 8, "b64": 8, "f64": 8}  # fmt: skip
INTEGERS = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}


def element_type(name, width):
    """The launch file's name of an element type; types that it has no name for are bits of their width."""
    return ELEMENT_TYPES.get(str(name).split(".")[-1], f"b{8 * width}")


@dataclass
class Allocation:
    key: object  # equal for the same memory
    address: int  # what data_ptr() of its first byte gave to the program
    bytes: int
    read: Callable[[], Optional[bytes]]  # its contents now; None where they are not known


@dataclass
class View:
    """A tensor: how it looks into its allocation."""

    allocation: Allocation
    offset: int  # bytes
    type: str  # as the launch file names it
    shape: tuple
    strides: tuple  # elements


@dataclass
class Buffer:
    """One allocation as the launch file has it."""

    name: str
    type: str
    shape: list
    row_pitch: Optional[int]
    allocation: Optional[Allocation]
    read: bool = False
    written: bool = False
    contents: Optional[bytes] = None  # as far as they are known
    decides: bool = True  # known contents may decide branches and addresses
    pointers: list = field(default_factory=list)  # (element, buffer name, offset): elements that are addresses
    previous_kernel: bool = False
    note: str = ""

    def portable_contents(self):
        """The contents as the launch file gives them: addresses mean nothing to anyone else."""
        if not self.pointers:
            return self.contents
        contents = bytearray(self.contents)
        for element, _, _ in self.pointers:
            contents[8 * element : 8 * element + 8] = bytes(8)
        return bytes(contents)

    @property
    def role(self):
        """What is neither known to be read nor written (scratch, targets of addresses) may be both."""
        if self.read or not self.written:
            return "in_out" if self.written or not self.read else "in"
        return "out"


def contiguous(shape, strides):
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def rows_of_one_pitch(shape, strides):
    """The pitch if only the step from row to row is wider than a row; None otherwise."""
    if len(shape) < 2 or (shape[-1] != 1 and strides[-1] != 1):
        return None
    pitch = strides[-2]
    expected = pitch
    for extent, stride in zip(reversed(shape[:-1]), reversed(strides[:-1])):
        if extent != 1 and stride != expected:
            return None
        expected *= extent
    return pitch if pitch >= shape[-1] else None


def type_of(view):
    """The element type of the whole allocation: that of the tensor, unless it leaves a rest."""
    return view.type if view.allocation.bytes % WIDTHS[view.type] == 0 else "b8"


def extent_of(view):
    """(shape, row pitch or None) of the whole allocation, as close to the tensor's own shape as that allows."""
    width = WIDTHS[type_of(view)]
    count = math.prod(view.shape)
    allocated = view.allocation.bytes
    if type_of(view) == view.type and view.offset == 0 and 1 <= len(view.shape) <= 8 and count > 0:
        if contiguous(view.shape, view.strides) and count * width == allocated:
            return list(view.shape), None
        pitch = rows_of_one_pitch(view.shape, view.strides)
        if pitch is not None and count // view.shape[-1] * pitch * width == allocated:
            return list(view.shape), pitch
    return [max(1, allocated // width)], None
