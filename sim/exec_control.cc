// SPDX-License-Identifier: Apache-2.0
// Branches and exits: the only instructions that move lanes to other places than the next instruction.
#include <fmt/format.h>

#include "sim/handlers.h"

namespace turnstile::sim {

Step exec_branch(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  Fragment& f = cta.fragment_at(warp, lanes);
  f.pc = d.target;
  f.wait = {};
  return Step::moved;
}

Step exec_exit(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  for (const Strand& s : cta.strands_of(warp, lanes, d.index))
    cta.recorder.add(EventKind::exit, s.agent, d.index);
  std::erase_if(warp.strands, [&](const Strand& s) { return (s.lanes & lanes) != 0; });
  warp.exited |= lanes;
  std::erase_if(warp.fragments, [&](const Fragment& f) { return f.lanes == lanes; });
  return Step::moved;
}

Step exec_trap(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return cta.fault(warp, lanes, d, "PE14", "the kernel reaches a trap",
                   "a check of the kernel itself failed on this launch");
}

}  // namespace turnstile::sim
