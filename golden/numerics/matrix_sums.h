// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/result.h"

namespace turnstile {

/// What a GPU gave for one matrix instruction of kernels/probes/numerics/make_matrix.py: a checksum a tile.
struct MatrixRecord {
  std::string kind;  ///< mma, wgmma
  unsigned m = 0, n = 0, k = 0;
  std::string a, b,
      c;  ///< types: f16, bf16, tf32, e4m3, e5m2, f64, s8, u8, s4, u4, b1; of c f32, f16, f64, s32
  std::vector<std::string> flags;  ///< neg_a, neg_b, no_c, registers, satfinite, trans_a, trans_b, xor
  std::vector<uint32_t> sums;

  bool flag(std::string_view name) const;
  /// "wgmma m64n8k16 f16 f16 f32 (neg_a)"
  std::string name() const;
};

/// Reads golden/records/numerics/matrix.txt (its README says how it looks).
Result<std::vector<MatrixRecord>> read_matrix_sums(const std::string& path);

/// The words of D in one tile, row by row, by the simulator's model; nothing where it has none.
std::optional<std::vector<uint64_t>> predicted_tile(const MatrixRecord& record, unsigned tile);

/// The checksum of such words, as it is recorded.
uint32_t tile_sum(const std::vector<uint64_t>& words);

}  // namespace turnstile
