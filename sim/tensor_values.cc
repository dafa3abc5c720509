// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_values.h"

#include <algorithm>

#include "sim/cta.h"
#include "sim/numerics/matrix_product.h"
#include "sim/tensor_area.h"

namespace turnstile::sim {

namespace {

constexpr uint32_t k_bytes = 32;  ///< of one instruction, in every kind

/// Formats of A and B by their code in the instruction descriptor.
std::optional<FormatShape> operand_format(std::string_view kind, uint32_t code) {
  if (kind == "f16")
    return code == 0   ? std::optional(shape_of(ElementType::f16))
           : code == 1 ? std::optional(shape_of(ElementType::bf16))
                       : std::nullopt;
  if (kind == "tf32") return code == 2 ? std::optional(shape_of(ElementType::tf32)) : std::nullopt;
  if (kind == "mxf4" || kind == "mxf4nvf4") return code == 1 ? std::optional(e2m1_shape) : std::nullopt;
  switch (code) {
    case 0:
      return shape_of(ElementType::e4m3);
    case 1:
      return shape_of(ElementType::e5m2);
    case 3:
      return e2m3_shape;
    case 4:
      return e3m2_shape;
    case 5:
      return e2m1_shape;
    default:
      return std::nullopt;
  }
}

std::optional<TensorKind> kind_of(std::string_view kind) {
  if (kind == "f16") return TensorKind::f16;
  if (kind == "tf32") return TensorKind::tf32;
  if (kind == "f8f6f4") return TensorKind::f8f6f4;
  if (kind == "mxf8f6f4") return TensorKind::mxf8f6f4;
  if (kind == "mxf4") return TensorKind::mxf4;
  if (kind == "mxf4nvf4") return TensorKind::mxf4nvf4;
  return std::nullopt;
}

/// Lane of row r of D, of 64 or 128 rows (PTX ISA 9.7.16.10.5, layouts F and D).
uint32_t row_lane(uint64_t address, uint32_t m, uint32_t r) {
  if (m == 128) return tensor_lane(address) + r;
  return tensor_lane(address) % 32 + 32 * (r / 16) + r % 16;
}

/// Shared memory holds 16 elements of 6 or 4 bits packed in 16 bytes that end in padding (b6x16_p32,
/// b4x16_p64): each gets a byte of its own.
void spread_chunks(std::vector<uint8_t>& bytes, unsigned bits) {
  for (size_t chunk = 0; chunk + 16 <= bytes.size(); chunk += 16) {
    uint8_t out[16];
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned bit = i * bits;
      const unsigned pair = bytes[chunk + bit / 8] | unsigned{bytes[chunk + bit / 8 + 1]} << 8;
      out[i] = static_cast<uint8_t>(pair >> (bit % 8) & ((1u << bits) - 1));
    }
    std::copy_n(out, 16, &bytes[chunk]);
  }
}

/// A format narrower than the byte that it has in shared memory; 0: it fills it.
unsigned narrow_bits(const MatrixArithmetic& how, const FormatShape& format) {
  const auto width = static_cast<unsigned>(format.width());
  return how.operand_bits == 8 && how.model != MatrixModel::integer && width < 8 ? width : 0;
}

/// Flips the sign of each element.
void negate_elements(std::vector<uint8_t>& bytes, const MatrixArithmetic& how, const FormatShape& format) {
  if (how.operand_bits == 4) {
    for (uint8_t& b : bytes) b ^= 0x88;
    return;
  }
  const size_t step = how.operand_bits / 8u;
  const unsigned bit = (static_cast<unsigned>(format.width()) - 1) % 8;
  for (size_t at = step - 1; at < bytes.size(); at += step) bytes[at] ^= static_cast<uint8_t>(1u << bit);
}

std::optional<std::vector<uint8_t>> operand_rows(const Cta& cta, const TensorProduct& p, bool of_b) {
  const FormatShape& format = of_b ? p.arithmetic.b : p.arithmetic.a;
  const uint32_t rows = of_b ? p.n : p.m;
  std::optional<std::vector<uint8_t>> bytes;
  if (!of_b && p.a_in_tensor) {
    if (narrow_bits(p.arithmetic, format) != 0) return std::nullopt;  // how they lie there is not modelled
    bytes.emplace(size_t{rows} * k_bytes);
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t c = 0; c < k_bytes / 4; ++c) {
        const uint32_t lane = row_lane(p.a_address, p.m, r), column = tensor_column(p.a_address) + c;
        if (!cta.tensor.contents.known(lane, column)) return std::nullopt;
        const uint32_t word = cta.tensor.contents.get(lane, column);
        for (uint32_t b = 0; b < 4; ++b)
          (*bytes)[size_t{r} * k_bytes + 4 * c + b] = static_cast<uint8_t>(word >> (8 * b));
      }
  } else {
    const bool mn_major = of_b ? p.b_mn_major : p.a_mn_major;
    if (mn_major && p.arithmetic.operand_bits != 16) return std::nullopt;  // gathered for 16-bit types only
    bytes = operand_bytes_of_k(cta, of_b ? p.b : p.a, mn_major, rows);
    if (!bytes) return bytes;
    if (const unsigned bits = narrow_bits(p.arithmetic, format); bits != 0) spread_chunks(*bytes, bits);
  }
  if (of_b ? p.b_negated : p.a_negated) negate_elements(*bytes, p.arithmetic, format);
  return bytes;
}

