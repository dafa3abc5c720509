// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/launch/launch.h"
#include "model/trace.h"

namespace turnstile::sim {

class Cta;
struct WarpGroup;
struct WarpGroupOp;

/// A K-major operand in shared memory, from the 64-bit matrix descriptor of wgmma (PTX ISA 9.7.15.5.1; PE9).
struct OperandView {
  uint32_t start = 0;          ///< shared address
  uint32_t leading_bytes = 0;  ///< between 16-byte columns, only without swizzle
  uint32_t stride_bytes = 0;   ///< between groups of 8 rows
  uint32_t base_offset = 0;    ///< must be 0: the pattern starts at an aligned address
  Swizzle swizzle = Swizzle::none;

  /// Shared address of the 16-byte chunk `chunk` (along K) of row `row`.
  uint32_t chunk_address(uint32_t row, uint32_t chunk) const;
};

OperandView decode_descriptor(uint64_t descriptor);

/// The part of a trace's footprints that one operand is, worked out once for each descriptor of a CTA.
struct OperandFootprint {
  uint32_t footprint = 0;  ///< valid if `problem` is empty
  std::string problem;     ///< what is wrong with the descriptor
  std::string unmodelled;  ///< what of it is not modelled
};

inline constexpr uint32_t wgmma_k_bytes = 32;  ///< of K that one wgmma multiplies, whatever the type; of B
                                               ///< twice as much if A is sparse

/// The footprint of `rows` rows of the operand of one wgmma that a descriptor names; `mn_major`: of 16-bit
/// elements that lie along M or N; `k_bytes` of K.
const OperandFootprint& operand_footprint(Cta& cta, uint64_t descriptor, uint32_t rows, bool mn_major,
                                          uint32_t k_bytes);

/// Byte ranges that `rows` rows of `row_bytes` bytes of an operand occupy, sorted and joined.
std::vector<ByteRange> operand_ranges(const OperandView& view, uint32_t rows, uint32_t row_bytes);

/// The same of an operand whose rows lie along M or N: `extent` bytes of it, `depth` steps of K.
std::vector<ByteRange> mn_major_ranges(const OperandView& view, uint32_t extent, uint32_t depth);

/// Rows of an operand of one instruction, each the 32 bytes of K; nothing if a byte is not known. `mn_major`:
/// of 16-bit elements.
std::optional<std::vector<uint8_t>> operand_bytes_of_k(const Cta& cta, const OperandView& view, bool mn_major,
                                                       uint32_t rows);

/// Where element `row`, `k` of such an operand of 16-bit elements along M or N lies.
uint32_t mn_major_address(const OperandView& view, uint32_t row, uint32_t k);

/// Where accumulator register `i` of `lane` in warp `warp_in_group` lies in the 64 x N result (f32, PTX
/// ISA 9.7.15.5.2 figure of D).
struct ResultPlace {
  uint32_t row, column;
};
constexpr ResultPlace result_place(uint32_t warp_in_group, uint32_t lane, uint32_t i) {
  return {16 * warp_in_group + lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2};
}

/// Runs one matrix operation that all four warps have issued: footprints into the trace, results into the
/// registers.
void run_matrix_op(Cta& cta, WarpGroup& group, WarpGroupOp& op);

}  // namespace turnstile::sim
