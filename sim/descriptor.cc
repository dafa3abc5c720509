// SPDX-License-Identifier: Apache-2.0
#include "sim/descriptor.h"

#include <algorithm>
#include <utility>

namespace turnstile::sim {

namespace {

// Offsets in the 128 bytes.
constexpr size_t kAddress = 0, kDims = 8, kStrides = 28 + 4, kBox = 64, kElementStrides = 84, kRank = 104,
                 kType = 105, kInterleave = 106, kSwizzle = 107, kFill = 108, kAtomicity = 109;
constexpr uint8_t kOwnType = 0x80;  // an ElementType; smaller numbers are those of tensormap.replace

void put(DescriptorBytes& b, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) b[at + i] = static_cast<uint8_t>(value >> (8 * i));
}
uint64_t get(const DescriptorBytes& b, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{b[at + i]} << (8 * i);
  return value;
}

/// Element types by their number in the PTX ISA (tensormap.replace, table of .elemtype).
std::optional<ElementType> element_type(uint8_t code) {
  if (code >= kOwnType) return static_cast<ElementType>(code - kOwnType);
  using enum ElementType;
  constexpr ElementType types[] = {u8, u16, u32, s32, u64, s64, f16, f32, f32, f64, bf16, tf32, tf32};
  if (code >= std::size(types)) return std::nullopt;
  return types[code];
}

}  // namespace

std::optional<DescriptorField> descriptor_field(std::string_view name) {
  static constexpr std::pair<std::string_view, DescriptorField> names[] = {
      {"global_address", DescriptorField::global_address},
      {"rank", DescriptorField::rank},
      {"box_dim", DescriptorField::box_dim},
      {"global_dim", DescriptorField::global_dim},
      {"global_stride", DescriptorField::global_stride},
      {"element_stride", DescriptorField::element_stride},
      {"elemtype", DescriptorField::elemtype},
      {"interleave_layout", DescriptorField::interleave_layout},
      {"swizzle_mode", DescriptorField::swizzle_mode},
      {"fill_mode", DescriptorField::fill_mode},
      {"swizzle_atomicity", DescriptorField::swizzle_atomicity}};
  for (const auto& [text, field] : names)
    if (text == name) return field;
  return std::nullopt;
}

DescriptorBytes encode_descriptor(const TensorMap& map, uint64_t global_address) {
  DescriptorBytes b{};
  put(b, kAddress, global_address, 8);
  for (size_t i = 0; i < map.dims.size(); ++i) {
    put(b, kDims + 4 * i, map.dims[i], 4);
    put(b, kBox + 4 * i, map.box[i], 4);
    put(b, kElementStrides + 4 * i, i < map.element_strides.size() ? map.element_strides[i] : 1, 4);
    if (i + 1 < map.dims.size()) put(b, kStrides + 8 * i, map.strides[i], 8);
  }
  b[kRank] = static_cast<uint8_t>(map.dims.size() - 1);
  b[kType] = static_cast<uint8_t>(kOwnType + static_cast<uint8_t>(map.type));
  b[kInterleave] = static_cast<uint8_t>(map.interleave);
  b[kSwizzle] = static_cast<uint8_t>(map.swizzle);
  b[kFill] = static_cast<uint8_t>(map.fill);
  return b;
}

bool replace_field(DescriptorBytes& b, DescriptorField field, uint32_t ordinal, uint64_t value) {
  switch (field) {
    case DescriptorField::global_address:
      put(b, kAddress, value, 8);
      return true;
    case DescriptorField::rank:
      put(b, kRank, value, 1);
      return value < 5;
    case DescriptorField::box_dim:
      if (ordinal < 5) put(b, kBox + 4 * ordinal, value, 4);
      return ordinal < 5;
    case DescriptorField::global_dim:
      if (ordinal < 5) put(b, kDims + 4 * ordinal, value, 4);
      return ordinal < 5;
    case DescriptorField::element_stride:
      if (ordinal < 5) put(b, kElementStrides + 4 * ordinal, value, 4);
      return ordinal < 5;
    case DescriptorField::global_stride:
      if (ordinal < 4) put(b, kStrides + 8 * ordinal, value, 8);
      return ordinal < 4;
    case DescriptorField::elemtype:
      put(b, kType, value, 1);
      return value < kOwnType;
    case DescriptorField::interleave_layout:
      put(b, kInterleave, value, 1);
      return true;
    case DescriptorField::swizzle_mode:
      put(b, kSwizzle, value, 1);
      return true;
    case DescriptorField::fill_mode:
      put(b, kFill, value, 1);
      return true;
    case DescriptorField::swizzle_atomicity:
      put(b, kAtomicity, value, 1);
      return true;
  }
  return false;
}

std::optional<TensorMap> decode_descriptor_bytes(const DescriptorBytes& b, uint64_t& address) {
  const std::optional<ElementType> type = element_type(b[kType]);
  const size_t rank = size_t{b[kRank]} + 1;
  if (!type || rank > 5 || b[kInterleave] > 2 || b[kSwizzle] > 3 || b[kFill] > 1 || b[kAtomicity] != 0)
    return std::nullopt;
  TensorMap map;
  map.name = "made by the kernel";
  map.type = *type;
  map.interleave = static_cast<Interleave>(b[kInterleave]);
  map.swizzle = static_cast<Swizzle>(b[kSwizzle]);
  map.fill = static_cast<OutOfBoundsFill>(b[kFill]);
  for (size_t i = 0; i < rank; ++i) {
    map.dims.push_back(get(b, kDims + 4 * i, 4));
    map.box.push_back(static_cast<uint32_t>(get(b, kBox + 4 * i, 4)));
    map.element_strides.push_back(static_cast<uint32_t>(get(b, kElementStrides + 4 * i, 4)));
    if (i + 1 < rank) map.strides.push_back(get(b, kStrides + 8 * i, 8));
  }
  address = get(b, kAddress, 8);
  return map;
}

}  // namespace turnstile::sim
