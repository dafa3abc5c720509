# SPDX-License-Identifier: Apache-2.0
"""make_sweeps.py FORMS OUTDIR PARTS   writes a kernel for each form of forms.txt into PARTS files, and the list of them for run_sweeps.

Kernel `form_N(sums, results, operands, first, stride, log2)`: CTA c goes over the 2^log2 indexes n from c*2^log2 on; its results for index
i = first + n*stride go into the two checksums of block c (golden/numerics/operands.h) and, where `results` is not null, to results[n].
"""

import itertools
import re
import sys

from parts import write_parts

TYPES = (
    "f64 f32 tf32 f16 bf16 f16x2 bf16x2 e4m3x2 e5m2x2 s8 u8 s16 u16 s32 u32 s64 u64 b32 b64".split()
)
THREADS = 256


def expanded(text):
    parts = re.split(r"\{([^}]*)\}", text)
    choices = [[p] if i % 2 == 0 else p.split(",") for i, p in enumerate(parts)]
    return ["".join(c) for c in itertools.product(*choices)]


def register_bits(kind):
    if kind in ("f64", "s64", "u64", "b64"):
        return 64
    if kind in ("f16", "bf16", "s16", "u16", "e4m3x2", "e5m2x2"):
        return 16
    return 32  # results of 8 bits are extended into such a register


def forms(path):
    for line in open(path):
        if line.startswith("#") or not line.strip():
            continue
        domain, mnemonic, count = line.split()
        for name in expanded(mnemonic):
            yield domain, name, int(count)


def types_of(mnemonic):
    words = [w for w in mnemonic.split(".") if w in TYPES]
    return words[0], words[-1]


def vector_length(mnemonic):
    found = re.search(r"\.v([248])\.", mnemonic)
    return int(found.group(1)) if found else 1


def operands(domain, count, source):
    """PTX that sets %p0..: the operands as 64-bit words."""
    if domain == "all32":
        if source.endswith("x2"):  # one register of two elements
            return ["cvt.u64.u32 %p0, %i32;"]
        lines = ["cvt.u64.u32 %p0, %i32;"]
        if count == 2:
            lines += ["mad.lo.u32 %t0, %i32, 0x9e3779b1, 0x7f4a7c15;", "cvt.u64.u32 %p1, %t0;"]
        return lines
    if domain == "high32":
        return [
            "mad.lo.u32 %t0, %i32, 0x9e3779b1, 0x7f4a7c15;",
            "mov.b64 %p0, {%t0, %i32};",
        ]
    if domain == "all16":
        if not source.endswith("x2") or register_bits(source) == 16:
            return ["cvt.u64.u32 %p0, %i32;"]
        return [
            "mad.lo.u32 %t0, %i32, 40503, 12345;",
            "shl.b32 %t0, %t0, 16;",
            "or.b32 %t0, %t0, %i32;",
            "cvt.u64.u32 %p0, %t0;",
        ]
    return [f"ld.global.nc.u64 %p{k}, [%at+{8 * k}];" for k in range(count)]


def pure(mnemonic, count):
    result, source = types_of(mnemonic)
    lines = []
    for k in range(count):
        bits = register_bits(source)
        lines.append(f"cvt.u{bits}.u64 %s{k}, %p{k};" if bits < 64 else f"mov.b64 %s{k}, %p{k};")
    lines.append(f"{mnemonic} %d, " + ", ".join(f"%s{k}" for k in range(count)) + ";")
    bits = register_bits(result)
    lines.append(f"cvt.u64.u{bits} %f, %d;" if bits < 64 else "mov.b64 %f, %d;")
    declared = [f".reg .b{register_bits(source)} %s<{count}>;", f".reg .b{bits} %d;"]
    return declared, lines


def atomic(domain, mnemonic):
    """The word before is operand 0, the contribution operand 1; a vector has the same in each element, rotated by its number."""
    _, kind = types_of(mnemonic)
    bits, length = register_bits(kind), vector_length(mnemonic)
    bulk = domain == "bulk"
    if bulk:
        length = 128 // bits
    space = "shared" if domain == "shared" else "global"
    declared = [f".reg .b{bits} %s<2>;", f".reg .b{bits} %d;", f".reg .b{bits} %v<{length}>;"]
    lines = []
    for k in range(2):
        lines.append(f"cvt.u{bits}.u64 %s{k}, %p{k};" if bits < 64 else f"mov.b64 %s{k}, %p{k};")
    size = bits // 8
    place = "%slot"
    for e in range(length):
        lines.append(f"st.{space}.b{bits} [{place}+{e * size}], %s0;")
    if bulk:
        lines += [f"st.shared.b{bits} [%near+{e * size}], %s1;" for e in range(length)]
        lines += [
            "fence.proxy.async;",
            f"{mnemonic} [{place}], [%near], 16;",
            "cp.async.bulk.commit_group;",
            "cp.async.bulk.wait_group 0;",
            "fence.proxy.async;",
        ]
    elif length > 1:
        lines.append(f"{mnemonic} [{place}], {{" + ", ".join(["%s1"] * length) + "};")
    elif mnemonic.startswith("red"):
        lines.append(f"{mnemonic} [{place}], %s1;")
    else:
        lines.append(f"{mnemonic} %d, [{place}], %s1;")
    lines.append("fence.acq_rel.gpu;")
    lines.append(f"ld.relaxed.gpu.{space}.b{bits} %v0, [{place}];" if space == "global" else f"ld.volatile.{space}.b{bits} %v0, [{place}];")
    for e in range(1, length):  # elements of a vector must agree: a difference goes into the result
        lines.append(f"ld.relaxed.gpu.{space}.b{bits} %v{e}, [{place}+{e * size}];")
    lines.append(f"cvt.u64.u{bits} %f, %v0;" if bits < 64 else "mov.b64 %f, %v0;")
    for e in range(1, length):
        lines += [
            f"xor.b{bits} %v{e}, %v{e}, %v0;",
            f"cvt.u64.u{bits} %x, %v{e};",
            f"shl.b64 %x, %x, {32 if bits <= 32 else 0};",
            "or.b64 %f, %f, %x;",
        ]
    if mnemonic.startswith("atom"):  # and so does a returned word that is not the one before
        lines += [
            f"xor.b{bits} %d, %d, %s0;",
            f"cvt.u64.u{bits} %x, %d;" if bits < 64 else "mov.b64 %x, %d;",
            f"shl.b64 %x, %x, {32 if bits <= 32 else 0};",
            "xor.b64 %f, %f, %x;",
        ]
    return declared, lines


