# SPDX-License-Identifier: Apache-2.0
"""Which arguments a kernel reads and which it may write, read off its Triton IR.

Pointers and descriptors are followed from the arguments through every operation but loads. Where such a pointer is the
destination of a store, an atomic or a copy to global memory, its arguments are written; where it is used by anything
else that does more than pass it on, they are read. An address that was loaded from an argument (grouped GEMMs) is
followed too, as "*" and the name of the argument: what is written there is what the values of the argument point to.
"""

import re
from dataclasses import dataclass, field

NAME = re.compile(r"%[\w$.\-]+(?:#\d+)?")
# A location may hold two more levels of brackets: loc(callsite("f"(#loc1) at #loc2))
LOCATION = re.compile(r"\bloc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
HEADER = re.compile(r"tt\.func public @[\w$.\"]+\((.*?)\)(?: attributes| \{|\s*->)", re.S)
POINTER = re.compile(r"!tt\.ptr|tensordesc|!ttng\.tensormap")
STORE = re.compile(r"\b\w+\.[\w.]*(?:store|atomic|local_to_global|descriptor_reduce|descriptor_scatter|tma_reduce|tma_scatter)[\w.]*")
ON_CHIP = re.compile(r"local_store|tmem_store|shmem_store|store_wait|local_atomic")
LOADS = re.compile(r"load|gather|global_to_local|prefetch")
READS_TOO = re.compile(r"atomic|reduce")
PASSES_ON = re.compile(r"\b(?:tt\.(?:splat|addptr|broadcast|expand_dims|bitcast|trans|reshape|join|cat|make_tensor_descriptor|"
                       r"ptr_to_int|int_to_ptr|reinterpret_tensor_descriptor)|ttg\.(?:convert_layout|warp_specialize\w*)|"
                       r"scf\.\w+|cf\.\w+|arith\.\w+|builtin\.\w+|ttng\.reinterpret_tensor_descriptor|llvm\.intr\.assume)\b")  # fmt: skip


@dataclass
class Use:
    read: set = field(default_factory=set)
    written: set = field(default_factory=set)
    through: list = field(default_factory=list)  # of each store to a loaded address: the arguments it may come from


def argument_use(ir):
    """A Use of names of arguments, or None where that cannot be told: no destination is found, or one that comes from
    no argument."""
    ir = LOCATION.sub("", ir)
    header = HEADER.search(ir)
    if not header:
        return None
    follow = _Follow()
    for name, kind in re.findall(r"(%[\w$.\-]+): ([^%]*)", header[1]):
        if POINTER.search(kind):
            follow.origins[name] = {name[1:]}
    lines = ir[header.end() :].split("\n")
    for _ in range(8):  # loops carry pointers backwards: to a fixed point, which few rounds reach
        before = {name: set(found) for name, found in follow.origins.items()}
        follow.round(lines)
        if follow.origins == before:
            break
    found = follow.use.written or follow.use.through
    return None if follow.unknown or not found else follow.use


def _plain(origins):
    return {name for name in origins if not name.startswith("*")}


def _base(name):
    return name.split("#")[0]


class _Follow:
    def __init__(self):
        self.origins = {}  # value -> names of the arguments that it may point into
        self.use = Use()
        self.unknown = False

    def _add(self, name, origins):
        self.origins.setdefault(name, set()).update(origins)

    def round(self, lines):
        regions = []  # results of the operations whose regions are open
        captured = []  # operands of the last warp_specialize, in order
        for line in lines:
            results, equals, code = line.partition(" = ")
            if not equals or not re.fullmatch(r"\s*%[\w$.\-]+(?::\d+)?(?:, %[\w$.\-]+(?::\d+)?)*", results):
                results, code = "", line
            made = [_base(name) for name in NAME.findall(results)]
            used = [_base(name) for name in NAME.findall(code)]
            for left, right in re.findall(r"(%[\w$.\-]+) = (%[\w$.\-]+)", code):  # iter_args
                self._add(left, self.origins.get(_base(right), set()))
            if "warp_specialize" in code and used:
                captured = used
            partition = re.match(r"\s*partition\d+\s*\((.*)\)", code)
            if partition:
                inner = [name for name, _ in re.findall(r"(%[\w$.\-]+): ([^%]*)", partition[1])]
                for name, outer in zip(inner, captured):
                    self._add(name, self.origins.get(outer, set()))
            else:
                self._operation(code, made, used, regions)
            stripped = line.strip()
            closed = regions.pop() if stripped.startswith("}") and regions else []
            if stripped.endswith("{"):
                regions.append(made or closed)

    def _operation(self, code, made, used, regions):
        sources = set().union(*(self.origins.get(name, set()) for name in used))
        store = STORE.search(code)
        if store and used and not ON_CHIP.search(code):
            first = self.origins.get(used[0], set())
            if first and not _plain(first):
                loaded = {name[1:] for name in first}
                if loaded not in self.use.through:
                    self.use.through.append(loaded)
                return
            destination = next((found for name in used if (found := _plain(self.origins.get(name, set())))), None)
            if destination is not None:
                self.use.written |= destination
                if READS_TOO.search(store[0]):
                    self.use.read |= destination
            elif POINTER.search(code):
                self.unknown = True
        elif "tensormap_create" in code and used:  # a descriptor made on the device, in scratch memory
            self._add(used[0], sources)
        elif re.search(r"\btt\.(?:call|return)\b", code):
            self.use.written |= _plain(sources)
            self.use.read |= _plain(sources)
        elif PASSES_ON.search(code) or not code.strip() or code.strip()[0] in "}^":
            for name in made:
                self._add(name, sources)
            if "scf.yield" in code and regions:
                for name in regions[-1]:
                    self._add(name, sources)
        else:
            loads = LOADS.search(code)
            if not POINTER.search(code):  # values of equal names: each partition counts anew
                sources = set()
            self.use.read |= _plain(sources)
            if "inline_asm" in code or "extern" in code or not (made or loads or "tensormap" in code):
                self.use.written |= _plain(sources)  # whatever it does with the pointer
            if re.search(r"\btt\.load\b", code):
                for name in made:
                    self._add(name, {f"*{source}" for source in _plain(sources)})
            if made and not loads:
                for name in made:
                    self._add(name, sources)