/// Scales of `rows` rows: row r in lane r % 32 of column r / 32, the same in all four quarters.
std::optional<std::vector<uint8_t>> scales_of(const Cta& cta, uint64_t address, uint32_t rows,
                                              uint32_t first_byte, uint32_t blocks) {
  std::vector<uint8_t> out;
  const TensorContents& contents = cta.tensor.contents;
  if (first_byte + blocks > 4) return std::nullopt;
  for (uint32_t r = 0; r < rows; ++r) {
    const uint32_t column = tensor_column(address) + r / 32;
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      const uint32_t lane = r % 32 + 32 * quarter;
      if (!contents.known(lane, column)) return std::nullopt;
      if (contents.get(lane, column) != contents.get(r % 32, column)) return std::nullopt;
    }
    for (uint32_t b = first_byte; b < first_byte + blocks; ++b)
      out.push_back(static_cast<uint8_t>(contents.get(r % 32, column) >> (8 * b)));
  }
  return out;
}

}  // namespace

std::optional<TensorPlace> tensor_access_place(std::string_view shape, uint32_t thread, uint32_t i) {
  if (shape == "32x32b") return TensorPlace{thread, i};
  if (shape == "16x128b") return TensorPlace{thread / 4 + 8 * (i % 2), 4 * (i / 2) + thread % 4};
  if (shape == "16x256b")
    return TensorPlace{thread / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (thread % 4) + i % 2};
  return std::nullopt;
}

TensorProduct read_instruction_descriptor(std::string_view kind, uint32_t descriptor, uint32_t blocks) {
  TensorProduct p;
  p.m = (descriptor >> 24 & 0x1f) << 4;
  p.n = (descriptor >> 17 & 0x3f) << 3;
  p.a_mn_major = (descriptor >> 15 & 1) != 0;
  p.b_mn_major = (descriptor >> 16 & 1) != 0;
  p.a_negated = (descriptor >> 13 & 1) != 0;
  p.b_negated = (descriptor >> 14 & 1) != 0;
  p.scale_blocks = blocks;
  const uint32_t a_code = descriptor >> 7 & 7, b_code = descriptor >> 10 & 7, d_code = descriptor >> 4 & 3;
  if (kind == "i8") {
    const bool fits = a_code <= 1 && b_code <= 1 && d_code == 2 && !p.a_negated && !p.b_negated;
    if (fits) p.arithmetic = integer_arithmetic(8, a_code == 1, b_code == 1, (descriptor >> 3 & 1) != 0);
    return p;
  }
  const auto a = operand_format(kind, a_code), b = operand_format(kind, b_code);
  const auto known = kind_of(kind);
  if (!a || !b || !known) return p;
  if (blocks != 0) {
    const bool powers = (descriptor >> 23 & 1) != 0;
    p.b_scale_byte = d_code;
    p.a_scale_byte = descriptor >> 29 & 3;
    p.arithmetic = tcgen05_arithmetic(*known, *a, *b, ElementType::f32, powers ? ue8m0_shape : ue4m3_shape);
    const bool fits = *known == TensorKind::mxf8f6f4 ? blocks == 1 : blocks == 2 || blocks == 4;
    if (!fits) p.arithmetic = {};
    return p;
  }
  if (d_code <= 1)
    p.arithmetic =
        tcgen05_arithmetic(*known, *a, *b, d_code == 1 ? ElementType::f32 : ElementType::f16, FormatShape{});
  return p;
}

