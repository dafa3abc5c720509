// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>

#include "model/launch/launch.h"

// Legality of the arguments of cuTensorMapEncodeTiled: semantics.md 6.3, BS4 to BS12, one after the other.
// BS4 (alignment of the 128-byte object) cannot be broken here: maps are kernel parameters, which the runner
// aligns. BS13 is about the instruction, not the map.

namespace turnstile {
namespace {

/// a * b + c, at the largest value where that overflows.
uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t product = 0, sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum))
    return std::numeric_limits<uint64_t>::max();
  return sum;
}

bool is_floating_point(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f32 ||
         type == ElementType::tf32 || type == ElementType::f64;
}

std::string dimension_violation(const TensorMap& map) {
  const size_t rank = map.dims.size();
  if (rank < 1 || rank > 5) return fmt::format("BS5: rank {}; it must be 1 to 5", rank);
  if (map.interleave != Interleave::none && rank < 3)
    return fmt::format("BS5: rank {} with an interleave; that needs rank 3 or more", rank);
  if (map.strides.size() != rank - 1)
    return fmt::format("BS5: {} strides for rank {}; {} are needed, the innermost has none",
                       map.strides.size(), rank, rank - 1);
  if (map.box.size() != rank)
    return fmt::format("BS5: the box has {} dimensions, the map {}", map.box.size(), rank);
  if (map.element_strides.size() != rank)
    return fmt::format("BS5: {} element strides for rank {}", map.element_strides.size(), rank);
  const uint64_t alignment = map.interleave == Interleave::b32 ? 32 : 16;
  if (map.offset % alignment != 0)
    return fmt::format("BS6: offset {} is not a multiple of {} bytes", map.offset, alignment);
  for (size_t i = 0; i < rank; ++i)
    if (map.dims[i] < 1 || map.dims[i] > uint64_t{1} << 32)
      return fmt::format("BS7: dims[{}] is {}; it must be 1 to 2^32", i, map.dims[i]);
  uint64_t least = multiply_add(map.dims[0], element_bytes(map.type), 0);
  for (size_t i = 0; i < rank - 1; ++i) {
    const uint64_t stride = map.strides[i];
    if (stride % alignment != 0)
      return fmt::format("BS8: strides[{}] is {} bytes, not a multiple of {}", i, stride, alignment);
    if (stride >= uint64_t{1} << 40)
      return fmt::format("BS8: strides[{}] is {} bytes; it must be below 2^40", i, stride);
    if (stride < least)
      return fmt::format(
          "BS8: strides[{}] is {} bytes, less than the {} bytes of dimension {}, so rows overlap", i, stride,
          least, i);
    least = multiply_add(stride, map.dims[i + 1], 0);
  }
  return {};
}

std::string box_violation(const TensorMap& map) {
  for (size_t i = 0; i < map.box.size(); ++i)
    if (map.box[i] < 1 || map.box[i] > 256)
      return fmt::format("BS9: box[{}] is {}; it must be 1 to 256", i, map.box[i]);
  const uint64_t inner = map.box[0] * element_bytes(map.type);
  if (map.interleave == Interleave::none) {
    if (inner % 16 != 0)
      return fmt::format(
          "BS9: the inner row of the box is {} bytes ({} elements of {}), not a multiple of 16", inner,
          map.box[0], element_name(map.type));
    const uint64_t atom = map.swizzle == Swizzle::b32    ? 32
                          : map.swizzle == Swizzle::b64  ? 64
                          : map.swizzle == Swizzle::b128 ? 128
                                                         : 0;
    if (atom != 0 && inner > atom)
      return fmt::format("BS10: the inner row of the box is {} bytes, wider than the swizzle of {} bytes",
                         inner, atom);
  }
  for (size_t i = 0; i < map.element_strides.size(); ++i) {
    if (i == 0 && map.interleave == Interleave::none) continue;  // ignored by the encoder
    if (map.element_strides[i] < 1 || map.element_strides[i] > 8)
      return fmt::format("BS11: element_strides[{}] is {}; it must be 1 to 8", i, map.element_strides[i]);
  }
  if (map.interleave == Interleave::b32 && map.swizzle != Swizzle::b32)
    return "BS12: interleave 32B needs swizzle 32B";
  return {};
}

}  // namespace

uint64_t TensorMap::box_bytes() const {
  uint64_t bytes = element_bytes(type);
  for (size_t i = 0; i < box.size(); ++i) {
    // BS11: ceil(box / element stride) elements are fetched; [0] counts only with an interleave.
    const bool strided =
        i < element_strides.size() && element_strides[i] > 1 && (i != 0 || interleave != Interleave::none);
    bytes *= strided ? (uint64_t{box[i]} + element_strides[i] - 1) / element_strides[i] : box[i];
  }
  return bytes;
}

std::string tensor_map_violation(const TensorMap& map, uint64_t buffer_bytes) {
  if (std::string text = dimension_violation(map); !text.empty()) return text;
  if (std::string text = box_violation(map); !text.empty()) return text;
  if (map.fill == OutOfBoundsFill::nan && !is_floating_point(map.type))
    return fmt::format("PL14: oob_fill \"nan\" needs a floating-point dtype, not {}", element_name(map.type));
  // The last byte that the map can reach, from its start.
  uint64_t reach = multiply_add(map.dims[0], element_bytes(map.type), 0);
  for (size_t i = 1; i < map.dims.size(); ++i)
    reach = multiply_add(map.dims[i] - 1, map.strides[i - 1], reach);
  if (map.offset > buffer_bytes || reach > buffer_bytes - map.offset)
    return fmt::format(
        "the map reaches past its buffer: offset {} and {} bytes of dims and strides, but the buffer has {} "
        "bytes",
        map.offset, reach, buffer_bytes);
  return {};
}

}  // namespace turnstile
