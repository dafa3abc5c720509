// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal.h"
#include "model/report.h"
#include "model/result.h"

namespace turnstile::cli {

/// What one command checks in one go: launches of a file, or variants of a text with values of parameters.
struct ManyChecks {
  struct Item {
    std::string group;                      ///< case or "variant ok": each has an overview of its own
    std::map<std::string, int64_t> values;  ///< of the swept variables
  };
  std::string noun;                ///< "launch"
  std::vector<std::string> swept;  ///< nothing: a line an item instead of an overview
  std::vector<Item> items;
  /// Checks one item and keeps what came of it; called from several threads for different items.
  std::function<Result<void>(size_t)> check;
  /// Of an item that was checked.
  std::function<Report&(size_t)> report;
  std::function<std::string(size_t)> row;  ///< one line
};

struct ManyAnswer {
  Exit exit = Exit::clean;
  std::optional<Error> error;   ///< of the first item that cannot be used
  std::vector<size_t> done;     ///< items that were checked, in order
  std::optional<size_t> shown;  ///< the smallest item with a finding, else the smallest undecided one
  std::string text;             ///< the overview of a sweep

  /// `shown` as a position in `done`.
  std::optional<size_t> shown_place() const;
};

/// The outcomes of the items that were done.
template <typename Outcome>
std::vector<Outcome> only(std::vector<Outcome> outcomes, const std::vector<size_t>& done) {
  std::vector<Outcome> kept;
  for (const size_t i : done) kept.push_back(std::move(outcomes[i]));
  return kept;
}

/// "ok  k_tiles=4 S=3": group and values of an item.
std::string item_text(const ManyChecks& checks, size_t item);

/// Checks all items in parallel, with a progress bar, until the user interrupts; prints a line for each (in
/// order, as they come) unless `rows` is false. What the smallest failing item of a sweep rests on is added
/// to the facts of its first finding.
ManyAnswer check_many(const ManyChecks& checks, bool rows, bool quiet, const Terminal& terminal);

/// "The smallest that fails, k_tiles=4 S=3:", for the item that is shown in full.
std::string shown_title(const ManyChecks& checks, const ManyAnswer& answer);

/// "35 of 40 launches clean; stopped by the user, 3 not checked".
std::string many_summary(const ManyChecks& checks, const ManyAnswer& answer);

}  // namespace turnstile::cli
