# SPDX-License-Identifier: Apache-2.0
"""What `--target` may be, and what a program that asks its GPU is told."""

import re
from dataclasses import dataclass

from turnstile_capture import CaptureError


@dataclass(frozen=True)
class Target:
    text: str  # as given: "sm_100a", "gfx950"
    backend: str  # "cuda" or "hip", as triton names them
    arch: object  # 100 or "gfx950", as triton's GPUTarget takes it
    warp_size: int
    name: str  # of a GPU of that kind
    multiprocessors: int
    shared_memory: int  # bytes that a CTA may ask for
    memory: int  # bytes of the GPU

    @property
    def capability(self):
        if self.backend == "hip":
            return (9, 5)  # what torch says of a CDNA4 GPU
        return divmod(self.arch, 10)

    @property
    def kernel_suffix(self):
        return "ptx" if self.backend == "cuda" else "amdgcn"


GIB = 1 << 30
# The largest GPU of each architecture: its number of multiprocessors decides the grid of persistent kernels (--sms).
NVIDIA = {
    80: ("NVIDIA A100", 108, 166912, 80 * GIB),
    86: ("NVIDIA A40", 84, 101376, 48 * GIB),
    87: ("NVIDIA Orin", 16, 166912, 32 * GIB),
    89: ("NVIDIA L40S", 142, 101376, 48 * GIB),
    90: ("NVIDIA H200", 132, 232448, 141 * GIB),
    100: ("NVIDIA B200", 148, 232448, 180 * GIB),
    103: ("NVIDIA B300", 148, 232448, 270 * GIB),
    110: ("NVIDIA Thor", 20, 232448, 128 * GIB),
    120: ("NVIDIA RTX PRO 6000", 188, 101376, 96 * GIB),
    121: ("NVIDIA GB10", 48, 101376, 128 * GIB),
}
AMD = {
    "gfx942": ("AMD Instinct MI300X", 304, 65536, 192 * GIB, 64),
    "gfx950": ("AMD Instinct MI350X", 256, 163840, 288 * GIB, 64),
    "gfx1250": ("AMD gfx1250", 256, 327680, 288 * GIB, 32),
}


def parse_target(text, multiprocessors=None):
    """`sm_90`, `sm_100a`, `sm_103f` or a gfx name."""
    found = re.fullmatch(r"sm_(\d+)[af]?", text)
    if found and int(found[1]) in NVIDIA:
        name, sms, shared, memory = NVIDIA[int(found[1])]
        return Target(text, "cuda", int(found[1]), 32, name, multiprocessors or sms, shared, memory)
    if text in AMD:
        name, sms, shared, memory, warp = AMD[text]
        return Target(text, "hip", text, warp, name, multiprocessors or sms, shared, memory)
    known = ", ".join([f"sm_{arch}" for arch in NVIDIA] + list(AMD))
    raise CaptureError(f"--target {text}: not one of {known}; the letters a and f may follow a number, triton chooses them")
