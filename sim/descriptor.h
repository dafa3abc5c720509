// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "model/launch/launch.h"

namespace turnstile::sim {

/// The 128 bytes of a tensor map object while a kernel changes it (tensormap.replace). The hardware's format
/// is opaque; this one is the simulator's own and is read by nobody else (Cta::not_predicted says so where
/// such bytes reach a buffer).
using DescriptorBytes = std::array<uint8_t, 128>;

/// Fields that tensormap.replace names.
enum class DescriptorField : uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode,
  swizzle_atomicity,
};
std::optional<DescriptorField> descriptor_field(std::string_view name);

DescriptorBytes encode_descriptor(const TensorMap& map, uint64_t global_address);

/// Puts a new value into a field; `ordinal` numbers the dimension. False: the field has no such ordinal.
bool replace_field(DescriptorBytes& bytes, DescriptorField field, uint32_t ordinal, uint64_t value);

/// What the bytes say; `address` receives the global address. Nothing: an element type, swizzle or interleave
/// that the simulator has no model of.
std::optional<TensorMap> decode_descriptor_bytes(const DescriptorBytes& bytes, uint64_t& address);

}  // namespace turnstile::sim
