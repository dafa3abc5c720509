# SPDX-License-Identifier: Apache-2.0
"""From a launch's arguments, as Python has them, to the parameters of the kernel, as PTX has them.

The order is triton's launcher's: constants are left out, tuples are taken apart, a tensor descriptor becomes either a
tensor map or a pointer with sizes, and two scratch pointers follow at the end.
"""

import re
import struct
from dataclasses import dataclass, field
from typing import Any, Optional

from turnstile_capture import CaptureError

# The driver's numbers for the element types of tensor maps (CUtensorMapDataType)
MAP_TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32", "tf32", "tf32"]
DEVICE_TO_HOST = {8: 10, 9: 8, 10: 9}  # triton's metadata counts in the order of tensormap.replace
TF32 = 11
SWIZZLES = ["none", "32B", "64B", "128B"]
SCALAR_BYTES = {"i1": 1, "u1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8,
                "fp16": 2, "bf16": 2, "fp32": 4, "f32": 4, "fp64": 8}  # fmt: skip


@dataclass
class Pointer:
    name: str
    value: Any  # a tensor, an integer, or None
    bytes: int = 8


@dataclass
class Scalar:
    name: str
    type: str  # triton's
    value: Any

    @property
    def bytes(self):
        return SCALAR_BYTES[self.type]


@dataclass
class Map:
    """The arguments of cuTensorMapEncodeTiled; dimension 0 is innermost."""

    name: str
    base: Any  # tensor
    type: str
    dims: list
    strides: list  # bytes
    box: list
    swizzle: str
    nan_fill: bool
    bytes: int = 128


@dataclass
class Scratch:
    name: str
    size: int  # bytes of the whole grid; 0: a null pointer is passed
    bytes: int = 8


@dataclass
class _Walk:
    metas: Optional[list]
    flags: int
    out: list = field(default_factory=list)
    descriptors: int = 0


def _tensor_map(name, descriptor, meta):
    if meta.get("is_im2col"):
        raise CaptureError(f"the descriptor {name} is of im2col mode, which launch files cannot say yet")
    shape, strides = [int(n) for n in descriptor.shape], [int(n) for n in descriptor.strides]
    if meta.get("fp4_padded"):
        shape[-1] *= 2
    number = TF32 if getattr(descriptor, "round_f32_to_tf32", False) else int(meta["elem_type"])
    number = DEVICE_TO_HOST.get(number, number) if number != TF32 else number
    if number >= len(MAP_TYPES):
        raise CaptureError(f"the descriptor {name} has the element type {number}, which launch files cannot say yet")
    return Map(name, descriptor.base, MAP_TYPES[number], shape[::-1],
               [int(meta["elem_size"]) * stride for stride in strides[-2::-1]] if len(strides) > 1 else [],
               [int(n) for n in meta["block_size"]][::-1], SWIZZLES[int(meta["swizzle"])],
               getattr(descriptor, "padding", "zero") == "nan")  # fmt: skip


def _descriptor(name, descriptor, walk):
    meta = walk.metas[walk.descriptors] if walk.metas else None
    walk.descriptors += 1
    shape, strides = [int(n) for n in descriptor.shape], [int(n) for n in descriptor.strides]
    if meta is None:  # the compiler took the descriptor apart
        walk.out.append(Pointer(name, descriptor.base))
        walk.out += [Scalar(f"{name}.shape{i}", "i64", n) for i, n in enumerate(shape)]
        walk.out += [Scalar(f"{name}.stride{i}", "i64", n) for i, n in enumerate(strides)]
        walk.out.append(Scalar(f"{name}.nan_fill", "i1", getattr(descriptor, "padding", "zero") == "nan"))
        if walk.flags == 2:
            walk.out.append(Scalar(f"{name}.tf32", "i1", getattr(descriptor, "round_f32_to_tf32", False)))
    else:
        walk.out.append(_tensor_map(name, descriptor, meta))
    walk.out += [Scalar(f"{name}.shape{i}", "i32", n) for i, n in enumerate(shape)]
    walk.out += [Scalar(f"{name}.stride{i}", "i64", n) for i, n in enumerate(strides)]


def _visit(kind, value, name, walk):
    if isinstance(kind, (tuple, list)):
        for i, (inner, item) in enumerate(zip(kind, value)):
            _visit(inner, item, f"{name}.{i}", walk)
    elif kind == "constexpr":
        pass
    elif kind.startswith("tensordesc"):
        _descriptor(name, value, walk)
    elif kind.startswith("*"):
        walk.out.append(Pointer(name, value))
    elif kind in SCALAR_BYTES:
        walk.out.append(Scalar(name, kind, value))
    else:
        raise CaptureError(f"the argument {name} has the type {kind}, which this turnstile-capture does not know")


def kernel_parameters(signature, arguments, metas, dialect):
    """`signature`: name -> triton's type, for all arguments in order; `arguments`: their values, constants included."""
    if len(signature) != len(arguments):
        raise CaptureError(f"the kernel has {len(signature)} arguments, the launch {len(arguments)}")
    walk = _Walk(list(metas) if metas else None, dialect.tma_flags)
    for (name, kind), value in zip(signature.items(), arguments):
        _visit(kind, value, str(name), walk)
    return walk.out


def check_against_ptx(parameters, sizes, entry):
    """The PTX has the last word: a launcher that is understood wrongly shows here."""
    ours = [parameter.bytes for parameter in parameters]
    if ours == sizes:
        return
    where = next((i for i, (a, b) in enumerate(zip(ours, sizes)) if a != b), min(len(ours), len(sizes)))
    name = parameters[where].name if where < len(parameters) else "(none)"
    raise CaptureError(f"{entry}: the PTX has {len(sizes)} parameters and the launch {len(ours)}; they differ at number "
                       f"{where + 1}, {name}: {sizes[where:where + 1]} and {ours[where:where + 1]} bytes")


def scalar_entry(scalar):
    """(key, value) of [[params]]."""
    kind, value = scalar.type, scalar.value
    if kind in ("fp32", "f32"):
        return "f32", struct.unpack("<f", struct.pack("<f", float(value)))[0]
    if kind == "fp64":
        return "f64", float(value)
    if kind == "fp16":
        return "u16", struct.unpack("<H", struct.pack("<e", float(value)))[0]
    if kind == "bf16":  # triton's launcher cuts off the low half
        return "u16", struct.unpack("<I", struct.pack("<f", float(value)))[0] >> 16
    bits = 8 * scalar.bytes
    number = int(value) & ((1 << bits) - 1)
    if kind in ("i1", "u1"):
        return "u8", number
    if kind[0] == "i" or (bits == 64 and number >> 63):  # TOML's integers are signed 64-bit numbers
        return f"s{bits}", number - (1 << bits) if number >> (bits - 1) else number
    return f"u{bits}", number


def cluster_of(metadata, dialect):
    explicit = getattr(metadata, dialect.cluster_key, None) if dialect.cluster_key else None
    ctas = int(getattr(metadata, "num_ctas", 1) or 1)
    if ctas > 1:
        return [ctas, 1, 1]
    if explicit:
        return ([int(n) for n in explicit] + [1, 1, 1])[:3]
    return [1, 1, 1]


def plain_name(text, most=64):
    """A name that launch files and file systems take."""
    name = re.sub(r"[^\w.\-]", "_", str(text))[:most]
    return name.lstrip(".") or "_"
