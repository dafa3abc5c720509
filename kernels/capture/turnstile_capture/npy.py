# SPDX-License-Identifier: Apache-2.0
"""Arrays in numpy's file format, without numpy (numpy.lib.format, version 1.0)."""

KINDS = {"u8": "|u1", "s8": "|i1", "u16": "<u2", "s16": "<i2", "u32": "<u4", "s32": "<i4", "u64": "<u8", "s64": "<i8",
         "f16": "<f2", "f32": "<f4", "f64": "<f8", "bf16": "<u2", "e4m3": "|u1", "e5m2": "|u1",
         "b8": "|u1", "b16": "<u2", "b32": "<u4", "b64": "<u8"}  # fmt: skip


def npy_bytes(kind, shape, data):
    """The bytes of a .npy file; `kind` is an element type of the launch file."""
    dimensions = "".join(f"{extent}, " for extent in shape)
    if len(shape) > 1:
        dimensions = dimensions[:-2]
    header = f"{{'descr': '{KINDS[kind]}', 'fortran_order': False, 'shape': ({dimensions.strip()}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"  # the data begins at a multiple of 64
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("ascii") + data
