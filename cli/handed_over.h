// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checker/check.h"
#include "cli/trace_class.h"
#include "model/launch/launch.h"
#include "model/result.h"
#include "sim/position_tape.h"
#include "sim/tape_parts.h"

namespace turnstile::cli {

/// Whether it matters which clusters launch control hands over, and in which order (CL7): runs of one cluster
/// in which it was handed some are shown to be those of every choice (docs/theory.md, launch control).
class HandedOver {
 public:
  static Result<HandedOver> create(const sim::Program& program, const Launch& launch);

  /// A run with so many handovers.
  void add(const Trace& trace, std::shared_ptr<const sim::PositionTape> tape, uint32_t handed);
  /// Whether runs of these parts were added.
  bool knows(const std::vector<sim::Hash128>& kinds) const;

  struct Examined {
    /// Why the verdicts of the runs are not those of every choice; nothing: they are, if no two of the
    /// summaries conflict, nor one with what a CTA does that is handed nothing.
    std::optional<Note> objection;
    /// What the runs do to global memory for each cluster id, wherever it is worked on.
    std::vector<GlobalAccessSummary> accesses;
  };
  /// Once, at the end. `written`: buffers that CTAs write which are handed nothing.
  Examined examine(const std::set<uint32_t>& written);

 private:
  /// One kind of part, of the first run that had it.
  struct Kind {
    sim::Hash128 hash;
    std::shared_ptr<const sim::PositionTape> tape;
    std::shared_ptr<const sim::MovedFootprints> before;
    std::shared_ptr<const GlobalAccessSummary> summary;
    std::vector<uint32_t> written;
    sim::TapePart part;
    uint32_t handed = 0;  ///< in that run
  };

  HandedOver(const sim::Program& program, const Launch& launch, sim::PositionReplay replay)
      : program_(program), launch_(launch), replay_(std::move(replay)) {}
  void object(uint32_t place, std::string text);
  bool examine_kind(const Kind& kind, uint32_t cluster, TraceClass overlaps, GlobalAccessSummary& out);

  const sim::Program& program_;
  const Launch& launch_;
  sim::PositionReplay replay_;
  std::vector<Kind> kinds_;
  std::vector<GlobalAccessSummary> fixed_;  ///< accesses that no id moves
  std::optional<Note> objection_;           ///< the first
};

}  // namespace turnstile::cli
