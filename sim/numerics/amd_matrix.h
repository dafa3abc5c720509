// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/numerics/formats.h"

namespace turnstile {

// MFMA of CDNA1 to CDNA3 (numerics.md section 7). No measurement stands behind it: MMA-Sim, FPy and the Leeds
// models agree where it does not say otherwise. NaN payloads are not modelled (A7): a NaN result is the
// canonical one of formats.h.

enum class AmdGeneration : std::uint8_t { cdna1, cdna2, cdna3 };

enum class AmdModel : std::uint8_t {
  fma_chain,     ///< RN, k ascending
  exact_sums,    ///< groups of L products and c, one RN (A1)
  flushed_adds,  ///< FTZ products, FTZ pairwise sums of L of them, then c (A2)
  tr_fdpa,       ///< A3, A4
  gtr_fdpa,      ///< A6
};

/// fp8 and bf8 of CDNA3: one more than the usual bias, one NaN (the word of -0), no infinity.
enum class AmdOperand : std::uint8_t { f64, f32, xf32, f16, bf16, fp8_fnuz, bf8_fnuz };

struct AmdRow {
  AmdGeneration generation;
  std::string_view name;  ///< "bf16_1k"
  AmdOperand operand;
  AmdModel model;
  unsigned group;  ///< L or P
};

std::span<const AmdRow> amd_rows();

/// d = c + sum a[i]*b[i] in groups of row.group, i ascending; f32 accumulators (f64 with f64 operands). The
/// number of products is a multiple of the group.
std::uint64_t amd_dot_add(const AmdRow& row, std::span<const std::uint64_t> a,
                          std::span<const std::uint64_t> b, std::uint64_t c);

}  // namespace turnstile
