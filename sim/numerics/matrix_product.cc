// SPDX-License-Identifier: Apache-2.0
#include "sim/numerics/matrix_product.h"

#include <bit>
#include <vector>

#include "model/must.h"
#include "sim/numerics/block_scaled.h"
#include "sim/numerics/fp8_emulation.h"
#include "sim/numerics/tensor_core.h"
#include "sim/numerics/tensor_core_tile.h"

namespace turnstile {

namespace {

TensorCoreUnit mma_unit(MatrixGeneration generation) {
  switch (generation) {
    case MatrixGeneration::volta:
      return TensorCoreUnit::volta_mma;
    case MatrixGeneration::turing:
      return TensorCoreUnit::turing_mma;
    case MatrixGeneration::ampere:
      return TensorCoreUnit::ampere_mma;
    case MatrixGeneration::ada:
      return TensorCoreUnit::ada_mma;
    case MatrixGeneration::hopper:
      return TensorCoreUnit::hopper_mma;
    case MatrixGeneration::blackwell:
      return TensorCoreUnit::blackwell_mma;
    case MatrixGeneration::rtx_blackwell:
      return TensorCoreUnit::rtx_blackwell_mma;
  }
  return TensorCoreUnit::volta_mma;
}

bool is_fp8(ElementType type) { return type == ElementType::e4m3 || type == ElementType::e5m2; }

MatrixArithmetic fused_arithmetic(const TensorCoreRow* row) {
  MatrixArithmetic result;
  if (row == nullptr) return result;
  result.model = MatrixModel::fused;
  result.row = row;
  result.a = shape_of(row->a);
  result.b = shape_of(row->b);
  result.accumulator = row->accumulator;
  result.operand_bits = static_cast<std::uint8_t>(8 * operand_bytes(row->a));
  return result;
}

/// Element `i` of a packed row, extended to 32 bits.
std::int32_t integer_element(std::span<const std::uint8_t> row, std::size_t i, unsigned bits,
                             bool is_signed) {
  const unsigned value = bits == 4 ? row[i / 2] >> (4 * (i % 2)) & 0xfu : row[i];
  const unsigned sign = 1u << (bits - 1);
  return static_cast<std::int32_t>(value) - (is_signed && (value & sign) != 0 ? 1 << bits : 0);
}

std::vector<std::int32_t> integer_elements(std::span<const std::uint8_t> packed, unsigned bits,
                                           bool is_signed) {
  std::vector<std::int32_t> out(packed.size() * 8 / bits);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = integer_element(packed, i, bits, is_signed);
  return out;
}

void multiply_integers(const MatrixArithmetic& how, std::size_t m, std::size_t n, std::size_t k,
                       std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                       std::span<std::uint32_t> d) {
  const std::vector<std::int32_t> left = integer_elements(a, how.operand_bits, how.a_signed);
  const std::vector<std::int32_t> right = integer_elements(b, how.operand_bits, how.b_signed);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      std::uint32_t& to = d[i * n + j];
      to = static_cast<std::uint32_t>(integer_dot_add(std::span(left).subspan(i * k, k),
                                                      std::span(right).subspan(j * k, k),
                                                      static_cast<std::int32_t>(to), how.saturates));
    }
}

void count_bits(bool unequal, std::size_t m, std::size_t n, std::size_t row_bytes,
                std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                std::span<std::uint32_t> d) {
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      unsigned count = 0;
      for (std::size_t x = 0; x < row_bytes; ++x) {
        const unsigned left = a[i * row_bytes + x], right = b[j * row_bytes + x];
        count += static_cast<unsigned>(std::popcount(unequal ? left ^ right : left & right));
      }
      d[i * n + j] += count;
    }
}

ElementType type_of(const FormatShape& fp8) {
  return fp8 == shape_of(ElementType::e5m2) ? ElementType::e5m2 : ElementType::e4m3;
}

void multiply_fp8_as_f16(const MatrixArithmetic& how, std::size_t m, std::size_t n, std::size_t k,
                         std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                         std::span<std::uint32_t> d) {
  const std::vector<std::uint32_t> left(a.begin(), a.end()), right(b.begin(), b.end());
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      d[i * n + j] = fp8_as_f16_dot_add(type_of(how.a), type_of(how.b), how.accumulator,
                                        std::span(left).subspan(i * k, k), std::span(right).subspan(j * k, k),
                                        d[i * n + j]);
}

/// FP6 and FP4 in bytes, and mixtures with FP8.
void multiply_narrow(const MatrixArithmetic& how, std::size_t m, std::size_t n, std::size_t k,
                     std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                     std::span<std::uint32_t> d) {
  const std::vector<std::uint32_t> left(a.begin(), a.end()), right(b.begin(), b.end());
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      d[i * n + j] = fused_dot_add(*how.row, how.a, how.b, std::span(left).subspan(i * k, k),
                                   std::span(right).subspan(j * k, k), d[i * n + j]);
}

