// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace turnstile::cli {

namespace {

bool read_number(std::string_view text, int64_t& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

/// "3" or "0..9" appended to `values`.
bool read_part(std::string_view part, std::vector<int64_t>& values) {
  const size_t dots = part.find("..");
  int64_t first = 0;
  int64_t last = 0;
  if (dots == std::string_view::npos) {
    if (!read_number(part, first)) return false;
    last = first;
  } else if (!read_number(part.substr(0, dots), first) || !read_number(part.substr(dots + 2), last) ||
             last < first) {
    return false;
  }
  const uint64_t count = static_cast<uint64_t>(last) - static_cast<uint64_t>(first) + 1;
  if (count == 0 || count > most_launches) return false;
  for (uint64_t i = 0; i < count; ++i) values.push_back(first + static_cast<int64_t>(i));
  return true;
}

}  // namespace

Result<Sweep> parse_sweep(const std::string& text) {
  const auto wrong = [&] {
    return fail(
        fmt::format("--sweep {}: expected NAME=FIRST..LAST or NAME=A,B,C, for example --sweep K=0..9", text));
  };
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return wrong();
  Sweep sweep{text.substr(0, equals), {}};
  std::string_view rest = std::string_view(text).substr(equals + 1);
  for (;;) {
    const size_t comma = rest.find(',');
    if (!read_part(rest.substr(0, comma), sweep.values) || sweep.values.size() > most_launches)
      return wrong();
    if (comma == std::string_view::npos) return sweep;
    rest.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::map<std::string, int64_t>>> combinations(const std::vector<Sweep>& sweeps) {
  std::set<std::string> names;
  uint64_t total = 1;
  for (const Sweep& sweep : sweeps) {
    if (!names.insert(sweep.name).second) return fail(fmt::format("--sweep: {} is swept twice", sweep.name));
    total *= sweep.values.size();
    if (total > most_launches) return fail(fmt::format("--sweep: more than {} launches", most_launches));
  }
  std::vector<std::map<std::string, int64_t>> all = {{}};
  for (const Sweep& sweep : sweeps) {
    std::vector<std::map<std::string, int64_t>> wider;
    for (const auto& base : all)
      for (int64_t value : sweep.values) {
        wider.push_back(base);
        wider.back()[sweep.name] = value;
      }
    all = std::move(wider);
  }
  return all;
}

}  // namespace turnstile::cli
