// SPDX-License-Identifier: Apache-2.0

// P4: TMA loads and stores that lie wholly outside the tensor, and stores at negative coordinates (BS14,
// BS16, Q5).

#include "tile.cuh"

namespace probes {
namespace {

constexpr TileCase cases[] = {
    {.x = 0, .y = 0},
    {.store = true, .x = 16, .y = 8},
    {.x = 64, .y = 0},
    {.x = 0, .y = 48},
    {.x = 4096, .y = 4096},
    {.x = -32, .y = 0},
    {.x = 1 << 28, .y = 1 << 30},
    {.x = 64, .y = 0, .expect = 0},
    {.store = true, .x = 48, .y = 32},
    {.store = true, .x = 64, .y = 0},
    {.store = true, .x = 0, .y = 48},
    {.store = true, .x = 4096, .y = 4096},
    {.store = true, .x = -16, .y = 0},
    {.store = true, .x = 0, .y = -16},
    {.store = true, .x = -64, .y = -64},
};

void tile(Bench& b, const Variant& v) { run_tile(b, cases[v.parameter]); }

constexpr Variant variants[] = {
    {"load_inside", true, "load wholly inside", tile, 0},
    {"store_inside", true, "store wholly inside", tile, 1},
    {"load_next_to_right", false, "load that starts just past the last column", tile, 2},
    {"load_next_to_bottom", false, "load that starts just past the last row", tile, 3},
    {"load_far", false, "load far outside", tile, 4},
    {"load_negative", false, "load that ends just before column 0", tile, 5},
    {"load_very_far", false, "load at coordinates 2^28, 2^30", tile, 6},
    {"load_outside_expect_0", false, "load wholly outside, no bytes expected", tile, 7},
    {"store_corner", false, "store three quarters outside", tile, 8},
    {"store_next_to_right", false, "store that starts just past the last column", tile, 9},
    {"store_next_to_bottom", false, "store that starts just past the last row", tile, 10},
    {"store_far", false, "store far outside", tile, 11},
    {"store_negative_x", false, "store that starts at a negative column", tile, 12},
    {"store_negative_y", false, "store that starts at a negative row", tile, 13},
    {"store_negative_far", false, "store wholly outside at negative coordinates", tile, 14},
};

}  // namespace

const Probe p04{"P4", variants};

}  // namespace probes
