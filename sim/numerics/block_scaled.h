// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "sim/numerics/formats.h"

namespace turnstile {

struct TensorCoreRow;

// Products with scales (numerics.md section 5): every `a.size() / a_scales.size()` neighbours along k share a
// scale of A and one of B. A scale that is NaN makes the result NaN (X2).

/// A scale as a number: of ue8m0 a power of two; of ue4m3 without its sign (X5).
Decoded decode_scale(const FormatShape& shape, std::uint32_t code);

/// mxf8f6f4 (X1): `row` is I22, whose groups have one scale each.
std::uint32_t block_scaled_dot_add(const TensorCoreRow& row, const FormatShape& a_shape,
                                   const FormatShape& b_shape, const FormatShape& scale_shape,
                                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                   std::span<const std::uint32_t> a_scales,
                                   std::span<const std::uint32_t> b_scales, std::uint32_t c);

/// mxf4 and nvf4 (X3, X4): `row` is I23; a and b are e2m1 words. The 16 products of a group are one term,
/// whose exponent is that of its scales.
std::uint32_t group_scaled_dot_add(const TensorCoreRow& row, const FormatShape& scale_shape,
                                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                   std::span<const std::uint32_t> a_scales,
                                   std::span<const std::uint32_t> b_scales, std::uint32_t c);

}  // namespace turnstile
