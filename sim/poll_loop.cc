// SPDX-License-Identifier: Apache-2.0
#include "sim/poll_loop.h"

#include <optional>
#include <unordered_map>

#include "sim/handlers.h"

namespace turnstile::sim {

// Follows the one path that a failed poll takes, with only the poll's predicate (false) and constants known.
// Any instruction that could do other work ends the walk: the answer is then "not a plain wait", which is
// never wrong, only less precise.
bool is_poll_loop(const Program& program, uint32_t index) {
  constexpr int longest_path = 64;
  const Decoded& poll = program.code[index];
  if (poll.dst.empty() || poll.dst[0] == Decoded::none) return false;
  std::unordered_map<uint32_t, uint64_t> known;
  for (auto [reg, value] : program.constants) known[reg] = value;
  known[poll.dst[0]] = 0;
  auto value_of = [&](uint32_t reg) -> std::optional<uint64_t> {
    auto it = known.find(reg);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  };

  uint32_t at = index + 1;
  for (int step = 0; step < longest_path; ++step) {
    if (at == index) return true;
    if (at >= program.code.size()) return false;
    const Decoded& d = program.code[at];
    bool active = true;
    if (d.guard != Decoded::none) {
      const auto guard = value_of(d.guard);
      if (!guard) return false;
      active = ((*guard ^ (d.guard_negated ? 1 : 0)) & 1) != 0;
    }
    if (!active) {
      ++at;
      continue;
    }
    if (d.run == exec_branch) {
      at = d.target;
      continue;
    }
    if (d.run == exec_nothing) {
      ++at;
      continue;
    }
    if (d.run != exec_pure && d.run != exec_select && d.run != exec_move) return false;
    uint64_t inputs[6];
    for (size_t i = 0; i < d.src.size() && i < 6; ++i) {
      const auto v = value_of(d.src[i]);
      if (!v) return false;  // a register that the loop carries on changes with the number of polls
      inputs[i] = *v ^ ((d.negated >> i) & 1);
    }
    if (d.dst.empty() || d.dst[0] == Decoded::none) return false;
    uint64_t result = inputs[0];
    if (d.run == exec_select) result = (inputs[2] & 1) != 0 ? inputs[0] : inputs[1];
    if (d.run == exec_pure) {
      if (d.dst.size() > 1) return false;
      for (size_t i = 0; i < d.pure.inputs; ++i) inputs[i] &= width_mask(d.pure.input_bits[i]);
      result = d.pure.run(d.pure.config, inputs);
    }
    known[d.dst[0]] = result & width_mask(d.dst_bits[0]);
    ++at;
  }
  return false;
}

}  // namespace turnstile::sim
