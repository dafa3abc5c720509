// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/alu/pure.h"

/// Logic, shifts and bit fields (PTX ISA 9.7.8, 9.7.1.14 to 9.7.1.22, prmt).
namespace turnstile::sim::lane {

uint64_t bit_and(const PureConfig& config, const uint64_t* in);
uint64_t bit_or(const PureConfig& config, const uint64_t* in);
uint64_t bit_xor(const PureConfig& config, const uint64_t* in);
uint64_t bit_not(const PureConfig& config, const uint64_t* in);
uint64_t logical_not(const PureConfig& config, const uint64_t* in);  ///< cnot
/// Sources a, b, c and the table as fourth source; lop3.BoolOp has a predicate as fifth.
uint64_t lop3(const PureConfig& config, const uint64_t* in);
uint64_t lop3_predicate(const PureConfig& config, const uint64_t* in);
/// Shift amounts are unsigned 32-bit numbers; amounts above the width act like the width.
uint64_t shift_left(const PureConfig& config, const uint64_t* in);
uint64_t shift_right(const PureConfig& config, const uint64_t* in);
uint64_t funnel_left(const PureConfig& config, const uint64_t* in);
uint64_t funnel_right(const PureConfig& config, const uint64_t* in);
uint64_t field_extract(const PureConfig& config, const uint64_t* in);  ///< bfe
uint64_t field_insert(const PureConfig& config, const uint64_t* in);   ///< bfi
uint64_t find_leading(const PureConfig& config, const uint64_t* in);   ///< bfind
uint64_t find_nth_set(const PureConfig& config, const uint64_t* in);   ///< fns; base above 31 finds nothing
uint64_t reverse(const PureConfig& config, const uint64_t* in);
uint64_t population(const PureConfig& config, const uint64_t* in);
uint64_t leading_zeros(const PureConfig& config, const uint64_t* in);
uint64_t bit_mask(const PureConfig& config, const uint64_t* in);      ///< bmsk
uint64_t extend_field(const PureConfig& config, const uint64_t* in);  ///< szext
uint64_t permute(const PureConfig& config, const uint64_t* in);

}  // namespace turnstile::sim::lane
