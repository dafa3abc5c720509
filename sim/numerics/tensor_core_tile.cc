// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/tensor_core_tile.h"

#include <vector>

#include "model/must.h"

namespace turnstile {

namespace {

bool has_16_bits(ElementType type) { return type == ElementType::f16 || type == ElementType::bf16; }

std::vector<Decoded> decode_rows(ElementType type, const std::uint16_t* words, std::size_t rows,
                                 std::size_t k, std::size_t leading) {
  const FormatShape shape = shape_of(type);
  std::vector<Decoded> decoded(rows * k);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < k; ++i) decoded[row * k + i] = decode(shape, words[row * leading + i]);
  return decoded;
}

}  // namespace

void multiply_accumulate_portable(const TensorCoreRow& row, const MatrixTile& tile) {
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

bool avx2_path_available(const TensorCoreRow& row) {
  // The lanes of tensor_core_avx2.cc: 16-bit significands after pre-shifting, 16 products in 32 bits.
  return avx2_on_this_machine() && has_16_bits(row.a) && row.a == row.b &&
         row.rho == TensorCoreRounding::rz_f32 && row.group <= 16 && row.fraction_bits >= 23 &&
         row.fraction_bits <= 25;
}

void multiply_accumulate(const TensorCoreRow& row, std::size_t m, std::size_t n, std::size_t k,
                         const std::uint16_t* a, std::size_t lda, const std::uint16_t* b, std::size_t ldb,
                         std::uint32_t* d, std::size_t ldd, TilePath path) {
  must(has_16_bits(row.a) && has_16_bits(row.b) && row.accumulator == ElementType::f32,
       "multiply_accumulate is for 16-bit operands and f32 accumulators");
  must(lda >= k && ldb >= k && ldd >= n, "a leading dimension is at least the length of its row");
  const MatrixTile tile{m, n, k, a, lda, b, ldb, d, ldd};
  if (path != TilePath::portable && avx2_path_available(row))
    multiply_accumulate_avx2(row, tile);
  else
    multiply_accumulate_portable(row, tile);
}

}  // namespace turnstile
