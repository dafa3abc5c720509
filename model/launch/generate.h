// SPDX-License-Identifier: Apache-2.0
#pragma once

// Depends on nothing but the standard library: the GPU runner compiles this file by itself.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace turnstile {

enum class ElementType : uint8_t {
  b8,
  u8,
  s8,
  e4m3,
  e5m2,
  b16,
  u16,
  s16,
  f16,
  bf16,
  b32,
  u32,
  s32,
  f32,
  tf32,
  b64,
  u64,
  s64,
  f64
};

/// Bytes of one element.
size_t element_bytes(ElementType type);
std::string_view element_name(ElementType type);
std::optional<ElementType> element_from_name(std::string_view name);

/// Families of inputs. `normal`: N(0,1) rounded to the type. `wide`: random sign and significand, exponents
/// spread so that sums cancel and groups truncate, finite. `special`: normal with Inf, NaN (payloads, both
/// signs), subnormals, both zeros and the largest values mixed in. Only a quarter of the rows have NaN, Inf
/// or the largest value. `iota`: row * columns + column. `zeros`, `ones`.
enum class Family : uint8_t { zeros, ones, iota, normal, wide, special };

std::string_view family_name(Family family);
std::optional<Family> family_from_name(std::string_view name);

/// Fills a row-major matrix. Counter-based: element (row, column) depends only on (family, type, seed,
/// stream, row, column), so that a row has the same values in every batch, on every machine, in every order.
/// Elements between `columns` and `row_pitch` are filled too (NaN, or bytes 0xA5 in integers; never zero), so
/// that a kernel which reads past a row's end shows it.
void generate(Family family, ElementType type, uint64_t seed, uint64_t stream, size_t rows, size_t columns,
              size_t row_pitch_elements, std::span<std::byte> out);

}  // namespace turnstile
