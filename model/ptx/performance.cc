// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>

#include "model/ptx/declarations.h"
#include "model/ptx/expression.h"

namespace turnstile::ptx {
namespace {

constexpr uint64_t kLargestWord = std::numeric_limits<uint32_t>::max();

bool parse_word(Cursor& cursor, std::string_view directive, std::optional<uint32_t>& out) {
  uint64_t value = 0;
  if (!parse_number(cursor, fmt::format("the value of {}", quoted(directive)), 1, kLargestWord, value))
    return false;
  out = static_cast<uint32_t>(value);
  return true;
}

// `128` and `128, 1, 1` mean the same (PS5).
bool parse_extents(Cursor& cursor, std::string_view directive, std::optional<std::array<uint32_t, 3>>& out) {
  out = {1, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0 && !cursor.accept(',')) break;
    uint64_t value = 0;
    if (!parse_number(cursor, fmt::format("an extent of {}", quoted(directive)), 1, kLargestWord, value))
      return false;
    (*out)[i] = static_cast<uint32_t>(value);
  }
  return !cursor.failed();
}

}  // namespace

// A directive that is not known here may change the launch (as .blocksareclusters does), so it is refused,
// not skipped.
bool parse_performance(Cursor& cursor, std::string_view entry, Directives& out) {
  while (cursor.at(TokenKind::directive)) {
    const Token t = cursor.take();
    const std::string_view word = t.text;
    bool ok = true;
    if (word == ".maxntid") {
      ok = parse_extents(cursor, word, out.max_threads);
    } else if (word == ".reqntid") {
      ok = parse_extents(cursor, word, out.required_threads);
    } else if (word == ".reqnctapercluster") {
      ok = parse_extents(cursor, word, out.required_cluster);
    } else if (word == ".maxnreg") {
      ok = parse_word(cursor, word, out.max_registers);
    } else if (word == ".minnctapersm" ||
               word == ".maxnctapersm") {  // the second is the old name of the first
      ok = parse_word(cursor, word, out.min_ctas_per_sm);
    } else if (word == ".maxclusterrank") {
      ok = parse_word(cursor, word, out.max_cluster_rank);
    } else if (word == ".explicitcluster") {
      out.explicit_cluster = true;
    } else if (word == ".pragma") {
      ok = parse_pragma(cursor);
    } else {
      return cursor.fail(t.position, fmt::format("the directive {} of entry {} is not supported",
                                                 quoted(word), quoted(entry)));
    }
    if (!ok) return false;
  }
  return !cursor.failed();
}

// `"nounroll"`, `"used_bytes_mask 15"`: hints to the assembler (PS6).
bool parse_pragma(Cursor& cursor) {
  do {
    if (!cursor.at(TokenKind::string)) return cursor.expected("the text of the pragma in quotes");
    cursor.advance();
  } while (cursor.accept(','));
  return cursor.expect(';', "after the pragma");
}

}  // namespace turnstile::ptx
