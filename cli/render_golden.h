// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/golden_rows.h"
#include "cli/text.h"

namespace turnstile::cli {

/// Head of the table of a golden verb ("record", "verify", "crossval").
std::string render_golden_head(const std::string& verb);

/// One case: a line of the table, then what differs and what is to be said about it.
std::string render_golden_row(const std::string& verb, const GoldenRow& row, const Style& style);

/// The last line: how many cases are what they should be.
std::string render_golden_summary(const std::string& verb, const std::vector<GoldenRow>& rows,
                                  const Style& style);

}  // namespace turnstile::cli
