# SPDX-License-Identifier: Apache-2.0
"""Kernels in several files, so that several compilers work at a time."""


def write_parts(folder, stem, suffix, texts, listing):
    """`texts`: of each file, its pieces; `listing`: the lines that tell the runner which kernel is where."""
    for part, text in enumerate(texts):
        with open(f"{folder}/{stem}_{part}.{suffix}", "w") as out:
            out.write("".join(text))
    with open(f"{folder}/{stem}.list", "w") as out:
        out.write("".join(listing))
