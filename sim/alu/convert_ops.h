// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/alu/pure.h"

/// cvt (PTX ISA 9.7.9.21). `type`, `bits`, `is_signed` describe the result, `source_*` the source.
namespace turnstile::sim::lane {

uint64_t integer_to_integer(const PureConfig& config, const uint64_t* in);
uint64_t float_to_integer(const PureConfig& config, const uint64_t* in);
uint64_t integer_to_float(const PureConfig& config, const uint64_t* in);
uint64_t float_to_float(const PureConfig& config, const uint64_t* in);
/// .rni .rzi .rmi .rpi between floats of one type; zero results keep the sign.
uint64_t float_to_integral(const PureConfig& config, const uint64_t* in);
/// cvt.rna.tf32.f32 is integer arithmetic on the GPU: half a unit is added, the low 13 bits cut; a NaN is
/// only cut.
uint64_t tf32_nearest_away(const PureConfig& config, const uint64_t* in);
/// Two f32 sources to a packed pair; the first source becomes the high element.
uint64_t pack_pair(const PureConfig& config, const uint64_t* in);
/// Packed pair to packed pair, element by element.
uint64_t convert_pair(const PureConfig& config, const uint64_t* in);
/// The 4- and 6-bit formats e2m1, e2m3, e3m2 (no infinity, no NaN: a NaN becomes the largest number), MX
/// scales ue8m0.
uint64_t pack_minifloat(const PureConfig& config, const uint64_t* in);
uint64_t convert_to_minifloat(const PureConfig& config, const uint64_t* in);
uint64_t convert_from_minifloat(const PureConfig& config, const uint64_t* in);
uint64_t pack_scale(const PureConfig& config, const uint64_t* in);
uint64_t convert_to_scale(const PureConfig& config, const uint64_t* in);
uint64_t convert_from_scale(const PureConfig& config, const uint64_t* in);

}  // namespace turnstile::sim::lane
