// SPDX-License-Identifier: Apache-2.0
#include "model/ptx/locations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "model/ptx/expression.h"
#include "model/ptx/limits.h"

namespace turnstile::ptx {
namespace {

constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kWord = std::numeric_limits<uint32_t>::max();

bool accept_word(Cursor& cursor, std::string_view word) {
  if (!cursor.at(TokenKind::identifier) || cursor.token().text != word) return false;
  cursor.advance();
  return true;
}

}  // namespace

bool Locations::parse_file(Cursor& cursor) {
  uint64_t number = 0;
  if (!parse_number(cursor, "the number of this file", 0, limits::files - 1, number)) return false;
  if (!cursor.at(TokenKind::string)) return cursor.expected("the name of this file in quotes");
  std::string name(cursor.take().text);
  if (cursor.at(TokenKind::string)) {  // directory, then name
    const std::string_view second = cursor.take().text;
    name = second.starts_with('/') ? std::string(second) : name + "/" + std::string(second);
  }
  while (cursor.accept(',')) {  // time stamp, size
    uint64_t ignored = 0;
    if (!parse_number(cursor, "the time stamp or size of this file", 0, kAny, ignored)) return false;
  }
  if (module_.files.size() <= number) module_.files.resize(number + 1);
  module_.files[number] = std::move(name);
  return !cursor.failed();
}

bool Locations::parse_place(Cursor& cursor, Place& place) {
  uint64_t file = 0, line = 0, column = 0;
  if (!parse_number(cursor, "the file number of this place", 0, limits::files - 1, file) ||
      !parse_number(cursor, "the line of this place", 0, kWord, line) ||
      !parse_number(cursor, "the column of this place", 0, kWord, column))
    return false;
  place = {static_cast<uint32_t>(file), static_cast<uint32_t>(line), static_cast<uint32_t>(column)};
  files_used_ = std::max(files_used_, place[0] + 1);
  return true;
}

bool Locations::parse_loc(Cursor& cursor) {
  if (module_.locations.size() >= limits::module_locations)
    return cursor.fail(cursor.token().position,
                       fmt::format("more than {} different places", limits::module_locations));
  const bool inside =
      cursor.in_inline_assembly();  // now: the token behind this `.loc` may lie inside already
  Place place{};
  if (!parse_place(cursor, place)) return false;
  std::optional<uint32_t> inlined_at;
  while (cursor.accept(',')) {
    if (accept_word(cursor, "function_name")) {
      if (!cursor.at(TokenKind::identifier)) return cursor.expected("the label of the function name");
      cursor.advance();
      uint64_t ignored = 0;
      if (cursor.accept('+') && !parse_number(cursor, "the offset of the function name", 0, kAny, ignored))
        return false;
    } else if (accept_word(cursor, "inlined_at")) {
      Place at{};
      if (!parse_place(cursor, at)) return false;
      const auto it = latest_.find(at);
      inlined_at = it != latest_.end() ? it->second : location(at, std::nullopt);
    } else {
      return cursor.expected("'function_name' or 'inlined_at'");
    }
  }
  if (!inside) current_ = location(place, inlined_at);
  return !cursor.failed();
}

uint32_t Locations::location(const Place& place, std::optional<uint32_t> inlined_at) {
  const auto next = static_cast<uint32_t>(module_.locations.size());
  const auto [it, is_new] = known_.try_emplace({place, inlined_at}, next);
  if (is_new) module_.locations.push_back({place[0], place[1], place[2], inlined_at});
  latest_[place] = it->second;
  return it->second;
}

void Locations::finish() {
  if (module_.files.size() < files_used_) module_.files.resize(files_used_);
}

}  // namespace turnstile::ptx
