// SPDX-License-Identifier: Apache-2.0

// P3: how many bytes a TMA load that lies partly outside the tensor completes on its mbarrier (MB31, Q5).

#include "tile.cuh"

namespace probes {
namespace {

constexpr int quarter = tile_bytes / 4, half = tile_bytes / 2;

// The tensor has 64 x 48 elements of 4 bytes, the box 32 x 32.
constexpr TileCase inside{.x = 16, .y = 8};
constexpr TileCase inside_too_many{.x = 16, .y = 8, .expect = tile_bytes + 16};
constexpr TileCase right{.x = 48, .y = 0};
constexpr TileCase bottom{.x = 0, .y = 32};
constexpr TileCase corner{.x = 48, .y = 32};
constexpr TileCase negative{.x = -16, .y = -16};
constexpr TileCase right_in_range{.x = 48, .y = 0, .expect = half};
constexpr TileCase corner_in_range{.x = 48, .y = 32, .expect = quarter};
constexpr TileCase one_row{.x = 0, .y = 47};
constexpr TileCase swizzled{.x = 48, .y = 32, .swizzle = CU_TENSOR_MAP_SWIZZLE_128B};
constexpr TileCase nan_fill{.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                            .element_bytes = 2,
                            .x = 96,
                            .y = 32,
                            .fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA};
constexpr const TileCase* cases[] = {&inside,  &inside_too_many, &right,          &bottom,
                                     &corner,  &negative,        &right_in_range, &corner_in_range,
                                     &one_row, &swizzled,        &nan_fill};

void load(Bench& b, const Variant& v) { run_tile(b, *cases[v.parameter]); }

constexpr Variant variants[] = {
    {"inside", true, "wholly inside, full box expected: completes", load, 0},
    {"inside_16_too_many", true, "wholly inside, 16 bytes too many expected: does not complete", load, 1},
    {"right_edge", false, "half outside on the right, full box expected", load, 2},
    {"bottom_edge", false, "half outside at the bottom, full box expected", load, 3},
    {"corner", false, "three quarters outside, full box expected", load, 4},
    {"negative", false, "starts at negative coordinates, full box expected", load, 5},
    {"right_edge_in_range", false, "half outside, only the bytes in range expected", load, 6},
    {"corner_in_range", false, "three quarters outside, only the bytes in range expected", load, 7},
    {"one_row", false, "one row inside, full box expected", load, 8},
    {"corner_swizzled", false, "three quarters outside, 128B swizzle, full box expected", load, 9},
    {"corner_nan_fill", false, "bf16, three quarters outside, NaN fill, full box expected", load, 10},
};

}  // namespace

const Probe p03{"P3", variants};

}  // namespace probes
