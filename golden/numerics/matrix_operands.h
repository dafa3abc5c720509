// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operand tiles of the matrix probes (kernels/probes/numerics): what stands in A, B and C of a tile follows
// from the types, the shape and the number of the tile.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "golden/numerics/operands.h"

namespace turnstile::numeric_probe {

struct MatrixForm {
  unsigned m = 0, n = 0, k = 0;
  std::string_view a, b, c;  ///< types of operands and of the accumulator
};

/// What the operands of a tile look like: family = tile % 8.
enum class MatrixFamily : uint8_t {
  uniform,  ///< every word equally likely
  narrow,   ///< exponents within 4 of one
  wide,     ///< exponents so far apart that terms cancel and are cut
  special,  ///< narrow; in every fourth row and column one word in 32 is an edge
  tiny,     ///< products around the smallest numbers of the accumulator
  cancel,   ///< pairs of products that cancel, but for some last bits
  powers,   ///< mostly zeros of both signs, and a few powers of two
  floor,    ///< two powers of two: one at the smallest number of the accumulator, one at or below it
};
constexpr unsigned kMatrixFamilies = 8;

namespace matrix_detail {

constexpr uint64_t key(std::string_view role, unsigned tile) {
  return mixed(0x6d617472u + static_cast<uint64_t>(role[0]), tile);
}

/// A number below 2^62 that depends on all of its arguments.
constexpr uint64_t draw(std::string_view role, unsigned tile, unsigned line, unsigned column) {
  return mixed(key(role, tile), uint64_t{line} << 20 | column);
}

/// Sign of `random`, exponent `exponent` and its fraction, subnormal below the range, the largest finite
/// exponent above.
constexpr uint64_t number(std::string_view type, int exponent, uint64_t random, bool power) {
  const Format f = format_of(type);
  const uint64_t fraction = power ? 0 : low_bits(random, f.fraction_bits);
  const uint64_t sign = (random >> 63) << (f.exponent_bits + f.fraction_bits);
  int field = exponent + f.bias();
  if (field < 1) {
    const int drop = 1 - field;
    const uint64_t whole = fraction | uint64_t{1} << f.fraction_bits;
    return sign | (drop > f.fraction_bits ? 0 : whole >> drop);
  }
  field = std::min(field, (1 << f.exponent_bits) - 2);
  return sign | static_cast<uint64_t>(field) << f.fraction_bits | fraction;
}

constexpr int spread(std::string_view type) {
  if (type == "f16") return 12;
  if (type == "e4m3") return 7;
  if (type == "e5m2") return 14;
  if (type == "f64") return 60;
  return 24;
}

/// Exponent of the smallest number of an accumulator.
constexpr int smallest(std::string_view type) { return type == "f16" ? -24 : type == "f64" ? -1074 : -149; }

constexpr int between(uint64_t random, int low, int high) {
  return low + static_cast<int>((random >> 33) % static_cast<uint64_t>(high - low + 1));
}

/// Exponent of the smallest number of an operand type.
constexpr int smallest_operand(std::string_view type) {
  const Format f = format_of(type);
  return 1 - f.bias() - f.fraction_bits;
}

/// The part of a tiny product's exponent that an operand carries, as far as its type reaches.
constexpr int tiny_part(const MatrixForm& form, std::string_view type) {
  return std::max(smallest(form.c) / 2, smallest_operand(type) + 2);
}

/// The same for the floor: all of B, so that A has the range below it to itself where the types are narrow.
constexpr int floor_part(const MatrixForm& form) {
  return format_of(form.b).bias() > 100 ? smallest(form.c) / 2 : smallest_operand(form.b);
}

}  // namespace matrix_detail

/// Element (line, k) of A ("a": line is a row) or B ("b": line is a column).
constexpr uint64_t matrix_operand(const MatrixForm& form, std::string_view role, unsigned tile, unsigned line,
                                  unsigned k) {
  using namespace matrix_detail;
  const std::string_view type = role == "a" ? form.a : form.b;
  const auto family = static_cast<MatrixFamily>(tile % kMatrixFamilies);
  const uint64_t random = draw(role, tile, line, k);
  const uint64_t more = mixed(random, 1);
  if (const int bits = integer_bits(type); bits != 0)
    return tile % 2 == 0 || bits < 4 ? low_bits(random, bits) : edge_integer(bits, random);
  const Format f = format_of(type);
  switch (family) {
    case MatrixFamily::uniform:
      return low_bits(random, f.width());
    case MatrixFamily::narrow:
      return number(type, between(more, -4, 4), random, false);
    case MatrixFamily::wide:
      return number(type, between(more, -spread(type), spread(type)), random, false);
    case MatrixFamily::special:
      return line % 4 == 0 && more % 32 == 0 ? edge_float(f, random)
                                             : number(type, between(more, -4, 4), random, false);
    case MatrixFamily::tiny:
      return number(type, tiny_part(form, type) + between(more, -8, 12), random, false);
    case MatrixFamily::cancel: {
      const uint64_t even = draw(role, tile, line, k & ~1u);
      const uint64_t word = number(type, between(mixed(even, 1), -6, 6), even, false);
      if (k % 2 == 0) return word;
      const uint64_t flipped = role == "a" ? word ^ uint64_t { 1 } << (f.width() - 1) : word;
      return more % 8 == 0 ? flipped ^ 1 : flipped;
    }
    case MatrixFamily::powers: {
      if (more % 4 != 0) return number(type, -2000, random, true);
      const int reach = (tile / kMatrixFamilies) % 2 == 0 ? 20 : f.bias();
      return number(type, between(more, -reach, std::min(reach, f.bias())), random, true);
    }
    case MatrixFamily::floor: {
      const int part = floor_part(form);
      if (role == "b") return number(type, part, 0, true);
      const auto first = static_cast<unsigned>(draw("x", tile, line, 0) % form.k);
      const auto second =
          (first + 1 + static_cast<unsigned>(draw("y", tile, line, 0) % (form.k - 1))) % form.k;
      const int one = std::max(smallest(form.c) - part, smallest_operand(type) + 2);
      if (k == first) return number(type, one + between(more, -2, 1), random, true);
      if (k == second) return number(type, one - between(more, 0, 36), random, true);
      return number(type, -2000, random, true);
    }
  }
  return 0;
}

/// Element (row, column) of C.
constexpr uint64_t matrix_accumulator(const MatrixForm& form, unsigned tile, unsigned row, unsigned column) {
  using namespace matrix_detail;
  const auto family = static_cast<MatrixFamily>(tile % kMatrixFamilies);
  const uint64_t random = draw("c", tile, row, column);
  const uint64_t more = mixed(random, 1);
  if (integer_bits(form.c) != 0) return tile % 2 == 0 ? low_bits(random, 32) : edge_integer(32, random);
  const Format f = format_of(form.c);
  const uint64_t zero = number(form.c, -2000, random, true);
  switch (family) {
    case MatrixFamily::uniform:
      return low_bits(random, f.width());
    case MatrixFamily::narrow:
    case MatrixFamily::wide:
      return number(form.c, between(more, -20, form.c == "f16" ? 12 : 20), random, false);
    case MatrixFamily::special:
      return more % 32 == 0 && row % 4 == 0 ? edge_float(f, random)
                                            : number(form.c, between(more, -10, 10), random, false);
    case MatrixFamily::tiny:
      if (more % 4 == 0) return zero;
      return number(form.c, smallest(form.c) + between(more, 0, 24), random, false);
    case MatrixFamily::cancel:
      if (more % 3 == 0) return zero;
      return number(form.c, between(more, -30, 10), random, more % 3 == 1);
    case MatrixFamily::powers:
      if (more % 3 == 0) return zero;
      if (more % 3 == 1) return number(form.c, between(more, -40, 20), random, true);
      return number(form.c, 0, random, true) | uint64_t{1} << (more % static_cast<unsigned>(f.fraction_bits));
    case MatrixFamily::floor:
      return more % 4 == 0 ? number(form.c, smallest(form.c) + between(more, 0, 2), random, true) : zero;
  }
  return 0;
}

}  // namespace turnstile::numeric_probe