/// Words of elements of 4 or 8 bits.
std::vector<std::uint32_t> narrow_words(std::span<const std::uint8_t> packed, unsigned bits) {
  if (bits == 8) return {packed.begin(), packed.end()};
  std::vector<std::uint32_t> out(packed.size() * 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = packed[i / 2] >> (4 * (i % 2)) & 0xfu;
  return out;
}

std::vector<std::uint64_t> doubles(std::span<const std::uint8_t> packed) {
  std::vector<std::uint64_t> out(packed.size() / 8);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = load_word(&packed[8 * i], 4) | std::uint64_t{load_word(&packed[8 * i + 4], 4)} << 32;
  return out;
}

}  // namespace

MatrixArithmetic mma_arithmetic(MatrixGeneration generation, ElementType a, ElementType b,
                                ElementType accumulator) {
  MatrixArithmetic result;
  result.a = shape_of(a);
  result.b = shape_of(b);
  result.accumulator = accumulator;
  if (a == ElementType::f64) {
    // I24 names sm_80 and sm_90.
    const bool known = generation >= MatrixGeneration::ampere && generation <= MatrixGeneration::hopper;
    if (known && b == a && accumulator == a) result.model = MatrixModel::f64_chain;
    result.operand_bits = 64;
    return result;
  }
  const bool unpacked = generation == MatrixGeneration::hopper || generation == MatrixGeneration::blackwell;
  if (unpacked && is_fp8(a) && is_fp8(b)) {
    result.model = MatrixModel::fp8_as_f16;
    result.operand_bits = 8;
    return result;
  }
  if (generation == MatrixGeneration::rtx_blackwell && is_fp8(a) && is_fp8(b))
    return narrow_mma_arithmetic(shape_of(a), shape_of(b), accumulator);
  return fused_arithmetic(find_tensor_core_row(mma_unit(generation), a, b, accumulator));
}

MatrixArithmetic wgmma_arithmetic(ElementType a, ElementType b, ElementType accumulator) {
  return fused_arithmetic(find_tensor_core_row(TensorCoreUnit::hopper_wgmma, a, b, accumulator));
}

namespace {

/// Formats that stand in a byte each: FP8, FP6 and FP4.
bool is_narrow(const FormatShape& shape) {
  return shape == shape_of(ElementType::e4m3) || shape == shape_of(ElementType::e5m2) ||
         shape == e2m3_shape || shape == e3m2_shape || shape == e2m1_shape;
}

/// The row of narrow formats of a unit (I21, I22), with these.
MatrixArithmetic narrow_arithmetic(TensorCoreUnit unit, const FormatShape& a, const FormatShape& b,
                                   ElementType accumulator) {
  if (!is_narrow(a) || !is_narrow(b)) return {};
  MatrixArithmetic result =
      fused_arithmetic(find_tensor_core_row(unit, ElementType::e4m3, ElementType::e4m3, accumulator));
  result.a = a;
  result.b = b;
  return result;
}

MatrixArithmetic scaled_arithmetic(TensorKind kind, const FormatShape& a, const FormatShape& b,
                                   const FormatShape& scale) {
  MatrixArithmetic result;
  if (kind == TensorKind::mxf8f6f4) {
    if (scale != ue8m0_shape) return result;
    result = narrow_arithmetic(TensorCoreUnit::blackwell_scaled, a, b, ElementType::f32);
    if (result.predicted()) result.model = MatrixModel::block_scaled;
  } else if (a == e2m1_shape && b == e2m1_shape && (scale == ue8m0_shape || scale == ue4m3_shape)) {
    result = fused_arithmetic(find_tensor_core_row(TensorCoreUnit::blackwell_fp4, ElementType::e4m3,
                                                   ElementType::e4m3, ElementType::f32));
    result.model = MatrixModel::group_scaled;
    result.a = a;
    result.b = b;
    result.operand_bits = 4;
  }
  result.scale = scale;
  return result;
}

}  // namespace

MatrixArithmetic tcgen05_arithmetic(TensorKind kind, const FormatShape& a, const FormatShape& b,
                                    ElementType accumulator, const FormatShape& scale) {
  constexpr TensorCoreUnit unit = TensorCoreUnit::blackwell_tcgen05;
  switch (kind) {
    case TensorKind::f16:
      for (const ElementType type : {ElementType::f16, ElementType::bf16})
        if (a == shape_of(type) && b == a)
          return fused_arithmetic(find_tensor_core_row(unit, type, type, accumulator));
      return {};
    case TensorKind::tf32:
      return fused_arithmetic(find_tensor_core_row(unit, ElementType::tf32, ElementType::tf32, accumulator));
    case TensorKind::f8f6f4:
      return narrow_arithmetic(unit, a, b, accumulator);
    case TensorKind::mxf8f6f4:
    case TensorKind::mxf4:
    case TensorKind::mxf4nvf4:
      return accumulator == ElementType::f32 ? scaled_arithmetic(kind, a, b, scale) : MatrixArithmetic{};
  }
  return {};
}

