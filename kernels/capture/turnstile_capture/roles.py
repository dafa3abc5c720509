# SPDX-License-Identifier: Apache-2.0
"""Which warps run which partition of a warp-specialised kernel.

The TTGIR says how many warps each partition has; which ones, the compiler decides later and writes into a table in
shared memory, a byte for each warp behind the default ones: the partition, or a number beyond for a warp without work; at the end all
get such a number, which tells them to leave. The table is found in the PTX as stores of constants; unless exactly one place fits, no roles are given: a wrong name misleads.
"""

import re

STORE = re.compile(r"st\.shared(?:\.v[24])?\.b32\s+\[global_smem(?:\+(\d+))?\],\s*(\{[\d,\s\-]+\}|-?\d+);")


def warp_roles(ttgir, ptx, warps):
    """{"default": [0, 1, 2, 3], "partition 0": [6], ...}, or {} if the kernel has no partitions or they are not found."""
    partitions = [(int(n), int(count)) for n, count in re.findall(r"^\s*partition(\d+)\(.*num_warps\((\d+)\)", ttgir, re.M)]
    default = re.search(r'"ttg\.num-warps" = (\d+)', ttgir)
    if not partitions or not default or [n for n, _ in partitions] != list(range(len(partitions))):
        return {}  # none, or more than one warp_specialize
    first = int(default[1])
    memory = {}
    leave = [bytes([n]) * 4 for n in (len(partitions), len(partitions) + 1)]
    for offset, words in STORE.findall(ptx):
        for i, word in enumerate(re.findall(r"-?\d+", words)):
            at = int(offset or 0) + 4 * i
            value = (int(word) & 0xFFFFFFFF).to_bytes(4, "little")
            if memory.setdefault(at, value) != value and value not in leave:
                return {}  # written again: no table
    expected = sorted([n for n, count in partitions for _ in range(count)])
    found = []
    for at in memory:
        table = b"".join(memory.get(at + 4 * i, b"") for i in range(-(-(warps - first) // 4)))[: warps - first]
        if len(table) == warps - first and sorted(byte for byte in table if byte != len(partitions)) == expected:
            found.append(table)
    if len(found) != 1:
        return {}
    roles = {"default": list(range(first))}
    for n, _ in partitions:
        roles[f"partition {n}"] = [first + i for i, byte in enumerate(found[0]) if byte == n]
    return roles
