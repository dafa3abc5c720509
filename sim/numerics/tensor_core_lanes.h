// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// What the vector implementations of multiply_accumulate share with the code that feeds them. Plain pointers
// and numbers only: the implementations are compiled for other processors than the rest, and an inline
// function of a header that ended up in both would be the linker's to choose.
namespace turnstile {

/// One group of k, one block of columns, all rows of a tile. A row is decided lane by lane; lanes that are
/// not (specials, subnormal results, sums beyond 31 bits) keep their accumulator and are named in
/// `undecided`.
struct LaneGroup {
  std::size_t rows = 0;
  std::size_t count = 0;      ///< of k in this group, at most 32
  int fraction_bits = 0;      ///< F
  int e_zero = 0;             ///< T4
  std::uint8_t rounding = 0;  ///< TensorCoreRounding
  bool full_range = false;    ///< some exponents are too far from 0 for products of floats

  // Row i of A has its element k at [i * a_stride + k]: as a float, without its exponent, and that exponent.
  const float* a_values = nullptr;
  const float* a_significands = nullptr;  ///< only if full_range
  const std::int16_t* a_exponents = nullptr;
  std::size_t a_stride = 0;
  const std::uint8_t* a_specials = nullptr;  ///< row i: at [i * specials_stride]
  std::size_t specials_stride = 0;

  // Element k of column j of B is at [k * lanes + j].
  const float* b_values = nullptr;
  const float* b_significands = nullptr;
  const std::int16_t* b_exponents = nullptr;
  std::uint32_t b_specials = 0;  ///< columns with one

  std::uint32_t* d = nullptr;          ///< [rows][lanes]; in and out
  std::uint32_t* undecided = nullptr;  ///< a mask of lanes for each row; out
};

/// Exponent of a zero: below that of any product, and twice it fits 16 bits.
inline constexpr std::int16_t lane_zero_exponent = -8000;

struct LaneImplementation {
  std::size_t lanes = 0;                           ///< columns of a block
  void (*accumulate)(const LaneGroup&) = nullptr;  ///< null: not in this build, or not on this processor
};

LaneImplementation lanes_of_128_bits();  ///< everywhere
LaneImplementation lanes_of_avx2();
LaneImplementation lanes_of_avx512();

}  // namespace turnstile
