// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/ptx/cursor.h"

namespace turnstile::ptx {

struct InitialiserShape {
  std::string_view name;  ///< of the variable, for errors
  std::string_view type;  ///< element type without the dot
  uint64_t element_bytes = 0;
  std::vector<uint64_t> extents;  ///< outermost first; empty for a scalar; an open first extent is 0
};

/// Behind `=`: a scalar or nested lists in braces. `out` gets the whole variable, little endian, zeros where
/// the lists are short. Addresses of other symbols are refused: nothing in a PTX file says where those will
/// lie.
bool parse_initialiser(Cursor& cursor, const InitialiserShape& shape, std::vector<std::byte>& out);

}  // namespace turnstile::ptx
