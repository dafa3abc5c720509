// SPDX-License-Identifier: Apache-2.0
#pragma once

// T-FDPA for a block of columns at a time, one column a lane; bit-equal to the reference in tensor_core.cc
// where it decides. Included by one file for each width of vectors, which is compiled for processors that
// have them; in plain vector types of the compiler, so that all widths are one text.
//
// Per group, row and block:
//   1. the largest e_a + e_b over k, in lanes of 16 bits, and c give the alignment exponent E (T4);
//   2. a product of two floats with up to 11 significant bits each is exact, times 2^(F-E) too, and its
//      conversion to an integer truncates its magnitude: that is T5. The integers are added (T6): 16 products
//      of F = 25 stay below 2^31, c comes on top, and sums too close to 2^31 are left undecided;
//   3. the sum is cut to 24 bits by comparing its rounded float with it, and scaled back (T7).
// Rows are independent, and a row waits for the group before it: so the rows go in the inner loop.

#include "sim/numerics/tensor_core_lanes.h"

namespace turnstile {

namespace {

/// Vectors of half a block: `half` lanes of 32 bits; a block has two of them, or one of 16-bit lanes.
template <std::size_t bytes>
struct Lanes {
  static constexpr std::size_t half = bytes / 4;
  typedef float Floats __attribute__((vector_size(bytes)));  // `using` loses the attribute in g++ 12
  typedef std::int32_t Ints __attribute__((vector_size(bytes)));
  typedef std::uint32_t Words __attribute__((vector_size(bytes)));
  typedef std::int16_t Shorts __attribute__((vector_size(bytes)));
  typedef std::int16_t HalfShorts __attribute__((vector_size(bytes / 2)));
};

template <typename V, typename T>
inline V load_lanes(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <typename To, typename From>
inline To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

/// The arithmetic of half a block.
template <std::size_t bytes>
struct HalfBlock {
  using L = Lanes<bytes>;
  using Floats = typename L::Floats;
  using Ints = typename L::Ints;
  using Words = typename L::Words;

  static Ints select(const Ints& mask, const Ints& yes, const Ints& no) {
    return (mask & yes) | (~mask & no);
  }
  static Ints larger(const Ints& x, const Ints& y) { return x > y ? x : y; }
  static Ints smaller(const Ints& x, const Ints& y) { return x < y ? x : y; }
  static Ints splat(std::int32_t x) { return Ints{} + x; }
  /// 2^e for -126 <= e <= 127.
  static Floats power(const Ints& e) { return same_bits<Floats>((e + 127) << 23); }

  /// The accumulators as floats, their exponents (T1) and what is special about them.
  struct Accumulators {
    Floats value;
    Ints exponent, sign, special, nan;
  };
  static Accumulators of_f32(const Ints& c) {
    const Ints magnitude = c & 0x7fffffff, field = magnitude >> 23;
    Accumulators r;
    r.value = same_bits<Floats>(c);
    r.exponent = select(magnitude == 0, splat(lane_zero_exponent), larger(field, splat(1)) - 127);
    r.sign = c >> 31;
    r.special = field == 255;
    r.nan = magnitude > 0x7f800000;
    return r;
  }
  static Accumulators of_f16(const Ints& c) {
    const Ints magnitude = c & 0x7fff, field = magnitude >> 10, fraction = magnitude & 0x3ff;
    Accumulators r;
    const Ints sign = (c >> 15 & 1) == 1;
    const Floats subnormal = __builtin_convertvector(fraction, Floats) * power(splat(-24));
    const Ints normal = (field + 112) << 23 | fraction << 13;
    const Ints bits = select(field == 0, same_bits<Ints>(subnormal), normal);
    r.value = same_bits<Floats>(bits | (sign & splat(INT32_MIN)));
    r.exponent = select(magnitude == 0, splat(lane_zero_exponent), larger(field, splat(1)) - 15);
    r.sign = sign;
    r.special = field == 31;
    r.nan = magnitude > 0x7c00;
    return r;
  }

  /// |sum| as a float, truncated; with `sticky`, its last bit says that something was lost.
  static Floats truncated(const Ints& magnitude, bool sticky) {
    const Floats rounded = __builtin_convertvector(magnitude, Floats);
    const Ints back = __builtin_convertvector(rounded, Ints);
    const Ints cut = same_bits<Ints>(rounded) + (back > magnitude);  // a true comparison is -1
    if (!sticky) return same_bits<Floats>(cut);
    return same_bits<Floats>(cut | ((back != magnitude) & 1));
  }

  /// One rounding of a float with at most 24 bits, the last of them sticky, to f16; without sign.
  static Ints to_f16(const Floats& value) {
    const Ints bits = smaller(same_bits<Ints>(value), splat(0x47800000));  // from 65536 on: infinity
    // Adding 2^(e+13) leaves the last place of f16 as the last of the sum.
    const Ints grid = larger(bits & 0x7f800000, splat((127 - 14) << 23)) + (13 << 23);
    const Floats magic = same_bits<Floats>(grid);
    const Floats rounded = (same_bits<Floats>(bits) + magic) - magic;
    const Ints rounded_bits = same_bits<Ints>(rounded);
    const Ints subnormal = __builtin_convertvector(rounded * power(splat(24)), Ints);
    const Ints normal = (rounded_bits >> 13) - (112 << 10);
    const Ints result = select(rounded_bits < (113 << 23), subnormal, normal);
    return smaller(result, splat(0x7c00));
  }

  /// From the alignment exponent, the sums of products and c to the new accumulators; `undecided` gets the
  /// lanes that it cannot do.
  static Ints finish(const LaneGroup& g, const Accumulators& c, const Ints& old, const Ints& alignment,
                     const Ints& products, const Ints& too_large, Ints& undecided) {
    // In two factors: F - E may be beyond the exponents of a float.
    const Ints down = splat(g.fraction_bits) - alignment, down_1 = down >> 1;
    const Floats scaled_c = c.value * power(down_1) * power(down - down_1);
    const Ints sum = products + __builtin_convertvector(scaled_c, Ints);
    const Ints sign = sum >> 31, magnitude = (sum ^ sign) - sign;
    const Ints up = -down, up_1 = up >> 1;
    const Floats back_1 = power(up_1), back_2 = power(up - up_1);
    Ints result;
    Ints unsure = too_large | ((sum == 0) & c.sign);  // T8: a zero that may have a minus sign
    if (g.rounding == 2) {
      const Ints half = to_f16(truncated(magnitude, true) * back_1 * back_2);
      result = half | (sign & 0x8000 & (half != 0));
      unsure |= (half == 0) & c.sign;
    } else {
      const Floats value = truncated(magnitude, false) * back_1 * back_2;
      Ints bits = same_bits<Ints>(value);
      if (g.rounding == 1) bits = select(bits >= 0x7f800000, bits, bits & ~0x3ff);
      unsure |= (bits <= 0x00800000) & (sum != 0);  // subnormal, or rounded on the way there
      result = bits | (sign & splat(INT32_MIN));
    }
    // Without specials in A and B an infinite c stays and a NaN becomes canonical (T2).
    const Ints canonical = splat(g.rounding == 2 ? 0x7fff : 0x7fffffff);
    result = select(c.special, select(c.nan, canonical, old), result);
    undecided = unsure & ~c.special;
    return select(undecided, old, result);
  }
};

/// Bit i of the mask: lane i is all ones.
template <std::size_t bytes>
inline std::uint32_t mask_of(const typename Lanes<bytes>::Ints& lanes) {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < Lanes<bytes>::half; ++i) mask |= static_cast<std::uint32_t>(lanes[i] & 1) << i;
  return mask;
}

template <std::size_t bytes>
void accumulate_lanes(const LaneGroup& g) {
  using L = Lanes<bytes>;
  using H = HalfBlock<bytes>;
  using Ints = typename L::Ints;
  using Words = typename L::Words;
  using Floats = typename L::Floats;
  using Shorts = typename L::Shorts;
  constexpr std::size_t half = L::half, lanes = 2 * half;
  constexpr std::size_t of_sum = 16;  // products of which the sum stays below 2^31 (T6)
  const std::int32_t limit = g.count > of_sum && g.fraction_bits > 20 ? 0x38000000 : 0x78000000;
  const bool halves = g.rounding == 2;

  for (std::size_t row = 0; row < g.rows; ++row) {
    std::uint32_t* d = g.d + row * lanes;
    if (g.a_specials[row * g.specials_stride] != 0) {
      g.undecided[row] = lanes == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << (lanes % 32)) - 1;
      continue;
    }
    const float* a_values = g.a_values + row * g.a_stride;
    const std::int16_t* a_exponents = g.a_exponents + row * g.a_stride;
    Shorts largest = Shorts{} + static_cast<std::int16_t>(2 * lane_zero_exponent);
    for (std::size_t k = 0; k < g.count; ++k) {
      const Shorts e = load_lanes<Shorts>(g.b_exponents + k * lanes) + a_exponents[k];
      largest = e > largest ? e : largest;
    }
    typename L::HalfShorts parts[2];
    __builtin_memcpy(parts, &largest, sizeof largest);

    Ints old[2], alignment[2], products[2], too_large[2];
    typename H::Accumulators c[2];
    for (std::size_t h = 0; h < 2; ++h) {
      old[h] = load_lanes<Ints>(d + h * half);
      c[h] = halves ? H::of_f16(old[h]) : H::of_f32(old[h]);
      alignment[h] =
          H::larger(H::larger(__builtin_convertvector(parts[h], Ints), c[h].exponent), H::splat(g.e_zero));
      products[h] = Ints{};
      too_large[h] = Ints{};
    }
    for (std::size_t first = 0; first < g.count; first += of_sum) {
      const std::size_t end = g.count < first + of_sum ? g.count : first + of_sum;
      Words sum[2] = {Words{}, Words{}};
      if (!g.full_range) {
        // Where 2^(F-E) is beyond a float, all products are zero.
        const Floats scale[2] = {
            H::power(H::smaller(H::splat(g.fraction_bits) - alignment[0], H::splat(127))),
            H::power(H::smaller(H::splat(g.fraction_bits) - alignment[1], H::splat(127)))};
        for (std::size_t k = first; k < end; ++k)
          for (std::size_t h = 0; h < 2; ++h) {
            const Floats product =
                load_lanes<Floats>(g.b_values + k * lanes + h * half) * a_values[k] * scale[h];
            sum[h] += same_bits<Words>(__builtin_convertvector(product, Ints));
          }
      } else {
        const float* a_significands = g.a_significands + row * g.a_stride;
        for (std::size_t k = first; k < end; ++k) {
          const Shorts e = load_lanes<Shorts>(g.b_exponents + k * lanes) + a_exponents[k];
          typename L::HalfShorts of_half[2];
          __builtin_memcpy(of_half, &e, sizeof e);
          for (std::size_t h = 0; h < 2; ++h) {
            const Ints shift = __builtin_convertvector(of_half[h], Ints) + g.fraction_bits - alignment[h];
            const Floats product =
                load_lanes<Floats>(g.b_significands + k * lanes + h * half) * a_significands[k];
            const Floats scaled = product * H::power(H::larger(shift, H::splat(-126)));
            sum[h] += same_bits<Words>(__builtin_convertvector(scaled, Ints));
          }
        }
      }
      for (std::size_t h = 0; h < 2; ++h) {
        const Ints part = same_bits<Ints>(sum[h]);
        too_large[h] |= (part > limit) | (part < -limit);
        products[h] = same_bits<Ints>(same_bits<Words>(products[h]) + sum[h]);
      }
    }
    std::uint32_t undecided = g.b_specials;
    for (std::size_t h = 0; h < 2; ++h) {
      Ints unsure;
      Ints result = H::finish(g, c[h], old[h], alignment[h], products[h], too_large[h], unsure);
      std::uint32_t any = 0;
      for (std::size_t i = 0; i < half; ++i) any |= static_cast<std::uint32_t>(unsure[i]);
      if (any != 0) undecided |= mask_of<bytes>(unsure) << (h * half);
      __builtin_memcpy(d + h * half, &result, sizeof result);
    }
    if (g.b_specials != 0) {
      // Columns with a special keep their accumulator.
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t i = 0; i < half; ++i)
          if ((g.b_specials >> (h * half + i) & 1) != 0)
            d[h * half + i] = static_cast<std::uint32_t>(old[h][i]);
    }
    g.undecided[row] = undecided;
  }
}

}  // namespace

}  // namespace turnstile
