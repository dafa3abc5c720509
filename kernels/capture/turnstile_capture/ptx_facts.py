# SPDX-License-Identifier: Apache-2.0
"""What the compiled kernel itself says: its parameters, and the registers that the assembler gave it."""

import re
import struct

from turnstile_capture import CaptureError


def parameter_bytes(ptx, entry):
    """Sizes of the parameters of an entry, in order."""
    found = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*\(([^)]*)\)", ptx)
    if not found:
        if re.search(r"\.entry\s+" + re.escape(entry) + r"\s*[\n{.]", ptx):
            return []
        raise CaptureError(f"the PTX has no entry {entry}")
    text = re.sub(r"//[^\n]*", "", found[1])
    sizes = []
    for declaration in filter(None, (part.strip() for part in text.split(","))):
        kind = re.search(r"\.(?:[busf]|pred)(\d+)\b", declaration)
        array = re.search(r"\[(\d+)\]\s*$", declaration)
        if not kind:
            raise CaptureError(f"a parameter of {entry} is not understood: {declaration}")
        sizes.append(int(kind[1]) // 8 * (int(array[1]) if array else 1))
    return sizes


def registers_per_thread(cubin, entry):
    """The registers of a thread at entry, as the assembler notes them in .nv.info (EIATTR_REGCOUNT: 04 2f, length 8,
    symbol, count). None if it cannot be found."""
    try:
        if cubin[:4] != b"\x7fELF" or cubin[4] != 2:
            return None
        (offset,) = struct.unpack_from("<Q", cubin, 0x28)
        size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
        sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + i * size) for i in range(count)]
        by_name = {_text(cubin, sections[names][4] + section[0]): section for section in sections}
        symbols = by_name[".symtab"]
        strings = sections[symbols[6]][4]
        info = by_name[".nv.info"]
        at, end = info[4], info[4] + info[5]
        while at + 4 <= end:
            form, attribute, length = struct.unpack_from("<BBH", cubin, at)
            if form == 4 and attribute == 0x2F:
                symbol, registers = struct.unpack_from("<II", cubin, at + 4)
                (name,) = struct.unpack_from("<I", cubin, symbols[4] + 24 * symbol)
                if _text(cubin, strings + name) == entry:
                    return registers or None
            at += 4 + (length if form == 4 else 0)
    except (struct.error, IndexError, ValueError, TypeError, KeyError):
        pass
    return None


def _text(data, at):
    return data[at : data.index(b"\0", at)].decode("latin-1")
