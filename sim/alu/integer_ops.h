// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/alu/pure.h"

/// Integer arithmetic of PTX (PTX ISA 9.7.1): all results modulo 2^bits unless the name says otherwise.
namespace turnstile::sim::lane {

uint64_t add(const PureConfig& config, const uint64_t* in);
uint64_t add_saturating(const PureConfig& config, const uint64_t* in);
uint64_t sub(const PureConfig& config, const uint64_t* in);
uint64_t sub_saturating(const PureConfig& config, const uint64_t* in);
uint64_t mul_low(const PureConfig& config, const uint64_t* in);
uint64_t mul_high(const PureConfig& config, const uint64_t* in);
uint64_t mul_wide(const PureConfig& config, const uint64_t* in);
uint64_t mad_low(const PureConfig& config, const uint64_t* in);
uint64_t mad_high(const PureConfig& config, const uint64_t* in);  ///< .sat clamps the final addition
uint64_t mad_wide(const PureConfig& config, const uint64_t* in);

/// Extended precision (PTX ISA 9.7.2). Carry chains work on bit patterns: the carry is that of the unsigned
/// addition whatever the type. A subtraction is a + ~b + 1, and the flag what that carries: 1 if nothing was
/// borrowed. PTX says "borrow-out", which is the same where subtractions follow each other; where an addition
/// reads the flag of a subtraction, or the other way round, an H200 does this (golden/records/carries,
/// lanes). `carries_in`: the last source is CC.CF.
template <bool carries_in>
uint64_t add_carry(const PureConfig& config, const uint64_t* in);
template <bool carries_in>
uint64_t add_carry_out(const PureConfig& config, const uint64_t* in);
template <bool carries_in>
uint64_t sub_borrow(const PureConfig& config, const uint64_t* in);
template <bool carries_in>
uint64_t sub_borrow_out(const PureConfig& config, const uint64_t* in);
template <bool carries_in>
uint64_t mad_low_carry(const PureConfig& config, const uint64_t* in);
template <bool carries_in>
uint64_t mad_low_carry_out(const PureConfig& config, const uint64_t* in);
template <bool carries_in>
uint64_t mad_high_carry(const PureConfig& config, const uint64_t* in);
template <bool carries_in>
uint64_t mad_high_carry_out(const PureConfig& config, const uint64_t* in);

uint64_t mul24_low(const PureConfig& config, const uint64_t* in);
uint64_t mul24_high(const PureConfig& config, const uint64_t* in);
uint64_t mad24_low(const PureConfig& config, const uint64_t* in);
uint64_t mad24_high(const PureConfig& config, const uint64_t* in);
uint64_t sad(const PureConfig& config, const uint64_t* in);
/// Quotient and remainder toward zero. PTX leaves division by zero unspecified; the code that ptxas 13.0
/// emits for sm_90a delivers all ones for both, in every width, and so do these. minimum / -1 wraps to the
/// minimum.
uint64_t divide(const PureConfig& config, const uint64_t* in);
uint64_t remainder(const PureConfig& config, const uint64_t* in);
uint64_t absolute(const PureConfig& config, const uint64_t* in);
uint64_t negate(const PureConfig& config, const uint64_t* in);
uint64_t minimum(const PureConfig& config, const uint64_t* in);
uint64_t maximum(const PureConfig& config, const uint64_t* in);
uint64_t dp4a(const PureConfig& config, const uint64_t* in);
uint64_t dp2a_low(const PureConfig& config, const uint64_t* in);
uint64_t dp2a_high(const PureConfig& config, const uint64_t* in);

}  // namespace turnstile::sim::lane
