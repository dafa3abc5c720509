# SPDX-License-Identifier: Apache-2.0
"""make_matrix.py OUTDIR PARTS   writes a CUDA kernel for each matrix instruction into PARTS files, and the list of them for run_matrix.

Kernel `matrix_N(a, b, c, d)`: CTA t works on tile t. A tile of A has m lines of k elements, one of B n lines (columns), packed into 32-bit words;
C and D have m x n elements of 4 bytes (8 for f64). The tile's words come from golden/numerics/matrix_operands.h.
"""

import sys

from parts import write_parts

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f64": 64}


class Form:
    def __init__(self, kind, m, n, k, a, b, c, **options):
        self.kind, self.m, self.n, self.k, self.a, self.b, self.c = kind, m, n, k, a, b, c
        self.options = options

    def flag(self, name):
        return self.options.get(name, False)

    def flags(self):
        return ",".join(sorted(k for k, v in self.options.items() if v)) or "-"


def forms():
    def mma(m, n, k, a, b, c, **o):
        return Form("mma", m, n, k, a, b, c, **o)

    for k in (8, 16):
        yield mma(16, 8, k, "f16", "f16", "f32")
        yield mma(16, 8, k, "f16", "f16", "f16")
        yield mma(16, 8, k, "bf16", "bf16", "f32")
    for k in (4, 8):
        yield mma(16, 8, k, "tf32", "tf32", "f32")
    yield mma(8, 8, 4, "f64", "f64", "f64")
    for k in (4, 8, 16):
        yield mma(16, 8, k, "f64", "f64", "f64")
    for k in (16, 32):
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                for c in ("f32", "f16"):
                    yield mma(16, 8, k, a, b, c)
    for a, b in (("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")):
        for m, k in ((8, 16), (16, 16), (16, 32)):
            for s in (False, True):
                yield mma(m, 8, k, a, b, "s32", satfinite=s)
    for a, b in (("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4")):
        for m, k in ((8, 32), (16, 32), (16, 64)):
            for s in (False, True):
                yield mma(m, 8, k, a, b, "s32", satfinite=s)
    for m, k in ((8, 128), (16, 128), (16, 256)):
        yield mma(m, 8, k, "b1", "b1", "s32", xor=True)
        yield mma(m, 8, k, "b1", "b1", "s32")

    def wgmma(n, a, b, c, **o):
        return Form("wgmma", 64, n, 256 // BITS[a], a, b, c, **o)

    for a, c in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
        for n in (8, 16, 24, 64, 128, 256):
            yield wgmma(n, a, a, c)
        for n in (8, 128, 256):
            yield wgmma(n, a, a, c, registers=True)
        for o in ("trans_a", "trans_b", "neg_a", "neg_b", "no_c"):
            yield wgmma(32, a, a, c, **{o: True})
        yield wgmma(64, a, a, c, trans_a=True, trans_b=True, neg_b=True)
        yield wgmma(64, a, a, c, registers=True, trans_b=True, neg_a=True)
    for n in (8, 40, 256):
        yield wgmma(n, "tf32", "tf32", "f32")
        yield wgmma(n, "tf32", "tf32", "f32", registers=True)
    for o in ("neg_a", "neg_b", "no_c"):
        yield wgmma(8, "tf32", "tf32", "f32", **{o: True})
    for c in ("f32", "f16"):
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                for n in (8, 256):
                    yield wgmma(n, a, b, c)
                yield wgmma(96, a, b, c, registers=True)
            for o in ("neg_a", "neg_b", "no_c"):
                yield wgmma(16, a, a, c, **{o: True})
    for a in ("s8", "u8"):
        for b in ("s8", "u8"):
            for s in (False, True):
                yield wgmma(8, a, b, "s32", satfinite=s)
                yield wgmma(256, a, b, "s32", satfinite=s)
            yield wgmma(64, a, b, "s32", registers=True)
        yield wgmma(32, a, a, "s32", no_c=True)
    for n in (8, 64, 256):
        yield wgmma(n, "b1", "b1", "s32")
        yield wgmma(n, "b1", "b1", "s32", registers=True)


def tiles(form):
    if form.kind == "mma":
        return 1024
    return 256 if form.n <= 16 else 64 if form.n <= 128 else 32


def words(form):
    return form.k * BITS[form.a] // 32


def results_loaded(places, half, typed, convert):
    """D starts as C; of f16 two elements that lie side by side are one register."""
    return [
        f"  {typed} d{r} = " + (f"c[{p}] | c[{p} + 1] << 16;" if half else f"{convert}(c[{p}]);")
        for r, p in enumerate(places)
    ]


def results_stored(places, half, back):
    return [
        f"  d[{p}] = d{r} & 0xffff, d[{p} + 1] = d{r} >> 16;" if half else f"  d[{p}] = {back}(d{r});"
        for r, p in enumerate(places)
    ]


def mma_kernel(f):
    double = f.c == "f64"
    unit = "uint64_t" if double else "uint32_t"
    line = f.k if double else words(f)  # units in a line of A or B
    a_registers = f.m * line // 32
    b_registers = f.n * line // 32
    out = [f"  const {unit}* a = reinterpret_cast<const {unit}*>(all_a) + size_t{{blockIdx.x}} * {f.m * line};"]
    out.append(f"  const {unit}* b = reinterpret_cast<const {unit}*>(all_b) + size_t{{blockIdx.x}} * {f.n * line};")
    out.append(f"  const {unit}* c = reinterpret_cast<const {unit}*>(all_c) + size_t{{blockIdx.x}} * {f.m * f.n};")
    out.append(f"  {unit}* d = reinterpret_cast<{unit}*>(all_d) + size_t{{blockIdx.x}} * {f.m * f.n};")
    rows = f.m // 8
    for r in range(a_registers):
        out.append(f"  {unit} a{r} = a[(g + {8 * (r % rows)}) * {line} + t + {4 * (r // rows)}];")
    for r in range(b_registers):
        out.append(f"  {unit} b{r} = b[g * {line} + t + {4 * r}];")
    kind = {"f32": "f", "f64": "d"}.get(f.c, "r")
    operand = {"f": "__uint_as_float", "d": "__longlong_as_double", "r": ""}[kind]
    back = {"f": "__float_as_uint", "d": "__double_as_longlong", "r": ""}[kind]
    typed = {"f": "float", "d": "double", "r": "uint32_t"}[kind]
    half = f.c == "f16"
    count = f.m * f.n // 32 // (2 if half else 1)
    places = []
    for r in range(count):
        row = f"(g + {8 * (r if half else r // 2)}) * 8"
        places.append(f"{row} + 2 * t" if half else f"{row} + 2 * t + {r % 2}")
    out += results_loaded(places, half, typed, operand)
    name = f"mma.sync.aligned.m{f.m}n{f.n}k{f.k}.row.col"
    if f.flag("satfinite"):
        name += ".satfinite"
    name += f".{f.c}.{f.a}.{f.b}.{f.c}"
    if f.a == "b1":
        name += ".xor.popc" if f.flag("xor") else ".and.popc"
    numbers = iter(range(100))
    ds = ", ".join(f"%{next(numbers)}" for _ in range(count))
    as_ = ", ".join(f"%{next(numbers)}" for _ in range(a_registers))
    bs = ", ".join(f"%{next(numbers)}" for _ in range(b_registers))
    value = (lambda v: f'"d"(__longlong_as_double({v}))') if double else (lambda v: f'"r"({v})')
    inputs = ", ".join([value(f"a{r}") for r in range(a_registers)] + [value(f"b{r}") for r in range(b_registers)])
    outputs = ", ".join(f'"+{kind}"(d{r})' for r in range(count))
    out.append(f'  asm volatile("{name} {{{ds}}}, {{{as_}}}, {{{bs}}}, {{{ds}}};" : {outputs} : {inputs});')
    out += results_stored(places, half, back)
    return name, 32, "\n".join(out)


def wgmma_kernel(f):
    w = words(f)
    assert w == 8
    out = [f"  __shared__ alignas(1024) uint32_t sa[{64 * 8}], sb[{f.n * 8}];"]
    out.append("  const uint32_t* a = static_cast<const uint32_t*>(all_a) + size_t{blockIdx.x} * 512;")
    out.append(f"  const uint32_t* b = static_cast<const uint32_t*>(all_b) + size_t{{blockIdx.x}} * {8 * f.n};")
    out.append(f"  const uint32_t* c = static_cast<const uint32_t*>(all_c) + size_t{{blockIdx.x}} * {64 * f.n};")
    out.append(f"  uint32_t* d = static_cast<uint32_t*>(all_d) + size_t{{blockIdx.x}} * {64 * f.n};")
    for source, target, lines, trans in (("a", "sa", 64, f.flag("trans_a")), ("b", "sb", f.n, f.flag("trans_b"))):
        call = "place_transposed" if trans else "place"
        out.append(f"  {call}({source}, {target}, {lines});")
    out.append('  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");')
    out.append("  __syncthreads();")
    registers = f.flag("registers")
    kind = "f" if f.c == "f32" else "r"
    typed = "float" if kind == "f" else "uint32_t"
    half = f.c == "f16"
    count = f.n // 4 if half else f.n // 2
    row = "(threadIdx.x / 32 * 16 + g + {})"
    places = []
    for r in range(count):
        j, which = (r // 2, r % 2) if half else (r // 4, r % 4 // 2)
        places.append(f"{row.format(8 * which)} * {f.n} + {8 * j} + 2 * t" + ("" if half else f" + {r % 2}"))
    convert = "__uint_as_float" if kind == "f" else ""
    back = "__float_as_uint" if kind == "f" else ""
    out += results_loaded(places, half, typed, convert)
    if registers:
        for r in range(4):
            out.append(f"  uint32_t a{r} = a[{row.format(8 * (r % 2))} * 8 + t + {4 * (r // 2)}];")
    name = f"wgmma.mma_async.sync.aligned.m64n{f.n}k{f.k}"
    if f.flag("satfinite"):
        name += ".satfinite"
    name += f".{f.c}.{f.a}.{f.b}" + (".and.popc" if f.a == "b1" else "")
    ds = ", ".join(f"%{r}" for r in range(count))
    n = count
    operands = "{" + ", ".join(f"%{n + r}" for r in range(4)) + "}" if registers else f"%{n}"
    n += 4 if registers else 1
    tail = ""
    if f.c in ("f32", "f16"):
        tail += f", {-1 if f.flag('neg_a') else 1}, {-1 if f.flag('neg_b') else 1}"
        if BITS[f.a] == 16:
            if not registers:
                tail += f", {int(f.flag('trans_a'))}"
            tail += f", {int(f.flag('trans_b'))}"
    outputs = ", ".join(f'"+{kind}"(d{r})' for r in range(count))
    inputs = ", ".join(f'"r"(a{r})' for r in range(4)) if registers else '"l"(descriptor(sa))'
    inputs += f', "l"(descriptor(sb)), "r"({int(not f.flag("no_c"))})'
    out.append('  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");')
    out.append(
        f'  asm volatile("{{.reg .pred p; setp.ne.b32 p, %{n + 1}, 0; {name} {{{ds}}}, {operands}, %{n}, p{tail};}}"'
        f" : {outputs} : {inputs} : \"memory\");"
    )
    out.append('  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");')
    for r in range(count):
        out.append(f'  asm volatile("" : "+{kind}"(d{r})::"memory");')
    out += results_stored(places, half, back)
    return name, 128, "\n".join(out)


HEAD = """// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

// A tile without swizzle, K-major: core matrices of 8 lines of 16 bytes, two of them along k.
__device__ inline void place(const uint32_t* from, uint32_t* to, unsigned lines) {
  for (unsigned i = threadIdx.x; i < lines * 8; i += blockDim.x)
    to[i / 64 * 64 + i % 8 / 4 * 32 + i / 8 % 8 * 4 + i % 4] = from[i];
}

// The same with M or N contiguous: core matrices of 8 elements of 16 bits, 8 steps of k in each.
__device__ inline void place_transposed(const uint32_t* from, uint32_t* to, unsigned lines) {
  const uint16_t* source = reinterpret_cast<const uint16_t*>(from);
  uint16_t* target = reinterpret_cast<uint16_t*>(to);
  for (unsigned i = threadIdx.x; i < lines * 16; i += blockDim.x) {
    const unsigned line = i / 16, k = i % 16;
    target[line / 8 * 128 + k / 8 * 64 + k % 8 * 8 + line % 8] = source[i];
  }
}

// Leading dimension offset 128 bytes (between core matrices along k), stride offset 256 (along M or N).
__device__ inline uint64_t descriptor(const uint32_t* tile) {
  const auto address = static_cast<uint64_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}
"""


def main():
    folder, parts = sys.argv[1], int(sys.argv[2])
    texts = [[HEAD] for _ in range(parts)]
    listing = []
    for number, f in enumerate(forms()):
        name, threads, body = (mma_kernel if f.kind == "mma" else wgmma_kernel)(f)
        part = number % parts
        texts[part].append(
            f"\n// {name} {f.flags()}\nextern \"C\" __global__ void __launch_bounds__({threads}) matrix_{number}"
            "(const void* all_a, const void* all_b, const void* all_c, void* all_d) {\n"
            f"  const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;\n{body}\n}}\n"
        )
        listing.append(f"{number} {part} {threads} {tiles(f)} {f.kind} {f.m} {f.n} {f.k} {f.a} {f.b} {f.c} {f.flags()}\n")
    write_parts(folder, "matrix", "cu", texts, listing)


if __name__ == "__main__":
    main()