void compute_tensor_product(Cta& cta, const TensorProduct& p) {
  TensorContents& contents = cta.tensor.contents;
  const uint32_t first = tensor_column(p.d);
  std::vector<uint32_t> d(size_t{p.m} * p.n, 0);
  const auto each = [&](auto&& act) {
    for (uint32_t r = 0; r < p.m; ++r)
      for (uint32_t c = 0; c < p.n; ++c) act(row_lane(p.d, p.m, r), first + c, d[size_t{r} * p.n + c]);
  };
  bool known = p.arithmetic.predicted();
  std::optional<std::vector<uint8_t>> a, b, a_scales, b_scales;
  if (known) {
    a = operand_rows(cta, p, false);
    b = operand_rows(cta, p, true);
    known = a && b;
  }
  if (known && p.scale_blocks != 0) {
    a_scales = scales_of(cta, p.a_scales, p.m, p.a_scale_byte, p.scale_blocks);
    b_scales = scales_of(cta, p.b_scales, p.n, p.b_scale_byte, p.scale_blocks);
    known = a_scales && b_scales;
  }
  if (known && p.accumulates)
    each([&](uint32_t lane, uint32_t column, uint32_t& element) {
      known = known && contents.known(lane, column);
      if (known) element = contents.get(lane, column);
    });
  if (!known) {
    each([&](uint32_t lane, uint32_t column, uint32_t&) { contents.forget(lane, column); });
    return;
  }
  const size_t k = size_t{k_bytes} * 8 / p.arithmetic.operand_bits;
  if (p.scale_blocks != 0)
    multiply_scaled(p.arithmetic, p.m, p.n, k, *a, *b, p.scale_blocks, *a_scales, *b_scales, d);
  else
    multiply_matrices(p.arithmetic, p.m, p.n, k, *a, *b, d);
  each([&](uint32_t lane, uint32_t column, uint32_t& element) { contents.set(lane, column, element); });
}

void copy_into_tensor(Cta& cta, const OperandView& from, uint64_t to, uint32_t rows, uint32_t row_bytes,
                      std::string_view multicast) {
  TensorContents& contents = cta.tensor.contents;
  const auto put = [&](uint32_t lane, uint32_t row) {
    for (uint32_t c = 0; c < row_bytes / 4; ++c) {
      const uint32_t at = from.chunk_address(row, c / 4) + c % 4 * 4;
      const uint32_t column = tensor_column(to) + c;
      if (cta.shared.all_known(at, 4)) {
        const uint8_t* bytes = cta.shared.data(at);
        contents.set(
            lane, column,
            bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24);
      } else {
        contents.forget(lane, column);
      }
    }
  };
  for (uint32_t lane = 0; lane < TensorContents::lanes; ++lane) {
    const uint32_t quarter = lane / 32;
    uint32_t row = lane;
    if (rows == 32) row = lane % 32;
    if (rows == 64) row = (multicast == "01_23" ? quarter / 2 : quarter % 2) * 32 + lane % 32;
    put(lane, row);
  }
}

}  // namespace turnstile::sim