def kernel(number, domain, mnemonic, count):
    atomics = domain in ("global", "shared", "bulk")
    declared, lines = atomic(domain, mnemonic) if atomics else pure(mnemonic, count)
    source = types_of(mnemonic)[1]
    shared = f".shared .align 16 .b8 room[{THREADS * 16}];" if domain in ("shared", "bulk") else ""
    slot = ""
    if domain == "shared":
        slot = "cvt.u64.u32 %slot, %tid.x; shl.b64 %slot, %slot, 4; mov.u64 %x, room; add.u64 %slot, %slot, %x;"
    elif domain in ("global", "bulk"):
        slot = "cvt.u64.u32 %near, %tid.x; shl.b64 %near, %near, 4; mov.u64 %x, room; add.u64 %near, %near, %x; " * (domain == "bulk")
        slot += (
            "ld.param.u64 %slot, [scratch]; mov.u32 %t0, %ctaid.x; mov.u32 %t1, %tid.x; mad.lo.u32 %t0, %t0, 256, %t1;"
            " mul.wide.u32 %x, %t0, 16; add.u64 %slot, %slot, %x;"
        )
    load = "\n  ".join(operands(domain, count, source))
    body = "\n  ".join(lines)
    return f"""
// {domain} {mnemonic}
.visible .entry form_{number}(.param .u64 sums, .param .u64 results, .param .u64 operands, .param .u64 scratch,
    .param .u64 first, .param .u64 stride, .param .u32 log2)
{{
  .reg .pred %more, %keep;
  .reg .b32 %t<4>, %i32, %n32, %end, %size;
  .reg .b64 %i, %n, %f, %z, %x, %mix, %weighted, %first, %stride, %sums, %results, %operands, %at, %slot, %near, %base, %p<4>;
  {' '.join(declared)}
  {shared}
  ld.param.u64 %sums, [sums];
  ld.param.u64 %results, [results];
  ld.param.u64 %operands, [operands];
  ld.param.u64 %first, [first];
  ld.param.u64 %stride, [stride];
  ld.param.u32 %t0, [log2];
  mov.u32 %size, 1;
  shl.b32 %size, %size, %t0;
  {slot}
  mov.u32 %t0, %ctaid.x;
  mul.wide.u32 %base, %t0, %size;
  mul.wide.u32 %x, %t0, 16;
  add.u64 %sums, %sums, %x;
  mov.u64 %mix, 0;
  mov.u64 %weighted, 0;
  setp.ne.u64 %keep, %results, 0;
  mov.u32 %n32, %tid.x;
again:
  cvt.u64.u32 %n, %n32;
  add.u64 %n, %n, %base;
  mad.lo.u64 %i, %n, %stride, %first;
  cvt.u32.u64 %i32, %i;
  mad.lo.u64 %at, %i, 24, %operands;
  {load}
  {body}
  mad.lo.u64 %z, %i, 0x9e3779b97f4a7c15, 0x9e3779b97f4a7c15;
  add.u64 %z, %z, %f;
  shr.u64 %x, %z, 30;
  xor.b64 %z, %z, %x;
  mul.lo.u64 %z, %z, 0xbf58476d1ce4e5b9;
  shr.u64 %x, %z, 27;
  xor.b64 %z, %z, %x;
  mul.lo.u64 %z, %z, 0x94d049bb133111eb;
  shr.u64 %x, %z, 31;
  xor.b64 %z, %z, %x;
  add.u64 %mix, %mix, %z;
  or.b64 %x, %i, 1;
  mad.lo.u64 %weighted, %f, %x, %weighted;
  shl.b64 %x, %n, 3;
  add.u64 %x, %x, %results;
  @%keep st.global.u64 [%x], %f;
  add.u32 %n32, %n32, {THREADS};
  setp.lt.u32 %more, %n32, %size;
  @%more bra again;
  red.global.add.u64 [%sums], %mix;
  red.global.add.u64 [%sums+8], %weighted;
  ret;
}}
"""


def main():
    source, folder, parts = sys.argv[1], sys.argv[2], int(sys.argv[3])
    texts = [[".version 9.0\n.target sm_90a\n.address_size 64\n"] for _ in range(parts)]
    listing = []
    for number, (domain, mnemonic, count) in enumerate(forms(source)):
        texts[number % parts].append(kernel(number, domain, mnemonic, count))
        listing.append(f"{number} {number % parts} {domain} {mnemonic} {count} {types_of(mnemonic)[1]}\n")
    write_parts(folder, "sweeps", "ptx", texts, listing)


if __name__ == "__main__":
    main()
