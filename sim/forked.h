// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace turnstile::sim {

/// Ends of one run that differ from somewhere on: each is executed in a process that is forked off there, and
/// tells in numbers what came of it. No other thread may run meanwhile.
class Forked {
 public:
  /// In the process that goes on: what the other one said, at last; empty if it could not be made, or said
  /// nothing. Nothing: this is the other one, which ends with answer().
  std::optional<std::vector<uint64_t>> fork_here();
  bool in_child() const { return answer_to_ >= 0; }
  /// No process could be made.
  bool failed() const { return failed_; }
  [[noreturn]] void answer(const std::vector<uint64_t>& words) const;

 private:
  int answer_to_ = -1;
  bool failed_ = false;
};

}  // namespace turnstile::sim