MatrixArithmetic scaled_mma_arithmetic(TensorKind kind, const FormatShape& a, const FormatShape& b,
                                       const FormatShape& scale) {
  return scaled_arithmetic(kind, a, b, scale);
}

MatrixArithmetic narrow_mma_arithmetic(const FormatShape& a, const FormatShape& b, ElementType accumulator) {
  return narrow_arithmetic(TensorCoreUnit::rtx_blackwell_mma, a, b, accumulator);
}

MatrixArithmetic integer_arithmetic(unsigned operand_bits, bool a_signed, bool b_signed, bool saturates) {
  must(operand_bits == 4 || operand_bits == 8, "integers of matrix instructions have 4 or 8 bits");
  MatrixArithmetic result;
  result.model = MatrixModel::integer;
  result.operand_bits = static_cast<std::uint8_t>(operand_bits);
  result.a_signed = a_signed;
  result.b_signed = b_signed;
  result.saturates = saturates;
  return result;
}

MatrixArithmetic bit_arithmetic(bool exclusive_or) {
  MatrixArithmetic result;
  result.model = exclusive_or ? MatrixModel::unequal_bits : MatrixModel::common_bits;
  result.operand_bits = 1;
  return result;
}

void multiply_matrices(const MatrixArithmetic& how, std::size_t m, std::size_t n, std::size_t k,
                       std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                       std::span<std::uint32_t> d) {
  const std::size_t row_bytes = k * how.operand_bits / 8;
  must(a.size() == m * row_bytes && b.size() == n * row_bytes && d.size() == m * n,
       "the operands of a matrix product have its shape");
  switch (how.model) {
    case MatrixModel::fused:
      if (how.a != shape_of(how.row->a) || how.b != shape_of(how.row->b))
        return multiply_narrow(how, m, n, k, a, b, d);
      multiply_accumulate(*how.row, m, n, k, a.data(), row_bytes, b.data(), row_bytes, d.data(), n);
      return;
    case MatrixModel::fp8_as_f16:
      multiply_fp8_as_f16(how, m, n, k, a, b, d);
      return;
    case MatrixModel::integer:
      multiply_integers(how, m, n, k, a, b, d);
      return;
    case MatrixModel::common_bits:
    case MatrixModel::unequal_bits:
      count_bits(how.model == MatrixModel::unequal_bits, m, n, row_bytes, a, b, d);
      return;
    case MatrixModel::block_scaled:
    case MatrixModel::group_scaled:
    case MatrixModel::f64_chain:
    case MatrixModel::none:
      break;
  }
  must(false, "a matrix product of words of 32 bits has a model");
}

void multiply_scaled(const MatrixArithmetic& how, std::size_t m, std::size_t n, std::size_t k,
                     std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::size_t blocks,
                     std::span<const std::uint8_t> a_scales, std::span<const std::uint8_t> b_scales,
                     std::span<std::uint32_t> d) {
  const std::size_t row_bytes = k * how.operand_bits / 8;
  must(a.size() == m * row_bytes && b.size() == n * row_bytes && d.size() == m * n &&
           a_scales.size() == m * blocks && b_scales.size() == n * blocks,
       "the operands of a matrix product have its shape");
  const std::vector<std::uint32_t> left = narrow_words(a, how.operand_bits),
                                   right = narrow_words(b, how.operand_bits),
                                   left_scales(a_scales.begin(), a_scales.end()),
                                   right_scales(b_scales.begin(), b_scales.end());
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const auto x = std::span(left).subspan(i * k, k), y = std::span(right).subspan(j * k, k);
      const auto x_scales = std::span(left_scales).subspan(i * blocks, blocks),
                 y_scales = std::span(right_scales).subspan(j * blocks, blocks);
      std::uint32_t& to = d[i * n + j];
      to = how.model == MatrixModel::block_scaled
               ? block_scaled_dot_add(*how.row, how.a, how.b, how.scale, x, y, x_scales, y_scales, to)
               : group_scaled_dot_add(*how.row, how.scale, x, y, x_scales, y_scales, to);
    }
}

void multiply_matrices_f64(std::size_t m, std::size_t n, std::size_t k, std::span<const std::uint8_t> a,
                           std::span<const std::uint8_t> b, std::span<std::uint64_t> d) {
  must(a.size() == 8 * m * k && b.size() == 8 * n * k && d.size() == m * n,
       "the operands of a matrix product have its shape");
  const std::vector<std::uint64_t> left = doubles(a), right = doubles(b);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      d[i * n + j] =
          f64_dot_add(std::span(left).subspan(i * k, k), std::span(right).subspan(j * k, k), d[i * n + j]);
}

}  // namespace turnstile
