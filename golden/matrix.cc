// SPDX-License-Identifier: Apache-2.0
#include "golden/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace turnstile::golden {

namespace {

/// Shape of a floating-point format; sign in the top bit, then exponent, then significand.
struct Format {
  int exponent_bits;
  int significand_bits;
  bool has_infinity;  ///< e4m3 has none: its top exponent holds numbers, and one NaN (OCP 8-bit format)
};

std::optional<Format> format_of(ElementType type) {
  switch (type) {
    case ElementType::e4m3:
      return Format{4, 3, false};
    case ElementType::e5m2:
      return Format{5, 2, true};
    case ElementType::f16:
      return Format{5, 10, true};
    case ElementType::bf16:
      return Format{8, 7, true};
    case ElementType::f32:
    case ElementType::tf32:
      return Format{8, 23, true};
    case ElementType::f64:
      return Format{11, 52, true};
    case ElementType::b8:
    case ElementType::u8:
    case ElementType::s8:
    case ElementType::b16:
    case ElementType::u16:
    case ElementType::s16:
    case ElementType::b32:
    case ElementType::u32:
    case ElementType::s32:
    case ElementType::b64:
    case ElementType::u64:
    case ElementType::s64:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_signed_integer(ElementType type) {
  return type == ElementType::s8 || type == ElementType::s16 || type == ElementType::s32 ||
         type == ElementType::s64;
}

struct Parts {
  bool negative;
  uint64_t exponent;
  uint64_t significand;
  uint64_t top_exponent;
};

Parts split(const Format& format, uint64_t bits) {
  const uint64_t top = (uint64_t{1} << format.exponent_bits) - 1;
  return {(bits >> (format.exponent_bits + format.significand_bits) & 1) != 0,
          bits >> format.significand_bits & top, bits & ((uint64_t{1} << format.significand_bits) - 1), top};
}

}  // namespace

uint64_t MatrixView::bits(uint64_t r, uint64_t column) const {
  const size_t width = element_bytes(type);
  const std::span<const std::byte> element = row(r).subspan(column * width, width);
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= std::to_integer<uint64_t>(element[i]) << (8 * i);
  return value;
}

Result<MatrixView> view_of(const Buffer& buffer, std::span<const std::byte> contents) {
  const MatrixView view{buffer.type, buffer.rows(), buffer.columns(), buffer.row_pitch, contents};
  const uint64_t width = element_bytes(buffer.type);
  const uint64_t needed = view.rows == 0 ? 0 : ((view.rows - 1) * view.row_pitch + view.columns) * width;
  if (needed > contents.size())
    return fail(fmt::format("buffer {}: {} rows of {} {} need {} bytes, but there are {}", buffer.name,
                            view.rows, view.columns, element_name(buffer.type), needed, contents.size()));
  return view;
}

std::vector<std::byte> packed(const MatrixView& matrix) {
  std::vector<std::byte> out;
  out.reserve(matrix.elements() * element_bytes(matrix.type));
  for (uint64_t r = 0; r < matrix.rows; ++r) {
    const std::span<const std::byte> row = matrix.row(r);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

std::string bits_text(ElementType type, uint64_t bits) {
  return fmt::format("0x{:0{}x}", bits, 2 * element_bytes(type));
}

bool is_nan(ElementType type, uint64_t bits) {
  const std::optional<Format> format = format_of(type);
  if (!format) return false;
  const Parts p = split(*format, bits);
  if (p.exponent != p.top_exponent) return false;
  return format->has_infinity ? p.significand != 0 : p.significand == (1u << format->significand_bits) - 1;
}

bool is_infinite(ElementType type, uint64_t bits) {
  const std::optional<Format> format = format_of(type);
  if (!format || !format->has_infinity) return false;
  const Parts p = split(*format, bits);
  return p.exponent == p.top_exponent && p.significand == 0;
}

std::string value_text(ElementType type, uint64_t bits) {
  const std::optional<Format> format = format_of(type);
  if (!format) {
    const size_t unused = 64 - 8 * element_bytes(type);
    if (is_signed_integer(type)) return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
    return fmt::format("{}", bits);
  }
  const Parts p = split(*format, bits);
  const char* sign = p.negative ? "-" : "";
  if (is_nan(type, bits)) return fmt::format("{}nan", sign);
  if (is_infinite(type, bits)) return fmt::format("{}inf", sign);
  const int bias = (1 << (format->exponent_bits - 1)) - 1;
  const bool subnormal = p.exponent == 0;
  const double significand =
      static_cast<double>(p.significand) + (subnormal ? 0.0 : std::ldexp(1.0, format->significand_bits));
  const int exponent = (subnormal ? 1 : static_cast<int>(p.exponent)) - bias - format->significand_bits;
  // Nine digits tell any two f32 apart; f64 needs more, and shorter formats print short anyway.
  const int digits = type == ElementType::f64 ? 17 : 9;
  return fmt::format("{}{:.{}g}", sign, std::ldexp(significand, exponent), digits);
}

std::optional<uint64_t> ulps_apart(ElementType type, uint64_t a, uint64_t b) {
  if (is_nan(type, a) || is_nan(type, b)) return std::nullopt;
  const unsigned bits = static_cast<unsigned>(8 * element_bytes(type));
  const auto is = [&](std::initializer_list<ElementType> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  if (is({ElementType::b8, ElementType::b16, ElementType::b32, ElementType::b64})) return std::nullopt;
  const bool is_unsigned = is({ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64});
  const bool is_signed = is({ElementType::s8, ElementType::s16, ElementType::s32, ElementType::s64});
  // Numbers in the order of their values; both zeros are one.
  const auto rank = [&](uint64_t word) {
    const uint64_t sign = uint64_t{1} << (bits - 1);
    if (is_unsigned) return static_cast<__int128>(word);
    const bool negative = (word & sign) != 0;
    if (is_signed) return static_cast<__int128>(word) - (negative ? static_cast<__int128>(sign) * 2 : 0);
    const auto magnitude = static_cast<__int128>(word & (sign - 1));
    return negative ? -magnitude : magnitude;
  };
  const unsigned unused = type == ElementType::tf32 ? 13 : 0;
  const __int128 distance = rank(a) > rank(b) ? rank(a) - rank(b) : rank(b) - rank(a);
  return static_cast<uint64_t>(distance >> unused);
}

}  // namespace turnstile::golden
