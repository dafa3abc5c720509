# SPDX-License-Identifier: Apache-2.0
"""pack_dense.py RAW OUT LIMIT_MB   packs what run_sweeps left in RAW (needs numpy): second differences, which are almost all small, through xz.

A range is cut into pieces of 2^20 words; dense_K.bin hold them one after the other, dense.txt says which they are and where. unpack() undoes it.
"""

import lzma
import multiprocessing
import sys

import numpy

PIECE = 1 << 20
FILE_LIMIT = 15 << 20


def packed(words):
    w = words.astype(numpy.int64)
    d = numpy.diff(numpy.diff(w, prepend=0), prepend=0)
    zigzag = numpy.where(d < 0, -2 * d - 1, 2 * d).astype(numpy.uint64)
    low = numpy.minimum(zigzag, 255).astype(numpy.uint8)
    rest = zigzag[zigzag >= 255].astype("<u8")
    return low.tobytes() + rest.tobytes()


def unpack(data, count):
    low = numpy.frombuffer(data[:count], dtype=numpy.uint8).astype(numpy.uint64)
    low[low == 255] = numpy.frombuffer(data[count:], dtype="<u8")
    z = low.astype(numpy.int64)
    d = numpy.where(z & 1, -((z + 1) >> 1), z >> 1)
    return numpy.cumsum(numpy.cumsum(d)).astype(numpy.uint32)


def work(task):
    path, offset, count = task
    words = numpy.fromfile(path, dtype="<u4", count=count, offset=4 * offset)
    data = packed(words)
    return lzma.compress(data, preset=1) if len(data) < 4 * count else lzma.compress(words.tobytes(), preset=1)


def main():
    raw, out, limit = sys.argv[1], sys.argv[2], float(sys.argv[3]) * (1 << 20)
    tasks, lines = [], []
    for line in open(f"{raw}/dense.txt"):
        if line.startswith("#"):
            print(line, end="")
            continue
        name, mnemonic, first, stride, count = line.split()
        for offset in range(0, int(count), PIECE):
            size = min(PIECE, int(count) - offset)
            tasks.append((f"{raw}/{name}", offset, size))
            lines.append(f"{mnemonic} {int(first) + offset * int(stride)} {stride} {size}")
    number, used, total = 0, 0, 0
    target = open(f"{out}/dense_0.bin", "wb")
    with multiprocessing.Pool() as pool, open(f"{out}/dense.txt", "w") as index:
        for line, data in zip(lines, pool.imap(work, tasks)):
            if total + len(data) > limit:
                index.write(f"left-out {line}\n")
                continue
            if used + len(data) > FILE_LIMIT:
                target.close()
                number, used = number + 1, 0
                target = open(f"{out}/dense_{number}.bin", "wb")
            target.write(data)
            index.write(f"{line} {number} {used} {len(data)}\n")
            used += len(data)
            total += len(data)
    target.close()
    print(f"{len(tasks)} pieces, {total} bytes")


if __name__ == "__main__":
    main()
