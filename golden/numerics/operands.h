// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operands of the numeric probes: the program that runs on the GPU and the one that compares without a GPU
// make the same words from an index. Depends on nothing but the standard library: nvcc compiles it too.

#include <bit>
#include <cstdint>
#include <string_view>

namespace turnstile::numeric_probe {

/// splitmix64 of Steele, Lea and Flood: element `index` of the sequence `key`.
constexpr uint64_t mixed(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// What one result adds to the checksum of its block. Sums modulo 2^64 of these do not depend on the order of
/// the results, and do depend on which index had which result.
constexpr uint64_t checksum_term(uint64_t result, uint64_t index) { return mixed(result, index); }

/// The second checksum of the sweeps, whose total over all words is published in numerics.md (U11).
constexpr uint64_t weighted_term(uint64_t result, uint64_t index) { return result * (index | 1); }

/// The low half of a register with two operands of 32 bits (or the other half of two of 16) when `word` is
/// swept.
constexpr uint32_t companion32(uint32_t word) { return word * 0x9e3779b1u + 0x7f4a7c15u; }
constexpr uint32_t companion16(uint32_t word) { return (word * 40503u + 12345u) & 0xffffu; }

/// A floating-point format, most significant bit first: sign, exponent, fraction, bits that stay zero.
struct Format {
  int exponent_bits, fraction_bits, padding_bits = 0;
  constexpr int width() const { return 1 + exponent_bits + fraction_bits + padding_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

constexpr Format format_of(std::string_view type) {
  if (type == "f64") return {11, 52};
  if (type == "f32") return {8, 23};
  // All 32 bits of a tf32 operand are random: the unit drops the low 13 (T1).
  if (type == "tf32") return {8, 23};
  if (type == "f16") return {5, 10};
  if (type == "bf16") return {8, 7};
  if (type == "e4m3") return {4, 3};
  if (type == "e5m2") return {5, 2};
  return {0, 0};
}

/// Bits of an integer type ("s8", "u32", "b1"), 0 for others.
constexpr int integer_bits(std::string_view type) {
  if (type.empty() || (type[0] != 's' && type[0] != 'u' && type[0] != 'b')) return 0;
  int bits = 0;
  for (const char c : type.substr(1)) {
    if (c < '0' || c > '9') return 0;
    bits = 10 * bits + (c - '0');
  }
  return bits;
}

constexpr uint64_t low_bits(uint64_t word, int bits) {
  return bits >= 64 ? word : word & ((uint64_t{1} << bits) - 1);
}

/// A word with exponent field `field` (clamped) and the sign and fraction of `random`.
constexpr uint64_t with_exponent(const Format& f, int field, uint64_t random) {
  const int ones = (1 << f.exponent_bits) - 1;
  if (field < 0) field = 0;
  if (field > ones) field = ones;
  const uint64_t sign = (random >> 63) << (f.exponent_bits + f.fraction_bits);
  return (sign | static_cast<uint64_t>(field) << f.fraction_bits | low_bits(random, f.fraction_bits))
         << f.padding_bits;
}

/// A word near an edge: a zero, an infinity, one, the ends of the subnormal and the normal numbers, 2^k, a
/// few units up or down, either sign.
constexpr uint64_t edge_float(const Format& f, uint64_t random) {
  const uint64_t one = static_cast<uint64_t>(f.bias()) << f.fraction_bits;
  const uint64_t top = static_cast<uint64_t>((1 << f.exponent_bits) - 1) << f.fraction_bits;
  const uint64_t normal = uint64_t{1} << f.fraction_bits;
  uint64_t word = 0;
  switch ((random >> 8) % 8) {
    case 0:
      word = 0;
      break;
    case 1:
      word = top;
      break;
    case 2:
      word = one;
      break;
    case 3:
      word = normal;
      break;
    case 4:
      word = normal / 2;
      break;
    case 5:
      word = top - normal / 2;
      break;
    case 6:
      word = low_bits(random >> 32, f.exponent_bits) << f.fraction_bits;
      break;
    default:
      word = top + normal / 2;
      break;
  }
  const auto step = static_cast<int>((random >> 16) % 8);
  if (step >= 6) word += static_cast<uint64_t>(step - 5);
  if (step <= 1) word -= static_cast<uint64_t>(2 - step);
  word = low_bits(word, f.exponent_bits + f.fraction_bits);
  return (word | (random >> 63) << (f.exponent_bits + f.fraction_bits)) << f.padding_bits;
}

constexpr uint64_t edge_integer(int bits, uint64_t random) {
  const uint64_t half = uint64_t{1} << (bits - 1);
  switch ((random >> 8) % 8) {
    case 0:
      return low_bits((random >> 32) % 3, bits);
    case 1:
      return low_bits(half + (random >> 32) % 5 - 2, bits);
    case 2:
      return low_bits(0 - (random >> 32) % 4, bits);
    case 3:
      return low_bits(uint64_t{1} << ((random >> 32) % static_cast<unsigned>(bits)), bits);
    case 4:
      return low_bits((uint64_t{1} << ((random >> 32) % static_cast<unsigned>(bits))) - 1, bits);
    case 5:  // around halves of a unit in the last place of f32, f16, bf16
      return low_bits(((random >> 32) << ((random >> 16) % 40)) + ((random >> 24) & 1), bits);
    default:
      return low_bits(random, bits);
  }
}

/// Operand `position` of tuple `index`: a quarter of the tuples each have uniform words, exponents close to
/// each other around one, exponents at the ends of the range, and edges.
constexpr uint64_t element_operand(std::string_view type, unsigned position, uint64_t index) {
  const uint64_t random = mixed(0x7475726e7374696cu + position, index);
  const int bits = integer_bits(type);
  const uint64_t choice = mixed(0x6b696e64u, index);
  if (bits != 0) return choice % 4 == 0 ? low_bits(random, bits) : edge_integer(bits, random);
  const Format f = format_of(type);
  switch (choice % 4) {
    case 0:
      return low_bits(random, f.width());
    case 1: {
      // The exponents of a tuple lie within 5 of each other, a third of the tuples are near the smallest
      // number.
      const auto spread = static_cast<int>((random >> 54) % 6);
      const auto place = static_cast<int>(choice >> 8);
      const int base = (choice >> 40) % 3 == 0 ? 0 : f.bias() - 6 + (place & 7);
      return with_exponent(f, base + spread, random);
    }
    case 2: {
      const int ones = (1 << f.exponent_bits) - 1;
      const auto near = static_cast<int>((random >> 54) % 32);
      const auto where = (random >> 50) % 4;
      return with_exponent(f,
                           where == 0   ? near
                           : where == 1 ? ones - near
                                        : f.bias() / 2 * static_cast<int>(where - 1) + near,
                           random);
    }
    default:
      return edge_float(f, random);
  }
}

/// The same for register types: packed types hold two elements, e4m3x2 and e5m2x2 two bytes.
constexpr uint64_t register_operand(std::string_view type, unsigned position, uint64_t index) {
  if (type.size() > 2 && type.substr(type.size() - 2) == "x2") {
    const std::string_view element = type.substr(0, type.size() - 2);
    const int width =
        format_of(element).exponent_bits == 0 ? integer_bits(element) : format_of(element).width();
    return element_operand(element, position, 2 * index) | element_operand(element, position, 2 * index + 1)
                                                               << width;
  }
  return element_operand(type, position, index);
}

}  // namespace turnstile::numeric_probe
