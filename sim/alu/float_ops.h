// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/alu/pure.h"

/// Floating-point arithmetic of PTX (PTX ISA 9.7.3 to 9.7.5) on one element of `config.type`; packed
/// registers go through lane::each. The arithmetic itself is sim/numerics (numerics.md O1, O12).
namespace turnstile::sim::lane {

uint64_t add_float(const PureConfig& config, const uint64_t* in);
uint64_t sub_float(const PureConfig& config, const uint64_t* in);
uint64_t mul_float(const PureConfig& config, const uint64_t* in);
uint64_t fma_float(const PureConfig& config, const uint64_t* in);
/// Mixed precision: the first source (fma: first two) has `source_type`, the others and the result `type`.
uint64_t add_mixed(const PureConfig& config, const uint64_t* in);
uint64_t sub_mixed(const PureConfig& config, const uint64_t* in);
uint64_t fma_mixed(const PureConfig& config, const uint64_t* in);
uint64_t div_float(const PureConfig& config, const uint64_t* in);
uint64_t rcp_float(const PureConfig& config, const uint64_t* in);
uint64_t sqrt_float(const PureConfig& config, const uint64_t* in);
/// Adders on the GPU, so a NaN comes out canonical, except that abs.f64 and neg.f64 keep the payload (PTX ISA
/// abs).
uint64_t abs_float(const PureConfig& config, const uint64_t* in);
uint64_t neg_float(const PureConfig& config, const uint64_t* in);
uint64_t min_float(const PureConfig& config, const uint64_t* in);
uint64_t max_float(const PureConfig& config, const uint64_t* in);
uint64_t min3_float(const PureConfig& config, const uint64_t* in);
uint64_t max3_float(const PureConfig& config, const uint64_t* in);
uint64_t copy_sign(const PureConfig& config, const uint64_t* in);  ///< sign of a, magnitude of b
uint64_t div_approximate(const PureConfig& config, const uint64_t* in);
uint64_t div_full_range(const PureConfig& config, const uint64_t* in);
uint64_t rcp_approximate(const PureConfig& config, const uint64_t* in);
uint64_t rsqrt_approximate(const PureConfig& config, const uint64_t* in);
uint64_t ex2_approximate(const PureConfig& config, const uint64_t* in);
uint64_t lg2_approximate(const PureConfig& config, const uint64_t* in);
uint64_t sqrt_approximate(const PureConfig& config, const uint64_t* in);
uint64_t sin_approximate(const PureConfig& config, const uint64_t* in);
uint64_t cos_approximate(const PureConfig& config, const uint64_t* in);
uint64_t rcp_high_half(const PureConfig& config, const uint64_t* in);
uint64_t rsqrt_high_half(const PureConfig& config, const uint64_t* in);
uint64_t ex2_half(const PureConfig& config, const uint64_t* in);
uint64_t tanh_approximate(const PureConfig& config, const uint64_t* in);

}  // namespace turnstile::sim::lane
