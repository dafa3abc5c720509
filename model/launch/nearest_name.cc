// SPDX-License-Identifier: Apache-2.0
#include "model/launch/nearest_name.h"

#include <algorithm>
#include <vector>

namespace turnstile {
namespace {

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment), three rows of the
/// table at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

constexpr size_t kLongestKnownName = 64;  // bounds the work on hostile input
constexpr size_t kMostListed = 16;

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kLongestKnownName) return {};
  size_t best_distance = 1 + name.size() / 3;
  std::string_view best;
  for (const std::string_view candidate : known) {
    if (candidate.size() > kLongestKnownName) continue;
    const size_t distance = edit_distance(name, candidate);
    // Not a slip if nothing of the name is left.
    if (distance >= std::max(name.size(), candidate.size())) continue;
    if (distance < best_distance || (distance == best_distance && best.empty())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known,
                       std::string_view kind) {
  const std::string_view nearest = nearest_name(name, known);
  if (!nearest.empty()) return "; did you mean '" + std::string(nearest) + "'?";
  if (known.empty()) return "; there are no " + std::string(kind);
  std::string text = "; known " + std::string(kind) + ": ";
  for (size_t i = 0; i < known.size() && i < kMostListed; ++i) {
    if (i != 0) text += ", ";
    text += known[i];
  }
  if (known.size() > kMostListed) text += ", ...";
  return text;
}

}  // namespace turnstile
