// SPDX-License-Identifier: Apache-2.0
// T-FDPA for 16-bit operands, eight output columns at a time, bit-equal to the reference in tensor_core.cc.
//
// An operand is one 32-bit lane: exponent in the high half, signed significand in the low half. Per group and
// eight columns:
//   1. max over k of the packed lanes gives the alignment exponent E (T4) in the high half;
//   2. per k, madd gives the signed product, srlv cuts its magnitude to the grid (T5), the lanes are summed;
//      for F <= 25 and L <= 16 the products fit 32 bits (T6), but not with c, so c is added as doubles;
//   3. the sum is an exact double, truncated to f32 by masking (T7).
// A lane the vector cannot decide (operand special, subnormal result, zero sum with negative c) is computed
// again by the reference from the same c.
#include "sim/numerics/tensor_core_tile.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace turnstile {

namespace {

constexpr std::size_t lane_count = 8;

/// Exponent of a zero: low enough that no product with it is the largest, and twice it still fits 16 bits.
constexpr int zero_exponent = -8000;

/// What turns a 16-bit word into a lane.
struct OperandLayout {
  int fraction_bits;
  int exponent_ones;
  int bias;
  int pre_shift;  ///< the significand is multiplied by 2^pre_shift
};

OperandLayout layout_of(ElementType type, int pre_shift) {
  const FormatShape shape = shape_of(type);
  return {shape.fraction_bits, shape.exponent_ones(), shape.bias(), pre_shift};
}

/// Eight words, zero-extended, as exponents and signed significands; specials as a bit mask of lanes.
struct SplitOperands {
  __m256i exponent;
  __m256i significand;
  int specials;
};

__attribute__((target("avx2"))) inline SplitOperands split(const OperandLayout& layout, __m256i words) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi32(layout.exponent_ones);
  const __m256i field =
      _mm256_and_si256(_mm256_srl_epi32(words, _mm_cvtsi32_si128(layout.fraction_bits)), ones);
  const __m256i fraction = _mm256_and_si256(words, _mm256_set1_epi32((1 << layout.fraction_bits) - 1));
  const __m256i special = _mm256_cmpeq_epi32(field, ones);
  const __m256i subnormal = _mm256_cmpeq_epi32(field, zero);
  const __m256i leading = _mm256_andnot_si256(subnormal, _mm256_set1_epi32(1 << layout.fraction_bits));
  const __m256i magnitude = _mm256_or_si256(fraction, leading);
  const __m256i is_zero = _mm256_cmpeq_epi32(magnitude, zero);
  // A subnormal has the exponent of field 1; subtracting the all-ones mask adds that 1.
  const __m256i exponent =
      _mm256_sub_epi32(_mm256_sub_epi32(field, subnormal), _mm256_set1_epi32(layout.bias));
  const __m256i sign = _mm256_srai_epi32(_mm256_slli_epi32(words, 16), 31);
  const __m256i shifted = _mm256_sll_epi32(magnitude, _mm_cvtsi32_si128(layout.pre_shift));
  SplitOperands result;
  result.exponent = _mm256_blendv_epi8(exponent, _mm256_set1_epi32(zero_exponent), is_zero);
  result.significand = _mm256_sub_epi32(_mm256_xor_si256(shifted, sign), sign);
  result.specials = _mm256_movemask_ps(_mm256_castsi256_ps(special));
  return result;
}

/// A as two arrays of broadcastable words: exponent in the high half, significand in the low half. Rows are
/// padded to a multiple of eight k.
struct LeftOperand {
  std::size_t stride = 0;
  std::vector<std::int32_t> exponents;
  std::vector<std::int32_t> significands;
  std::vector<std::uint8_t> specials;  ///< per row and group: any NaN or infinity
};

/// B as lanes [block of 8 columns][k][8], and per block and group the mask of lanes with a special.
struct RightOperand {
  std::vector<std::int32_t> lanes;
  std::vector<std::uint8_t> specials;
};

