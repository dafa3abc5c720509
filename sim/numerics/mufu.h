// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace turnstile {

/// The MUFU unit: rcp, rsqrt, ex2, lg2, sqrt, sin, cos .approx.ftz.f32 and tanh.approx.f32 on words, equal to
/// an H200 on all 2^32 inputs of each (numerics.md H2, section 9; docs/numerics.md for the last four).
/// Subnormal inputs read as zero, results that would be subnormal are zero, a NaN gives 0x7fffffff.
std::uint32_t mufu_rcp(std::uint32_t x);
std::uint32_t mufu_rsqrt(std::uint32_t x);
std::uint32_t mufu_ex2(std::uint32_t x);
std::uint32_t mufu_lg2(std::uint32_t x);
std::uint32_t mufu_sqrt(std::uint32_t x);
/// tanh keeps subnormals: what is small is its own hyperbolic tangent.
std::uint32_t mufu_tanh(std::uint32_t x);
/// rcp and rsqrt.approx.ftz.f64 look at the high halves of f64 words only: the f32 functions with a wider
/// exponent and 20 bits of fraction. The low half of the result is zero, a NaN gives 0x7fffffff00000000.
std::uint64_t mufu_rcp64(std::uint64_t x);
std::uint64_t mufu_rsqrt64(std::uint64_t x);
/// sin and cos are a multiplication by 1/(2 pi), toward zero, and the unit's function of turns.
std::uint32_t sin_approx(std::uint32_t x);
std::uint32_t cos_approx(std::uint32_t x);

/// mufu_ex2 of many; `results` has room for as many and does not overlap `x`.
void mufu_ex2_many(std::span<const std::uint32_t> x, std::uint32_t* results);

/// The same without .ftz, and the approximate divisions: short sequences around MUFU, as ptxas 13.0 emits
/// them for sm_90a (read from the SASS of one-instruction kernels).
std::uint32_t rcp_approx(std::uint32_t x);
std::uint32_t rsqrt_approx(std::uint32_t x);
std::uint32_t ex2_approx(std::uint32_t x);
std::uint32_t lg2_approx(std::uint32_t x);
std::uint32_t sqrt_approx(std::uint32_t x);
std::uint32_t div_approx(std::uint32_t a, std::uint32_t b, bool flush_subnormals);
std::uint32_t div_full(std::uint32_t a, std::uint32_t b, bool flush_subnormals);

}  // namespace turnstile
