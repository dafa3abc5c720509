// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/launch/generate.h"
#include "model/result.h"

namespace turnstile {

/// An array of a .npy file: C order, little endian.
struct NpyArray {
  char kind =
      'f';  ///< numpy's: 'f' float, 'i' signed, 'u' unsigned, 'V' raw bytes (what numpy writes for bf16)
  uint32_t item_bytes = 0;      ///< 1, 2, 4 or 8
  std::vector<uint64_t> shape;  ///< outermost first; empty for a scalar
  std::string data;             ///< product(shape) * item_bytes bytes

  uint64_t count() const;  ///< elements
};

/// Reads the bytes of a .npy file, version 1 or 2 of the format. Types f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 V1 V2
/// V4 V8; what else numpy can write (big endian, Fortran order, records, objects) is an error that says how
/// to save it. `path` is for messages.
Result<NpyArray> parse_npy(std::string_view bytes, const std::string& path);

/// Same, from a file of at most `limit` bytes.
Result<NpyArray> read_npy(const std::string& path, uint64_t limit);

/// Whether the array's items can be elements of `type`: the same kind and width, or raw bits of the width
/// (f16 also from u2 or V2, and so on).
bool npy_holds(const NpyArray& array, ElementType type);

/// The file for a dense row-major array of `type`, version 1. Types that numpy lacks are written as unsigned
/// integers of their width.
std::string npy_bytes(ElementType type, std::span<const uint64_t> shape, std::span<const std::byte> data);

/// Same, into a file, atomically.
Result<void> write_npy(const std::string& path, ElementType type, std::span<const uint64_t> shape,
                       std::span<const std::byte> data);

}  // namespace turnstile
