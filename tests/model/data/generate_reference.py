#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Second implementation of model/launch/generate.cc, with exact rationals and rounding by comparison instead of shifts.

Prints the tables of tests/model/generate_known_answers.cc; nothing at build time needs it.
"""
from fractions import Fraction


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        hi0, lo0 = divmod(0xD2511F53 * c[0], 2**32)
        hi1, lo1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def words(seed, stream, row, column, block=0):
    split = lambda x: [x % 2**32, x // 2**32]
    key = philox(split(row) + split(stream), split(seed))
    return philox(split(column) + [block, 0], key[:2])


FORMATS = {"e4m3": (4, 3), "e5m2": (5, 2), "f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "f64": (11, 52)}


def decode(bits, e_bits, m_bits):
    """The value of a non-negative pattern, as if the exponent had no special values."""
    e, m = divmod(bits, 2**m_bits)
    bias = 2 ** (e_bits - 1) - 1
    if e == 0:
        return Fraction(m, 2**m_bits) * Fraction(2) ** (1 - bias)
    return (1 + Fraction(m, 2**m_bits)) * Fraction(2) ** (e - bias)


def nearest(value, e_bits, m_bits):
    """Patterns are ordered like their values: bisect for the last one not above, then compare the two distances."""
    low, high = 0, 2 ** (e_bits + m_bits) - 1
    while low < high:
        mid = (low + high + 1) // 2
        if decode(mid, e_bits, m_bits) <= value:
            low = mid
        else:
            high = mid - 1
    below, above = value - decode(low, e_bits, m_bits), decode(low + 1, e_bits, m_bits) - value
    if above < below or (above == below and low % 2 == 1):
        low += 1
    return low


def store(name, negative, pattern):
    e_bits, m_bits = FORMATS[name]
    pattern += negative * 2 ** (e_bits + m_bits)
    return pattern << 13 if name == "tf32" else pattern


def normal(name, w):
    octets = b"".join(x.to_bytes(4, "little") for x in w[:3])
    z = (sum(octets) + Fraction(w[3], 2**32) - Fraction(3061, 2)) / 256
    if name in FORMATS:
        return store(name, z < 0, nearest(abs(z), *FORMATS[name]))
    bits = int(name[1:])
    z = min(max(z, Fraction(-4)), Fraction(4) - Fraction(1, 2**40))
    value = (z * 2 ** (bits - 3)).__floor__()
    return value % 2**bits if name[0] == "s" else value + 2 ** (bits - 1)


WIDEST = {"e4m3": 6, "e5m2": 14, "f16": 14, "bf16": 24, "tf32": 24, "f32": 24, "f64": 24}


def wide(name, w):
    e_bits, m_bits = FORMATS[name]
    exponent = (w[0] % 2**16) * (2 * WIDEST[name] + 1) // 2**16 - WIDEST[name]
    significand = (w[2] * 2**32 + w[1]) // 2 ** (64 - m_bits)
    value = (1 + Fraction(significand, 2**m_bits)) * Fraction(2) ** exponent
    return store(name, w[0] >= 2**31, nearest(value, e_bits, m_bits))


SEED, STREAM = 0x123456789ABCDEF0, 7
CELLS = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 5), (1000, 1023), (77, 4095), (70000, 3)]


def line(function, family, names):
    for name in names:
        values = [function(name, words(SEED, STREAM, r, c)) for r, c in CELLS]
        print(f"    {{Family::{family}, ElementType::{name}, {{{', '.join(hex(v) for v in values)}}}}},")


assert philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0])[0] == 0xD16CFE09
line(normal, "normal", ["bf16", "f16", "e4m3", "e5m2", "f32", "tf32", "f64", "s8", "u8", "s16", "u32"])
line(wide, "wide", ["bf16", "f16", "e4m3", "e5m2", "f32", "tf32", "f64"])
