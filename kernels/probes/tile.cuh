// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "ptx.cuh"

/// One TMA tile of 128 bytes x 32 rows, loaded from or stored to a tensor of 256 bytes x 48 rows at any
/// coordinates. P3, P4 and P5 are tables for it.
namespace probes {

constexpr int tile_row_bytes = 128, tile_rows = 32, tile_bytes = tile_row_bytes * tile_rows;
constexpr int tensor_row_bytes = 256, tensor_rows = 48, tensor_bytes = tensor_row_bytes * tensor_rows;
constexpr int guard_bytes = 1 << 19;  ///< memory on both sides of the tensor, to see writes outside it
constexpr uint8_t poison = 0xA5;

struct TileCase {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  int element_bytes = 4;
  bool store = false;
  int x = 0, y = 0;         ///< coordinates, in elements
  int expect = tile_bytes;  ///< bytes of the arrive.expect_tx (loads)
  int shared_offset = 0;    ///< of the tile from a 1024-byte boundary
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

/// Never 0 and never the poison, so that a fill and an untouched byte both show.
__host__ __device__ constexpr uint8_t pattern(int index) { return static_cast<uint8_t>(1 + index * 7 % 150); }

/// Cells: 0 the word after the bytes had time to land; 1 whether the phase completed; 2 the word at the end;
/// from 16 the tile.
static __global__ void tile_kernel(uint64_t* cells, const __grid_constant__ CUtensorMap map, bool store,
                                   int x, int y, int expect, int shared_offset) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ __align__(8) uint64_t object;
  const uint32_t bar = shared_address(&object);
  uint8_t* tile = shared + (1024 - shared_address(shared) % 1024) % 1024 + shared_offset;
  for (int i = static_cast<int>(threadIdx.x); i < tile_bytes; i += static_cast<int>(blockDim.x))
    tile[i] = store ? pattern(i) : poison;
  if (threadIdx.x == 0) {
    mbar_init(bar, 1);
    fence_mbarrier_init();
  }
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0 && store) {
    tile_store(&map, x, y, shared_address(tile));
    put(cells, cell_reached, 1);
    bulk_commit();
    bulk_wait_all();
    put(cells, cell_reached, 2);
  }
  if (threadIdx.x == 0 && !store) {
    tile_load(shared_address(tile), &map, x, y, bar);
    put(cells, cell_reached, 1);
    sleep_us(100);
    put(cells, cell_first, mbar_word(bar));
    mbar_arrive_expect(bar, static_cast<uint32_t>(expect));
    put(cells, cell_first + 1, mbar_wait(bar, 0, 2000) ? 1 : 0);
    put(cells, cell_first + 2, mbar_word(bar));
    put(cells, cell_reached, 2);
  }
  __syncthreads();
  if (!store) {
    for (int i = static_cast<int>(threadIdx.x); i < tile_bytes / 8; i += static_cast<int>(blockDim.x))
      put(cells, cell_first + 16 + i, reinterpret_cast<const uint64_t*>(tile)[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0) put(cells, cell_reached, 3);
}

/// Byte offset in the tensor of byte i of the tile, or -1 when that byte lies outside it.
inline int tensor_byte(const TileCase& c, int x, int i) {
  const int row = i / tile_row_bytes + c.y, column = i % tile_row_bytes + x * c.element_bytes;
  const bool inside = row >= 0 && row < tensor_rows && column >= 0 && column < tensor_row_bytes;
  return inside ? row * tensor_row_bytes + column : -1;
}

/// Where byte i of the tile lies in shared memory.
inline int tile_place(const TileCase& c, int i) {
  return c.swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? i ^ ((i / tile_row_bytes & 7) << 4) : i;
}

/// Bytes of the tile that hold what the tensor has there when the load starts at column x.
inline int matching(const TileCase& c, int x, const uint8_t* tile) {
  int count = 0;
  for (int i = 0; i < tile_bytes; ++i) {
    const int at = tensor_byte(c, x, i);
    count += at >= 0 && tile[tile_place(c, i)] == pattern(at);
  }
  return count;
}

inline void report_load(Bench& bench, const TileCase& c) {
  const uint8_t* tile = reinterpret_cast<const uint8_t*>(bench.cells + cell_first + 16);
  int inside = 0, outside_zero = 0, untouched = 0, first_outside = -1;
  for (int i = 0; i < tile_bytes; ++i) {
    const bool in_range = tensor_byte(c, c.x, i) >= 0;
    const uint8_t value = tile[tile_place(c, i)];
    inside += in_range;
    untouched += value == poison;
    outside_zero += !in_range && value == 0;
    if (!in_range && first_outside < 0 && i % c.element_bytes == 0) first_outside = i;
  }
  bench.hex("word_after_bytes", bench.cells[cell_first]);
  bench.number("expected_bytes", static_cast<uint64_t>(c.expect));
  bench.number("completed", bench.cells[cell_first + 1]);
  bench.hex("word_at_end", bench.cells[cell_first + 2]);
  bench.number("box_bytes", tile_bytes);
  bench.number("bytes_in_range", static_cast<uint64_t>(inside));
  bench.number("in_range_right", static_cast<uint64_t>(matching(c, c.x, tile)));
  bench.number("out_of_range_zero", static_cast<uint64_t>(outside_zero));
  bench.number("untouched", static_cast<uint64_t>(untouched));
  if (c.x * c.element_bytes % 16 != 0) {
    const int down = (c.x * c.element_bytes & ~15) / c.element_bytes;
    bench.number("right_if_rounded_down", static_cast<uint64_t>(matching(c, down, tile)));
  }
  if (first_outside >= 0) {
    uint64_t value = 0;
    for (int k = c.element_bytes - 1; k >= 0; --k)
      value = value << 8 | tile[tile_place(c, first_outside + k)];
    bench.hex("first_fill_element", value);
  }
}

inline void report_store(Bench& bench, const TileCase& c, const uint8_t* memory) {
  std::vector<int> wanted(tensor_bytes, -1);
  int inside = 0, right = 0, wrong = 0, outside_box = 0, outside_tensor = 0;
  for (int i = 0; i < tile_bytes; ++i) {
    const int at = tensor_byte(c, c.x, i);
    if (at >= 0) wanted[static_cast<size_t>(at)] = pattern(tile_place(c, i));
  }
  const std::vector<uint8_t> after = bench.download(memory, 2 * guard_bytes + tensor_bytes);
  for (int i = 0; bench.ended() && i < static_cast<int>(after.size()); ++i) {
    const int at = i - guard_bytes;
    const int value = after[static_cast<size_t>(i)];
    if (at < 0 || at >= tensor_bytes) {
      outside_tensor += value != poison;
    } else if (wanted[static_cast<size_t>(at)] < 0) {
      outside_box += value != poison;
    } else {
      ++inside;
      right += value == wanted[static_cast<size_t>(at)];
      wrong += value != wanted[static_cast<size_t>(at)] && value != poison;
    }
  }
  bench.number("bytes_in_range", static_cast<uint64_t>(inside));
  bench.number("in_range_right", static_cast<uint64_t>(right));
  bench.number("in_range_wrong", static_cast<uint64_t>(wrong));
  bench.number("changed_outside_box", static_cast<uint64_t>(outside_box));
  bench.number("changed_outside_tensor", static_cast<uint64_t>(outside_tensor));
}

inline void run_tile(Bench& bench, const TileCase& c) {
  std::vector<uint8_t> content(2 * guard_bytes + tensor_bytes, poison);
  for (int i = 0; !c.store && i < tensor_bytes; ++i)
    content[static_cast<size_t>(guard_bytes + i)] = pattern(i);
  uint8_t* memory = bench.upload(content);
  const auto per_row = static_cast<uint32_t>(tile_row_bytes / c.element_bytes);
  const CUtensorMap map = bench.tensor_map(
      memory + guard_bytes, c.type, {static_cast<uint64_t>(tensor_row_bytes / c.element_bytes), tensor_rows},
      tensor_row_bytes, {per_row, tile_rows}, c.swizzle, c.fill);
  bench.run(tile_kernel, Shape{1, 128, 1, tile_bytes + 2048}, bench.cells, map, c.store, c.x, c.y, c.expect,
            c.shared_offset);
  bench.json("coordinates", "[" + std::to_string(c.x) + "," + std::to_string(c.y) + "]");
  bench.number("element_bytes", static_cast<uint64_t>(c.element_bytes));
  if (!c.store && bench.ended()) report_load(bench, c);
  if (c.store && bench.ended()) report_store(bench, c, memory);
}

}  // namespace probes
