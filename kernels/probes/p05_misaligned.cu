// SPDX-License-Identifier: Apache-2.0

// P5: an innermost coordinate whose byte offset is no multiple of 16 (BS15), and a tile in shared memory that
// is not aligned to 128 bytes (BS2).

#include "tile.cuh"

namespace probes {
namespace {

constexpr CUtensorMapDataType bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8;

constexpr TileCase cases[] = {
    {.x = 4},
    {.type = bf16, .element_bytes = 2, .x = 8},
    {.type = u8, .element_bytes = 1, .x = 16},
    {.store = true, .x = 4},
    {.x = 1},
    {.x = 2},
    {.type = bf16, .element_bytes = 2, .x = 1},
    {.type = bf16, .element_bytes = 2, .x = 4},
    {.type = u8, .element_bytes = 1, .x = 1},
    {.x = -1},
    {.x = 1, .swizzle = CU_TENSOR_MAP_SWIZZLE_128B},
    {.store = true, .x = 1},
    {.type = bf16, .element_bytes = 2, .store = true, .x = 4},
    {.shared_offset = 128},
    {.shared_offset = 64},
    {.shared_offset = 16},
    {.shared_offset = 8},
    {.store = true, .shared_offset = 16},
};

void tile(Bench& b, const Variant& v) { run_tile(b, cases[v.parameter]); }

constexpr Variant variants[] = {
    {"load_u32_x4", true, "load, 4-byte elements, x = 4: 16 bytes", tile, 0},
    {"load_bf16_x8", true, "load, 2-byte elements, x = 8: 16 bytes", tile, 1},
    {"load_u8_x16", true, "load, 1-byte elements, x = 16: 16 bytes", tile, 2},
    {"store_u32_x4", true, "store, 4-byte elements, x = 4: 16 bytes", tile, 3},
    {"shared_plus_128", true, "load to a tile at a multiple of 128 bytes", tile, 13},
    {"load_u32_x1", false, "load, x = 1: 4 bytes", tile, 4},
    {"load_u32_x2", false, "load, x = 2: 8 bytes", tile, 5},
    {"load_bf16_x1", false, "load, x = 1: 2 bytes", tile, 6},
    {"load_bf16_x4", false, "load, x = 4: 8 bytes", tile, 7},
    {"load_u8_x1", false, "load, x = 1: 1 byte", tile, 8},
    {"load_u32_x_minus_1", false, "load, x = -1: 4 bytes", tile, 9},
    {"load_u32_x1_swizzled", false, "load, x = 1, 128B swizzle", tile, 10},
    {"store_u32_x1", false, "store, x = 1: 4 bytes", tile, 11},
    {"store_bf16_x4", false, "store, x = 4: 8 bytes", tile, 12},
    {"shared_plus_64", false, "load to a tile at 64 bytes past a multiple of 128", tile, 14},
    {"shared_plus_16", false, "load to a tile at 16 bytes past a multiple of 128", tile, 15},
    {"shared_plus_8", false, "load to a tile at 8 bytes past a multiple of 16", tile, 16},
    {"store_shared_plus_16", false, "store from a tile at 16 bytes past a multiple of 128", tile, 17},
};

}  // namespace

const Probe p05{"P5", variants};

}  // namespace probes
