// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace turnstile::cli {

std::string Style::paint(const char* code, std::string_view text) const {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\t')
      out += ' ';
    else
      out += (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) ? '?' : c;
  }
  return out;
}

std::string wrapped(std::string_view first, std::string_view next, std::string_view text) {
  std::string out(first);
  size_t column = first.size();
  bool at_start = true;
  while (!text.empty()) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (word.empty() && at_start) continue;
    if (!at_start && column + 1 + word.size() > line_width) {
      out += '\n';
      out += next;
      column = next.size();
      at_start = true;
    }
    if (!at_start) {
      out += ' ';
      ++column;
    }
    out += printable(word);
    column += word.size();
    at_start = false;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out + '\n';
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, " ");
  }
  return digits;
}

std::string rounded(uint64_t number) {
  if (number < 100'000) return grouped(number);
  constexpr std::array<const char*, 4> units = {"k", "M", "G", "T"};
  double value = static_cast<double>(number) / 1000;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return value < 99.95 ? fmt::format("{:.1f} {}", value, units[unit])
                       : fmt::format("{:.0f} {}", value, units[unit]);
}

std::string counted(uint64_t number, std::string_view noun) {
  const bool hisses = noun.ends_with("ss") || noun.ends_with("ch");
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : hisses ? "es" : "s");
}

std::string spread(std::string_view left, std::string_view right) {
  const size_t used = left.size() + right.size();
  return fmt::format("{}{:{}}{}", left, "", used + 2 <= line_width ? line_width - used : 2, right);
}

std::string seconds_text(double seconds) { return fmt::format("{:.2f} s", seconds); }

}  // namespace turnstile::cli
