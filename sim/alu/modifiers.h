// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/alu/pure.h"

namespace turnstile::sim {

enum class TypeKind : uint8_t { bits, unsigned_integer, signed_integer, floating, minifloat, scale };

/// A type modifier of a pure instruction: f32, u16x2, e4m3x2, pred, ...
struct TypeSpec {
  std::string_view name;
  TypeKind kind = TypeKind::bits;
  uint8_t bits = 32;  ///< one element
  uint8_t lanes = 1;
  uint8_t register_bits = 32;                     ///< 1 for predicates
  ElementType element = ElementType::f32;         ///< floating
  MinifloatType minifloat = MinifloatType::e2m1;  ///< minifloat
};

const TypeSpec* find_type(std::string_view name);

/// The components of a mnemonic behind its root: types in order, all other words as a set, both decoded.
struct Modifiers {
  std::vector<const TypeSpec*> types;
  std::vector<std::string_view> words;
  PureConfig config;

  bool has(std::string_view word) const;
  /// "f32.f16": the types as the table of forms writes them.
  std::string type_text() const;
};

/// Words that no pure form knows stay in `words` and match nothing.
Modifiers decode_modifiers(const ptx::Instruction& instruction);

}  // namespace turnstile::sim
