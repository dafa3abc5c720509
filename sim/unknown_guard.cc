// SPDX-License-Identifier: Apache-2.0
#include "sim/unknown_guard.h"

#include <algorithm>
#include <array>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

bool computes_only(const Decoded& d) {
  constexpr std::array<Handler, 7> kinds = {exec_pure, exec_pack_pair, exec_move,  exec_move_wide,
                                            exec_pack, exec_unpack,    exec_select};
  return std::find(kinds.begin(), kinds.end(), d.run) != kinds.end();
}

}  // namespace

std::optional<uint32_t> meeting_point(const Program& program, uint32_t at) {
  constexpr uint32_t longest = 1024;
  uint32_t meets = at + 1;
  // Every branch leads forwards and not beyond `meets`, which therefore all ways reach.
  for (uint32_t i = at; i < meets; ++i) {
    const Decoded& d = program.code[i];
    if (d.run == exec_branch) {
      if (d.target <= i || d.target - at > longest || d.target > program.code.size()) return std::nullopt;
      meets = std::max(meets, d.target);
    } else if (d.run != exec_nothing && !computes_only(d)) {
      return std::nullopt;
    }
  }
  return meets;
}

}  // namespace turnstile::sim
