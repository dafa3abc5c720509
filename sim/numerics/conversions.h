// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "sim/numerics/formats.h"

namespace turnstile {

/// PTX cvt between floating-point formats, on words. Subnormals are kept in both directions; a NaN becomes
/// the canonical NaN of the target (numerics.md O11), unless one of the two is f64: then it keeps its sign
/// and what fits of its payload. Infinity into a format without one, or under Overflow::saturate, becomes the
/// largest finite number (O10).
std::uint64_t convert_float(std::uint64_t word, ElementType from, ElementType to,
                            Rounding rounding = Rounding::nearest_even, Overflow overflow = Overflow::ieee);

/// cvt.rn/.rz.bf16.f32.
std::uint16_t bf16_from_f32(std::uint32_t word, Rounding rounding = Rounding::nearest_even);
/// cvt.rn/.rz.f16.f32.
std::uint16_t f16_from_f32(std::uint32_t word, Rounding rounding = Rounding::nearest_even);
/// cvt.rn.satfinite.e4m3x2.f32, one element (O10).
std::uint8_t e4m3_from_f32(std::uint32_t word);
/// cvt.rn.satfinite.e5m2x2.f32, one element (O10).
std::uint8_t e5m2_from_f32(std::uint32_t word);

/// cvt.f32.bf16: exact. GPUs do it by a shift, so a NaN keeps its payload. [undocumented]
constexpr std::uint32_t f32_from_bf16(std::uint16_t word) { return static_cast<std::uint32_t>(word) << 16; }
/// cvt.f32.f16: exact; a NaN becomes 0x7fffffff.
std::uint32_t f32_from_f16(std::uint16_t word);

/// cvt to a floating-point format from an integer given as sign and magnitude; +0 for zero.
std::uint64_t float_from_integer(bool negative, std::uint64_t magnitude, ElementType to, Rounding rounding);

/// cvt.rni/.rzi/.rpi/.rmi from a float to an integer of `bits` (8, 16, 32, 64) bits. Out-of-range values are
/// clamped. NaN gives 0, or 1 << (bits - 1) where the source is f64 or the target has 64 bits (PTX ISA, cvt).
/// The result is sign-extended to 64 bits for signed targets.
std::uint64_t integer_from_float(std::uint64_t word, ElementType from, Rounding rounding, int bits,
                                 bool is_signed);

}  // namespace turnstile
