// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/launch/launch.h"
#include "model/trace.h"

namespace turnstile::sim {

class Cta;
struct Copy;

/// Address bits that a swizzle mode exchanges: 16-byte chunks within 128 bytes, by the number of the 128-byte
/// row (PTX ISA 5.5.7).
constexpr uint32_t swizzled(Swizzle mode, uint32_t address) {
  switch (mode) {
    case Swizzle::none:
      return address;
    case Swizzle::b32:
      return address ^ ((address >> 3) & 0x10);
    case Swizzle::b64:
      return address ^ ((address >> 3) & 0x30);
    case Swizzle::b128:
      return address ^ ((address >> 3) & 0x70);
  }
  return address;
}

/// One innermost row of a box: `bytes` of it lie inside the tensor, from `skip` bytes into the row on; the
/// rest is out of bounds.
struct BoxRow {
  uint64_t global = 0;      ///< offset in the buffer of the first byte inside the tensor
  uint32_t box_offset = 0;  ///< of the row's first byte in the dense box
  uint32_t skip = 0;
  uint32_t bytes = 0;  ///< 0: the whole row is out of bounds
};

/// The rows of a box at these coordinates, innermost dimension first (element strides of 1). More coordinates
/// than the map has dimensions: one row each of a map of two, at the column that comes first (tile::gather4).
std::vector<BoxRow> box_rows(const TensorMap& map, std::span<const int64_t> coordinates);

/// What they are of global memory, as strided ranges.
std::vector<ByteRange> box_ranges(const TensorMap& map, std::span<const int64_t> coordinates);

struct CopyEffect {
  std::vector<uint32_t> reads, writes;  ///< footprints
};

/// Moves the data of a copy that lands and says what it touched.
CopyEffect land_tensor_copy(Cta& cta, const Copy& copy);
CopyEffect land_plain_copy(Cta& cta, const Copy& copy);

}  // namespace turnstile::sim
