// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/trace.h"

namespace turnstile::sim {

class Cta;

/// A rectangle of tensor memory: lanes by columns of 32 bits (TC1).
struct TensorArea {
  uint32_t lane = 0, lanes = 0;
  uint32_t column = 0, columns = 0;

  static constexpr uint32_t all_lanes = 128;
  static constexpr uint32_t row_bytes = 512 * 4;  ///< of a lane; a footprint numbers bytes lane by lane
};

/// An address of tensor memory: lane in the high half, column in the low half (TC1).
constexpr uint32_t tensor_lane(uint64_t address) { return static_cast<uint32_t>(address >> 16 & 0xffff); }
constexpr uint32_t tensor_column(uint64_t address) { return static_cast<uint32_t>(address & 0xffff); }

/// What is wrong with touching these areas of the CTA's tensor memory: outside of it, or not allocated (TC3).
/// Empty: nothing.
std::string tensor_area_problem(const Cta& cta, const std::vector<TensorArea>& areas);

uint32_t tensor_footprint(Cta& cta, const std::vector<TensorArea>& areas);

/// What tcgen05.ld and st of a shape touch, at an address; `split`: the distance of the second half of
/// 16x32bx2. Empty: no such shape.
std::vector<TensorArea> tensor_access_areas(const std::string& shape, uint32_t repeat, bool packed,
                                            uint64_t address, uint32_t split);
/// Registers of one thread that it moves; 0: no such shape.
uint32_t tensor_access_registers(const std::string& shape, uint32_t repeat);

}  // namespace turnstile::sim