__attribute__((target("avx2"))) LeftOperand pack_left(const MatrixTile& tile, const OperandLayout& layout,
                                                      std::size_t group, std::size_t groups) {
  LeftOperand left;
  left.stride = (tile.k + lane_count - 1) / lane_count * lane_count;
  left.exponents.resize(tile.m * left.stride);
  left.significands.resize(tile.m * left.stride);
  left.specials.resize(tile.m * groups);
  const __m256i low_half = _mm256_set1_epi32(0xffff);
  for (std::size_t i = 0; i < tile.m; ++i) {
    for (std::size_t k = 0; k < tile.k; k += lane_count) {
      alignas(16) std::uint16_t words[lane_count] = {};
      std::memcpy(words, tile.a + i * tile.lda + k, std::min(lane_count, tile.k - k) * sizeof(std::uint16_t));
      const __m128i packed = _mm_load_si128(reinterpret_cast<const __m128i*>(words));
      const SplitOperands operands = split(layout, _mm256_cvtepu16_epi32(packed));
      const std::size_t at = i * left.stride + k;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(&left.exponents[at]),
                          _mm256_slli_epi32(operands.exponent, 16));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(&left.significands[at]),
                          _mm256_and_si256(operands.significand, low_half));
      for (std::size_t lane = 0; lane < lane_count; ++lane)
        if (((operands.specials >> lane) & 1) != 0) left.specials[i * groups + (k + lane) / group] = 1;
    }
  }
  return left;
}

__attribute__((target("avx2"))) RightOperand pack_right(const MatrixTile& tile, const OperandLayout& layout,
                                                        std::size_t group, std::size_t groups) {
  const std::size_t blocks = (tile.n + lane_count - 1) / lane_count;
  RightOperand right;
  right.lanes.resize(blocks * tile.k * lane_count);
  right.specials.resize(blocks * groups);
  const __m256i low_half = _mm256_set1_epi32(0xffff);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::int32_t* lanes = right.lanes.data() + block * tile.k * lane_count;
    const std::size_t columns = std::min(lane_count, tile.n - block * lane_count);
    for (std::size_t lane = 0; lane < columns; ++lane) {
      const std::uint16_t* source = tile.b + (block * lane_count + lane) * tile.ldb;
      for (std::size_t k = 0; k < tile.k; ++k) lanes[k * lane_count + lane] = source[k];
    }
    for (std::size_t k = 0; k < tile.k; ++k) {
      auto* at = reinterpret_cast<__m256i*>(lanes + k * lane_count);
      const SplitOperands operands = split(layout, _mm256_loadu_si256(at));
      _mm256_storeu_si256(at, _mm256_or_si256(_mm256_slli_epi32(operands.exponent, 16),
                                              _mm256_and_si256(operands.significand, low_half)));
      std::uint8_t& specials = right.specials[block * groups + k / group];
      specials = static_cast<std::uint8_t>(specials | operands.specials);
    }
  }
  return right;
}

/// The accumulators of one group as exponents and signed significands in units of 2^(e-F).
struct SplitAccumulators {
  __m256i exponent;
  __m256i magnitude;
  __m256i sign;     ///< all ones where negative
  __m256i special;  ///< all ones for infinity and NaN
};

__attribute__((target("avx2"))) inline SplitAccumulators split_accumulators(__m256i c, int fraction_bits) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi32(0xff);
  const __m256i field = _mm256_and_si256(_mm256_srli_epi32(c, 23), ones);
  const __m256i fraction = _mm256_and_si256(c, _mm256_set1_epi32(0x7fffff));
  const __m256i subnormal = _mm256_cmpeq_epi32(field, zero);
  const __m256i magnitude =
      _mm256_or_si256(fraction, _mm256_andnot_si256(subnormal, _mm256_set1_epi32(0x800000)));
  const __m256i exponent = _mm256_sub_epi32(_mm256_sub_epi32(field, subnormal), _mm256_set1_epi32(127));
  SplitAccumulators result;
  result.exponent =
      _mm256_blendv_epi8(exponent, _mm256_set1_epi32(zero_exponent), _mm256_cmpeq_epi32(magnitude, zero));
  result.magnitude = _mm256_sll_epi32(magnitude, _mm_cvtsi32_si128(fraction_bits - 23));
  result.sign = _mm256_srai_epi32(c, 31);
  result.special = _mm256_cmpeq_epi32(field, ones);
  return result;
}

