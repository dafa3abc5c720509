# SPDX-License-Identifier: Apache-2.0
"""Turns one launch into one folder: kernel, TTGIR, launch file, values.

A folder is written beside its place and renamed, so that one that exists is whole. Launches that are the same in
every respect are written once and counted.
"""

import hashlib
import json
import math
import os
import shutil
import threading
from dataclasses import dataclass, field

from turnstile_capture import CaptureError, arguments, launch_file, memory, npy, ptx_facts, roles, shared_names, written

MOST_VALUES = 64 << 20  # bytes of an integer tensor that are kept
MOST_RECORDED = 1 << 30  # bytes of a buffer whose contents become part of a golden record
MOST_BYTE_VALUES = 1 << 20  # of 8-bit integers, which are rarely offsets and often packed numbers


@dataclass
class Launch:
    """What the launch file says."""

    kernel_file: str
    entry: str
    grid: list
    block: list
    cluster: list
    shared: int
    registers: int = 0
    buffers: list = field(default_factory=list)
    maps: list = field(default_factory=list)  # (name, Buffer, offset, arguments.Map)
    params: list = field(default_factory=list)  # (note, key, value, offset)
    values_files: dict = field(default_factory=dict)  # buffer -> .npy
    roles: dict = field(default_factory=dict)  # name -> warps
    names: list = field(default_factory=list)  # of shared memory: (name, offset, bytes, stages)
    remarks: list = field(default_factory=list)
    cases: list = field(default_factory=list)


@dataclass
class Prepared:
    kernel: object
    launch: Launch
    text: str
    contents: dict  # file -> bytes
    identity: str
    new: bool
    entry: dict = None  # in the index, once it is committed


