// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program.h"

namespace turnstile::sim {

/// What a loop around a poll executes between one poll and the next, or on the way out: branches and register
/// arithmetic that depend on nothing but the answer of the poll.
struct PollStep {
  uint32_t at = 0;
  bool active = true;                ///< its guard let it execute
  uint32_t written = Decoded::none;  ///< register
  bool carried =
      false;  ///< what it writes depends on registers that are not known here: on the number of polls
  friend bool operator==(const PollStep&, const PollStep&) = default;
};

/// The comparison of a polled value with something that the loop leaves alone.
struct PolledComparison {
  uint32_t at = Decoded::none;          ///< its instruction
  uint32_t bound = Decoded::none;       ///< register
  Comparison compare = Comparison::eq;  ///< value `compare` bound
  bool is_signed = false;
};

struct Path {
  std::vector<PollStep> steps;
  bool returns = false;   ///< ends at the poll itself
  uint32_t ended_at = 0;  ///< the instruction that was not executed any more
  std::optional<PolledComparison> comparison;
  bool second_comparison = false;  ///< the value is compared in more than one way
};

/// The path from a poll on. A poll of an mbarrier gives the predicate `answer`; with `by_value`, the poll
/// loads a value, and `answer` is what the first comparison of that value gives. The path ends where another
/// thing has to be known, or where an instruction could do other work.
Path path_after(const Program& program, uint32_t index, bool answer, bool by_value);

/// Whether a failed poll leaves nothing behind that says how often it failed: what its path writes is written
/// again by the success that ends the loop (the part that both paths share), or is read in the loop only.
/// Then the loop is one wait. `operands`: registers that the poll reads.
bool leaves_nothing_behind(const Program& program, uint32_t index, const Path& failure, const Path& success,
                           const std::vector<uint32_t>& operands);

/// Whether an instruction other than those of the path, and `index`, reads the register.
bool read_elsewhere(const Program& program, uint32_t reg, uint32_t index, const Path& path);

}  // namespace turnstile::sim
