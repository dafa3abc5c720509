// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/check.h"
#include "checker/explore.h"
#include "model/orchestration.h"
#include "model/report.h"
#include "model/result.h"

namespace turnstile {

/// A schedule that shows a fault, with what is needed to show it again.
struct Witness {
  using Step = OrchestrationMachine::Step;
  enum class Shows : uint8_t {
    hang,     ///< after the schedule nothing can move, and somebody has not ended
    race,     ///< after the schedule `first` and `second` are both possible, and they conflict
    stale,    ///< the last step reads another tag than it demands
    refused,  ///< the last step breaks `rule`
    judged,   ///< the single run finds `rule` on the trace of the schedule
  };
  Shows shows = Shows::hang;
  std::string rule;
  std::string message;  ///< one line, as the report said it
  checker::Schedule schedule;
  Step first, second;
  bool shortest = false;
  uint64_t program = 0;  ///< program_fingerprint() of the orchestration it belongs to
  /// How to make that orchestration again: the command line's own words, key and value; see docs/replay.md.
  std::vector<std::pair<std::string, std::string>> input;
};

/// Differs if two orchestrations differ in what they do (places and names aside).
uint64_t program_fingerprint(const Orchestration& program);

struct Replay {
  bool shown = false;              ///< the fault shows again
  std::vector<std::string> steps;  ///< in words, one a line; the last says where it ends
  std::string problem;             ///< not empty: the schedule does not fit the program, and why
};

/// Executes a witness. `lines`: at most so many steps are told; what is left out is counted. `options`: those
/// that it was found with (Shows::judged).
Replay replay(const Orchestration& program, const Witness& witness, size_t lines = 60,
              const CheckOptions& options = {});

/// Text of a witness file, and back. Version 1; an unknown version, a number out of range or a file of more
/// than `max_witness_bytes` is an Error.
inline constexpr size_t max_witness_bytes = size_t{64} << 20;
std::string witness_text(const Witness& witness);
Result<Witness> parse_witness(std::string_view text, std::string file);

/// Writes `<folder>/<16 hex digits>.witness`, beside and then renamed; returns its path.
Result<std::string> write_witness(const Witness& witness, const std::string& folder);

}  // namespace turnstile