/// T7 for four lanes: (products + accumulators) * 2^unit truncated to f32. Exact up to the masking: the sum
/// has 33 bits, the scale is a power of two well inside the range of double. Overflow becomes infinity in the
/// last conversion, since the masked value is a float or at least 2^128.
__attribute__((target("avx2"))) inline __m128 truncated_sum(__m128i products, __m128i accumulators,
                                                            __m128i unit) {
  const __m256d sum = _mm256_add_pd(_mm256_cvtepi32_pd(products), _mm256_cvtepi32_pd(accumulators));
  const __m256i biased = _mm256_cvtepi32_epi64(_mm_add_epi32(unit, _mm_set1_epi32(1023)));
  const __m256d scale = _mm256_castsi256_pd(_mm256_slli_epi64(biased, 52));
  const __m256d mask = _mm256_castsi256_pd(_mm256_set1_epi64x(~((std::int64_t{1} << 29) - 1)));
  return _mm256_cvtpd_ps(_mm256_and_pd(_mm256_mul_pd(sum, scale), mask));
}

struct GroupResult {
  __m256i d;
  int undecided;  ///< lanes the reference must compute
};

/// One group of `count` products for eight columns.
__attribute__((target("avx2"))) inline GroupResult accumulate_group(const TensorCoreRow& row,
                                                                    const std::int32_t* a_exponents,
                                                                    const std::int32_t* a_significands,
                                                                    const std::int32_t* b, std::size_t count,
                                                                    __m256i c) {
  __m256i largest = _mm256_set1_epi32(2 * zero_exponent * 65536);
  for (std::size_t k = 0; k < count; ++k) {
    const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + k * lane_count));
    largest = _mm256_max_epi32(largest, _mm256_add_epi32(lanes, _mm256_set1_epi32(a_exponents[k])));
  }
  const SplitAccumulators accumulators = split_accumulators(c, row.fraction_bits);
  __m256i alignment = _mm256_max_epi32(_mm256_srai_epi32(largest, 16), accumulators.exponent);
  alignment = _mm256_max_epi32(alignment, _mm256_set1_epi32(row.e_zero));

  // With the low half all ones, subtracting a packed lane never borrows into the exponents.
  const __m256i packed_alignment =
      _mm256_or_si256(_mm256_slli_epi32(alignment, 16), _mm256_set1_epi32(0xffff));
  __m256i products = _mm256_setzero_si256();
  for (std::size_t k = 0; k < count; ++k) {
    const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + k * lane_count));
    const __m256i packed = _mm256_add_epi32(lanes, _mm256_set1_epi32(a_exponents[k]));
    const __m256i distance = _mm256_srli_epi32(_mm256_sub_epi32(packed_alignment, packed), 16);
    // The high half of a is zero here, so the exponent half of b does not enter.
    const __m256i product = _mm256_madd_epi16(lanes, _mm256_set1_epi32(a_significands[k]));
    const __m256i magnitude = _mm256_srlv_epi32(_mm256_abs_epi32(product), distance);
    products = _mm256_add_epi32(products, _mm256_sign_epi32(magnitude, product));
  }
  const __m256i c_distance = _mm256_sub_epi32(alignment, accumulators.exponent);
  const __m256i c_magnitude = _mm256_srlv_epi32(accumulators.magnitude, c_distance);
  const __m256i c_term =
      _mm256_sub_epi32(_mm256_xor_si256(c_magnitude, accumulators.sign), accumulators.sign);

  const __m256i unit = _mm256_sub_epi32(alignment, _mm256_set1_epi32(row.fraction_bits));
  const __m128 low = truncated_sum(_mm256_castsi256_si128(products), _mm256_castsi256_si128(c_term),
                                   _mm256_castsi256_si128(unit));
  const __m128 high = truncated_sum(_mm256_extracti128_si256(products, 1),
                                    _mm256_extracti128_si256(c_term, 1), _mm256_extracti128_si256(unit, 1));
  __m256i d = _mm256_castps_si256(_mm256_set_m128(high, low));

  // Up to the smallest normal number the conversion may have rounded. A zero sum is +0 as computed, unless c
  // was negative and all products may be too (T8).
  const __m256i zero = _mm256_setzero_si256();
  const __m256i d_magnitude = _mm256_and_si256(d, _mm256_set1_epi32(0x7fffffff));
  const __m256i tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800001), d_magnitude);
  const __m256i zero_sum = _mm256_cmpeq_epi32(_mm256_add_epi32(products, c_term), zero);
  const __m256i plain_zero = _mm256_andnot_si256(accumulators.sign, zero_sum);
  const __m256i undecided = _mm256_andnot_si256(accumulators.special, _mm256_andnot_si256(plain_zero, tiny));

  // Without specials in a and b, an infinite c stays and a NaN becomes canonical (T2).
  const __m256i c_is_nan =
      _mm256_cmpgt_epi32(_mm256_and_si256(c, _mm256_set1_epi32(0x7fffffff)), _mm256_set1_epi32(0x7f800000));
  const __m256i special_c = _mm256_blendv_epi8(c, _mm256_set1_epi32(0x7fffffff), c_is_nan);
  d = _mm256_blendv_epi8(d, special_c, accumulators.special);
  return {d, _mm256_movemask_ps(_mm256_castsi256_ps(undecided))};
}