class BufferTable:
    """The allocations that a launch can reach."""

    def __init__(self, world, use, shared_with_previous):
        self._world, self._use, self._shared = world, use, shared_with_previous
        self._by_key = {}
        self._of_argument = {}
        self.buffers = []

    def of(self, view, name, argument):
        """The buffer that `view` looks into; `argument` is the name that the kernel gives it, if it has one."""
        read = self._use is None or argument is None or argument in self._use.read
        may_write = self._use is None or argument is None or argument in self._use.written
        buffer = self._by_key.get(view.allocation.key)
        if buffer is None:
            shape, pitch = memory.extent_of(view)
            buffer = memory.Buffer(self._unused(name), memory.type_of(view), shape, pitch, view.allocation)
            buffer.previous_kernel = view.allocation.key in self._shared
            self._by_key[view.allocation.key] = buffer
            self.buffers.append(buffer)
            self._contents(buffer)  # may add buffers that its elements point to
        if argument is not None:
            self._of_argument[argument] = buffer
        buffer.read = buffer.read or read or not may_write
        buffer.written = buffer.written or may_write
        if list(view.shape) != buffer.shape or view.offset or buffer.row_pitch is not None:
            buffer.note += ("\n" if buffer.note else "") + (
                f"{name}: shape {list(view.shape)}, strides {list(view.strides)}, offset {view.offset} bytes")
        return buffer

    def knows_addresses(self, arguments):
        """Whether all that addresses in these arguments can point to is among the buffers, which may all be written."""
        tables = [self._of_argument[name] for name in arguments if name in self._of_argument]
        tables = [table for table in tables if table.type in ("s64", "u64")]
        return any(table.pointers for table in tables) and all(table.contents is not None for table in tables)

    def scratch(self, name, size):
        buffer = memory.Buffer(self._unused(name), "u8", [size], None, None)
        self.buffers.append(buffer)
        return buffer

    def _unused(self, name):
        name = arguments.plain_name(name, 56)
        taken = {buffer.name for buffer in self.buffers}
        candidate, count = name, 2
        while candidate in taken:
            candidate, count = f"{name}_{count}", count + 1
        return candidate

    def _contents(self, buffer):
        most = MOST_BYTE_VALUES if memory.WIDTHS[buffer.type] == 1 else MOST_VALUES
        if buffer.type not in memory.INTEGERS or buffer.allocation.bytes > most:
            return
        contents = buffer.allocation.read()
        if contents is None:
            return
        buffer.contents = contents
        if buffer.type in ("s64", "u64"):
            self._addresses(buffer, contents)

    def _addresses(self, buffer, contents):
        """Elements that are addresses of other tensors (grouped GEMMs): the launch file names what they point to."""
        for element, value in enumerate(memoryview(contents)[: len(contents) // 8 * 8].cast("Q")):
            view = self._world.view_at(value) if value else None
            if view is None:
                continue
            target = self.of(view, f"{buffer.name}.{element}", None)
            buffer.pointers.append((element, target.name, value - view.allocation.address))


class Recorder:
    """Several threads may launch; a process that the program forks writes into a folder of its own (`in_child`)."""

    def __init__(self, folder, target, dialect, world, label=lambda: ""):
        self._folder, self._target, self._dialect, self._world, self._label = folder, target, dialect, world, label
        self._start()
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise CaptureError(f"--out {folder}: the folder is not empty")

    def _start(self):
        self._lock = threading.RLock()
        self._seen = {}
        self._names = {}  # of shared memory, by kernel
        self._previous = set()  # keys of the allocations of the launch before
        self.launches = []
        self.problems = []

    def in_child(self):
        """After a fork, in the new process: nothing is written twice, and nothing of the parent's is overwritten. The
        folder is made when there is something to write."""
        self._folder = os.path.join(self._folder, f"process_{os.getpid()}")
        self._start()

    def children(self):
        """(launches, problems) of the processes that were forked, and of theirs."""
        launches, problems = 0, 0
        for place, _, files in os.walk(self._folder):
            if place != self._folder and "index.json" in files and os.path.basename(place).startswith("process_"):
                with open(os.path.join(place, "index.json"), encoding="utf-8") as file:
                    index = json.load(file)
                launches += len(index["launches"])
                problems += len(index["problems"])
        return launches, problems

    def record(self, kernel, grid, values):
        """One launch. `kernel`: a facts.Kernel. Returns its entry in the index."""
        with self._lock:
            return self.commit(self.prepare(kernel, grid, values))

    def prepare(self, kernel, grid, values, remarks=()):
        """Everything about a launch that is known before it runs."""
        with self._lock:
            launch = self._describe(kernel, grid, values)
            launch.remarks += remarks
            contents = self._values(launch)
            text = launch_file.launch_text(launch)
            parts = [kernel.code, text] + [hashlib.sha256(contents[name]).hexdigest() for name in sorted(contents)]
            identity = hashlib.sha256("\0".join(parts).encode()).hexdigest()
            return Prepared(kernel, launch, text, contents, identity, identity not in self._seen)

    def keep_everything(self, prepared):
        """The contents of all buffers become part of the launch, so that a GPU's outputs can be compared with. What makes
        it another launch is what it was before: a loop over fresh data is recorded once."""
        _keep_everything(prepared.launch)
        prepared.contents = self._values(prepared.launch)
        prepared.text = launch_file.launch_text(prepared.launch)

    def commit(self, prepared):
        """Writes the folder, unless there is one of an equal launch."""
        with self._lock:
            entry = self._seen.get(prepared.identity)
            if entry is not None:
                entry["times"] += 1
                return entry
            kernel, launch = prepared.kernel, prepared.launch
            plain = arguments.plain_name(kernel.entry, 80)
            name = f"{len(self.launches):03d}_{plain}"
            place = os.path.join(self._folder, name)
            partial = place + ".partial"
            shutil.rmtree(partial, ignore_errors=True)
            os.makedirs(partial)
            files = {launch.kernel_file: kernel.code.encode(), "launch.toml": prepared.text.encode(), **prepared.contents}
            if kernel.ttgir:
                files[f"{plain}.ttgir"] = kernel.ttgir.encode()
            for file, data in files.items():
                with open(os.path.join(partial, file), "wb") as out:
                    out.write(data)
            os.rename(partial, place)
            entry = {"folder": name, "kernel": kernel.entry, "target": self._target.text, "ptx_target": kernel.ptx_target,
                     "grid": launch.grid, "block": launch.block, "cluster": launch.cluster, "shared": launch.shared,
                     "options": kernel.options, "constants": kernel.constants, "label": self._label(), "times": 1}  # fmt: skip
            prepared.entry = self._seen[prepared.identity] = entry
            self.launches.append(entry)
            self.write_index()
            return entry

    def add_file(self, prepared, name, data):
        """Another file in the folder of a launch that was committed; `name` may have folders."""
        path = os.path.join(self._folder, prepared.entry["folder"], name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".partial", "wb") as out:
            out.write(data)
        os.replace(path + ".partial", path)

    def forget(self, values):
        """A launch that was not understood may have written everything that it was given."""
        for value in values:
            if isinstance(value, (tuple, list)):
                self.forget(value)
                continue
            try:
                self._world.kernel_wrote([self._world.view_of(getattr(value, "base", value)).allocation])
            except (CaptureError, AttributeError):
                pass  # no tensor

    def write_index(self):
        document = {"turnstile_capture": 1, "triton": self._dialect.name, "target": self._target.text,
                    "launches": self.launches, "problems": self.problems}  # fmt: skip
        path = os.path.join(self._folder, "index.json")
        os.makedirs(self._folder, exist_ok=True)
        with open(path + ".partial", "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        os.replace(path + ".partial", path)

    def _describe(self, kernel, grid, values):
        metadata = kernel.metadata
        parameters = arguments.kernel_parameters(kernel.signature, values, kernel.tensor_maps, self._dialect)
        cluster = arguments.cluster_of(metadata, self._dialect)
        ctas = int(getattr(metadata, "num_ctas", 1) or 1)
        grid = [int(n) for n in (list(grid) + [1, 1, 1])[:3]]
        blocks = grid[0] * grid[1] * grid[2] * ctas
        grid[0] *= ctas
        for scratch in ("global_scratch", "profile_scratch"):
            size = int(getattr(metadata, f"{scratch}_size", 0) or 0)
            parameters.append(arguments.Scratch(scratch, size * blocks))
        if self._target.backend == "cuda":
            arguments.check_against_ptx(parameters, ptx_facts.parameter_bytes(kernel.code, kernel.entry), kernel.entry)
        launch = Launch(f"{arguments.plain_name(kernel.entry, 80)}.{self._target.kernel_suffix}", kernel.entry, grid,
                        [int(metadata.num_warps) * self._target.warp_size, 1, 1], cluster, int(metadata.shared),
                        kernel.registers or 0)  # fmt: skip
        if self._target.backend == "cuda":
            launch.roles = roles.warp_roles(kernel.ttgir, kernel.code, int(metadata.num_warps))
            launch.names = self._shared_names(kernel, launch.shared)
        pdl = bool(getattr(metadata, "launch_pdl", False))
        use = written.argument_use(kernel.ttgir or kernel.ttir)
        shared_with_previous = self._previous if pdl else set()
        table = BufferTable(self._world, use, shared_with_previous)
        for parameter in parameters:
            self._parameter(parameter, table, launch)
        if use is not None and not all(map(table.knows_addresses, use.through)):
            table = BufferTable(self._world, None, shared_with_previous)
            launch.maps, launch.params = [], []
            for parameter in parameters:
                self._parameter(parameter, table, launch)
        launch.buffers = table.buffers
        self._previous = {buffer.allocation.key for buffer in table.buffers if buffer.allocation is not None}
        self._world.kernel_wrote([b.allocation for b in table.buffers if b.allocation is not None and b.written])
        launch.remarks = self._remarks(kernel, metadata, pdl)
        return launch

    def _shared_names(self, kernel, total):
        key = hashlib.sha256(f"{total} {kernel.ttgir}".encode()).digest()
        if key not in self._names:
            self._names[key] = shared_names.shared_names(kernel.ttgir, kernel.code, self._target.arch, total)
        return self._names[key]

    def _parameter(self, parameter, table, launch):
        name = parameter.name
        argument = name.split(".")[0]
        if isinstance(parameter, arguments.Scratch):
            if parameter.size == 0:
                launch.params.append((name, "u64", 0, 0))
            else:
                launch.params.append((name, "buffer", table.scratch(name, parameter.size).name, 0))
        elif isinstance(parameter, arguments.Map):
            view = self._world.view_of(parameter.base)
            buffer = table.of(view, name, argument)
            map_name = arguments.plain_name(name, 56)
            launch.maps.append((map_name, buffer, view.offset, parameter))
            launch.params.append((name, "tensor_map", map_name, 0))
        elif isinstance(parameter, arguments.Pointer):
            value = parameter.value
            view = (self._world.view_at(value) if isinstance(value, int) and value else
                    None if value is None or isinstance(value, int) else self._world.view_of(value))  # fmt: skip
            if view is None or view.allocation.bytes == 0:  # torch gives an empty tensor no address
                launch.params.append((name, "u64", int(value or 0) if isinstance(value, (int, type(None))) else 0, 0))
            else:
                offset = value - view.allocation.address if isinstance(value, int) else view.offset
                launch.params.append((name, "buffer", table.of(view, name, argument).name, offset))
        else:
            key, value = arguments.scalar_entry(parameter)
            launch.params.append((name, key, value, 0))

    def _values(self, launch):
        """The .npy files; a buffer of zeros needs none."""
        files = {}
        for buffer in launch.buffers:
            if buffer.contents is None or buffer.role == "out" or not _any(buffer.contents):
                continue
            if buffer.row_pitch is not None or math.prod(buffer.shape) * memory.WIDTHS[buffer.type] != len(buffer.contents):
                # Between the rows of a pitch there may be values too: as one row, none is lost.
                buffer.shape = [len(buffer.contents) // memory.WIDTHS[buffer.type]]
                buffer.row_pitch = None
            contents = buffer.portable_contents()
            if _any(contents):
                launch.values_files[buffer.name] = f"{buffer.name}.npy"
                files[f"{buffer.name}.npy"] = npy.npy_bytes(buffer.type, buffer.shape, contents)
        return files

    def _remarks(self, kernel, metadata, pdl):
        out = [f"Made by turnstile-capture with {self._dialect.name} for {self._target.text}."]
        if self._label():
            out.append(f"Launched by {self._label()}.")
        if kernel.source:
            out.append(f"Kernel: {kernel.source}.")
        out += kernel.remarks
        if kernel.constants:
            out.append("Constants: " + ", ".join(f"{name} = {value}" for name, value in kernel.constants.items()) + ".")
        if pdl:
            out.append("Launched with programmatic stream serialization.")
        if getattr(metadata, "launch_cooperative_grid", False):
            out.append("Launched as a cooperative grid.")
        preferred = getattr(metadata, "preferred_ctas_per_cga", None)
        if preferred and preferred[0]:
            out.append(f"Preferred cluster shape: {list(preferred)}.")
        return out


def _any(contents):
    """Whether a byte is not zero; any() takes seconds for what may be here."""
    return contents.count(0) != len(contents)


def _keep_everything(launch):
    """Outputs are compared with what the GPU left, so what was there before counts too."""
    for buffer in launch.buffers:
        if buffer.allocation is None:
            raise CaptureError("the kernel has scratch memory, whose contents cannot be recorded")
        if buffer.allocation.bytes > MOST_RECORDED:
            raise CaptureError(f"{buffer.name} has {buffer.allocation.bytes} bytes; at most {MOST_RECORDED} are recorded")
        if buffer.pointers and buffer.written:
            raise CaptureError(f"{buffer.name} holds addresses and may be written: they mean nothing anywhere else")
    contents = [buffer.allocation.read() if buffer.contents is None else None for buffer in launch.buffers]
    for buffer, found in zip(launch.buffers, contents):
        if found is None and buffer.contents is None:
            raise CaptureError(f"the contents of {buffer.name} cannot be read")
    for buffer, found in zip(launch.buffers, contents):
        buffer.read = True
        if buffer.contents is None:
            buffer.contents, buffer.decides = found, False
    launch.cases.append("captured")
