// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/text.h"
#include "model/report.h"

namespace turnstile::cli {

/// One launch of a sweep, for the overview.
struct SweepCell {
  std::map<std::string, int64_t> values;  ///< of the swept variables
  std::optional<Report> report;           ///< nothing: not checked (the user stopped the sweep)
};

/// The letter of a verdict: '.' clean, '?' inconclusive, else that of the first finding's class ('H' hang,
/// 'R' race ...).
char verdict_letter(const Report& report);

/// Index of the smallest cell that is not clean: least sum of the positions of its values in their variables'
/// lists, findings before inconclusive ones. Nothing if all that were checked are clean.
std::optional<size_t> smallest_failing(const std::vector<std::string>& names,
                                       const std::vector<SweepCell>& cells);

/// "k_tiles=4 S=3": these variables, in this order.
std::string setting_text(const std::vector<std::string>& names, const std::map<std::string, int64_t>& values);

/// "smallest launch of the sweep that fails: k_tiles=4 S=3 (k_tiles=3 is clean)": of the first variable for
/// which the next smaller value was checked and is clean, with the others as they are.
std::string smallest_text(const std::vector<std::string>& names, const std::vector<SweepCell>& cells,
                          size_t smallest);

/// The grid of ux.md: the first variable across, the second down, one block for each combination of the
/// others; under it what each letter means and where it occurs first. Empty if it would be wider than a line.
std::string render_grid(const std::vector<std::string>& names, const std::vector<SweepCell>& cells,
                        const Style& style);

}  // namespace turnstile::cli
