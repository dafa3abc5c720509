# SPDX-License-Identifier: Apache-2.0
"""The text of a launch file (docs/launch-file.md)."""

import math
import re


def quoted(text):
    out = []
    for c in str(text):
        if c in '"\\':
            out.append("\\" + c)
        elif c < " " or c == "\x7f":
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def number(value):
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        text = repr(value)
        # TOML wants a point or an exponent after digits: 1e-05 is fine, 1e+16 too
        return text if re.search(r"[.e]", text) else text + ".0"
    return str(int(value))


def numbers(values):
    return "[" + ", ".join(str(int(value)) for value in values) + "]"


def comment(text):
    return "".join(f"# {line}\n" for line in str(text).split("\n"))


def launch_text(launch):
    """`launch` is a recorder.Launch; every number is spelled out, so there are no variables."""
    out = [comment(line) for line in launch.remarks]
    out.append(f"kernel = {quoted(launch.kernel_file)}\nentry = {quoted(launch.entry)}\n\n[launch]\n")
    out.append(f"grid = {numbers(launch.grid)}\nblock = {numbers(launch.block)}\n")
    if launch.cluster != [1, 1, 1]:
        out.append(f"cluster = {numbers(launch.cluster)}\n")
    out.append(f"dynamic_shared_memory = {launch.shared}\n")
    if launch.registers:
        out.append(f"registers_per_thread = {launch.registers}\n")
    for index, buffer in enumerate(launch.buffers):
        out.append("\n[[buffers]]\n")
        if buffer.note:
            out.append(comment(buffer.note))
        out.append(f"name = {quoted(buffer.name)}\ndtype = {quoted(buffer.type)}\nshape = {numbers(buffer.shape)}\n")
        if buffer.row_pitch is not None:
            out.append(f"row_pitch = {buffer.row_pitch}\n")
        out.append(f"role = {quoted(buffer.role)}\n")
        values = launch.values_files.get(buffer.name)
        if buffer.role == "out":
            pass  # starts as zeros
        elif values:
            out.append(f"values = {quoted(values)}\n")
        elif buffer.contents is not None or buffer.type[0] in "us" or buffer.type in ("b8", "b16", "b32", "b64"):
            out.append('fill = "zeros"\n')
        else:
            out.append(f'fill = "normal"\nseed = 1\nstream = {index}\n')
        if buffer.contents is not None and buffer.decides and buffer.role != "out":
            out.append("control_data = true\n")
        if buffer.pointers:
            out.append("addresses = [\n")
            for element, name, offset in buffer.pointers:
                more = f", offset = {offset}" if offset else ""
                out.append(f"  {{ element = {element}, buffer = {quoted(name)}{more} }},\n")
            out.append("]\n")
        if buffer.previous_kernel:
            out.append("previous_kernel = true\n")
    for name, buffer, offset, the_map in launch.maps:
        out.append(f"\n[[tensor_maps]]\nname = {quoted(name)}\nbuffer = {quoted(buffer.name)}\n")
        if offset:
            out.append(f"offset = {offset}\n")
        if the_map.type != buffer.type:
            out.append(f"dtype = {quoted(the_map.type)}\n")
        out.append(f"dims = {numbers(the_map.dims)}\n")
        if the_map.strides:
            out.append(f"strides = {numbers(the_map.strides)}\n")
        out.append(f"box = {numbers(the_map.box)}\n")
        if the_map.swizzle != "none":
            out.append(f"swizzle = {quoted(the_map.swizzle)}\n")
        out.append('l2_promotion = "128B"\n')
        if the_map.nan_fill:
            out.append('oob_fill = "nan"\n')
    for note, key, value, offset in launch.params:
        out.append(f"\n[[params]]  # {note}\n")
        text = quoted(value) if key in ("buffer", "tensor_map") else number(value)
        out.append(f"{key} = {text}\n")
        if offset:
            out.append(f"offset = {offset}\n")
    if launch.roles:
        out.append("\n[roles]\n")
        out += [f"{quoted(name)} = {numbers(warps)}\n" for name, warps in launch.roles.items() if warps]
    for case in launch.cases:
        out.append(f"\n[[cases]]\nname = {quoted(case)}\n")
    return "".join(out)
