// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/ptx/context.h"

namespace turnstile::ptx {

/// Bits of a fundamental type without its dot ("b32"); 1 for "pred"; nothing for other words.
std::optional<uint8_t> type_bits(std::string_view type);

/// State space of a declaration (".shared"), if the token names one that holds variables.
std::optional<StateSpace> variable_space(const Token& token);

struct Declared {
  Symbol symbol;
  std::string_view name;  ///< in the text
};

/// Behind the state space: `.align 8 .b8 name[4][16] = {…}, other;` (PS2, PS6, PG10).
bool parse_variables(Cursor& cursor, StateSpace space, bool is_extern, std::vector<Declared>& out);

/// The parameter list of an entry behind its `(`, including the `)`; gives each its offset in the parameter
/// block (PS4).
bool parse_parameters(Context& context);

/// Behind `.reg`: `.b32 %r<24>, x;` (PG8, PG9).
bool parse_registers(Context& context);

/// Between the parameter list and the body: `.maxntid 128, 1, 1` and the like, to the first thing that is no
/// directive (PS5).
bool parse_performance(Cursor& cursor, std::string_view entry, Directives& out);

/// Behind `.pragma`, including the `;`.
bool parse_pragma(Cursor& cursor);

/// Declares the name of a symbol; an error says where the older one stands.
bool declare(Cursor& cursor, Names& names, const Binding& binding);

}  // namespace turnstile::ptx
