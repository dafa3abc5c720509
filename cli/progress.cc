// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/text.h"

namespace turnstile::cli {

std::string progress_bar(const Progress& p) {
  constexpr uint64_t width = 24;
  const uint64_t filled = p.total == 0 ? width : width * p.done / p.total;
  std::string line =
      fmt::format("  [{:#<{}}{:->{}}]  {}/{}", "", filled, "", width - filled, p.done, p.total);
  if (p.findings) line += "   " + counted(*p.findings, "finding");
  if (p.done == 0 || p.seconds <= 0) return line;
  const double rate = static_cast<double>(p.done) / p.seconds;
  line += rate >= 10 ? fmt::format("   {:.0f}/s", rate) : fmt::format("   {:.1f}/s", rate);
  if (p.done < p.total)
    line += fmt::format("   ETA {:.0f} s", std::ceil(static_cast<double>(p.total - p.done) / rate));
  return line;
}

}  // namespace turnstile::cli
