// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnstile::cli {

/// Widest line that text reports print.
constexpr size_t line_width = 100;

/// Whether words may be coloured. Every line makes sense without colours.
struct Style {
  bool color = false;

  std::string error(std::string_view text) const { return paint("1;31", text); }
  std::string warning(std::string_view text) const { return paint("1;33", text); }
  std::string good(std::string_view text) const { return paint("1;32", text); }
  std::string strong(std::string_view text) const { return paint("1", text); }
  std::string faint(std::string_view text) const { return paint("2", text); }

 private:
  std::string paint(const char* code, std::string_view text) const;
};

/// `text` after `first`, broken between words at line_width; further lines begin with `next`. Ends in a line
/// break. A word that is longer than a line is not cut. Control characters, which could come from a hostile
/// file, become '?'.
std::string wrapped(std::string_view first, std::string_view next, std::string_view text);

/// "41 212": digits in groups of three.
std::string grouped(uint64_t number);

/// "5.1 M": three digits at most, for counts whose exact value helps nobody.
std::string rounded(uint64_t number);

/// "1 CTA", "3 CTAs".
std::string counted(uint64_t number, std::string_view noun);

/// `left`, then blanks, then `right`, so that the line ends at line_width where there is room.
std::string spread(std::string_view left, std::string_view right);

/// "0.08 s".
std::string seconds_text(double seconds);

/// Terminals obey escape sequences: control characters become '?'.
std::string printable(std::string_view text);

}  // namespace turnstile::cli
