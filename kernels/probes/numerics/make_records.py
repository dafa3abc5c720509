# SPDX-License-Identifier: Apache-2.0
"""make_records.py RESULTS RECORDS   turns sweeps.sums and matrix.sums of results.tgz into golden/records/numerics/sweeps.txt and matrix.txt.

Checksums are sums, so neighbouring blocks can be put together: all but the approximate functions keep one for 2^22 indexes, of which both halves are xored.
"""

import sys


def sweeps(source):
    records, current = [], None
    for line in source:
        words = line.split()
        if line.startswith("#"):
            continue
        if words[0] in ("gpu", "driver"):
            yield "# " + line
        elif words[0] in ("all32", "high32", "all16", "random", "global", "shared", "bulk"):
            current = (words, [])
            records.append(current)
        else:
            current[1].extend(int(w, 16) for w in words)
    for (domain, mnemonic, count, total), sums in records:
        log2 = 20 if len(sums) == 4096 else 12 if domain == "all16" else 14
        approximate = ".approx" in mnemonic
        if approximate and log2 == 20 and not mnemonic.endswith("f64"):
            texts = [f"{s:016x}" for s in sums]
        else:
            if log2 == 20:
                sums = [sum(sums[i : i + 4]) % 2**64 for i in range(0, 4096, 4)]
                log2 = 22
            texts = [f"{(s ^ s >> 32) & 0xFFFFFFFF:08x}" for s in sums]
        yield f"{domain} {mnemonic} {count} {log2} {len(texts)} {len(texts[0])} {total} {' '.join(texts)}\n"


def matrix(source):
    head, sums = None, []
    for line in source:
        words = line.split()
        if words[0] in ("gpu", "driver"):
            yield "# " + line
        elif words[0] in ("mma", "wgmma"):
            if head:
                yield f"{head} {' '.join(sums)}\n"
            head, sums = " ".join(words), []
        else:
            sums += words
    yield f"{head} {' '.join(sums)}\n"


def main():
    results, records = sys.argv[1:3]
    for name, convert in (("sweeps", sweeps), ("matrix", matrix)):
        with open(f"{results}/{name}.sums") as source, open(f"{records}/{name}.txt", "w") as out:
            out.writelines(convert(source))


if __name__ == "__main__":
    main()
