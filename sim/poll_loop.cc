// SPDX-License-Identifier: Apache-2.0
#include "sim/poll_loop.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/handlers.h"

namespace turnstile::sim {

namespace {

struct PathStep {
  uint32_t at = 0;
  bool active = true;                ///< its guard let it execute
  uint32_t written = Decoded::none;  ///< register
  friend bool operator==(const PathStep&, const PathStep&) = default;
};

struct Path {
  std::vector<PathStep> steps;
  bool returns = false;  ///< ends at the poll itself
};

/// The path from a poll on if its predicate has this value, with nothing known but that and constants. It
/// ends where another thing is needed, or where an instruction could do other work.
Path path_after(const Program& program, uint32_t index, bool success) {
  constexpr int longest = 64;
  std::unordered_map<uint32_t, uint64_t> known;
  for (auto [reg, value] : program.constants) known[reg] = value;
  known[program.code[index].dst[0]] = success ? 1 : 0;
  auto value_of = [&](uint32_t reg) -> std::optional<uint64_t> {
    auto it = known.find(reg);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  };
  Path path;
  uint32_t at = index + 1;
  for (int count = 0; count < longest; ++count) {
    if (at == index) {
      path.returns = true;
      return path;
    }
    if (at >= program.code.size()) return path;
    const Decoded& d = program.code[at];
    PathStep step{at, true, Decoded::none};
    if (d.guard != Decoded::none) {
      const auto guard = value_of(d.guard);
      if (!guard) return path;
      step.active = ((*guard ^ (d.guard_negated ? 1 : 0)) & 1) != 0;
    }
    ++at;
    if (step.active && d.run == exec_branch) {
      at = d.target;
    } else if (step.active && d.run != exec_nothing) {
      if (d.run != exec_pure && d.run != exec_select && d.run != exec_move) return path;
      if (d.dst.size() != 1 || d.dst[0] == Decoded::none || d.src.size() > 6) return path;
      uint64_t inputs[6] = {};
      for (size_t i = 0; i < d.src.size(); ++i) {
        const auto v = value_of(d.src[i]);
        if (!v) return path;  // a register that the loop carries on changes with the number of polls
        inputs[i] = *v ^ ((d.negated >> i) & 1);
      }
      uint64_t result = inputs[0];
      if (d.run == exec_select) result = (inputs[2] & 1) != 0 ? inputs[0] : inputs[1];
      if (d.run == exec_pure) {
        for (size_t i = 0; i < d.pure.inputs; ++i) inputs[i] &= width_mask(d.pure.input_bits[i]);
        result = d.pure.run(d.pure.config, inputs);
      }
      step.written = d.dst[0];
      known[d.dst[0]] = result & width_mask(d.dst_bits[0]);
    }
    path.steps.push_back(step);
  }
  return path;
}

bool reads(const Decoded& d, uint32_t reg) {
  return d.guard == reg || std::find(d.src.begin(), d.src.end(), reg) != d.src.end() ||
         (d.is_wgmma && std::find(d.dst.begin(), d.dst.end(), reg) != d.dst.end());
}

}  // namespace

// A failed poll must leave nothing behind that says how often it failed: what its path writes is written
// again by the success that ends the loop (the part that both paths share), or is read in the loop only.
// Anything else is "not a plain wait", which is never wrong, only less precise.
bool is_poll_loop(const Program& program, uint32_t index) {
  const Decoded& poll = program.code[index];
  if (poll.dst.empty() || poll.dst[0] == Decoded::none) return false;
  const Path failure = path_after(program, index, false);
  if (!failure.returns) return false;
  const Path success = path_after(program, index, true);
  const size_t shorter = std::min(failure.steps.size(), success.steps.size());
  size_t shared = 0;
  while (shared < shorter && failure.steps[shared] == success.steps[shared]) ++shared;

  auto in_loop = [&](uint32_t at) {
    return at == index || std::any_of(failure.steps.begin(), failure.steps.end(),
                                      [&](const PathStep& s) { return s.at == at; });
  };
  for (size_t i = 0; i < failure.steps.size(); ++i) {
    const uint32_t reg = failure.steps[i].written;
    if (reg == Decoded::none) continue;
    if (reg == poll.guard || reg == poll.src[0] || reg == poll.src[1]) return false;  // the next poll differs
    if (i < shared) continue;
    for (const Decoded& d : program.code)
      if (reads(d, reg) && !in_loop(d.index)) return false;
  }
  return true;
}

}  // namespace turnstile::sim
