# SPDX-License-Identifier: Apache-2.0
"""Where the shared-memory objects of a kernel lie, and what the source calls them.

The TTGIR that a compiled kernel keeps has its `ttg.local_alloc`s without addresses: the compiler gives them later, and throws that form away. So
the same passes of the user's own triton run over a copy of the TTGIR once more. What they give is used only if the
total is the number of bytes that the kernel is launched with, and no two objects share bytes; and of the objects only those
have a name that a line of the source allocates: those that the compiler makes bear the name of something else. A wrong name misleads.
"""

import importlib
import linecache
import os
import re
import tempfile

MOST_TEXT = 64 << 20
# In the order of triton's own make_llir; `?` marks what some versions do not have. The last one gives the addresses.
PASSES = [
    "passes.ttgpuir.add_combine_tensor_select_and_if",
    "passes.ttgpuir.add_allocate_warp_groups",
    "passes.convert.add_scf_to_cf",
    "passes.gluon.add_inliner",
    "nvidia.passes.ttnvgpuir.add_allocate_tensor_memory",
    "nvidia.passes.ttgpuir.add_allocate_shared_memory_nv",
]
ALLOCATION = re.compile(r"^\s*%\S+ = ttg\.local_alloc\b[^\n]*?allocation\.offset = (\d+) : i32[^\n]*->\s*!ttg\.memdesc<([^,>]+),[^\n]*?"
                        r"(?:loc\((#loc\d*)\))?\s*$", re.M)  # fmt: skip
LOCATION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.M)


def shared_names(ttgir, code, capability, total):
    """[(name, offset, bytes, stages)] by offset, of the kernel whose TTGIR and PTX these are; [] if that is not known."""
    if "ttg.local_alloc" not in ttgir or len(ttgir) > MOST_TEXT:
        return []
    version = re.search(r"^\.version (\d+)\.(\d+)", code, re.M)
    if not version:
        return []
    try:
        text = with_addresses(ttgir, capability, 10 * int(version[1]) + int(version[2]))
    except Exception:  # whatever triton says of it: names are an extra, and the program must not notice
        return []
    return objects_of(text, total)


def with_addresses(ttgir, capability, ptx_version):
    library = importlib.import_module("triton._C.libtriton")
    context = library.ir.context()
    library.ir.load_dialects(context)
    library.nvidia.load_dialects(context)
    file, path = tempfile.mkstemp(suffix=".ttgir")
    try:
        with os.fdopen(file, "w", encoding="utf-8") as out:
            out.write(ttgir)
        module = library.ir.parse_mlir_module(path, context)
    finally:
        os.unlink(path)
    module.context = context
    manager = library.ir.pass_manager(context)
    for name in PASSES:
        function = library
        for part in name.split("."):
            function = getattr(function, part)
        function(*([manager, capability, ptx_version] if name == PASSES[-1] else [manager]))
    try:
        manager.run(module, "shared_names")
    except TypeError:  # triton 3.6 has no name for the run
        manager.run(module)
    return str(module)


def objects_of(text, total):
    found = re.search(r"\bttg\.shared = (\d+) : i32", text)
    if not found or int(found[1]) != total:
        return []
    locations = dict(LOCATION.findall(text))
    objects = []
    for offset, description, location in ALLOCATION.findall(text):
        name, line = origin_of(location, locations)
        shape = re.fullmatch(r"((?:\d+x)+)([a-zA-Z]\w*)", description.strip())
        bits = shape and re.search(r"(\d+)", shape[2])
        if not bits:
            continue
        sizes = [int(n) for n in shape[1].rstrip("x").split("x")]
        elements = 1
        for n in sizes:
            elements *= n
        stages = sizes[0] if len(sizes) > 2 or shape[2] == "i64" and len(sizes) == 1 else 1  # of tiles; or mbarriers
        known = name if "alloc" in line else ""
        objects.append((known, int(offset), elements * int(bits[1]) // 8 // stages, stages))
    objects.sort(key=lambda one: one[1])
    apart = [one for i, one in enumerate(objects)
             if all(one is other or end(one) <= other[1] or end(other) <= one[1] for other in objects)]  # fmt: skip
    return different_names([one for one in apart if one[0]])


def origin_of(location, locations):
    """(name that the source assigns it to, line of the source) of a location of the IR."""
    name = ""
    for _ in range(len(locations)):
        text = locations.get(location, "")
        if found := re.match(r'"([A-Za-z_]\w*)"\((#loc\d*)\)$', text):
            name, location = name or found[1], found[2]
        elif found := re.match(r"callsite\((#loc\d*) at ", text):
            location = found[1]
        elif found := re.match(r'"([^"]*)":(\d+):\d+', text):
            return name, linecache.getline(found[1], int(found[2]))
        else:
            break
    return "", ""


def end(one):
    _, offset, size, stages = one
    return offset + size * stages


def different_names(objects):
    seen, out = {}, []
    for name, *rest in objects:
        seen[name] = seen.get(name, 0) + 1
        out.append((name if seen[name] == 1 else f"{name}#{seen[name]}", *rest))
    return out
