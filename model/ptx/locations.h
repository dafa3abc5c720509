// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "model/ptx/cursor.h"
#include "model/ptx/program.h"

namespace turnstile::ptx {

/// Reads `.file` and `.loc` into Module::files and Module::locations (PG29, PS9). Equal places share one
/// location. A chain of `inlined_at` always leads to smaller indices, so following it ends.
class Locations {
 public:
  explicit Locations(Module& module) : module_(module) {}

  /// Behind `.file`.
  bool parse_file(Cursor& cursor);
  /// Behind `.loc`: the place of all instructions up to the next one.
  bool parse_loc(Cursor& cursor);

  std::optional<uint32_t> current() const { return current_; }
  /// A new entry: its first instructions have no place until a `.loc` gives one.
  void forget() { current_.reset(); }
  /// After the last line: gives file numbers that no `.file` declared an empty name.
  void finish();

 private:
  using Place = std::array<uint32_t, 3>;  // file, line, column
  bool parse_place(Cursor& cursor, Place& place);
  uint32_t location(const Place& place, std::optional<uint32_t> inlined_at);

  Module& module_;
  std::optional<uint32_t> current_;
  uint32_t files_used_ = 0;
  std::map<std::pair<Place, std::optional<uint32_t>>, uint32_t> known_;
  std::map<Place, uint32_t>
      latest_;  // a call site is named by its place: the last `.loc` of that place is meant
};

}  // namespace turnstile::ptx
