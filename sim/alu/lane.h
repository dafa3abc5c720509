// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/alu/pure.h"

namespace turnstile::sim::lane {

/// Small helpers shared by the lane functions. Register bits travel zero-extended in uint64_t.

constexpr uint64_t low_mask(unsigned bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

constexpr int64_t sign_extended(uint64_t word, unsigned bits) {
  const unsigned shift = 64 - bits;
  return static_cast<int64_t>(word << shift) >> shift;
}

constexpr bool sign_bit(uint64_t word, unsigned bits) { return ((word >> (bits - 1)) & 1) != 0; }

/// Applies a scalar function of `Inputs` sources to each packed element (f16x2, u16x2, f32x2); element 0 is
/// the low one. Registers of one element go straight through.
template <LaneFunction Scalar, int Inputs>
uint64_t each(const PureConfig& config, const uint64_t* inputs) {
  if (config.lanes == 1) return Scalar(config, inputs);
  const uint64_t mask = low_mask(config.bits);
  uint64_t result = 0;
  for (unsigned shift = 0; shift < unsigned{config.lanes} * config.bits; shift += config.bits) {
    uint64_t elements[Inputs] = {};
    for (int i = 0; i < Inputs; ++i) elements[i] = (inputs[i] >> shift) & mask;
    result |= (Scalar(config, elements) & mask) << shift;
  }
  return result;
}

}  // namespace turnstile::sim::lane
