// SPDX-License-Identifier: Apache-2.0
// Branches and exits: the only instructions that move lanes to other places than the next instruction.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/handlers.h"
#include "sim/origin.h"

namespace turnstile::sim {

Step exec_branch(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  Fragment& f = cta.fragment_at(warp, lanes);
  f.pc = d.target;
  f.wait = {};
  return Step::moved;
}

Step exec_exit(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  cta.exit_lanes(warp, lanes, d.index);
  return Step::moved;
}

Step exec_branch_indexed(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  if ((warp.regs.known(d.src[0]) & lanes) != lanes) {
    std::string text = "the index of a branch depends on a value that this launch does not give" +
                       origin_of_unknown(cta, warp, d.src[0], lanes);
    return cta.unknown(d, std::move(text), help_for_unknown(cta));
  }
  const std::vector<uint32_t>& targets = d.text->branch_targets;
  std::vector<Fragment> parts;
  const uint32_t family = cta.fragment_at(warp, lanes).family;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t index = warp.regs.get(d.src[0], lane) & 0xffffffff;
    if (index >= targets.size())
      return cta.fault(warp, LaneMask{1} << lane, d, "memory",
                       fmt::format("branch number {} of a list of {}", index, targets.size()),
                       "keep the index below the length of the .branchtargets list");
    const uint32_t target = targets[index];
    auto same = std::find_if(parts.begin(), parts.end(), [&](const Fragment& f) { return f.pc == target; });
    if (same == parts.end())
      same = parts.insert(parts.end(), Fragment{target, 0, false, {}, warp.part_of_family(family)});
    same->lanes |= LaneMask{1} << lane;
  }
  cta.fragment_at(warp, lanes) = parts.front();
  warp.fragments.insert(warp.fragments.end(), parts.begin() + 1, parts.end());
  return Step::moved;
}

Step exec_trap(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  return cta.fault(warp, lanes, d, "PE14", "the kernel reaches a trap",
                   "a check of the kernel itself failed on this launch");
}

// Prints nothing: what it returns, the number of arguments, is not known. Sources: results, arguments.
Step exec_call(Cta& cta, Warp& warp, const Decoded& d, LaneMask lanes) {
  const std::vector<ptx::Operand>& results = d.text->operands[0].elements;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].kind != ptx::OperandKind::symbol) {
      if (results[i].kind == ptx::OperandKind::reg) warp.regs.forget(d.src[i], lanes);
      continue;
    }
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      warp.local[lane].forget(warp.regs.get(d.src[i], lane),
                              cta.program.entry->symbols[results[i].symbol].bytes);
    }
  }
  return Step::next;
}

}  // namespace turnstile::sim
