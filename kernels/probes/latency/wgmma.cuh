// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.cuh"

/// Lists of accumulators for wgmma in one block of assembler, and its descriptors.
namespace latency {

/// K-major operand in SWIZZLE_128B: rows of 128 bytes, 1024 bytes from one group of 8 rows to the next.
__device__ inline uint64_t descriptor(uint32_t address) {
  return uint64_t{1} << 62 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 16 | (address & 0x3FFFF) >> 4;
}

// The accumulators live inside one block of assembler, eight registers to a letter.
#define EIGHT(a) "d" a "0, d" a "1, d" a "2, d" a "3, d" a "4, d" a "5, d" a "6, d" a "7"
#define ZERO(a)                                                                                 \
  "mov.b32 d" a "0, 0; mov.b32 d" a "1, 0; mov.b32 d" a "2, 0; mov.b32 d" a "3, 0; mov.b32 d" a \
  "4, 0; mov.b32 d" a "5, 0; mov.b32 d" a "6, 0; mov.b32 d" a "7, 0;\n"
#define LIST_16 EIGHT("a")
#define LIST_32 LIST_16 ", " EIGHT("b")
#define LIST_64 LIST_32 ", " EIGHT("c") ", " EIGHT("d")
#define LIST_96 LIST_64 ", " EIGHT("e") ", " EIGHT("f")
#define LIST_128 LIST_96 ", " EIGHT("g") ", " EIGHT("h")
#define LIST_192 LIST_128 ", " EIGHT("i") ", " EIGHT("j") ", " EIGHT("k") ", " EIGHT("l")
#define LIST_256 LIST_192 ", " EIGHT("m") ", " EIGHT("n") ", " EIGHT("o") ", " EIGHT("p")

#define ZERO_16 ZERO("a")
#define ZERO_32 ZERO_16 ZERO("b")
#define ZERO_64 ZERO_32 ZERO("c") ZERO("d")
#define ZERO_96 ZERO_64 ZERO("e") ZERO("f")
#define ZERO_128 ZERO_96 ZERO("g") ZERO("h")
#define ZERO_192 ZERO_128 ZERO("i") ZERO("j") ZERO("k") ZERO("l")
#define ZERO_256 ZERO_192 ZERO("m") ZERO("n") ZERO("o") ZERO("p")

#define DECLARED                                                                                       \
  "da<8>, db<8>, dc<8>, dd<8>, de<8>, df<8>, dg<8>, dh<8>, di<8>, dj<8>, dk<8>, dl<8>, dm<8>, dn<8>, " \
  "do<8>, dp<8>"

}  // namespace latency
