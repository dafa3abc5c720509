// SPDX-License-Identifier: Apache-2.0
#include "sim/peek.h"

#include <algorithm>
#include <optional>
#include <set>

#include "sim/handlers.h"
#include "sim/poll_path.h"

namespace turnstile::sim {

namespace {

bool only_writes_registers(const Decoded& d) {
  return (d.run == exec_pure || d.run == exec_select || d.run == exec_move) && d.dst.size() == 1 &&
         d.dst[0] != Decoded::none;
}

bool reads_any(const Decoded& d, const std::set<uint32_t>& regs) {
  return regs.contains(d.guard) ||
         std::any_of(d.src.begin(), d.src.end(), [&](uint32_t r) { return regs.contains(r); }) ||
         (d.is_wgmma &&
          std::any_of(d.dst.begin(), d.dst.end(), [&](uint32_t r) { return regs.contains(r); }));
}

/// Branches that the answer decides; nothing if it does anything else. Registers that carry the answer on are
/// looked for in the whole program, whatever the order of execution.
std::optional<std::vector<uint32_t>> decided_branches(const Program& program, uint32_t index) {
  std::set<uint32_t> carriers = {program.code[index].dst[0]};
  for (bool grown = true; grown;) {
    grown = false;
    for (const Decoded& d : program.code)
      if (reads_any(d, carriers) && only_writes_registers(d)) grown |= carriers.insert(d.dst[0]).second;
  }
  std::vector<uint32_t> branches;
  for (const Decoded& d : program.code) {
    if (!reads_any(d, carriers) || only_writes_registers(d)) continue;
    if (d.run != exec_branch) return std::nullopt;
    branches.push_back(d.index);
  }
  return branches;
}

constexpr int kLongest = 64;

/// The poll loop that control reaches from `at` through register arithmetic only; `between` receives what is
/// executed before it.
std::optional<uint32_t> next_wait(const Program& program, uint32_t at, std::set<uint32_t>& between) {
  for (int count = 0; count < kLongest && at < program.code.size(); ++count) {
    const Decoded& d = program.code[at];
    if (d.guard != Decoded::none) return std::nullopt;
    if (d.run == exec_mbarrier_wait) return d.shape[0] != 0 ? std::optional(at) : std::nullopt;
    between.insert(at);
    if (d.run == exec_branch)
      at = d.target;
    else if (only_writes_registers(d) || d.run == exec_nothing)
      ++at;
    else
      return std::nullopt;
  }
  return std::nullopt;
}

/// Where control is from `at` on, as long as nothing is executed but jumps.
std::set<uint32_t> reached_by_jumps(const Program& program, uint32_t at) {
  std::set<uint32_t> out;
  while (out.insert(at).second && at < program.code.size() && program.code[at].run == exec_branch &&
         program.code[at].guard == Decoded::none)
    at = program.code[at].target;
  return out;
}

/// Whether skipping the wait is the same as passing it: the other side of the branch comes to where the wait
/// ends, and nobody reads what only the way through the wait writes.
bool skips(const Program& program, uint32_t wait, std::set<uint32_t> region, uint32_t other) {
  const std::set<uint32_t> elsewhere = reached_by_jumps(program, other);
  const Path success = path_after(program, wait, true, false),
             failure = path_after(program, wait, false, false);
  region.insert(wait);
  for (const PollStep& s : failure.steps) region.insert(s.at);
  uint32_t at = wait + 1;
  bool met = elsewhere.contains(at);
  for (size_t i = 0; !met && i < success.steps.size(); ++i) {
    const PollStep& s = success.steps[i];
    region.insert(s.at);
    at = s.active && program.code[s.at].run == exec_branch ? program.code[s.at].target : s.at + 1;
    met = elsewhere.contains(at);
  }
  if (!met) return false;
  std::set<uint32_t> written;
  for (uint32_t i : region)
    for (uint32_t r : program.code[i].dst)
      if (r != Decoded::none) written.insert(r);
  return std::none_of(program.code.begin(), program.code.end(),
                      [&](const Decoded& d) { return !region.contains(d.index) && reads_any(d, written); });
}

}  // namespace

std::vector<uint32_t> waits_after_peek(const Program& program, uint32_t index) {
  const Decoded& poll = program.code[index];
  if (poll.dst.empty() || poll.dst[0] == Decoded::none) return {};
  const auto branches = decided_branches(program, index);
  if (!branches) return {};
  std::vector<uint32_t> waits;
  for (uint32_t b : *branches) {
    bool found = false;
    const uint32_t sides[2] = {b + 1, program.code[b].target};
    for (size_t side = 0; side < 2 && !found; ++side) {
      std::set<uint32_t> between;
      const std::optional<uint32_t> wait = next_wait(program, sides[side], between);
      if (!wait || !skips(program, *wait, between, sides[1 - side])) continue;
      found = true;
      waits.push_back(*wait);
    }
    if (!found) return {};
  }
  return waits;
}

}  // namespace turnstile::sim