/// The lanes of `mask` by the reference.
void recompute(const TensorCoreRow& row, const MatrixTile& tile, std::size_t i, std::size_t first_column,
               std::size_t first_k, std::size_t count, unsigned mask, const std::uint32_t* c,
               std::uint32_t* d) {
  constexpr std::size_t largest_group = 16;
  std::uint32_t a[largest_group];
  std::uint32_t b[largest_group];
  for (std::size_t k = 0; k < count; ++k) a[k] = tile.a[i * tile.lda + first_k + k];
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(mask));
    const std::uint16_t* column = tile.b + (first_column + lane) * tile.ldb + first_k;
    for (std::size_t k = 0; k < count; ++k) b[k] = column[k];
    d[lane] = fused_dot_add(row, std::span<const std::uint32_t>(a, count),
                            std::span<const std::uint32_t>(b, count), c[lane]);
  }
}

}  // namespace

bool avx2_on_this_machine() { return __builtin_cpu_supports("avx2") != 0; }

__attribute__((target("avx2"))) void multiply_accumulate_avx2(const TensorCoreRow& row,
                                                              const MatrixTile& tile) {
  const std::size_t group = row.group;
  const std::size_t groups = (tile.k + group - 1) / group;
  // The products must come out in units of 2^(e-F): their own 2f fraction bits plus the two pre-shifts are F.
  const int pre_shift = row.fraction_bits - 2 * shape_of(row.a).fraction_bits;
  const LeftOperand left = pack_left(tile, layout_of(row.a, (pre_shift + 1) / 2), group, groups);
  const RightOperand right = pack_right(tile, layout_of(row.b, pre_shift / 2), group, groups);

  for (std::size_t column = 0; column < tile.n; column += lane_count) {
    const std::size_t columns = std::min(lane_count, tile.n - column);
    const unsigned column_mask = (1u << columns) - 1;
    const std::size_t block = column / lane_count;
    for (std::size_t i = 0; i < tile.m; ++i) {
      std::uint32_t* d = tile.d + i * tile.ldd + column;
      alignas(32) std::uint32_t lanes[lane_count] = {};
      std::memcpy(lanes, d, columns * sizeof(std::uint32_t));
      __m256i c = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes));
      for (std::size_t g = 0; g < groups; ++g) {
        const std::size_t first = g * group;
        const std::size_t count = std::min(group, tile.k - first);
        const std::size_t at = i * left.stride + first;
        const GroupResult result =
            accumulate_group(row, &left.exponents[at], &left.significands[at],
                             &right.lanes[(block * tile.k + first) * lane_count], count, c);
        unsigned slow = static_cast<unsigned>(result.undecided) | right.specials[block * groups + g];
        if (left.specials[i * groups + g] != 0) slow = column_mask;
        slow &= column_mask;
        if (slow != 0) [[unlikely]] {
          alignas(32) std::uint32_t before[lane_count];
          _mm256_store_si256(reinterpret_cast<__m256i*>(before), c);
          _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), result.d);
          recompute(row, tile, i, column, first, count, slow, before, lanes);
          c = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes));
        } else {
          c = result.d;
        }
      }
      _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), c);
      std::memcpy(d, lanes, columns * sizeof(std::uint32_t));
    }
  }
}

}  // namespace turnstile

#else

#include "model/must.h"

namespace turnstile {

bool avx2_on_this_machine() { return false; }

void multiply_accumulate_avx2(const TensorCoreRow&, const MatrixTile&) {
  must(false, "the AVX2 path was called on a machine without AVX2");
}

}  // namespace turnstile

#endif
