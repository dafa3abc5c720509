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


def block(name, rows, note=""):
    """A table of an array: `rows` are (key, text of the value), those without a value are left out."""
    return f"\n[[{name}]]{note}\n" + "".join(f"{key} = {text}\n" for key, text in rows if text is not None)


def optional(text_of, value):
    return text_of(value) if value else None


def _fill(buffer, index, values):
    """Rows that say what the buffer holds before the launch."""
    if buffer.role == "out":
        return []  # zeros
    if values:
        return [("values", quoted(values))]
    if buffer.contents is not None or buffer.type[0] in "us" or buffer.type in ("b8", "b16", "b32", "b64"):
        return [("fill", '"zeros"')]
    return [("fill", '"normal"'), ("seed", "1"), ("stream", str(index))]


def _addresses(buffer):
    more = [f", offset = {offset}" if offset else "" for _, _, offset in buffer.pointers]
    return "[\n" + "".join(f"  {{ element = {element}, buffer = {quoted(name)}{rest} }},\n"
                           for (element, name, _), rest in zip(buffer.pointers, more)) + "]"  # fmt: skip


def _buffer(buffer, index, values):
    decides = buffer.contents is not None and buffer.decides and buffer.role != "out"
    note = "\n" + comment(buffer.note).rstrip("\n") if buffer.note else ""
    return block("buffers", [
        ("name", quoted(buffer.name)), ("dtype", quoted(buffer.type)), ("shape", numbers(buffer.shape)),
        ("row_pitch", None if buffer.row_pitch is None else str(buffer.row_pitch)), ("role", quoted(buffer.role)),
        *_fill(buffer, index, values), ("control_data", "true" if decides else None),
        ("addresses", _addresses(buffer) if buffer.pointers else None),
        ("previous_kernel", "true" if buffer.previous_kernel else None)], note)  # fmt: skip


def _tensor_map(name, buffer, offset, the_map):
    return block("tensor_maps", [
        ("name", quoted(name)), ("buffer", quoted(buffer.name)), ("offset", optional(str, offset)),
        ("dtype", quoted(the_map.type) if the_map.type != buffer.type else None), ("dims", numbers(the_map.dims)),
        ("strides", optional(numbers, the_map.strides)), ("box", numbers(the_map.box)),
        ("swizzle", quoted(the_map.swizzle) if the_map.swizzle != "none" else None), ("l2_promotion", '"128B"'),
        ("oob_fill", '"nan"' if the_map.nan_fill else None)])  # fmt: skip


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
    out += [_buffer(buffer, index, launch.values_files.get(buffer.name)) for index, buffer in enumerate(launch.buffers)]
    out += [_tensor_map(*one) for one in launch.maps]
    for note, key, value, offset in launch.params:
        text = quoted(value) if key in ("buffer", "tensor_map") else number(value)
        out.append(block("params", [(key, text), ("offset", optional(str, offset))], f"  # {note}"))
    for name, offset, size, stages in launch.names:
        rows = [("name", quoted(name)), ("offset", offset), ("bytes", size), ("stages", stages if stages > 1 else None)]
        out.append(block("shared", rows))
    if launch.roles:
        out.append("\n[roles]\n")
        out += [f"{quoted(name)} = {numbers(warps)}\n" for name, warps in launch.roles.items() if warps]
    out += [block("cases", [("name", quoted(case))]) for case in launch.cases]
    return "".join(out)
