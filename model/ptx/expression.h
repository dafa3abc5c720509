// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/ptx/cursor.h"

namespace turnstile::ptx {

/// Value of a literal or constant expression (PG11, PG12; PTX ISA 4.5).
struct Constant {
  enum class Kind : uint8_t { integer, float32, float64 };
  Kind kind = Kind::integer;
  bool is_unsigned = false;
  uint64_t bits =
      0;  ///< two's complement; the 32-bit word of a 0f literal; the 64-bit word of 0d and decimal floats

  bool is_negative() const { return kind == Kind::integer && !is_unsigned && (bits >> 63) != 0; }
};

/// Whether an operand that begins with this token can only be a constant.
bool begins_constant(const Token& token);

/// Reads a constant expression. Integers are computed in 64 bits, signed unless a literal has `U` or does not
/// fit.
bool parse_constant(Cursor& cursor, Constant& out);

/// The same behind a sign (`-`, `!`) that was read already.
bool parse_constant_after_sign(Cursor& cursor, Token sign, Constant& out);

/// The same behind a first operand, whose value is in `first_and_out`.
bool parse_constant_after_value(Cursor& cursor, Constant& first_and_out);

/// Only a product: one summand of an address offset, so that `[%rd-4+8]` is `%rd - 4 + 8`.
bool parse_summand(Cursor& cursor, Constant& out);

/// A literal that must be an integer between `lowest` and `highest`; `what` names it in errors.
bool parse_number(Cursor& cursor, std::string_view what, uint64_t lowest, uint64_t highest, uint64_t& out);

/// The same for a constant expression.
bool parse_integer(Cursor& cursor, std::string_view what, uint64_t lowest, uint64_t highest, uint64_t& out);

}  // namespace turnstile::ptx
