// SPDX-License-Identifier: Apache-2.0
#include "sim/unknown_operand.h"

#include <fmt/format.h>

#include <algorithm>

namespace turnstile::sim {

bool known_in(const Warp& warp, std::span<const uint32_t> regs, LaneMask lanes) {
  return std::all_of(regs.begin(), regs.end(), [&](uint32_t r) { return known_in(warp, r, lanes); });
}

Step unknown_operand(Cta& cta, const Decoded& d, std::string_view what) {
  return cta.unknown(
      d, fmt::format("{} of '{}' depends on a value that this launch does not give", what, d.text->mnemonic),
      "give the buffer it was loaded from `control_data = true` and its values");
}

}  // namespace turnstile::sim
