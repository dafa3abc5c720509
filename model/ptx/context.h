// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/ptx/cursor.h"
#include "model/ptx/locations.h"
#include "model/ptx/program.h"
#include "model/ptx/scope.h"

namespace turnstile::ptx {

/// What a module has used of limits.h.
struct Spent {
  uint64_t registers = 0;
  uint64_t symbols = 0;
  uint64_t instructions = 0;
  uint64_t operands = 0;
  uint64_t branch_targets = 0;  ///< in lists, and again in each instruction that uses one
  uint64_t labels = 0;
  uint64_t initialised_bytes = 0;
};

/// What the parsing functions of one entry share.
struct Context {
  Cursor& cursor;
  Names& names;
  Labels& labels;
  Locations& locations;
  Spent& spent;
  Entry& entry;
};

}  // namespace turnstile::ptx
