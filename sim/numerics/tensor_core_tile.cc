// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/tensor_core_tile.h"

#include <vector>

#include "model/must.h"

namespace turnstile {

namespace {

std::vector<Decoded> decode_rows(ElementType type, const std::uint8_t* words, std::size_t rows, std::size_t k,
                                 std::size_t leading) {
  const FormatShape shape = shape_of(type);
  const std::size_t bytes = operand_bytes(type);
  std::vector<Decoded> decoded(rows * k);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < k; ++i)
      decoded[row * k + i] = decode(shape, load_word(words + row * leading + i * bytes, bytes));
  return decoded;
}

}  // namespace

void multiply_accumulate_reference(const TensorCoreRow& row, const MatrixTile& tile) {
  const std::vector<Decoded> a = decode_rows(row.a, tile.a, tile.m, tile.k, tile.lda);
  const std::vector<Decoded> b = decode_rows(row.b, tile.b, tile.n, tile.k, tile.ldb);
  const std::span<const Decoded> all_a(a);
  const std::span<const Decoded> all_b(b);
  for (std::size_t i = 0; i < tile.m; ++i) {
    for (std::size_t j = 0; j < tile.n; ++j) {
      std::uint32_t& d = tile.d[i * tile.ldd + j];
      d = fused_dot_add(row, all_a.subspan(i * tile.k, tile.k), all_b.subspan(j * tile.k, tile.k), d);
    }
  }
}

namespace {

/// Nothing: not in this build, or not on this processor.
LaneImplementation implementation_of(TilePath path) {
  switch (path) {
    case TilePath::reference:
      break;
    case TilePath::portable:
      return lanes_of_128_bits();
#if defined(__x86_64__)
    case TilePath::avx2:
      if (__builtin_cpu_supports("avx2") != 0) return lanes_of_avx2();
      break;
    case TilePath::avx512:
      if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
          __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0)
        return lanes_of_avx512();
      break;
#else
    case TilePath::avx2:
    case TilePath::avx512:
      break;
#endif
    case TilePath::automatic:
      for (const TilePath faster : {TilePath::avx512, TilePath::avx2})
        if (const LaneImplementation found = implementation_of(faster); found.accumulate != nullptr)
          return found;
      return implementation_of(TilePath::portable);
  }
  return {};
}

}  // namespace

bool tile_path_available(const TensorCoreRow& row, TilePath path) {
  return path == TilePath::reference || (lanes_can_do(row) && implementation_of(path).accumulate != nullptr);
}

void multiply_accumulate(const TensorCoreRow& row, std::size_t m, std::size_t n, std::size_t k,
                         const std::uint8_t* a, std::size_t lda, const std::uint8_t* b, std::size_t ldb,
                         std::uint32_t* d, std::size_t ldd, TilePath path) {
  must(lda >= k * operand_bytes(row.a) && ldb >= k * operand_bytes(row.b) && ldd >= n,
       "a leading dimension is at least the length of its row");
  const MatrixTile tile{m, n, k, a, lda, b, ldb, d, ldd};
  const LaneImplementation implementation = implementation_of(path);
  if (implementation.accumulate != nullptr && lanes_can_do(row))
    multiply_accumulate_lanes(row, tile, implementation);
  else
    multiply_accumulate_reference(row, tile);
}

}  // namespace turnstile
