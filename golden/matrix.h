// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/launch/launch.h"

namespace turnstile::golden {

/// A buffer seen as rows of typed elements: all dimensions but the innermost are rows. Owns nothing.
struct MatrixView {
  ElementType type = ElementType::b8;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t row_pitch = 0;  ///< elements between the starts of two rows; >= columns
  std::span<const std::byte> bytes;

  uint64_t elements() const { return rows * columns; }
  /// The real elements of a row, without padding.
  std::span<const std::byte> row(uint64_t r) const {
    const size_t width = element_bytes(type);
    return bytes.subspan(r * row_pitch * width, columns * width);
  }
  /// The bits of one element, zero-extended.
  uint64_t bits(uint64_t r, uint64_t column) const;
};

/// View of `contents` as the matrix that `buffer` declares. Error if `contents` is too short for it.
Result<MatrixView> view_of(const Buffer& buffer, std::span<const std::byte> contents);

/// The real elements of all rows, one after another.
std::vector<std::byte> packed(const MatrixView& matrix);

/// Bits as "0x3f80", as wide as the type.
std::string bits_text(ElementType type, uint64_t bits);

/// The value that the bits stand for: "1.5", "-inf", "nan", "17".
std::string value_text(ElementType type, uint64_t bits);

/// How many numbers of the type apart the two are; nothing for NaN, and for types without numbers.
std::optional<uint64_t> ulps_apart(ElementType type, uint64_t a, uint64_t b);

/// True for NaN, and for an infinity, of a floating-point type (both false for integers and plain bits).
bool is_nan(ElementType type, uint64_t bits);
bool is_infinite(ElementType type, uint64_t bits);

}  // namespace turnstile::golden
