// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/orchestration.h"

namespace turnstile {

/// Operational semantics of an Orchestration (semantics.md 0.5, protocol layer): which step can happen now
/// and what it changes. Knows no happens-before. Used by sim/ to execute a .mimw program, by checker/ to
/// search schedules and to replay witnesses; composed of the state machines beside it, one a mechanism.
class OrchestrationMachine {
 public:
  /// The next event of a strand, or the next event of an operation in flight (an access or its completion).
  struct Step {
    enum class Kind : uint8_t { strand, operation };
    Kind kind = Kind::strand;
    uint32_t index = 0;  ///< of the strand, or into tables.ops
    friend bool operator==(Step, Step) = default;
  };

  /// The program must outlive the machine, and must have passed orchestration_defect().
  explicit OrchestrationMachine(const Orchestration& program);

  /// All steps that are possible now: strands in order, then operations in order of issue.
  void enabled(std::vector<Step>& steps) const;
  bool is_enabled(Step step) const;

  /// Executes an enabled step. `event` receives it as a trace records it (generation filled in); a rule that
  /// it breaks (over-arrival, wrong count, access to an exited CTA ...) is returned as a Fault with the rule
  /// id of semantics.md, and the strand goes no further.
  std::vector<Fault> take(Step step, Event& event);

  /// No strand has anything left to do. Operations may still be in flight.
  bool strands_ended() const;
  /// The strands that have not ended, and what each waits for; meaningful when nothing is enabled.
  std::vector<Blocked> blocked() const;

  /// Whole state as bytes, equal iff the states are equal; for the tables of a search.
  void save(std::vector<uint8_t>& bytes) const;
  void load(std::span<const uint8_t> bytes);
};

/// First reason why a program cannot be run: an index out of range, an operation issued twice ... Empty:
/// none.
std::string orchestration_defect(const Orchestration& program);

}  // namespace turnstile
