# SPDX-License-Identifier: Apache-2.0
"""The versions of triton whose launcher this package knows, and in what they differ.

A version that is not in the table is an error: the parameters of a kernel would be a guess.
"""

import re
from dataclasses import dataclass

from turnstile_capture import CaptureError


@dataclass(frozen=True)
class Dialect:
    """How one version of triton calls a kernel."""

    name: str
    tma_flags: int  # truth values after the strides of a descriptor that is not a tensor map: padding, and tf32 rounding
    cluster_key: str  # name of the metadata that holds a cluster shape of its own; "" if there is none
    grid_times_ctas: bool = True  # the launcher multiplies the grid by num_ctas


DIALECTS = {
    (3, 6, ""): Dialect("triton 3.6", 1, ""),
    (3, 7, ""): Dialect("triton 3.7", 2, ""),
    (3, 8, ""): Dialect("triton 3.8", 2, ""),
    (3, 9, ""): Dialect("triton 3.9", 2, ""),
    (3, 7, "fb"): Dialect("fbtriton 3.7", 2, "ctas_per_cga"),
}


def dialect_of(version):
    """`3.9.0` or `3.7.4+fb`, as `triton.__version__` says it."""
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.\w+)*(?:\+(\w+)(?:\.\w+)*)?", version)
    if found:
        vendor = "fb" if (found[3] or "") == "fb" else ""
        dialect = DIALECTS.get((int(found[1]), int(found[2]), vendor))
        if dialect is not None:
            return dialect
    known = ", ".join(dialect.name for dialect in DIALECTS.values())
    raise CaptureError(f"triton {version} is not known to this turnstile-capture, which knows {known}")
