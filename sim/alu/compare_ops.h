// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/alu/pure.h"

/// Comparison and selection (PTX ISA 9.7.6, 9.7.7). Comparing functions take a, b and, where the form has a
/// boolean operator, the predicate c as third source.
namespace turnstile::sim::lane {

uint64_t setp_integer(const PureConfig& config, const uint64_t* in);
uint64_t setp_integer_second(const PureConfig& config,
                             const uint64_t* in);  ///< q: complement, then the operator
uint64_t setp_float(const PureConfig& config, const uint64_t* in);
uint64_t setp_float_second(const PureConfig& config,
                           const uint64_t* in);  ///< f16x2, bf16x2: the high elements
/// set writes all ones or 1.0 for true: `type`/`bits` describe the result, `source_*` the sources.
uint64_t set_integer(const PureConfig& config, const uint64_t* in);
uint64_t set_float(const PureConfig& config, const uint64_t* in);
uint64_t select(const PureConfig& config, const uint64_t* in);           ///< selp
uint64_t select_by_sign(const PureConfig& config, const uint64_t* in);   ///< slct with an s32 as third source
uint64_t select_by_float(const PureConfig& config, const uint64_t* in);  ///< slct with an f32: NaN takes b
uint64_t test_property(const PureConfig& config, const uint64_t* in);    ///< testp

}  // namespace turnstile::sim::lane
