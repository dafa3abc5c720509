// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "cli/check_launch.h"
#include "tests/cli/program.h"

namespace turnstile::test {

/// The verdict about a kernel k.ptx; `launch_text` is what its launch file says besides. `name`: of the test.
inline Report check_ptx(const std::string& name, const std::string& ptx, const std::string& launch_text) {
  const Folder folder(name);
  folder.write("k.ptx", ptx);
  const auto launch = parse_launch("kernel = 'k.ptx'\nentry = 'k'\n" + launch_text, folder / "k.toml", {});
  REQUIRE_MESSAGE(launch.has_value(), (launch ? std::string() : launch.error().text()));
  const auto outcome = cli::check_launch(*launch, {}, {});
  REQUIRE_MESSAGE(outcome.has_value(), (outcome ? std::string() : outcome.error().text()));
  return outcome->report;
}

/// 64 threads a CTA, a counter that starts at zero, and `words` of output.
inline std::string counter_launch(const std::string& lines, unsigned words) {
  return "[launch]\nblock = [64, 1, 1]\n" + lines +
         "[[buffers]]\nname = 'counter'\ndtype = 'u32'\nshape = [1]\nrole = 'in_out'\nfill = 'zeros'\n"
         "control_data = true\n[[buffers]]\nname = 'out'\ndtype = 'u32'\nshape = [" +
         std::to_string(words) +
         "]\nrole = 'out'\n[[params]]\nbuffer = 'counter'\n[[params]]\nbuffer = 'out'\n";
}

}  // namespace turnstile::test
