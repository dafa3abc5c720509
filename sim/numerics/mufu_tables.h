// SPDX-License-Identifier: Apache-2.0 AND MIT
#pragma once

#include <array>
#include <cstdint>

/// Coefficient tables of the MUFU unit (numerics.md U2). Data of envytools; its licence stands in
/// mufu_tables.cc.
namespace turnstile {

/// Quadratic of one slice, in units of 2^-26, 2^-16 and 2^-10.
struct MufuCoefficients {
  std::int32_t c0 = 0;
  std::int32_t c1 = 0;
  std::int32_t c2 = 0;
};

extern const std::array<MufuCoefficients, 128> kMufuRcp;
extern const std::array<MufuCoefficients, 128> kMufuRsqrt;
extern const std::array<MufuCoefficients, 64> kMufuEx2;
extern const std::array<MufuCoefficients, 64> kMufuLg2;
/// c1 and c2 in units of 2^-15 and 2^-11.
extern const std::array<MufuCoefficients, 64> kMufuSin;

// Ours, not of envytools (mufu_solved.cc).
/// c1 in units of 2^-17, c2 of 2^-12.
extern const std::array<MufuCoefficients, 128> kMufuSqrt;
/// c0 in units of 2^-24 of the slice's binade (at most that of 1); c1 and c2 as mufu_tanh uses them.
extern const std::array<MufuCoefficients, 51> kMufuTanh;

}  // namespace turnstile
