// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/memory.h"
#include "sim/numerics/formats.h"

namespace turnstile::sim {

/// What a bulk reduction, red.async does with each element of its destination (BK7).
struct Reduction {
  enum class Kind : uint8_t { none, add, min, max, inc, dec, bit_and, bit_or, bit_xor };
  Kind kind = Kind::none;
  ElementType type = ElementType::u32;

  /// Sums of floats depend on the order of the contributions, which is not specified (BK7, GM7).
  bool depends_on_order() const;
};

/// "add", "and", ...; Kind::none for other words.
Reduction::Kind reduction_kind(std::string_view name);
/// Whether PTX defines the operation on this type.
bool reduction_is_defined(const Reduction& r);

/// One element: destination word `old`, contribution `value`.
uint64_t reduce_word(const Reduction& r, uint64_t old, uint64_t value);

/// The same by atom or red: sums of f32 flush subnormals in global memory (GM7), and sums of f64 in shared
/// memory are those of the arithmetic unit, which differ in NaNs.
uint64_t reduce_atomically(const Reduction& r, bool in_shared, uint64_t old, uint64_t value);

/// `old` becomes the destination's new bytes; elements that are not known on either side are unknown, in the
/// provenance domain the expression of both.
void reduce_run(const Reduction& r, ByteRun& old, size_t at, const ByteRun& contribution, size_t from,
                size_t bytes);

}  // namespace turnstile::sim
