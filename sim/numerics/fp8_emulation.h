// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "sim/numerics/formats.h"

namespace turnstile {

/// mma.sync with FP8 operands on sm_90 and sm_100, which the compiler lowers to f16 arithmetic (numerics.md
/// section 6, E1-E4): the elements with k mod 4 in {0,1}, then those in {2,3}, as two chained f16 groups of
/// 16 from zero, then one IEEE addition to c. a and b hold e4m3 or e5m2 words, 16 or 32 of them;
/// `accumulator` is f32 or f16.
std::uint32_t fp8_as_f16_dot_add(ElementType a_type, ElementType b_type, ElementType accumulator,
                                 std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                 std::uint32_t c);

}  // namespace turnstile
