# SPDX-License-Identifier: Apache-2.0
"""One kernel from a signature, without a program and without torch."""

import importlib.util
import os
import re
import sys
from dataclasses import dataclass

from turnstile_capture import CaptureError, memory, session
from turnstile_capture.recorder import Recorder

TORCH_NAMES = {"fp32": "float32", "f32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64",
               "i1": "bool", "u1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
               "u16": "uint16", "u32": "uint32", "u64": "uint64", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}  # fmt: skip
FIRST_ADDRESS, GAP = 0x7F40_0000_0000, 1 << 21


class ElementType:
    """Looks to triton like a torch.dtype."""

    def __init__(self, triton_name):
        self.name = TORCH_NAMES[triton_name]
        self.itemsize = memory.WIDTHS[memory.element_type(triton_name, 1)]
        self.is_floating_point = self.name.startswith(("float", "bfloat"))

    def __str__(self):
        return "torch." + self.name

    __repr__ = __str__

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class PlainTensor:
    """Looks to triton like a contiguous tensor; has values only where the signature gives them."""

    def __init__(self, triton_name, shape, address, values=None):
        self.dtype, self.shape, self._address = ElementType(triton_name), tuple(shape), address
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.append(step)
            step *= extent
        self.strides = tuple(reversed(strides))
        self.bytes = step * self.dtype.itemsize
        self.type = memory.element_type(triton_name, self.dtype.itemsize)
        self.contents = None
        if values is not None:
            if step != len(values) or self.type not in memory.INTEGERS:
                raise CaptureError(f"--signature: {len(values)} values for {step} elements of the type {triton_name}; "
                                   "only arrays of integers have values, as many as elements")  # fmt: skip
            width = self.dtype.itemsize
            self.contents = b"".join((value & ((1 << 8 * width) - 1)).to_bytes(width, "little") for value in values)

    def data_ptr(self):
        return self._address

    def element_size(self):
        return self.dtype.itemsize

    def stride(self, axis=None):
        return self.strides if axis is None else self.strides[axis]

    def size(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def numel(self):
        return self.bytes // self.dtype.itemsize

    @property
    def ndim(self):
        return len(self.shape)


class PlainMemory:
    """The memory of PlainTensors (see TorchMemory)."""

    def __init__(self):
        self._next = FIRST_ADDRESS

    def tensor(self, triton_name, shape, values=None):
        made = PlainTensor(triton_name, shape, self._next, values)
        self._next += -(-made.bytes // GAP) * GAP + GAP
        return made

    def view_of(self, tensor):
        if not isinstance(tensor, PlainTensor):
            raise CaptureError(f"an argument of the type {type(tensor).__name__} is not understood")
        allocation = memory.Allocation(tensor.data_ptr(), tensor.data_ptr(), tensor.bytes, lambda: tensor.contents)
        return memory.View(allocation, 0, tensor.type, tensor.shape, tensor.strides)

    def view_at(self, address):
        return None

    def kernel_wrote(self, allocations):
        pass


@dataclass
class Argument:
    name: str
    kind: str  # "*fp32", "i32", "tensordesc<bf16[64,64]>"
    shape: tuple = ()
    value: object = None


def _split(text):
    """At the commas that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "[<(") - (c in "]>)")
        if c == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def plain_value(text):
    """True, None, 7, 0x10, 1.5 or a text."""
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    for kind in (lambda t: int(t, 0), float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip("'\"")


def parse_signature(text):
    out = []
    for part in _split(text):
        found = re.fullmatch(r"(\w+)\s*=\s*(.+)", part)
        if not found:
            raise CaptureError(f"--signature: '{part}' is not name=type")
        name, rest = found[1], found[2].strip()
        pointer = re.fullmatch(r"\*(\w+)\s*\[([\d,\s]+)\](?:\s*:\s*\[((?:\s*-?\d+\s*,)*\s*-?\d+)\s*\])?", rest)
        descriptor = re.fullmatch(r"(tensordesc<\s*(\w+)\s*\[([\d,\s]+)\]\s*>)\s*\[([\d,\s]+)\]", rest)
        scalar = re.fullmatch(r"(\w+)\s*:\s*(.+)", rest)
        if pointer and pointer[1] in TORCH_NAMES:
            shape = tuple(int(n) for n in pointer[2].split(",") if n.strip())
            values = pointer[3] and [int(n) for n in pointer[3].split(",") if n.strip()]
            out.append(Argument(name, "*" + pointer[1], shape, values))
        elif descriptor and descriptor[2] in TORCH_NAMES:
            out.append(Argument(name, descriptor[1].replace(" ", ""), tuple(int(n) for n in descriptor[4].split(",") if n.strip())))
        elif scalar and scalar[1] in TORCH_NAMES:
            out.append(Argument(name, scalar[1], value=plain_value(scalar[2])))
        else:
            raise CaptureError(f"--signature: '{part}': expected name=*TYPE[shape], name=*TYPE[shape]:[values], name=TYPE:value or "
                               f"name=tensordesc<TYPE[block]>[shape]; types are {', '.join(TORCH_NAMES)}")
    return out


def parse_pairs(text, what):
    out = {}
    for part in _split(text):
        name, equals, value = part.partition("=")
        if not equals:
            raise CaptureError(f"{what}: '{part}' is not NAME=VALUE")
        out[name.strip()] = plain_value(value.strip())
    return out


def load_function(text):
    path, colon, name = text.rpartition(":")
    if not colon or not os.path.isfile(path):
        raise CaptureError(f"--kernel {text}: expected FILE.py:FUNCTION, and the file to be there")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if function is None or not hasattr(function, "run"):
        raise CaptureError(f"{path} has no kernel {name}")
    return function


def descriptor(function, tensor, kind, block):
    """A tensor descriptor of the host; Gluon's has a layout, of which the widest swizzle that fits is taken."""
    shape, strides = list(tensor.shape), list(tensor.strides)
    if type(function).__name__ == "GluonJITFunction":
        import triton.experimental.gluon.language as gl
        from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

        types = {"fp32": gl.float32, "fp16": gl.float16, "bf16": gl.bfloat16, "fp8e4nv": gl.float8e4nv, "fp8e5": gl.float8e5,
                 "i8": gl.int8, "u8": gl.uint8, "i16": gl.int16, "i32": gl.int32}  # fmt: skip
        if kind not in types:
            raise CaptureError(f"--signature: Gluon descriptors are of {', '.join(types)}, not {kind}")
        return TensorDescriptor(tensor, shape, strides, block, gl.NVMMASharedLayout.get_default_for(block, types[kind]))
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(tensor, shape, strides, block)


def run(arguments, target, triton, dialect, problems):
    world = PlainMemory()
    recorder = problems.recorder = Recorder(arguments.out, target, dialect, world)

    def torch_device():
        raise CaptureError("the kernel's file asks for a torch device; --kernel works without torch")

    session.take_over(triton, target, recorder, torch_device, problems, arguments.all_configs)
    function = load_function(arguments.kernel)
    values = {}
    for argument in parse_signature(arguments.signature):
        if argument.kind.startswith("*"):
            values[argument.name] = world.tensor(argument.kind[1:], argument.shape, argument.value)
        elif argument.kind.startswith("tensordesc"):
            kind, block = re.fullmatch(r"tensordesc<(\w+)\[([\d,]+)\]>", argument.kind).groups()
            values[argument.name] = descriptor(function, world.tensor(kind, argument.shape), kind,
                                               [int(n) for n in block.split(",") if n])  # fmt: skip
        else:
            values[argument.name] = argument.value
    values.update(parse_pairs(arguments.constexpr, "--constexpr"))
    for option in arguments.option:
        values.update(parse_pairs(option, "--option"))
    grid = tuple(int(n) for n in arguments.grid.split(","))
    try:
        function[grid](**values)
    except CaptureError:
        raise
    except Exception as error:  # noqa: BLE001 - triton's errors are of many kinds and speak for themselves
        raise CaptureError(f"{arguments.kernel}: {type(error).__name__}: {error}") from error
    return session.report(recorder, 0)
