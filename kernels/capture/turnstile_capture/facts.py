# SPDX-License-Identifier: Apache-2.0
"""What triton knows of a compiled kernel, in one plain object."""

import re
from dataclasses import dataclass, field
from typing import Any, Optional

from turnstile_capture import ptx_facts


@dataclass
class Kernel:
    entry: str
    code: str  # PTX or amdgcn
    ttir: str
    ttgir: str
    signature: dict  # argument -> type, constants included, in order
    metadata: Any
    tensor_maps: Optional[list]
    registers: Optional[int] = None
    ptx_target: str = ""
    source: str = ""  # file:line of the Python function
    constants: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    remarks: list = field(default_factory=list)  # what a reader of the launch file should know


def _constants(source):
    names = getattr(getattr(source, "fn", None), "arg_names", None)
    out = {}
    for key, value in (getattr(source, "constants", None) or {}).items():
        if isinstance(key, tuple) and names is not None and all(isinstance(part, int) for part in key):
            key = ".".join([names[key[0]], *map(str, key[1:])]) if key and key[0] < len(names) else str(key)
        value = getattr(value, "value", value)
        if value is None or isinstance(value, (bool, int, float, str)):
            out[str(key)] = value
        else:
            out[str(key)] = str(getattr(value, "__name__", value))
    return out


def _registers(code, cubin, entry):
    """(registers of a thread at entry, remarks)."""
    registers = ptx_facts.registers_per_thread(cubin, entry)
    if registers is None:
        return None, []
    given = -(-registers // 8) * 8  # a warp is given 256 at a time
    # ptxas keeps to .maxnreg where the kernel changes its registers; where it does not, it left all setmaxnreg out (C7507).
    bound = re.search(r"^\.maxnreg\s+(\d+)", code, re.M)
    if bound and "setmaxnreg" in code and given != int(bound[1]):
        return int(bound[1]), [f"The assembler ignored setmaxnreg and gives a thread {given} registers; the PTX counts on {bound[1]}."]
    return given, []


def kernel_facts(compiled, target):
    """From triton's CompiledKernel."""
    source, metadata, asm = compiled.src, compiled.metadata, compiled.asm
    code = asm[target.kernel_suffix]
    entry = metadata.name
    kernel = Kernel(entry, code, asm.get("ttir", "") or asm.get("glir", ""), asm.get("ttgir", ""),
                    dict(source.signature), metadata, getattr(metadata, "tensordesc_meta", None))  # fmt: skip
    if target.backend == "cuda":
        kernel.registers, kernel.remarks = _registers(code, asm.get("cubin", b""), entry)
        found = re.search(r"^\.target\s+([\w, ]+)", code, re.M)
        kernel.ptx_target = found[1] if found else ""
    function = getattr(source, "fn", None)
    if getattr(function, "file_name", None):
        kernel.source = f"{function.__name__} in {function.file_name}:{function.def_file_line_number}" if hasattr(
            function, "def_file_line_number") else f"{function.__name__} in {function.file_name}"
    elif getattr(getattr(function, "fn", None), "__code__", None):
        code_object = function.fn.__code__
        kernel.source = f"{function.__name__} in {code_object.co_filename}:{code_object.co_firstlineno}"
    kernel.constants = _constants(source)
    for name in ("num_warps", "num_stages", "num_ctas", "maxnreg", "cluster_dims", "ctas_per_cga", "launch_pdl",
                 "launch_cooperative_grid", "tmem_size"):  # fmt: skip
        value = getattr(metadata, name, None)
        if value is not None:
            kernel.options[name] = list(value) if isinstance(value, tuple) else value
    return kernel
